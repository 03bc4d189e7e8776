"""What ``rocmonitor check`` finds out and explains."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from scenario import World, labelled_as, tried, until, week
from sqlalchemy import text

from rocmonitor import config, store
from rocmonitor.caveat import Caveat
from rocmonitor.errors import ConfigError, DegenerateDataError, RocmonitorError, StoreError
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.service import checking
from rocmonitor.service.checking import answers, forecast_alarms, joined, reference_checks
from rocmonitor.service.checking.outside import Sources, account_lines
from rocmonitor.stats import AucResult
from rocmonitor.stats.coming import Rate

NOW = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture
def here(two_weeks: World) -> World:
    return two_weeks


def checked(here: World) -> str:
    lines: list[str] = []
    checking.check(
        config.load(here.folder / "rocmonitor.yaml"),
        now=datetime(2026, 7, 1, tzinfo=UTC),
        output=lines.append,
        explain=True,
    )
    return "\n".join(lines)


@pytest.mark.slow
def test_check_tells_what_it_assumes_of_a_reference_that_is_too_large_to_read(here, monkeypatch):
    here.configure(window=until("2026-06-08"), rules="[{kind: drop}, {kind: floor, value: 0.79}]")
    read = checked(here)
    assert "not read here" not in read
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    told = checked(here)
    assert "more than 7,999 rows and is not read here; it is assumed to scatter as the last window" in told
    assert "known with the first run: the reference is too large to be read here; at an AUROC of 0." in told
    assert "in the reference. A drop" not in told
    assert "each rule alone: drop" in told
    monkeypatch.setattr(checking, "MOST_ROWS", 399)
    told = checked(here)
    assert "it is assumed to have an AUROC of 0.8" in told
    assert "drop by" in told
    assert "no floor is counted" in told
    assert "alone: drop" not in told
    assert "for drop this counts sampling error only" in told
    # What a drop costs in false alarms hardly depends on the model, where windows differ by sampling alone.
    alone = float(re.search(r"alone: drop ([\d.]+)", read)[1])
    assert float(re.search(r"wrong: about ([\d.]+)", told)[1]) == pytest.approx(alone, rel=0.8)


@pytest.mark.slow
def test_labels_mean_the_same_in_a_reference_that_is_only_counted(here, monkeypatch):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    told = {}
    for label in ("label", "CASE label WHEN 1 THEN 'True' WHEN 0 THEN 'no' END"):
        here.configure(window=until("2026-06-08"), query=labelled_as(label), rules="[{kind: drop}]")
        told[label] = checked(here)
    plain, texts = ([line for line in each.splitlines() if "SELECT" not in line] for each in told.values())
    assert texts == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"rules": "[{kind: drop}, {kind: floor, value: 0.95}]"},
            "most windows will be found degraded although nothing is wrong: see floor (floor 0.95 is above",
        ),
        (
            {"rules": "[{kind: forecast, half_life: 0.3, alternative: less}, {kind: floor, value: 0.5}]"},
            "with half_life 0.3 the 20 windows weigh 1.11 together: level 0.53; 0.95 needs a weight of 19",
        ),
        (
            {"reference": "{from: 2026-01-05, to: 2026-03-02}"},
            "forecast: only 8 reference windows, which show levels up to 88.9 %. The range is wider to make "
            "up: 95 %, if their true values scatter normally; from 19 windows on",
        ),
        (
            {"rules": "[{kind: drop, value: 0.02}, {kind: challenger}]"},
            ": the reference has 20 windows)",
        ),
        (
            {"rules": "[{kind: drop, value: 0.02}, {kind: challenger}]"},
            "they scatter by 0.021 (standard deviation), no more than sampling explains",
        ),
        ({"rules": "[{kind: forecast}]"}, "messages a year of an improvement that is not real"),
        ({"rules": "[{kind: challenger}]"}, "none of these rules can raise an alarm whose rate is known"),
        ({"rules": "[{kind: drop, value: 0.8}]"}, "no drop is found in a single window"),
        ({"alarm": "{after: 2, of: 3}"}, "; an alarm needs 2 of 3 windows degraded"),
        ({"segments": "[region]"}, "each segment value is watched separately"),
    ],
)
def test_check_tells_what_the_rules_will_do(here, change, says):
    here.configure(window=until("2026-06-08"), **change)
    assert says in checked(here)


@pytest.mark.slow
def test_check_judges_the_reference_windows_by_the_rules(here):
    """Six of them are much worse: each rule finds what it finds when it judges them one by one."""
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("UPDATE scored SET p = -p WHERE id < 600000")
    here.configure(window=until("2026-06-08"), rules="[{kind: drop, value: 0.1}, {kind: floor, value: 0.05}]")
    told = checked(here)
    [chance] = re.findall(
        r"6 of the 20 reference windows would be degraded \(drop 6, floor none\); of as many later ones "
        r"about ([\d.]+) by chance",
        told,
    )
    assert 3 < float(chance) < 9  # windows that differ so much are part of what is normal
    here.configure(window=until("2026-06-08"), rules="[{kind: floor, value: 0.05}, {kind: challenger}]")
    assert "none of the 20 reference windows would be degraded; of as many later ones about" in checked(here)


@pytest.mark.slow
def test_reference_windows_that_chance_does_not_explain_are_named(here):
    """Two windows without any signal among alike ones."""
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("UPDATE scored SET p = ((id * 7919) % 1000) / 500.0 WHERE id < 200000")
    changes = {"window": until("2026-06-08"), "rules": "[{kind: floor, value: 0.62}]"}
    told = checked_with(here, **changes)
    assert "2 of 20 weeks (2026-01-05 (AUROC 0." in told  # in one line
    assert told.count("without: [2026-01-05, 2026-01-12]") == 1
    assert "none of the 18 reference windows would be degraded" in told
    kept = "{from: 2026-01-05, to: 2026-05-25, outliers: keep}"
    told = checked_with(here, reference=kept, **changes)
    assert "2 of the 20 reference windows would be degraded; of as many later ones about" in told
    assert (
        ". Most lie closer together: was something wrong in 2026-01-05 to 2026-01-12 and 2026-01-12" in told
    )


@pytest.mark.slow
def test_check_says_how_soon_a_drop_is_found(here):
    here.configure(window=until("2026-06-08"), rules="[{kind: forecast}, {kind: drop}]")
    told = checked(here)
    cell = r"(over )?\d+( \((over )?\d+\))?; \d+ %"
    for name in ("forecast", "drop", "together"):
        assert re.search(rf"^ {{12}}{name} +{cell} +{cell} +{cell}$", told, re.M), name
    [days] = re.findall(r"^ {12}days +(?:over )?(\d+)", told, re.M)
    [windows] = re.findall(r"^ {12}together +(?:over )?(\d+)", told, re.M)
    assert int(days) == 7 * int(windows) + 2  # label_delay
    here.configure(window=until("2026-06-08"), rules="[{kind: challenger}]")
    assert "days include label_delay" not in checked(here)


@pytest.mark.slow
def test_check_judges_the_latest_reference_windows_that_are_large_enough(here, monkeypatch):
    monkeypatch.setattr(forecast_alarms, "MOST_JUDGED", 10)
    here.configure(window=until("2026-06-08"), rules="[{kind: floor, value: 0.95}]")
    assert (
        "10 of the last 10 reference windows would be degraded; of as many later ones about 10.0 by"
        in checked(here)
    )
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("UPDATE scored SET label = NULL WHERE id < 1800000 AND id % 100000 > 20")
    assert "2 of the 2 reference windows that are large enough would be degraded" in checked(here)


def problems_of(here: World, update: str = "", **changes: str) -> tuple[list[RocmonitorError], str]:
    """What is wrong after the source has changed, and all that is told."""
    here.configure(**{"window": until("2026-06-08"), **changes})
    if update:
        with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
            database.execute(update)
    lines: list[str] = []
    problems = checking.check(
        config.load(here.folder / "rocmonitor.yaml"),
        now=datetime(2026, 7, 1, tzinfo=UTC),
        output=lines.append,
        explain=True,
    ).problems
    return problems, "\n".join(lines)


SHORT = "DELETE FROM scored WHERE id < 1500000"


def test_check_says_why_a_short_reference_gives_no_outlook(here):
    problems, told = problems_of(here, SHORT, outlook="{after: 6h}", rules="[{kind: forecast}]")
    assert problems == []
    assert "no window can have an outlook: a forecast given the scores needs at least 8 past windows" in told
    assert "was not read" not in told


@pytest.mark.parametrize("most", [200_000, 7_999])
@pytest.mark.parametrize("rule", ["kind: outlook", "kind: scores"])
def test_a_short_reference_is_a_problem_for_rules_that_read_scores(here, monkeypatch, most, rule):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", most)
    rules = f"[{{kind: drop}}, {{{rule}}}]"
    [problem], told = problems_of(here, SHORT, outlook="{after: 6h}", rules=rules)
    assert isinstance(problem, DegenerateDataError)
    assert "needs 8 with both classes; the reference has 5: choose a longer period" in str(problem)
    assert told.count("needs 8") == 1


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ("p = label WHERE id < 2000000", "separate its classes completely (AUROC 1)"),
        ("p = 0.5 WHERE id < 2000000", "all 8,000 scores of the reference are 0.5: is the scoring broken?"),
        ("label = 0 WHERE id < 2000000", "the reference has 0 positives and 8,000 negatives"),
    ],
)
def test_a_reference_that_cannot_serve_the_rules_is_a_problem(here, update, says):
    [problem], told = problems_of(here, f"UPDATE scored SET {update}")
    assert isinstance(problem, DegenerateDataError)
    assert str(problem).startswith("forecast and drop: ")
    assert says in str(problem)
    assert f"PROBLEM: {problem}" in told
    assert "20 windows, 8,000 rows" in told
    assert "false alarms cannot be predicted" in told
    assert "AucSpread" not in told


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ("p = -p", "rows with label 1 (positive) score lower than the others; set scores: lower"),
        ("p = -label", "is 0.000 (0.000 to 0.0"),
    ],
)
def test_a_reference_below_one_half_is_a_problem_with_its_likely_cause(here, update, says):
    [problem], told = problems_of(here, f"UPDATE scored SET {update}")
    assert isinstance(problem, ConfigError)
    assert str(problem).startswith("monitors.credit.positive.scores: the AUROC of the reference is 0.")
    assert says in str(problem)
    assert f"PROBLEM: {problem}" in told
    assert "false alarms cannot be predicted: see the reference" in told


def test_a_problem_of_two_monitors_is_told_of_both(here):
    here.configure(window=until("2026-06-08"))
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("UPDATE scored SET label = 0 WHERE id < 2000000")
    path = here.folder / "rocmonitor.yaml"
    first, own = path.read_text(encoding="utf-8").split("monitors:\n")
    path.write_text(f"{first}monitors:\n{own}{own.replace('credit:', 'again:')}", encoding="utf-8")
    lines: list[str] = []
    found = checking.check(config.load(path), now=NOW, output=lines.append)
    assert len(found.problems) == 2
    assert sum("PROBLEM" in line for line in lines) == 2


def test_a_last_window_below_one_half_is_a_problem_when_the_reference_is_not_read(here, monkeypatch):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    [problem], _ = problems_of(here, "UPDATE scored SET p = -p")
    assert "the AUROC of the last window is 0." in str(problem)


@pytest.mark.parametrize(
    ("auc", "scores", "says"),
    [
        (0.2, "lower", "rows with label 1 (positive) score higher than the others; set scores: higher"),
        (0.49, "higher", "the scores do not separate the classes"),
        (0.49, "lower", "whether scores should be higher"),
    ],
)
def test_how_far_below_one_half_decides_the_advice(here, auc, scores, says):
    monitor = here.configure().monitors["credit"]
    monitor = monitor.model_copy(update={"positive": config.Positive(scores=scores)})
    area = AucResult(auc=auc, se=0.02, n_pos=500, n_neg=500, method="delong")
    [problem] = reference_checks.backwards(monitor, Reference(auc=area), read=True)
    assert says in str(problem)
    weak = AucResult(auc=0.53, se=0.02, n_pos=500, n_neg=500, method="delong")
    [problem] = reference_checks.backwards(monitor, Reference(auc=weak), read=True)
    assert "), not clearly above 0.5: the scores do not separate" in str(problem)
    assert not list(reference_checks.backwards(monitor, Reference(auc=weak), read=False))
    fine = AucResult(auc=0.55, se=0.02, n_pos=500, n_neg=500, method="delong")
    assert not list(reference_checks.backwards(monitor, Reference(auc=fine), read=True))


def at(here: World, now: datetime, **changes: str) -> tuple[list[RocmonitorError], str]:
    """The problems at another time, and all lines."""
    lines: list[str] = []
    problems = checking.check(here.configure(**changes), now=now, output=lines.append, explain=True).problems
    return problems, "\n".join(lines)


@pytest.mark.slow
def test_a_reference_that_has_not_ended_is_a_problem(here):
    [problem], _ = at(here, datetime(2026, 5, 1, tzinfo=UTC))
    assert isinstance(problem, ConfigError)
    assert "reference has not ended: 2026-01-05 to 2026-05-25, and it is 2026-05-01 now" in str(problem)
    problems, _ = at(here, datetime(2026, 1, 1, tzinfo=UTC))
    assert any("reference has not begun" in str(problem) for problem in problems)


@pytest.mark.slow
def test_a_label_delay_longer_than_the_data_is_a_problem(here):
    window = "{every: 7d, label_delay: 3650d}"
    [problem], told = at(here, NOW, window=window)
    assert isinstance(problem, ConfigError)
    assert "window.label_delay (3650d) is longer than the data: the reference began 177 days ago" in str(
        problem
    )
    assert "can be judged from 2036" in told
    problems, told = at(here, NOW, window="{every: 7d, label_delay: 170d}")
    assert problems == []
    assert "none can be judged yet" in told


@pytest.mark.slow
def test_the_newest_window_with_rows_is_looked_at_when_a_stream_has_ended(here):
    always = "{every: 7d, label_delay: 2d}"
    problems, told = at(here, week(400), window=always)
    assert problems == []
    assert "no rows since 2026-06-08: of the 377 windows after that 4 are judged" in told
    assert "the last of these, 2026-06-01 to 2026-06-08: 400 rows" in told
    [problem], told = at(here, week(25), window=always)  # three windows: that is news
    assert "the last window, 2026-06-15 to 2026-06-22, is insufficient: no rows" in str(problem)


def test_clusters_that_lack_or_come_again_are_said(here):
    here.configure(window=until("2026-06-08"), rules="[{kind: drop}]")
    path = here.folder / "rocmonitor.yaml"
    customers = "CASE WHEN id % 10 = 3 THEN NULL ELSE id % 500 END AS customer"
    text = path.read_text(encoding="utf-8").replace("columns: {", "columns: {cluster: customer, ")
    path.write_text(text.replace("SELECT *", f"SELECT *, {customers}"), encoding="utf-8")
    told = checked(here)
    assert "rows come in clusters (customer)" in told
    assert "800 of 8,000 rows have no customer" in told
    assert "360 of 1,160 clusters" in told


@pytest.mark.slow
def test_rows_between_reference_and_first_window_are_told(here):
    _, told = at(here, NOW, window=until("2026-06-08"))
    assert "are in no window" not in told
    monday = "{every: 6d, label_delay: 2d, align: 1970-01-05, end: 2026-06-08}"
    problems, told = at(here, NOW, window=monday)
    assert problems == []
    [gap] = re.findall(
        r"(\d+) rows are in no window: 2026-05-23 to 2026-05-29, between the reference's last", told
    )
    assert int(gap) == pytest.approx(400 * 6 / 7, abs=2)
    assert "before the reference's first" not in told
    assert "with window.align: 2026-05-25 windows start where the reference ends" in told
    _, told = at(here, NOW, window="{every: 6d, label_delay: 2d, end: 2026-06-08}")  # starts there by itself
    assert "between the reference's last" not in told
    [gap] = re.findall(
        r"(\d+) rows are in no window: 2026-01-05 to 2026-01-07, before the reference's first", told
    )
    assert int(gap) == pytest.approx(400 * 2 / 7, abs=2)
    _, told = at(here, NOW, window="{every: 1mo, label_delay: 2d}")
    assert "rows are in no window: 2026-01-05 to 2026-02-01, before the reference's first" in told
    assert "rows are in no window: 2026-05-01 to 2026-06-01, between the reference's last" in told


def test_a_monitor_without_a_version_is_judged_with_a_caveat(here):
    problems, told = at(here, NOW, window=until("2026-06-08"), model="{name: credit}")
    assert problems == []
    assert "the configuration names no version of credit" in told


def test_times_that_start_with_the_day_are_told_with_an_expression_that_reads_them(here):
    day_first = "substr(scored_at, 9, 2) || '.' || substr(scored_at, 6, 2) || '.' || substr(scored_at, 1, 4)"
    problems, _ = problems_of(here, f"UPDATE scored SET scored_at = {day_first} || substr(scored_at, 11)")
    [told] = {str(problem) for problem in problems}
    [expression] = re.findall(r"use (.*) in the SELECT", told)
    assert "the zone of these times" in told
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        [(time,)] = database.execute(f"SELECT {expression} FROM scored ORDER BY id LIMIT 1")
    assert time.startswith("2026-01-05 00:00:00")


def test_one_id_for_all_rows_is_told_with_the_way_out(here):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("SELECT * FROM", "SELECT 7 AS batch, * FROM").replace("id: id", "id: batch")
    )
    told = checked(here)
    assert "399 of 400 rows are set aside: another row has the same batch; name a column whose value" in told


def test_a_reference_of_one_class_is_no_problem_for_rules_that_do_not_compare(here):
    rules = "[{kind: floor, value: 0.5}, {kind: challenger}]"
    problems, told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 2000000", rules=rules)
    assert problems == []
    assert "cannot be predicted: the reference has 0 positives and 8,000 negatives" in told


def test_a_reference_of_one_class_is_a_problem_when_it_is_too_large_to_read(here, monkeypatch):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    [problem], _ = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 2000000")
    assert "0 positives and 8,000 negatives" in str(problem)


@pytest.mark.parametrize("most", [200_000, 7_999])
def test_one_window_is_too_few_for_a_calibrated_forecast(here, monkeypatch, most):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", most)
    [problem], told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 1900000")
    assert "forecast: the rule learns from past windows" in str(problem)
    assert "needs 2 with both classes; the reference has 1:" in str(problem)
    assert "reference.windows: 19 or more" in str(problem)
    assert "19 windows have one class only, or no labels, and are set aside" in told
    assert "2026-01-19 to 2026-01-26 …" in told
    assert "forecast " not in told[told.index("when nothing is wrong") :]


def test_a_rule_that_the_reference_cannot_be_computed_for_is_a_problem(here, monkeypatch):
    def lacking(*arguments: object, **options: bool) -> Reference:
        whole = freeze(*arguments, **options)
        why = Caveat("not-computed", why="no reweighting reaches window 3").concerning("forecast")
        return replace(whole, fits={}, caveats=(why,))

    monkeypatch.setattr(checking.references, "freeze", lacking)
    [problem], _ = problems_of(here)
    assert str(problem).startswith("forecast: ")
    assert "no reweighting reaches window 3" in str(problem)


def test_one_window_that_is_set_aside_is_told_in_the_singular(here):
    problems, told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 100000")
    assert "1 window has one class only, or no labels, and is set aside: 2026-01-05 to 2026-01-12\n" in told
    assert problems == []


def test_check_names_the_segment_values_that_are_too_small(here):
    for region in ("tiny", "r1", "r2", "r3", "r4", "r5", "r6"):
        here.score(21, n=10, region=region)
    _, told = problems_of(here, segments="[region]", min_per_class="20")
    assert re.search(r"region=r1: \d positives and \d negatives, min_per_class is 20: insufficient", told)
    assert told.count("is 20: insufficient") == joined.MOST_SEGMENTS
    assert "and 2 more that are insufficient" in told
    assert "region=all" not in told


def test_check_tells_where_costs_are_reported(here):
    path = here.folder / "rocmonitor.yaml"
    here.configure(window=until("2026-06-08"))
    path.write_text(path.read_text().replace("cost: [{w: 0.2}]", "cost: [{w: 0.2}, {w: 0}, {w: 1}]"))
    assert re.search(
        r"costs at w = 0\.2 \(threshold [\d.]+ of the reference\), w = 0 \(flags noth", checked(here)
    )


@pytest.mark.slow
def test_check_tells_how_a_review_decides(here):
    told = checked(here)
    assert (
        "the difference of the AUROC and of the TPR at FPR 0.1, 95 % at all checks together; windows since"
        in told
    )
    assert "without review.schedule `serve` makes none" in told
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        f"{path.read_text()}    review: {{margin: 0.01, fpr: [], start: 2026-06-01, schedule: '0 7 * * 1'}}\n"
    )
    told = checked(here)
    assert "AUROC beyond 0.01, 95 % at all checks together; windows since 2026-06-01 00:00" in told
    assert "and by `serve` at 0 7 * * 1" in told


def test_check_warns_of_a_source_whose_account_may_write(here, postgres_url, monkeypatch):
    monkeypatch.setenv("WAREHOUSE_URL", postgres_url)
    known = config.load(here.folder / "rocmonitor.yaml")
    name = known.monitors["credit"].source
    with Sources(known) as sources:
        assert account_lines(sources, name) == []
    for variable, lines in (("WAREHOUSE_URL", 1), ("ABSENT", 0)):
        changed = known.model_copy(update={"sources": {name: config.Database(url_env=variable)}})
        with Sources(changed) as sources:
            assert len(found := account_lines(sources, name)) == lines
        assert all(line.startswith(f"{name}: WARNING: the account") for line in found)


def test_a_problem_is_named_once(here, monkeypatch):
    """One source that cannot be read is one thing to mend, whatever reads it and however many monitors."""
    path = here.folder / "rocmonitor.yaml"
    text = path.read_text()
    path.write_text(text + text[text.index("  credit:") :].replace("  credit:", "  other:"))
    monkeypatch.delenv("SCENARIO_SOURCE_URL", raising=False)
    lines: list[str] = []
    problems = checking.check(config.load(path), now=NOW, output=lines.append, explain=True).problems
    assert [str(each) for each in problems] == [
        "sources.here.url_env: the environment variable SCENARIO_SOURCE_URL is not set; export it"
    ]
    assert "\n".join(lines).count("SCENARIO_SOURCE_URL") == 1
    for topic in ("reference", "labels"):
        assert lines.count(f"  {topic:<10}not read: see the PROBLEM above") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("mlflow.tracking_uri_env", "mlflow: {tracking_uri_env: ABSENT}"),
        ("webhook.secret_env", "webhook: {secret_env: ABSENT}"),
        ("heartbeat.url_env", "heartbeat: {url_env: ABSENT}"),
        ("channels.log.url_env", "channels: {log: {url_env: ABSENT}}"),
        ("store.url_env", "store: {url_env: ABSENT}"),
    ],
)
def test_a_variable_that_is_not_set_is_a_problem(here, monkeypatch, key, section):
    monkeypatch.delenv("ABSENT", raising=False)
    path = here.folder / "rocmonitor.yaml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith(key.split(".")[0])]
    path.write_text("\n".join([section, *kept]))
    problems = [
        str(each)
        for each in checking.check(config.load(path), now=NOW, output=lambda _: None, explain=True).problems
    ]
    assert f"{key}: the environment variable ABSENT is not set; export it" in problems


@pytest.mark.slow
def test_check_says_of_the_store_what_a_run_will_do(here):
    known = here.configure()
    assert "a SQLite file that the first run creates\n" in checked(here)
    with store.open_store(known.store_url) as kept:
        assert "store     reachable, at this version" in checked(here)
        with kept.writing() as connection:
            connection.execute(text("UPDATE rocmonitor_alembic_version SET version_num = '0000'"))
    with pytest.raises(StoreError, match=r"its schema is 0000, .*run `rocmonitor db upgrade`") as refused:
        store.open_store(known.store_url)
    assert f"store     PROBLEM: {refused.value}" in checked(here)


@pytest.mark.slow
def test_check_warns_of_a_store_that_everybody_may_read(here):
    here.configure()
    with store.open_store(f"sqlite:///{here.folder}/rocmonitor.db"):
        assert "WARNING: every user" not in checked(here)
        (here.folder / "rocmonitor.db").chmod(0o644)
        assert "WARNING: every user of this machine may read " in checked(here)


@pytest.mark.slow
def test_a_budget_is_compared_with_what_is_expected(here):
    here.configure(window=until("2026-06-08"), rules="[{kind: forecast}, {kind: drop}]")
    assert "all monitors" not in checked(here)
    path = here.folder / "rocmonitor.yaml"
    configured = path.read_text(encoding="utf-8")
    path.write_text(f"alarm_budget: {{false_alarms_per_year: 0.5}}\n{configured}", encoding="utf-8")
    lines = checked(here).splitlines()
    budget = lines[lines.index("all monitors") + 1 :]
    assert budget[0].startswith("  budget    0.5 false alarms a year for 1 monitor: 104 verdicts")
    assert "expected with these levels: about 0." in budget[1]
    [forecast] = [line for line in lines if "forecast, method" in line]
    assert "confidence_level 0.99041" in forecast
    assert "level from alarm_budget" in forecast
    assert any("only 20 reference windows, which show levels up to 95.2 %" in line for line in lines)


def test_levels_that_are_written_and_use_more_than_the_budget_are_named(here):
    rules = "[{kind: drop, confidence_level: 0.9}, {kind: floor, value: 0.6}]"
    here.configure(window=until("2026-06-08"), rules=rules)
    path = here.folder / "rocmonitor.yaml"
    configured = path.read_text(encoding="utf-8")
    path.write_text(f"alarm_budget: {{false_alarms_per_year: 0.5}}\n{configured}", encoding="utf-8")
    assert "the levels written in the file alone use 2.6: leave confidence_level" in checked(here)


@pytest.mark.parametrize("value", ["0", "-1", ".inf", ".nan", "many"])
def test_a_budget_that_is_none_is_refused(here, value):
    here.configure(window=until("2026-06-08"), rules="[{kind: drop}]")
    path = here.folder / "rocmonitor.yaml"
    configured = path.read_text(encoding="utf-8")
    path.write_text(f"alarm_budget: {{false_alarms_per_year: {value}}}\n{configured}", encoding="utf-8")
    with pytest.raises(RocmonitorError, match=r"alarm_budget.false_alarms_per_year"):
        checked(here)


def test_a_reference_of_one_cluster_or_without_a_whole_window_is_said_to_be_that(here):
    one = "SELECT *, 1 AS customer FROM scored WHERE scored_at >= :start AND scored_at < :end"
    here.configure(window=until("2026-06-08"), rules="[{kind: forecast}]")
    written = (here.folder / "rocmonitor.yaml").read_text(encoding="utf-8")
    clustered = written.replace("columns: {", "columns: {cluster: customer, ")
    query = "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end"
    (here.folder / "rocmonitor.yaml").write_text(clustered.replace(query, one), encoding="utf-8")
    told = checked(here)
    assert "of the reference come from one cluster" in told
    assert "see whether columns.cluster names what rows belong to" in told
    assert "at least 2 of each" not in told
    here.configure(reference="{from: 2026-01-06, to: 2026-06-05}", window="{every: 1q}")
    assert "no whole window (1q) lies in it, so no rule can compare with it" in checked(here)


@pytest.mark.slow
def test_check_names_a_reference_week_far_from_the_others_and_what_it_does(here):
    here.clear(7)
    here.score(7, shift=-0.3)
    found = checked_with(here)
    assert "1 of 20 weeks (2026-02-23 (AUROC 0." in found
    assert "lies far below the others, about 0." in found
    assert "write reference: {without: [2026-02-23]}; if they were good" in found
    narrow, wide = re.findall(r"(0\.\d+) to (0\.\d+)", found.partition("the range of forecast is")[2])[:2]
    assert float(narrow[1]) - float(narrow[0]) < 0.6 * (float(wide[1]) - float(wide[0]))
    kept = checked_with(here, reference="{from: 2026-01-05, to: 2026-05-25, outliers: keep}")
    assert "counted, for reference.outliers is keep" in kept
    assert re.findall(r"(0\.\d+) to (0\.\d+)", kept.partition("the range of forecast is")[2])[:2] == [
        narrow,
        wide,
    ]
    assert "{outliers: keep}" not in kept
    without = checked_with(here, reference="{from: 2026-01-05, to: 2026-05-25, without: [2026-02-23]}")
    assert "19 windows (1 left out: reference.without)" in without
    assert "far below the others" not in without


@pytest.mark.slow
def test_a_reference_whose_last_weeks_are_far_from_the_others_ends_before_them(here):
    for number in (18, 19):
        here.clear(number)
        here.score(number, shift=-0.3)
    assert "end the reference before them (reference.to: 2026-05-11)" in checked_with(here)


def checked_with(here, **changes):
    here.configure(**changes)
    return checked(here)


@pytest.mark.parametrize(
    ("low", "expected", "high", "improved", "says"),
    [
        (0.0, 0.02, 0.04, 0.4, "hardly any false alarms (under 0.05 a year)"),
        (0.0, 0.02, 0.3, 0.0, "hardly any false alarms (under 0.05 a year); up to 0.3 are possible"),
        (0.0, 0.4, 2.0, 0.0, "about 0.4 false alarms a year (0 to 2)"),
        (
            0.5,
            1.0,
            2.0,
            2.2,
            "about 1 false alarm a year (0.5 to 2), and about 2 messages of an improvement that is not real",
        ),
    ],
)
def test_false_alarms_in_words(here, low, expected, high, improved, says):
    monitor = config.load(here.folder / "rocmonitor.yaml").monitors["credit"]
    rate = Rate(expected=expected, low=low, high=high)
    better = Rate(expected=improved, low=improved, high=improved)
    drawn = SimpleNamespace(false_alarms=lambda _: rate, improvements=lambda _: better)
    early = [SimpleNamespace(warnings_a_year=0.001)]
    said, doubts = answers.alarms(monitor, drawn, early, budgeted=False)
    assert said == f"{says}, and hardly any false warnings (under 0.05 a year) before the labels"
    assert doubts == []
    said, _ = answers.alarms(monitor, None, [SimpleNamespace(warnings_a_year=0.6)], budgeted=False)
    assert said == "about 0.6 false warnings a year, before the labels"


def _with_labels_after(here: World, days: int, now: datetime) -> None:
    """Score two more weeks, up to `now`, with the labels that are known by then."""
    for number in (22, 23):
        here.score(number)
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        known = (now - timedelta(days=days)).replace(tzinfo=None)
        database.execute("UPDATE scored SET label = NULL WHERE scored_at > ?", (str(known),))


def _told(here: World, now: datetime, **changes: str) -> checking.Checked:
    here.configure(**changes)
    return checking.check(config.load(here.folder / "rocmonitor.yaml"), now=now, output=lambda _: None)


@pytest.mark.parametrize("hours", [50, *(pytest.param(hours, marks=pytest.mark.slow) for hours in (1, 120))])
def test_check_notices_a_label_delay_that_is_too_short_on_any_day(here, hours):
    now = week(24) - timedelta(hours=hours)
    _with_labels_after(here, 6, now)
    doubts = _told(here, now, window="{every: 7d, label_delay: 1d}").doubts
    [doubt] = [text for text in doubts if "as old as those of a window when it is judged" in text]
    assert "set window.label_delay: 6d" in doubt
    doubts = _told(here, now, window="{every: 7d, label_delay: 7d}").doubts
    assert not any("as old as those" in text for text in doubts)


def test_check_refuses_the_last_window_as_run_does(here):
    """It has enough usable rows, but many that no label can make usable."""
    problems, _ = problems_of(here, "UPDATE scored SET label = 7 WHERE id > 2100000 AND id % 10 < 3")
    assert any("2026-06-08, would be insufficient" in str(problem) for problem in problems)
    [evaluation] = [
        each
        for each in tried(here.configure(window=until("2026-06-08")), week(30)).values()
        if not each.segment
    ]
    assert evaluation.outcome is Status.INSUFFICIENT


def test_check_warns_of_a_reference_with_many_unusable_rows(here):
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("UPDATE scored SET label = 7 WHERE id < 2000000 AND id % 10 < 3")
    doubts = _told(here, NOW, window=until("2026-06-08")).doubts
    assert any("30 % of the reference's rows cannot be used" in text for text in doubts)
