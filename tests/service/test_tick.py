"""A tick of one monitor, on real databases: what is due, judged once, revised, and never lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from caveats import codes
from mlflow import MlflowClient
from scenario import World, week, world

from rocmonitor import store
from rocmonitor.errors import SourceError
from rocmonitor.policy.evaluation import Status
from rocmonitor.service import references
from rocmonitor.service.delivery import drain
from rocmonitor.service.leases import hold_lease
from rocmonitor.service.tick import run_monitor
from rocmonitor.wording.caveats import words_of

DAY = timedelta(days=1)


def tick(here: World, now, **changes):
    options = {name: changes.pop(name) for name in ("windows", "dry_run") if name in changes}
    with here.runtime(now, **changes) as runtime:
        return run_monitor(runtime, runtime.config.monitors["credit"], now=now, **options)


def test_every_due_window_is_judged_in_order_and_once(here):
    for number in (20, 21, 22):
        here.score(number)
    first = tick(here, week(23) + 3 * DAY)
    assert [evaluation.window.start for evaluation in first.evaluations] == [week(20), week(21), week(22)]
    assert {evaluation.status for evaluation in first.evaluations} == {Status.OK}
    assert first.error is None
    assert tick(here, week(23) + 3 * DAY).evaluations == []


def test_a_window_waits_for_its_label_delay(here):
    here.score(20)
    assert tick(here, week(21) + 1 * DAY).evaluations == []
    assert tick(here, week(21) + 1 * DAY).waiting != []
    [evaluation] = tick(here, week(21) + 2 * DAY).evaluations
    assert evaluation.at == week(21) + 2 * DAY


def test_a_window_that_is_labelled_enough_does_not_wait(here):
    here.score(20, labelled=0.96)
    window = "{every: 7d, label_delay: 30d, min_labelled: 0.95, revise_for: 60d}"
    [evaluation] = tick(here, week(21), window=window).evaluations
    assert evaluation.at == week(21)
    assert evaluation.counts.unlabelled == 16


@pytest.mark.slow
def test_what_was_missed_is_judged_after_a_pause(here):
    for number in range(20, 26):
        here.score(number)
    assert len(tick(here, week(21) + 2 * DAY).evaluations) == 1
    late = tick(here, week(40))
    assert [evaluation.window.start for evaluation in late.evaluations][:5] == [
        week(n) for n in range(21, 26)
    ]
    # Judged late, but as of when each fell due.
    assert late.evaluations[0].at == week(22) + 2 * DAY


@pytest.mark.slow
def test_a_drop_is_degraded_and_a_recovery_is_ok(here):
    here.score(20)
    here.score(21, shift=0.2)
    here.score(22)
    evaluations = tick(here, week(24)).evaluations
    assert [evaluation.status for evaluation in evaluations] == [Status.OK, Status.DEGRADED, Status.OK]
    bad = evaluations[1]
    assert [verdict.outcome for verdict in bad.verdicts] == [Status.DEGRADED, Status.DEGRADED, Status.OK]
    assert bad.metrics["forecast/margin"] < 0
    with here.runtime() as runtime:
        changes = store.transitions(runtime.store, "credit")
    assert [(change.before, change.after) for change in changes] == [
        (Status.OK, Status.DEGRADED),
        (Status.DEGRADED, Status.OK),
    ]
    assert changes[0].since == week(21)
    assert changes[0].reasons == bad.verdicts[:2]
    shown, *verdicts = changes[1].reasons
    assert (shown.code, {each.outcome for each in verdicts}) == ("recovered", {Status.OK})


def test_late_labels_make_a_revision_that_is_pinned_to_the_first_versions(here):
    here.score(20, labelled=0.9)
    [first] = tick(here, week(22)).evaluations
    here.label_late(20)
    changed = {"model": "{name: credit, version: 9, challenger_version: 10}"}
    [second] = tick(here, week(23), **changed).evaluations[:1]
    assert (first.revision, second.revision) == (0, 1)
    assert second.window == first.window
    assert second.champion_version == "7"
    assert second.counts.unlabelled == 0
    assert second.at == week(23)


def test_labels_after_the_time_for_revisions_need_a_backfill(here):
    here.score(20, labelled=0.9)
    tick(here, week(21) + 2 * DAY)
    here.label_late(20)
    later = week(21) + 63 * DAY
    assert all(evaluation.window.start != week(20) for evaluation in tick(here, later).evaluations)
    with here.runtime() as runtime:
        windows = runtime.config.monitors["credit"].calendar.within(week(20), week(21))
    [revised] = tick(here, later, windows=windows).evaluations
    assert (revised.window.start, revised.revision) == (week(20), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "code", "counts"),
    [
        (None, "no-rows", {}),
        ({"labelled": 0.0}, "too-few-rows", {"unlabelled": 400}),
        ({"label": 1}, "too-few-rows", {"n_pos": 400, "n_neg": 0}),
        ({"n": 30}, "too-few-rows", {"min_per_class": 20}),
        ({"label": 2}, "too-few-rows", {"bad_label": 400, "n_pos": 0}),
        ({"p": None}, "too-few-rows", {"bad_score": 400}),
    ],
)
def test_too_little_is_insufficient_and_never_ok(here, rows, code, counts):
    if rows is not None:
        here.score(20, **rows)
    [evaluation] = tick(here, week(21) + 2 * DAY).evaluations
    assert evaluation.status is Status.INSUFFICIENT
    [verdict] = evaluation.verdicts
    [lack] = verdict.lacks
    assert (verdict.kind, lack.code) == ("data", code)
    assert counts.items() <= lack.values.items()
    assert "champion/auc" not in evaluation.metrics


@pytest.mark.slow
def test_a_segment_that_vanishes_is_insufficient_not_absent(here):
    for number in range(20):
        here.score(number, n=200, region="north")
    here.score(20)
    evaluations = tick(here, week(21) + 2 * DAY, segments="[region]").evaluations
    found = {evaluation.segment: evaluation.status for evaluation in evaluations}
    assert found == {"": Status.OK, "region=all": Status.OK, "region=north": Status.INSUFFICIENT}


@pytest.mark.slow
def test_a_new_segment_has_no_reference_and_says_so(here):
    here.score(20)
    here.score(20, n=200, region="south")
    by_segment = {
        evaluation.segment: evaluation
        for evaluation in tick(here, week(21) + 2 * DAY, segments="[region]").evaluations
    }
    south = by_segment["region=south"]
    assert south.status is Status.INSUFFICIENT
    assert [lack.code for lack in south.verdicts[0].lacks] == ["segment-not-in-reference"]
    assert south.metrics["champion/auc"] > 0.5


def test_a_reference_without_a_whole_window_is_said_to_be_that_and_not_a_lacking_segment(here):
    here.score(20)
    short = "{from: 2026-05-19, to: 2026-05-23}"
    [evaluation] = tick(here, week(21) + 2 * DAY, reference=short, rules="[{kind: forecast}]").evaluations
    [verdict] = evaluation.verdicts
    assert evaluation.status is Status.INSUFFICIENT
    assert [lack.code for lack in verdict.lacks] == ["no-reference-window"]
    assert "no whole window (7d) lies in the reference period, 2026-05-19 to 2026-05-23" in words_of(
        verdict.lacks[0]
    )


@pytest.mark.slow
def test_k_of_n_waits_for_the_second_bad_window(here):
    here.score(20, shift=0.2)
    here.score(21, shift=0.2)
    evaluations = tick(here, week(23), alarm="{after: 2, of: 3, recover_after: 1}").evaluations
    assert [evaluation.outcome for evaluation in evaluations] == [Status.DEGRADED, Status.DEGRADED]
    assert [evaluation.status for evaluation in evaluations] == [Status.OK, Status.DEGRADED]
    with here.runtime() as runtime:
        [change] = store.transitions(runtime.store, "credit")
    assert change.since == week(20)  # the first of the two


def test_rows_without_a_challenger_are_counted_and_said(here):
    here.score(20)
    here.score(20, n=40, region="none", q=None)
    [evaluation] = tick(here, week(21) + 2 * DAY).evaluations
    assert evaluation.counts.no_challenger == 40
    assert evaluation.metrics["data/no_challenger"] == 40
    [caveat] = [each for each in evaluation.caveats if each.code == "challenger-scores-missing"]
    assert (caveat.values["rows"], caveat.values["missing"]) == (400, 40)
    assert evaluation.verdicts[-1].details["rows"] == 400


def test_a_backfill_of_the_reference_says_that_it_is_circular(here):
    with here.runtime() as runtime:
        windows = runtime.config.monitors["credit"].calendar.within(week(3), week(4))
    [evaluation] = tick(here, week(22), windows=windows).evaluations
    assert codes(evaluation) == ["window-in-reference", "season-not-seen"]


def test_a_revision_can_take_an_alarm_back(here):
    here.score(20, shift=0.2)
    tick(here, week(21) + 2 * DAY)
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM scored WHERE id >= 2000000")
    here.score(20, n=401)
    [revised] = tick(here, week(21) + 4 * DAY).evaluations
    assert (revised.revision, revised.status) == (1, Status.OK)


def test_a_failing_source_is_an_error_that_is_told_once_and_ends(here, tmp_path):
    here.score(20)
    (tmp_path / "source.db").rename(tmp_path / "gone.db")
    for _ in range(2):
        failed = tick(here, week(21) + 2 * DAY)
        assert isinstance(failed.error, SourceError)
        assert failed.status[""] is Status.ERROR
    (tmp_path / "gone.db").rename(tmp_path / "source.db")
    assert tick(here, week(21) + 2 * DAY).status[""] is Status.OK
    with here.runtime() as runtime:
        changes = store.transitions(runtime.store, "credit")
    assert [change.after for change in changes] == [Status.ERROR, Status.OK]


def test_a_monitor_works_again_although_nothing_is_due(here, tmp_path):
    (tmp_path / "source.db").rename(tmp_path / "gone.db")
    assert tick(here, week(20) + 1 * DAY).status[""] is Status.ERROR
    (tmp_path / "gone.db").rename(tmp_path / "source.db")
    assert tick(here, week(20) + 1 * DAY).status[""] is Status.OK


@pytest.mark.slow
def test_a_dry_run_keeps_nothing(here):
    here.score(20, shift=0.2)
    dry = tick(here, week(21) + 2 * DAY, dry_run=True)
    assert dry.evaluations[0].status is Status.DEGRADED
    with here.runtime() as runtime:
        assert store.evaluations(runtime.store, "credit") == []
        assert store.transitions(runtime.store, "credit") == []
        assert store.pending(runtime.store, week(40)) == []
    assert len(tick(here, week(21) + 2 * DAY).evaluations) == 1


def test_a_monitor_that_another_process_works_on_is_left_alone(here):
    here.score(20)
    with here.runtime(week(21) + 2 * DAY) as runtime, hold_lease(runtime, "monitor:credit") as lease:
        assert lease is not None
        assert tick(here, week(21) + 2 * DAY).busy
    assert not tick(here, week(21) + 2 * DAY).busy


def test_a_stop_is_heeded_between_windows_and_loses_nothing(here):
    for number in (20, 21, 22):
        here.score(number)
    now = week(24)
    with here.runtime(now) as runtime:

        def stop_at_the_first(text: str) -> None:
            if text.startswith("credit 2026-05-25"):
                runtime.stop.set()

        first = run_monitor(runtime, runtime.config.monitors["credit"], now=now, progress=stop_at_the_first)
    assert [evaluation.window.start for evaluation in first.evaluations] == [week(20)]
    assert [evaluation.window.start for evaluation in tick(here, now).evaluations] == [week(21), week(22)]


def test_the_reference_is_frozen(here):
    here.score(20)
    [first] = tick(here, week(21) + 2 * DAY).evaluations
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET p = -p WHERE id < 1000000")
    here.score(21)
    [second] = tick(here, week(22) + 2 * DAY).evaluations
    assert second.reference == first.reference


@pytest.mark.slow
def test_windows_of_a_tenth_do_not_alarm_because_they_are_small(here):
    """Nothing has changed but the number of rows; about half of them leave the interval of full windows."""
    for number in range(20, 40):
        here.score(number, n=40)
    few = {"min_per_class": "5", "rules": "[{kind: forecast}]"}
    evaluations = tick(here, week(40) + 3 * DAY, **few).evaluations
    assert len(evaluations) == 20
    frozen = evaluations[0].reference["fits"]["forecast"]["usual"]
    outside = [
        not frozen["low"] <= evaluation.metrics["champion/auc"] <= frozen["high"]
        for evaluation in evaluations
    ]
    alarms = [evaluation.outcome is not Status.OK for evaluation in evaluations]
    assert sum(alarms) <= 3 < 6 <= sum(outside)
    for evaluation in evaluations:
        assert evaluation.metrics["forecast/low"] < frozen["low"]
        parts = (evaluation.metrics[f"forecast/{part}_distance"] for part in ("sampling", "drift"))
        assert sum(parts) == pytest.approx(evaluation.metrics["forecast/distance"])


@pytest.mark.parametrize("option", ["alternative: less", "half_life: 6"])
def test_an_option_of_the_forecast_makes_another_reference_when_it_is_used(here, option):
    plain, default, used = (
        references.digest(here.configure(rules=f"[{{kind: forecast{each}}}]").monitors["credit"])
        for each in ("", ", alternative: two-sided", f", {option}")
    )
    assert plain == default != used


@pytest.mark.slow
def test_another_rule_makes_another_reference_but_judges_nothing_again(here):
    here.score(20)
    [first] = tick(here, week(21) + 2 * DAY).evaluations
    here.score(21)
    rules = "[{kind: forecast, confidence_level: 0.9}]"
    [second] = tick(here, week(22) + 2 * DAY, rules=rules).evaluations
    assert second.reference["digest"] != first.reference["digest"]
    assert second.metrics["forecast/low"] > first.metrics["forecast/low"]


BY_ALIAS = {"model": "{name: credit, champion: champion, challenger: challenger}"}


@pytest.fixture
def registry(here) -> MlflowClient:
    """A real registry with two versions, the first of them the champion."""
    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    client.create_registered_model("credit")
    for _ in range(2):
        client.create_model_version("credit", source=f"file://{here.folder}/model")
    client.set_registered_model_alias("credit", "champion", "1")
    return client


@pytest.mark.slow
def test_without_a_registry_windows_are_judged_with_a_caveat(here):
    here.score(20)
    [evaluation] = tick(here, week(21) + 2 * DAY, model="{name: credit}").evaluations
    assert (evaluation.outcome, evaluation.champion_version) == (Status.OK, "unknown")
    assert codes(evaluation).count("version-not-named") == 1
    here.score(21)
    [evaluation] = tick(here, week(22) + 2 * DAY, model="{name: credit, version: 2026-03}").evaluations
    assert evaluation.champion_version == "2026-03"
    assert "version-not-named" not in codes(evaluation)


def test_versions_are_looked_up_by_alias_at_every_tick_and_pinned(here, registry):
    registry.set_registered_model_alias("credit", "challenger", "2")
    here.score(20, labelled=0.9)
    [first] = tick(here, week(21) + 2 * DAY, **BY_ALIAS).evaluations
    assert (first.champion_version, first.challenger_version) == ("1", "2")
    registry.set_registered_model_alias("credit", "champion", "2")
    here.label_late(20)
    here.score(21)
    revised, second = tick(here, week(22) + 2 * DAY, **BY_ALIAS).evaluations
    assert (revised.revision, revised.champion_version) == (1, "1")
    assert second.champion_version == "2"


def test_a_missing_challenger_does_not_stop_the_champion_from_being_watched(here, registry):
    here.score(20)
    [evaluation] = tick(here, week(21) + 2 * DAY, **BY_ALIAS).evaluations
    assert (evaluation.champion_version, evaluation.challenger_version) == ("1", None)
    assert "version-unknown" in codes(evaluation)


def test_a_missing_champion_is_an_error_that_says_what_to_do(here, registry):
    registry.delete_registered_model_alias("credit", "champion")
    here.score(20)
    failed = tick(here, week(21) + 2 * DAY, **BY_ALIAS)
    assert failed.evaluations == []
    assert "champion" in str(failed.error)


def test_when_mlflow_is_down_the_last_known_version_is_used_and_said(here, registry, closed_port):
    here.score(20)
    here.score(21)
    tick(here, week(21) + 2 * DAY, **BY_ALIAS)
    down = {"mlflow": f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}"}
    [evaluation] = tick(here, week(22) + 2 * DAY, **BY_ALIAS, **down).evaluations
    assert evaluation.champion_version == "1"
    [caveat] = [each for each in evaluation.caveats if each.code == "version-remembered"]
    assert (caveat.values["alias"], caveat.values["version"]) == ("champion", "1")


@pytest.mark.parametrize("grouped", ["raw", "database"])
@pytest.mark.slow
def test_every_database_and_both_ways_of_reading_give_the_same_evaluation(
    written_database_url, tmp_path, monkeypatch, grouped
):
    monkeypatch.setenv("SCENARIO_SOURCE_URL", written_database_url)
    there = world(tmp_path, written_database_url)
    there.score(20, shift=0.5)
    found = tick(there, week(21) + 2 * DAY, grouped=grouped).evaluations[0].to_dict()
    local = tmp_path / "local"
    local.mkdir()
    url = f"sqlite:///{local}/source.db"
    monkeypatch.setenv("SCENARIO_SOURCE_URL", url)
    here = world(local, url)
    here.score(20, shift=0.5)
    expected = tick(here, week(21) + 2 * DAY).evaluations[0].to_dict()
    # Sums over rows and over groups may differ in the last bit.
    assert found.pop("metrics") == pytest.approx(expected.pop("metrics"), rel=1e-12, abs=1e-15)
    for one, other in zip(found.pop("verdicts"), expected.pop("verdicts"), strict=True):
        for name in ("estimate", "low", "high", "margin"):
            found_value, value = one.pop(name), other.pop(name)
            assert (found_value is None) is (value is None)
            assert (found_value or 0.0) == pytest.approx(value or 0.0, rel=1e-12, abs=1e-15)
        assert one == other
    assert found["provenance"].pop("grouped") is (grouped == "database")
    assert not expected["provenance"].pop("grouped")
    assert found == expected


@pytest.mark.slow
def test_what_the_reference_lacked_too_is_no_news(here):
    """Two weeks in a row of the reference are small; so are weeks 20 and 21, and then 22."""
    with here._engine() as engine, engine.begin() as connection:
        for number in (5, 6):
            connection.exec_driver_sql(
                f"DELETE FROM scored WHERE id >= {number}00030 AND id < {number + 1}00000"
            )
    seen = []
    for number, n in ((20, 400), (21, 30), (22, 30), (23, 30), (24, 400)):
        here.score(number, n=n)
        found = tick(here, week(number + 1) + 2 * DAY)
        seen.append((found.evaluations[-1].outcome, found.status[""]))
    small = Status.INSUFFICIENT
    assert seen == [(Status.OK,) * 2, (small, Status.OK), (small, Status.OK), (small,) * 2, (Status.OK,) * 2]
    with here.runtime(week(26)) as runtime:
        drain(runtime)
    titles = [line.split()[0] for line in here.alarms.splitlines() if " credit: " in line]
    assert titles == ["INSUFFICIENT", "OK"]


@pytest.mark.slow
def test_segments_that_change_with_one_window_are_one_message_and_one_recovery(here):
    regions = ("north", "south", "west")
    for number in range(20):
        for region in regions:
            here.score(number, n=200, region=region)
    segments = "[region]"
    for number, shift in ((20, 1.2), (21, 0.0), (22, 1.2)):
        here.score(number, shift=shift)
        for region in regions:
            here.score(number, n=200, region=region, shift=shift)
        tick(here, week(number + 1) + 2 * DAY, segments=segments)
        with here.runtime(week(24), segments=segments) as runtime:
            changed = [each for each in store.transitions(runtime.store, "credit") if each.notified]
            drain(runtime)
    assert len(changed) >= 6
    titles = [line for line in here.alarms.splitlines() if line.startswith(("DEGRADED credit", "OK credit"))]
    assert [each.split(":")[0] for each in titles] == ["DEGRADED credit", "OK credit"]
    assert "Also: degraded: region=" in here.alarms
    assert "Also: ok: region=" in here.alarms


@pytest.mark.slow
def test_a_value_that_never_had_enough_rows_sends_nothing(here):
    for number in (20, 21):
        here.score(number)
        for region in ("a", "b", "c"):
            here.score(number, n=10, region=region)
        found = tick(here, week(number + 1) + 2 * DAY, segments="[region]")
        assert found.status["region=a"] is Status.INSUFFICIENT
    with here.runtime(week(24), segments="[region]") as runtime:
        drain(runtime)
    assert here.alarms == ""
