"""The command line as a user meets it: real processes, exit codes, clean stdout, no traceback."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scenario import World
from sqlalchemy import text

import rocmonitor
from rocmonitor import cli, config, demo, store
from rocmonitor.errors import DegenerateDataError, RocmonitorError, StoreError
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.service import checking
from rocmonitor.service.checking import forecast_alarms

ROOT = Path(rocmonitor.__file__).resolve().parents[1]


@pytest.fixture
def here(here: World) -> World:
    for number in (20, 21):
        here.score(number)
    here.configure(window=WINDOW)
    return here


WINDOW = "{every: 7d, label_delay: 2d, revise_for: 60d, end: 2026-06-08}"  # weeks 20 and 21


def rocmonitor_(*arguments: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder`; it must end with `code` and never with a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "rocmonitor", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    return done


def unread(*arguments: str, folder: Path) -> tuple[int, str]:
    """Exit code and stderr of a command whose output nobody reads: ``| head`` that has ended already."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "rocmonitor", *arguments],
        cwd=folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(writing)
    return done.returncode, done.stderr


def test_run_judges_delivers_and_prints_a_table(here):
    done = rocmonitor_("run", folder=here.folder)
    assert "2026-05-25 to 2026-06-01" in done.stdout
    assert done.stdout.count(" ok") == 4  # outcome and status of two windows
    assert "credit 2026-05-25 to 2026-06-01" in done.stderr  # progress is no data
    again = rocmonitor_("run", "credit", folder=here.folder)
    assert again.stdout == ""
    assert "nothing new is due" in again.stderr
    assert unread("history", "credit", folder=here.folder) == (0, "")


def test_json_is_the_same_as_the_store_and_nothing_else_is_on_stdout(here):
    told = json.loads(rocmonitor_("run", "--json", folder=here.folder).stdout)
    [monitor] = told["monitors"]
    assert told["undelivered"] == {}
    assert monitor["status"] == {"": "ok"}
    kept = json.loads(rocmonitor_("history", "credit", "--json", folder=here.folder).stdout)
    assert kept["evaluations"] == monitor["evaluations"]
    assert kept["outbox"] == {"waiting": 0, "errors": {}}


def test_degraded_is_exit_code_3_until_it_is_over(here):
    here.configure(window=WINDOW.replace("06-08", "06-15"))
    here.score(22, shift=0.2)
    assert "DEGRADED" not in rocmonitor_("run", "--dry-run", folder=here.folder, code=3).stderr
    assert here.alarms == ""
    rocmonitor_("run", folder=here.folder, code=3)
    assert here.alarms.startswith("DEGRADED credit")
    rocmonitor_("run", folder=here.folder, code=3)  # nothing new, but still degraded
    assert here.alarms.count("DEGRADED credit:") == 1
    shown = rocmonitor_("history", "credit", folder=here.folder).stdout
    assert "ok -> degraded" in shown
    assert "below its forecast interval" in shown


def test_too_few_rows_are_exit_code_4(here):
    here.configure(window=WINDOW.replace("06-08", "06-15"))
    told = rocmonitor_("run", folder=here.folder, code=4).stdout
    assert "insufficient 2026-06-08 to 2026-06-15\n    no rows" in told


def test_an_outside_system_that_fails_is_exit_code_5(here):
    (here.folder / "source.db").unlink()
    done = rocmonitor_("run", folder=here.folder, code=5)
    assert "source.db" in done.stderr
    assert here.alarms.startswith("ERROR credit")


def test_mlflow_that_is_down_keeps_the_evaluation_and_is_told(here, closed_port):
    here.configure(window=WINDOW, mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    done = rocmonitor_("run", folder=here.folder, code=5)
    assert done.stdout.count(" ok") == 4
    assert "not delivered yet, kept in the outbox" in done.stderr
    assert "outbox: 2 waiting" in rocmonitor_("history", "credit", folder=here.folder).stderr
    again = rocmonitor_("run", folder=here.folder, code=5)  # nothing new, but still undelivered
    assert "mlflow: not delivered yet" in again.stderr


def test_at_decides_what_is_due(here):
    assert "2026-06-01" not in rocmonitor_("run", "--at", "2026-05-31", folder=here.folder).stdout
    done = rocmonitor_("run", "--at", "2026-06-04T00:00", "--json", folder=here.folder)
    assert len(json.loads(done.stdout)["monitors"][0]["evaluations"]) == 1
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert "lies in the future" in rocmonitor_("run", "--at", tomorrow, folder=here.folder, code=2).stderr


def test_backfill_judges_what_lies_between(here):
    done = rocmonitor_(
        "backfill", "credit", "--from", "2026-05-18", "--to", "2026-06-02", "--json", folder=here.folder
    )
    starts = [
        evaluation["window"]["start"][:10]
        for evaluation in json.loads(done.stdout)["monitors"][0]["evaluations"]
    ]
    assert starts == ["2026-05-18", "2026-05-25"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "nosuch"), "no monitor 'nosuch' under monitors (defined: credit)"),
        (("history", "nosuch"), "no monitor 'nosuch'"),
        (("channel", "test", "nosuch"), "no channel 'nosuch' under channels (defined: log)"),
        (("run", "--at", "yesterday"), "--at must be a date or time such as"),
        (("backfill", "credit", "--from", "2026-06-02", "--to", "2026-06-01"), "must come before --to"),
        (("backfill", "credit", "--from", "2026-06-02", "--to", "2026-06-03"), "no whole window of credit"),
        (("backfill", "credit"), "Missing option '--from'"),
        (("nosuch",), "No such command 'nosuch'"),
        (("--config", "none.yaml", "run"), "none.yaml: cannot be read"),
        (("auc", "rocmonitor.yaml", "--label", "y", "--score", "s"), "must be a .csv, .tsv or .parquet file"),
        (("init",), "exists already and is left as it is"),
    ],
)
def test_wrong_use_is_exit_code_2_and_says_what_to_do(here, arguments, says):
    assert says in rocmonitor_(*arguments, folder=here.folder, code=2).stderr


def test_every_problem_of_the_configuration_is_told_at_once(here):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("every: 7d", "every: 7").replace("notify: [log]", "notify: [oops]")
    )
    told = rocmonitor_("run", folder=here.folder, code=2).stderr
    assert "monitors.credit.window.every: must be a whole number" in told
    assert "monitors.credit.notify: 'oops' is not defined under channels" in told


def test_a_column_that_is_missing_is_told_with_those_that_are_there(here):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text().replace("label: label", "label: defaulted"))
    told = rocmonitor_("check", folder=here.folder, code=2).stdout
    assert "monitors.credit.columns.label" in told
    assert "region" in told


def test_check_explains_and_changes_nothing(here):
    before = sorted(path.name for path in here.folder.iterdir())
    told = rocmonitor_("check", folder=here.folder).stdout
    assert "20 windows, 8,000 rows, 8,000 labelled" in told
    assert re.search(r"1\d\d positives and 2\d\d negatives are expected, with an AUROC of 0\.", told)
    assert re.search(r"about [\d.]+ false alarms .* alone: forecast [\d.]+, drop [\d.]+\)", told)
    assert re.search(r"a drop by 0\.0\d+ or more is found in the first window with 80 % probability", told)
    assert sorted(path.name for path in here.folder.iterdir()) == before


def checked(here: World) -> str:
    lines: list[str] = []
    checking.check(
        config.load(here.folder / "rocmonitor.yaml"), now=datetime(2026, 7, 1, tzinfo=UTC), tell=lines.append
    )
    return "\n".join(lines)


def test_check_tells_what_it_assumes_of_a_reference_that_is_too_large_to_read(here, monkeypatch):
    here.configure(window=WINDOW, rules="[{kind: drop}, {kind: floor, value: 0.79}]")
    read = checked(here)
    assert "not read here" not in read
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    told = checked(here)
    assert (
        "more than 7,999 rows, which are not read here: it is taken to scatter as the last window does"
        in told
    )
    assert "(each rule alone: drop" in told
    monkeypatch.setattr(checking, "MOST_ROWS", 399)
    told = checked(here)
    assert "it is taken to have an AUROC of 0.8" in told
    assert "drop by" in told
    assert "no floor is counted" in told
    assert "alone: drop" not in told
    # What a drop costs in false alarms hardly depends on the model.
    alone = float(re.search(r"alone: drop (\d\.\d+)", read)[1])
    assert float(re.search(r"wrong: about (\d\.\d+)", told)[1]) == pytest.approx(alone, rel=0.5)


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
            {"rules": "[{kind: drop, value: 0.02}, {kind: challenger}]"},
            "for drop this counts sampling error only: windows that really differ alarm more often",
        ),
        ({"rules": "[{kind: forecast}]"}, "messages a year that it has improved, when it has not"),
        ({"rules": "[{kind: challenger}]"}, "no rule here can be counted on to alarm"),
        ({"rules": "[{kind: drop, value: 0.8}]"}, "no drop is found in a single window"),
        ({"alarm": "{after: 2, of: 3}"}, "; degraded is told at 2 of 3 windows"),
        ({"segments": "[region]"}, "each segment value is watched on its own"),
    ],
)
def test_check_tells_what_the_rules_will_do(here, change, says):
    here.configure(window=WINDOW, **change)
    assert says in checked(here)


def test_check_judges_the_reference_windows_by_the_rules(here):
    """Six of them are much worse: each rule finds what it finds when it judges them one by one."""
    with sqlite3.connect(here.folder / "source.db") as database:
        database.execute("UPDATE scored SET p = -p WHERE id < 600000")
    here.configure(window=WINDOW, rules="[{kind: drop, value: 0.1}, {kind: floor, value: 0.05}]")
    told = checked(here)
    assert "6 of the 20 reference windows would be degraded (drop 6, floor none): they are part of" in told
    here.configure(window=WINDOW, rules="[{kind: floor, value: 0.05}, {kind: challenger}]")
    assert "none of the 20 reference windows would be degraded: they are part of" in checked(here)


def test_check_judges_the_latest_reference_windows_that_are_large_enough(here, monkeypatch):
    monkeypatch.setattr(forecast_alarms, "MOST_JUDGED", 10)
    here.configure(window=WINDOW, rules="[{kind: floor, value: 0.95}]")
    assert "10 of the last 10 reference windows would be degraded: they are part of" in checked(here)
    with sqlite3.connect(here.folder / "source.db") as database:
        database.execute("UPDATE scored SET label = NULL WHERE id < 1800000 AND id % 100000 > 20")
    assert "2 of the 2 reference windows that are large enough would be degraded" in checked(here)


def problems_of(here: World, update: str = "", **changes: str) -> tuple[list[RocmonitorError], str]:
    """What is wrong after the source has changed, and all that is told."""
    here.configure(window=WINDOW, **changes)
    if update:
        with sqlite3.connect(here.folder / "source.db") as database:
            database.execute(update)
    lines: list[str] = []
    problems = checking.check(
        config.load(here.folder / "rocmonitor.yaml"), now=datetime(2026, 7, 1, tzinfo=UTC), tell=lines.append
    )
    return problems, "\n".join(lines)


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ("p = label WHERE id < 2000000", "separate its classes completely (AUROC 1)"),
        ("p = -label WHERE id < 2000000", "is `positive.scores` turned around?"),
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
    assert "false alarms cannot be told" in told
    assert "AucSpread" not in told


def test_a_reference_of_one_class_is_no_problem_for_rules_that_do_not_compare(here):
    rules = "[{kind: floor, value: 0.5}, {kind: challenger}]"
    problems, told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 2000000", rules=rules)
    assert problems == []
    assert "cannot be told: the reference has 0 positives and 8,000 negatives" in told


def test_a_reference_of_one_class_is_a_problem_when_it_is_too_large_to_read(here, monkeypatch):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", 7_999)
    [problem], _ = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 2000000")
    assert "0 positives and 8,000 negatives" in str(problem)


@pytest.mark.parametrize("most", [200_000, 7_999])
def test_one_window_is_too_few_for_a_calibrated_forecast(here, monkeypatch, most):
    monkeypatch.setattr(checking, "MOST_REFERENCE_ROWS", most)
    [problem], told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 1900000")
    assert "forecast: method calibrated learns from past windows" in str(problem)
    assert "one window with both classes" in str(problem)
    assert "reference.windows: 19 or more" in str(problem)
    assert "19 windows have labels of one kind or none, and are set aside" in told
    assert "2026-01-19 to 2026-01-26 …" in told
    assert "forecast " not in told[told.index("when nothing is wrong") :]


def test_a_rule_that_the_reference_cannot_be_computed_for_is_a_problem(here, monkeypatch):
    def lacking(*arguments: object) -> Reference:
        whole = freeze(*arguments)
        return replace(whole, forecasts={}, caveats=("forecast: no reweighting reaches window 3",))

    monkeypatch.setattr(checking, "freeze", lacking)
    [problem], _ = problems_of(here)
    assert str(problem) == "forecast: no reweighting reaches window 3"


def test_one_window_that_is_set_aside_is_told_in_the_singular(here):
    problems, told = problems_of(here, "UPDATE scored SET label = 0 WHERE id < 100000")
    assert "1 window has labels of one kind or none, and is set aside: 2026-01-05 to 2026-01-12\n" in told
    assert problems == []


def test_check_names_the_segment_values_that_are_too_small(here):
    for region in ("tiny", "r1", "r2", "r3", "r4", "r5", "r6"):
        here.score(21, n=10, region=region)
    _, told = problems_of(here, segments="[region]", min_per_class="20")
    assert re.search(r"region=r1: \d positives and \d negatives, min_per_class is 20: insufficient", told)
    assert told.count("is 20: insufficient") == checking.MOST_SEGMENTS
    assert "and 2 more that are insufficient" in told
    assert "region=all" not in told


def test_check_tells_where_costs_are_reported(here):
    path = here.folder / "rocmonitor.yaml"
    here.configure(window=WINDOW)
    path.write_text(path.read_text().replace("cost: [{w: 0.2}]", "cost: [{w: 0.2}, {w: 0}, {w: 1}]"))
    assert re.search(
        r"costs at w = 0\.2 \(threshold [\d.]+ of the reference\), w = 0 \(flags noth", checked(here)
    )


def test_check_tells_how_a_review_decides(here):
    told = checked(here)
    assert (
        "the difference of the AUROC and of the TPR at FPR 0.1, 95 % at all looks together; windows since the"
        in told
    )
    assert "no review.schedule, so `serve` makes none" in told
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        f"{path.read_text()}    review: {{margin: 0.01, fpr: [], start: 2026-06-01, schedule: '0 7 * * 1'}}\n"
    )
    told = checked(here)
    assert "AUROC beyond 0.01, 95 % at all looks together; windows since 2026-06-01 00:00" in told
    assert "and by `serve` at 0 7 * * mon" in told


@pytest.mark.parametrize(("rows", "code"), [(20, 0), (5000, 4)])
def test_a_reader_who_has_seen_enough_changes_no_exit_code(here, rows, code):
    here.configure(window=WINDOW, min_per_class=str(rows))
    assert unread("check", folder=here.folder) == (code, "")


@pytest.mark.parametrize(
    ("rows", "code", "says"),
    [
        ({"p": "low"}, 4, "400 without a usable score"),
        ({"label": 2}, 4, "400 with another label"),
        ({"labelled": 0.0}, 4, "400 without a label"),
        (None, 4, "no rows"),
    ],
)
def test_check_tells_that_a_window_cannot_be_judged_and_why(here, rows, code, says):
    here.configure(window=WINDOW.replace("06-08", "06-15"))
    if rows is not None:
        here.score(22, **{name: value for name, value in rows.items() if name != "p"})
    if rows == {"p": "low"}:
        with sqlite3.connect(here.folder / "source.db") as database:
            database.execute("UPDATE scored SET p = 'low' WHERE id >= 2200000")
    told = rocmonitor_("check", folder=here.folder, code=code).stdout
    assert says in told


def test_check_tells_of_a_reference_without_rows(here):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("from: 2026-01-05, to: 2026-05-25", "from: 2025-01-05, to: 2025-05-25")
    )
    assert "0 rows, none labelled" in rocmonitor_("check", folder=here.folder, code=4).stdout


def test_check_does_not_make_mlflow(here):
    (here.folder / "mlflow.db").unlink()
    here.configure(window=WINDOW, model="{name: credit, champion: champion}")
    assert "no model has an alias in it" in rocmonitor_("check", folder=here.folder, code=2).stdout
    assert not (here.folder / "mlflow.db").exists()


def test_init_where_nothing_can_be_written(tmp_path):
    told = rocmonitor_("--config", "nosuch/rocmonitor.yaml", "init", folder=tmp_path, code=2).stderr
    assert "nosuch/rocmonitor.yaml: cannot be written" in told


def test_a_review_is_printed_written_and_told(here):
    done = rocmonitor_("review", "credit", "--output", "report.html", folder=here.folder)
    assert "credit: champion 7 against challenger 8" in done.stdout
    assert "NO DECISION YET" in done.stdout
    assert "reference 2026-01-05 to 2026-01-12 (1 of 20)" in done.stderr
    assert "wrote report.html" in done.stderr
    page = (here.folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    told = json.loads(rocmonitor_("review", "credit", "--json", folder=here.folder).stdout)
    assert (told["delivered"], told["undelivered"]) == (0, {})  # by the first
    assert told["review"]["decision"] == "no decision yet"
    assert told["review"]["registered"]
    assert "no decision yet" in page.lower()
    assert here.alarms == ""


def test_a_review_that_cannot_be_is_refused_with_its_exit_code(here, closed_port):
    def refused(code: int, *arguments: str) -> str:
        return rocmonitor_("review", *arguments, folder=here.folder, code=code).stderr

    said = refused(2, "credit", "--output", "nowhere/report.html")
    assert "--output nowhere/report.html cannot be written: there is no folder nowhere" in said
    assert "credit review" not in said  # before the work, not after it
    assert "it is a folder" in refused(2, "credit", "--output", str(here.folder))
    assert "no monitor 'nobody'" in refused(2, "nobody")
    assert "must come before --to" in refused(2, "credit", "--from", "2026-06-02", "--to", "2026-06-01")
    assert "no window from 2027-01-01" in refused(4, "credit", "--from", "2027-01-01")
    assert not (here.folder / "report.html").exists()


def test_a_dry_review_tells_nobody_and_mlflow_that_is_down_is_told_later(here, closed_port):
    here.configure(window=WINDOW, mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    rocmonitor_("review", "credit", "--dry-run", "--json", folder=here.folder)
    done = rocmonitor_("review", "credit", "--from", "2026-05-25", folder=here.folder, code=5)
    assert "chosen by hand" in done.stdout
    assert "mlflow: not delivered yet, kept in the outbox" in done.stderr
    assert "outbox: 1 waiting" in done.stderr


def test_a_channel_can_be_tried(here):
    rocmonitor_("channel", "test", "log", folder=here.folder)
    assert here.alarms.startswith("TEST of channel log")


def test_the_store_can_be_made_and_checked(here):
    assert "db upgrade" in rocmonitor_("db", "check", folder=here.folder, code=5).stderr
    rocmonitor_("db", "upgrade", folder=here.folder)
    rocmonitor_("db", "check", folder=here.folder)


def test_check_says_of_the_store_what_a_run_will_do(here):
    known = here.configure()
    assert "a SQLite file that the first run will make\n" in checked(here)
    with store.open_store(known.store_url) as kept:
        assert "store     reachable, at this version" in checked(here)
        with kept.writing() as connection:
            connection.execute(text("UPDATE rocmonitor_alembic_version SET version_num = '0001'"))
    with pytest.raises(StoreError, match=r"its schema is 0001, .*run `rocmonitor db upgrade`") as refused:
        store.open_store(known.store_url)
    assert f"store     PROBLEM: {refused.value}" in checked(here)


def test_init_writes_a_configuration_that_is_read(tmp_path):
    rocmonitor_("init", folder=tmp_path)
    assert config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules


def test_the_demo_ends_with_the_next_step(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "build", lambda folder, on_progress: None)
    cli.init.callback.__wrapped__(tmp_path / "rocmonitor.yaml", demo=True)
    assert capsys.readouterr().err.endswith(
        "next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it\n"
    )


def test_auc_of_a_file(tmp_path):
    rows = ["y,a,b", "1,0.9,3", "0,0.1,1", "1,0.4,2", "0,0.4,4", ",0.5,5", "7,0.5,5", "1,x,5"]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    shown = rocmonitor_("auc", "rows.csv", "--label", "y", "--score", "a", folder=tmp_path).stdout
    assert shown.startswith("a: AUROC 0.875000")
    assert "set aside of 7 rows: 1 without a label, 1 without a usable score, 1 with a label of" in shown
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    both = ("auc", "rows.csv.gz", "--label", "y", "--score", "b", "--score", "a")
    assert (
        "difference (challenger a minus champion b): +0.375000, 95 % "
        in rocmonitor_(*both, folder=tmp_path).stdout
    )
    answer = json.loads(rocmonitor_(*both, "--json", folder=tmp_path).stdout)
    assert set(answer) == {"scores", "rows", "difference"}
    assert answer["rows"] == {"rows": 7, "used": 4, "bad_score": 1, "unlabelled": 1, "bad_label": 1}
    area, difference = answer["scores"]["a"], answer["difference"]
    assert (area["auc"], area["positives"], area["negatives"]) == (0.875, 2, 2)
    assert area["auc_low"] < area["auc"] < area["auc_high"]
    assert 0 < area["auc_se_exact_bootstrap"] != area["auc_se"]
    assert answer["scores"]["b"]["auc"] == 0.5
    assert difference["auc"] == 0.375
    assert difference["auc_low"] < 0.375 < difference["auc_high"]
    assert 0 < difference["pvalue"] < 1
    missing = rocmonitor_("auc", "rows.csv", "--label", "y", "--score", "c", folder=tmp_path, code=2)
    assert "no column c; there are y, a, b" in missing.stderr


def test_importing_the_package_needs_neither_mlflow_nor_time():
    code = "import sys, rocmonitor; print(sorted({'mlflow', 'numpy', 'pandas'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_tells_every_command_and_exit_code():
    told = rocmonitor_("--help", folder=Path.cwd()).stdout
    for command in ("init", "check", "run", "backfill", "serve", "history", "channel", "db", "auc"):
        assert f"  {command} " in told
    assert "3 degraded, 4 insufficient data" in " ".join(told.split())
