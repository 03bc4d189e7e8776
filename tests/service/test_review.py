"""A review from the configuration to the outbox, on real databases and a real registry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from mlflow import MlflowClient
from scenario import Clock, World, week, world
from servers import MlflowServer
from store.examples import a_review

from rocmonitor import alerts, config, store
from rocmonitor.errors import (
    ConfigError,
    DegenerateDataError,
    InputError,
    RocmonitorError,
    SourceError,
    StoreError,
    TrackingError,
)
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.policy.windows import Window
from rocmonitor.report.review import page
from rocmonitor.service.delivery import FIRST_RETRY, drain
from rocmonitor.service.leases import LEASE, hold_lease
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import migrate
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.review import KINDS, summary, title

DAY = timedelta(days=1)
NOW = week(24) + 3 * DAY
BY_ALIAS = "{name: credit, champion: champion, challenger: challenger}"
QUICK = "n_resamples: 99"


@dataclass(frozen=True)
class Reviewed(World):
    """A world with a reference of four weeks, 16 to 19, and a section `review`."""

    def configure(self, **changes: str) -> config.Config:
        said, beside = changes.pop("review", ""), changes.pop("store", "")
        more = changes.pop("monitor", "")
        section = f"    review: {{{', '.join(part for part in (QUICK, said) if part)}}}\n"
        if said == "none":
            section = ""
        section += f"    {more}\n" if more else ""
        super().configure(**changes)
        path = self.folder / "rocmonitor.yaml"
        text = path.read_text(encoding="utf-8").replace("from: 2026-01-05,", "from: 2026-04-27,")
        path.write_text(f"{beside}\n{text}{section}", encoding="utf-8")
        return config.load(path)


@pytest.fixture
def here(here: World) -> Reviewed:
    """Four weeks to review, 20 to 23, in which the challenger is much better."""
    reviewed = Reviewed(folder=here.folder, source_url=here.source_url)
    for number in range(20, 24):
        reviewed.score(number, shift=0.3)
    return reviewed


@pytest.fixture
def registry(here: Reviewed) -> MlflowClient:
    """A real registry with three versions: champion 1, challenger 2."""
    return registered(MlflowClient(f"sqlite:///{here.folder}/mlflow.db"), "credit")


def registered(client: MlflowClient, name: str) -> MlflowClient:
    client.create_registered_model(name)
    for _ in range(3):
        client.create_model_version(name, source="s3://models/credit")
    client.set_registered_model_alias(name, "champion", "1")
    client.set_registered_model_alias(name, "challenger", "2")
    return client


def reviewed(here: World, now: datetime = NOW, **changes: Any) -> Review:
    known = ("start", "end", "segment", "dry_run", "progress")
    options = {name: changes.pop(name) for name in known if name in changes}
    with here.runtime(now, **changes) as runtime:
        return review_monitor(runtime, runtime.config.monitors["credit"], now=now, **options)


def judged(here: World, now: datetime, **changes: str) -> None:
    with here.runtime(now, **changes) as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=now).error is None


def waiting(here: World, now: datetime = NOW, **changes: str) -> list[store.Delivery]:
    with here.runtime(now, **changes) as runtime:
        return [each for each in store.pending(runtime.store, now) if each.review_id is not None]


def saved(here: World) -> list[Review]:
    with here.runtime(NOW) as runtime:
        return store.reviews(runtime.store, "credit")


def starts(review: Review) -> list[datetime]:
    return [datetime.fromisoformat(row["start"]) for row in review.tables["windows"]]


def caveats(review: Review, code: str) -> list[dict[str, Any]]:
    """The values of the caveats with this code."""
    return [caveat.values for caveat in review.caveats if caveat.code == code]


def test_a_review_is_saved_with_its_notifications(here):
    found = reviewed(here)
    assert found.decision is Decision.CHALLENGER
    assert (found.champion_version, found.challenger_version) == ("7", "8")
    assert found.period == Window(week(20), week(24))
    assert found.registered
    assert found.decided_at in {week(number) for number in range(21, 25)}
    assert found.metrics["data/rows"] == 1600
    assert starts(found) == [week(number) for number in range(20, 24)]
    assert saved(here) == [found]
    assert Review.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert [each.destination for each in waiting(here)] == ["mlflow", "channel:log"]


def test_its_provenance_is_enough_to_repeat_it(here):
    provenance = reviewed(here).provenance
    assert provenance["query"].startswith("SELECT * FROM scored")
    assert [each["start"] for each in provenance["windows"]] == [
        week(number).isoformat() for number in range(20, 24)
    ]
    assert [each["start"] for each in provenance["setting_windows"]] == [
        week(number).isoformat() for number in range(16, 20)
    ]
    assert {"seed", "data_digest", "settings", "numpy", "scipy", "pandas", "mlflow", "rocmonitor"} <= set(
        provenance
    )
    assert provenance["settings"]["n_resamples"] == 99


def test_a_repeat_computes_nothing_changes_nothing_and_gives_the_first(here):
    first = reviewed(here)
    steps: list[str] = []
    assert reviewed(here, NOW + DAY, progress=steps.append) == first
    assert steps
    assert not any("AUROC" in step for step in steps)
    assert saved(here) == [first]
    assert len(waiting(here)) == 2


def test_the_same_rows_give_the_same_numbers_however_they_are_read(here, tmp_path):
    raw = reviewed(here)
    grouped = reviewed(here, grouped="database", dry_run=True)
    assert grouped == raw  # the same key: found in the store
    (tmp_path / "rocmonitor.db").unlink()
    again = reviewed(here, grouped="database", dry_run=True)
    assert again.provenance == raw.provenance
    assert again.metrics == pytest.approx(raw.metrics, rel=1e-9, abs=1e-12)


def test_every_row_is_counted_once(here):
    here.score(20, n=30, region="a", q=None)
    here.score(21, n=20, region="b", p=None)
    here.score(21, n=7, region="c", p=None, q=None)
    here.score(22, n=9, region="d", label=None)
    here.score(22, n=5, region="e", label=3)
    here.score(22, n=4, region="f", p=None, label=None)
    found = reviewed(here)
    counts = {row["kind"]: row["rows"] for row in found.tables["counts"]}
    assert counts == {
        "read": 1675,
        "compared": 1600,
        "champion_only": 30,
        "challenger_only": 20,
        "bad_score": 11,
        "unlabelled": 9,
        "bad_label": 5,
        "duplicates": 0,
        "two_labels": 0,
        "outside": 0,
    }
    assert set(counts) == set(KINDS)
    assert found.metrics["review/champion_only"] == 30
    assert found.metrics["review/challenger_only"] == 20
    [values] = caveats(found, "one-model-only")
    assert values == {"champion": 30, "challenger": 20, "compared": 1600}
    assert any(each.about == ("2026-06-08 to 2026-06-15",) for each in found.caveats)  # its bad labels


def test_segments_are_pooled_over_the_period(here):
    for number in (20, 22):
        here.score(number, n=200, region="north", shift=0.3)
    found = reviewed(here, segments="[region]")
    rows = {row["segment"]: row["rows"] for row in found.tables["segments"]}
    assert rows == {"region=all": 1600, "region=north": 400}


def test_a_segment_is_reviewed_alone_and_chosen_by_hand(here):
    for number in (18, 20, 22):
        here.score(number, n=200, region="north", shift=0.3)
    whole = reviewed(here, segments="[region]")
    found = reviewed(here, segments="[region]", segment="region=north")
    assert (found.segment, found.subject) == ("region=north", "credit, region=north")
    assert found.metrics["data/rows"] == 400
    assert found.tables["counts"][0] == {"kind": "read", "rows": 400}
    assert [row["rows"] for row in found.tables["windows"]] == [200, 0, 200, 0]
    assert found.tables["segments"] == []
    [row] = [row for row in whole.tables["segments"] if row["segment"] == "region=north"]
    assert found.metrics["difference/auc"] == pytest.approx(row["difference"])
    assert not found.registered
    assert caveats(found, "segment-by-hand") == [{"segment": "region=north"}]
    assert [each.key for each in saved(here)] == [whole.key, found.key]
    with pytest.raises(
        InputError, match=r"--segment must be one of.*'region=nowhere'.*region=all, region=north"
    ):
        reviewed(here, segments="[region]", segment="region=nowhere")
    with pytest.raises(InputError, match=r"none \(monitors\.credit\.segments is empty\)"):
        reviewed(here, segment="region=north")


@pytest.mark.slow
def test_windows_whose_labels_are_awaited_are_left_out_and_counted(here):
    found = reviewed(here, week(24) + 1 * DAY)
    assert found.period == Window(week(20), week(23))
    assert caveats(found, "windows-waiting") == [{"count": 1}]
    assert found.metrics["review/windows_waiting"] == 1
    later = reviewed(here, week(24) + 2 * DAY)
    assert later.period == Window(week(20), week(24))
    assert later.metrics["review/windows_waiting"] == 0


def test_windows_after_the_last_row_are_not_compared(here):
    later = reviewed(here, now=week(400) + DAY)
    assert starts(later) == [week(number) for number in range(20, 24)]
    [left] = caveats(later, "windows-without-rows")
    assert left == {"count": 375}


def test_nothing_due_is_said_with_the_way_out(here):
    with pytest.raises(
        DegenerateDataError, match=r"no window from 2026-05-25 .*1 waiting for labels.*--from"
    ):
        reviewed(here, week(21) + 1 * DAY)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"q": None}, "0 labelled positives and 0 negatives.*400 scored by the champion only"),
        ({"p": None}, "0 labelled positives and 0 negatives.*400 scored by the challenger only"),
        ({"label": None}, "400 without a label"),
        ({"label": 1}, "400 labelled positives and 0 negatives; at least 2 of each"),
    ],
)
def test_nothing_to_compare_is_said_with_the_counts(here, columns, words):
    here.score(24, **columns)
    now = week(25) + 3 * DAY
    with pytest.raises(DegenerateDataError, match=words):
        reviewed(here, now, start=week(24), end=week(25))
    assert saved(here) == []


def test_a_period_chosen_by_hand_is_marked_and_alarms_nobody(here):
    found = reviewed(here, start=week(21), end=week(23))
    assert found.period == Window(week(21), week(23))
    assert not found.registered
    assert caveats(found, "period-by-hand") == [{}]
    assert [each.destination for each in waiting(here)] == ["mlflow"]
    same = reviewed(here, start=week(20), end=week(24))
    assert not same.registered
    assert reviewed(here).registered  # though the rows are the same
    assert not reviewed(here, end=week(22)).registered


def test_thresholds_are_chosen_on_rows_that_are_not_compared(here):
    overlapping = reviewed(here, start=week(18))
    assert [each["start"] for each in overlapping.provenance["setting_windows"]] == [
        week(number).isoformat() for number in (16, 17)
    ]
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET q = NULL WHERE id < 2000000")  # before the challenger
    found = reviewed(here)
    assert found.period == Window(week(21), week(24))
    assert [each["start"] for each in found.provenance["setting_windows"]] == [week(20).isoformat()]
    [values] = caveats(found, "thresholds-from-first-windows")
    assert values == {"min_per_class": 20, "until": "2026-06-01 00:00"}
    assert found.tables["costs"]
    again = reviewed(here, start=found.period.start, end=found.period.end)
    assert (again.metrics, again.tables) == (found.metrics, found.tables)
    assert again.provenance == found.provenance


def test_low_scores_that_are_positive_have_the_thresholds_they_are_given(here, tmp_path):
    known = reviewed(here, dry_run=True, review="thresholds: [0.5]")
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET p = 1 - p, q = 1 - q")  # P(negative), as it were
    lower = "positive: {scores: lower}"
    found = reviewed(here, dry_run=True, review="thresholds: [0.5]", monitor=lower)
    assert found.metrics == pytest.approx(known.metrics, rel=1e-9, abs=1e-12)
    for table in ("thresholds", "dominance", "costs"):
        pairs = [
            (row[f"{model}_threshold"], as_known[f"{model}_threshold"])
            for row, as_known in zip(some(found, table), some(known, table), strict=True)
            for model in ("champion", "challenger")
        ]
        assert all(one == pytest.approx(1 - other, abs=1e-9) for one, other in pairs)
    given, as_given = (each.tables["thresholds"][0] for each in (found, known))
    assert (given["pairing"], given["champion_flagged"]) == ("given", as_given["champion_flagged"])
    assert [len(caveats(each, "low-scores-positive")) for each in (found, known)] == [1, 0]


def some(review: Review, table: str) -> list[dict[str, Any]]:
    """The rows of a table whose thresholds do not depend on scores being probabilities."""
    return [row for row in review.tables[table] if row.get("pairing") != "calibrated"]


def test_with_too_few_rows_to_choose_on_there_are_no_chosen_thresholds(here):
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET q = NULL WHERE id < 2000000")
    found = reviewed(here, week(21) + 3 * DAY)
    assert found.period == Window(week(20), week(21))
    assert found.provenance["setting_windows"] == []
    assert found.tables["costs"] == []


@pytest.mark.slow
def test_the_period_begins_with_the_first_window_of_the_present_versions(here):
    model = "{{name: credit, version: 7, challenger_version: {}}}"
    judged(here, week(22) + 3 * DAY, model=model.format(9))  # weeks 20 and 21
    judged(here, NOW, model=model.format(8))
    found = reviewed(here)
    assert found.period == Window(week(22), week(24))
    assert caveats(found, "windows-of-other-versions") == []
    early = reviewed(here, review="start: 2026-05-25, margin: 0.001")
    assert starts(early) == [week(22), week(23)]
    assert caveats(early, "windows-of-other-versions") == [{"count": 2, "compared": False}]
    by_hand = reviewed(here, start=week(20))
    assert starts(by_hand) == [week(number) for number in range(20, 24)]
    assert caveats(by_hand, "windows-of-other-versions") == [{"count": 2, "compared": True}]


def test_versions_that_nothing_was_judged_with_yet_begin_after_the_others(here):
    judged(here, week(22) + 3 * DAY, model="{name: credit, version: 7, challenger_version: 9}")
    assert starts(reviewed(here)) == [week(22), week(23)]
    with pytest.raises(DegenerateDataError, match="no window from 2026-06-08"):
        reviewed(here, week(22) + 3 * DAY)


def test_a_challenger_that_was_not_known_when_a_window_was_judged_is_no_other(here):
    judged(here, week(22) + 3 * DAY, model="{name: credit, version: 7}", review="none")
    assert starts(reviewed(here)) == [week(number) for number in range(20, 24)]


def test_the_configured_start_is_a_wall_time(here):
    assert reviewed(here, review="start: 2026-06-08").period == Window(week(22), week(24))


def test_windows_that_were_judged_early_need_not_wait(here):
    window = "{every: 7d, label_delay: 30d, min_labelled: 0.95}"
    judged(here, NOW, window=window)
    assert len(starts(reviewed(here, window=window))) == 4


def test_another_rule_is_noticed_and_each_change_makes_another_review(here):
    first = reviewed(here, week(22) + 3 * DAY)
    second = reviewed(here)
    assert caveats(second, "rule-changed") == []
    changed = reviewed(here, review="margin: 0.01")
    assert caveats(changed, "rule-changed") == [{"count": 2, "last": "2026-06-25"}]
    shown = reviewed(here, review="thresholds: [0.25]")
    assert shown != second
    assert [row["champion_threshold"] for row in shown.tables["thresholds"] if row["pairing"] == "given"] == [
        0.25
    ]
    moved = reviewed(here, review="start: 2026-06-01")
    [values] = caveats(moved, "start-changed")
    assert (values["before"], values["reviewed"]) == ("2026-05-25 00:00Z", "2026-06-25")
    assert len({first.key, second.key, changed.key, shown.key, moved.key}) == 5


@pytest.mark.slow
def test_rows_that_changed_since_an_earlier_review_are_noticed(here):
    reviewed(here, week(22) + 3 * DAY)
    here.score(20, n=50, region="late", shift=0.3)
    found = reviewed(here)
    assert caveats(found, "rows-changed") == [{"count": 1, "reviewed": "2026-06-11"}]


@pytest.mark.slow
def test_a_channel_hears_of_a_decision_once(here):
    for number in range(22, 25):
        reviewed(here, week(number) + 3 * DAY)
    told = [each.destination for each in waiting(here)]
    assert told.count("mlflow") == 3
    assert told.count("channel:log") == 1
    with here.runtime(NOW) as runtime:
        drain(runtime)
    last = next(each for each in saved(here) if each.decision is Decision.CHALLENGER)
    assert here.alarms.startswith(f"REVIEW credit: {title(last)}\n")
    assert here.alarms.count("REVIEW credit:") == 1
    assert "\nChallenger better, challenger 8 against champion 7: AUROC +" in here.alarms
    assert "\nNothing was promoted.\n" in here.alarms


def test_no_decision_is_no_news(here):
    found = reviewed(here, week(18) + 3 * DAY, review="start: 2026-05-04", start=week(16), end=week(17))
    assert found.decision is Decision.UNDECIDED
    assert [each.destination for each in waiting(here)] == ["mlflow"]


def test_a_decision_that_later_windows_leave_open_is_no_news_nor_is_its_return(here):
    assert reviewed(here).decision is Decision.CHALLENGER
    assert reviewed(here, review="decides: future").decision is Decision.UNDECIDED
    assert reviewed(here, review="tuned_for: 9").decision is Decision.CHALLENGER
    [first] = [each.payload for each in waiting(here) if each.destination == "channel:log"]
    assert first == {"before": None}
    assert [each.destination for each in waiting(here)].count("channel:log") == 1


def test_the_message_about_a_first_decision_names_the_undecided_review_before_it(here):
    assert reviewed(here, review="decides: future").decision is Decision.UNDECIDED
    assert reviewed(here).decision is Decision.CHALLENGER
    assert {"before": "no decision yet"} in [each.payload for each in waiting(here)]


def test_a_dry_run_saves_nothing(here, registry):
    found = reviewed(here, dry_run=True, model=BY_ALIAS)
    assert found.decision is Decision.CHALLENGER
    assert saved(here) == []
    assert waiting(here) == []
    with here.runtime(NOW) as runtime:
        assert store.alias(runtime.store, "credit", "champion") is None
    assert reviewed(here, model=BY_ALIAS).metrics == found.metrics


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        (
            {"version": 2, "challenger_version": 2},
            InputError,
            "version and challenger_version .* both version 2",
        ),
        ({"champion": "champion", "challenger": "champion"}, InputError, "alias champion and alias champion"),
        (
            {"champion": "champion", "challenger_version": 1},
            InputError,
            "alias champion and challenger_version",
        ),
        (
            {"champion": "champion", "challenger": "nobody"},
            TrackingError,
            "no alias 'nobody'; it has: challenger",
        ),
        ({"champion": "nobody", "challenger": "challenger"}, TrackingError, "no alias 'nobody'"),
    ],
)
def test_two_different_versions_are_needed(here, registry, changes, kind, words):
    model = json.dumps({"name": "credit", **changes})
    with pytest.raises(kind, match=words):
        reviewed(here, model=model)
    assert saved(here) == []


def test_a_monitor_without_a_challenger_is_refused(here):
    known = here.configure()
    monitor = known.monitors["credit"]
    with here.runtime(NOW) as runtime:
        columns = monitor.columns.model_copy(update={"challenger": None})
        with pytest.raises(ConfigError, match=r"monitors\.credit\.columns\.challenger is not set"):
            review_monitor(runtime, monitor.model_copy(update={"columns": columns}), now=NOW)
        model = monitor.model.model_copy(update={"challenger_version": None})
        with pytest.raises(ConfigError, match=r"monitors\.credit\.model names no challenger; set challenger"):
            review_monitor(runtime, monitor.model_copy(update={"model": model}), now=NOW)
        nothing = {"columns": columns, "model": config.Model(name="credit")}
        with pytest.raises(ConfigError) as told:
            review_monitor(runtime, monitor.model_copy(update=nothing), now=NOW)
        places = [line.split(" ")[0] for line in str(told.value).splitlines()]
        assert places == ["monitors.credit.columns.challenger", *["monitors.credit.model"] * 2]


def test_an_alias_that_moves_meanwhile_is_noticed(here, registry):
    def move(text: str) -> None:
        if "AUROC" in text:
            registry.set_registered_model_alias("credit", "champion", "3")

    found = reviewed(here, model=BY_ALIAS, progress=move)
    assert (found.champion_version, found.challenger_version) == ("1", "2")
    [values] = caveats(found, "alias-moved")
    assert (values["alias"], values["before"], values["after"]) == ("champion", "1", "3")


def test_what_the_page_says_repeats_it_although_an_alias_has_moved(here, registry):
    found = reviewed(here, model=BY_ALIAS)
    registry.set_registered_model_alias("credit", "champion", "3")
    [model] = re.findall(r"<pre>model: (.*)</pre>", page(found, zone=ZoneInfo("UTC")))
    again = reviewed(here, model=unescape(model), start=found.period.start, end=found.period.end)
    assert (again.metrics, again.tables) == (found.metrics, found.tables)
    assert again.provenance == found.provenance


def test_an_alias_that_is_taken_away_meanwhile_is_noticed(here, registry):
    def take_away(text: str) -> None:
        if "AUROC" in text:
            registry.delete_registered_model_alias("credit", "challenger")

    found = reviewed(here, model=BY_ALIAS, progress=take_away)
    [values] = caveats(found, "alias-not-confirmed")
    assert (values["alias"], values["version"]) == ("challenger", "2")


@pytest.mark.slow
def test_when_mlflow_is_down_the_last_known_versions_are_reviewed_and_it_is_delivered_later(
    here, mlflow_server: MlflowServer
):
    name = f"credit-{here.folder.name}"
    model = f"{{name: {name}, champion: champion, challenger: challenger}}"
    parts = {"mlflow": f"{{tracking_uri: '{mlflow_server.uri}'}}", "model": model}
    client = registered(MlflowClient(mlflow_server.uri), name)
    clock = Clock(NOW)
    judged(here, NOW, **parts)
    mlflow_server.stop()
    with here.runtime(clock, **parts) as runtime:
        found = review_monitor(runtime, runtime.config.monitors["credit"], now=NOW)
        assert ["MLflow" in words_of(caveat) for caveat in found.caveats[:2]] == [True, True]
        assert caveats(found, "alias-not-confirmed") == []
        done = drain(runtime)
        assert list(done.failed) == ["mlflow"]
        assert here.alarms.count("REVIEW credit: ") == 1  # the channel does not wait for MLflow
        mlflow_server.start()
        clock.now += FIRST_RETRY
        assert drain(runtime).failed == {}
        assert store.outbox_summary(runtime.store).waiting == 0
        instance = store.instance_id(runtime.store)
    [run] = reviews_of(client, instance)
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert {"report.html", "review.json"} <= files
    report = Path(client.download_artifacts(run.info.run_id, "report.html", str(here.folder))).read_text()
    assert summary(found)[0][:40] in unescape(report)
    for version in ("1", "2"):
        tags = client.get_model_version(name, version).tags
        assert tags["rocmonitor.cc.verdict"] == "challenger better"


def reviews_of(client: MlflowClient, instance: str) -> list[Any]:
    """The review runs of one store."""
    found = client.get_experiment_by_name("rocmonitor/credit")
    assert found is not None
    runs = client.search_runs([found.experiment_id], "tags.`rocmonitor.kind` = 'review'")
    return [run for run in runs if run.data.tags["rocmonitor.key"].startswith(instance)]


def test_an_mlflow_that_was_never_reached_has_no_versions(here, closed_port):
    down = f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}"
    with pytest.raises(TrackingError) as caught:
        reviewed(here, model=BY_ALIAS, mlflow=down)
    assert caught.value.transient


def test_two_processes_do_not_review_at_once(here):
    with here.runtime(NOW) as runtime, hold_lease(runtime, "review:credit") as lease:
        assert lease is not None
        with pytest.raises(StoreError, match="another rocmonitor process is reviewing credit") as caught:
            reviewed(here)
        assert caught.value.transient
        judged(here, NOW)  # which is another work
    assert reviewed(here).registered


def test_who_was_too_slow_saves_nothing(here):
    clock = Clock(NOW)
    with here.runtime(clock) as runtime, here.runtime(clock) as other:

        def overtaken(text: str) -> None:
            if "AUROC" in text:
                clock.now += LEASE * 2
                assert store.acquire(other.store, "review:credit", other.owner, clock.now, LEASE) is not None

        with pytest.raises(StoreError, match="taken over by another process"):
            review_monitor(runtime, runtime.config.monitors["credit"], now=NOW, progress=overtaken)
    assert saved(here) == []


def test_a_stop_ends_it_and_saves_nothing(here):
    with here.runtime(NOW) as runtime:

        def stop(text: str) -> None:
            if "2 of 4" in text:
                runtime.stop.set()

        with pytest.raises(RocmonitorError, match="was stopped: nothing was saved"):
            review_monitor(runtime, runtime.config.monitors["credit"], now=NOW, progress=stop)
    assert saved(here) == []
    assert reviewed(here).registered  # nobody holds it any more


def test_a_source_that_fails_saves_nothing(here, tmp_path):
    (tmp_path / "source.db").unlink()
    with pytest.raises(SourceError):
        reviewed(here)
    assert saved(here) == []


def test_the_message_has_a_short_title_and_always_the_same_event():
    long = a_review(monitor="m" * 100, champion_version="v" * 60)
    message = alerts.compose_review(
        long, before="no decision yet", context=alerts.Context(zone=ZoneInfo("Europe/Berlin"))
    )
    assert len(message.title) <= alerts.LONGEST_TITLE
    assert message.title.startswith("REVIEW mmm")
    assert "challenger better" in message.title
    assert message.kind == "notice"
    assert "Period: 2026-01-05 01:00 to 2026-01-12 01:00 (Europe/Berlin)" in message.body
    elsewhere = alerts.Context(zone=ZoneInfo("UTC"), run="http://mlflow/run")
    again, other = (
        alerts.compose_review(each, before="trade-off", context=elsewhere) for each in (long, a_review(1))
    )
    assert again.body.splitlines()[-1] == message.body.splitlines()[-1] != other.body.splitlines()[-1]
    assert "Run: http://mlflow/run" in again.body


@contextmanager
def on_postgres(here: World, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A runtime with its store in PostgreSQL."""
    monkeypatch.setenv("REVIEW_STORE_URL", url)
    migrate.upgrade(url)
    with here.runtime(NOW, store="store: {url_env: REVIEW_STORE_URL}") as runtime:
        yield runtime


@pytest.mark.slow
def test_rows_and_store_in_postgresql_give_what_sqlite_gives(here, postgres_url, tmp_path, monkeypatch):
    expected = reviewed(here)
    folder = tmp_path / "there"
    folder.mkdir()
    monkeypatch.setenv("SCENARIO_SOURCE_URL", postgres_url)
    made = world(folder, postgres_url)
    there = Reviewed(folder=made.folder, source_url=made.source_url)
    for number in range(20, 24):
        there.score(number, shift=0.3)
    with on_postgres(there, postgres_url, monkeypatch) as runtime:
        monitor = runtime.config.monitors["credit"]
        found = review_monitor(runtime, monitor, now=NOW)
        assert review_monitor(runtime, monitor, now=NOW) == found
        assert store.reviews(runtime.store, "credit") == [found]
        assert drain(runtime).sent == 2
    assert found.metrics == pytest.approx(expected.metrics, rel=1e-9, abs=1e-12)
    assert (found.key, found.decision) == (expected.key, expected.decision)
    assert found.provenance == expected.provenance
