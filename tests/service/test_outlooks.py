"""Outlooks in a tick: made before the labels, once, and followed by what came of them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from scenario import Clock, World, week

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.wording.caveats import words_of

HOURS, DAY = timedelta(hours=6), timedelta(days=1)
LATE = {
    "window": "{every: 7d, label_delay: 30d, revise_for: 60d}",
    "outlook": "{after: 6h}",
    "rules": "[{kind: forecast}, {kind: outlook}, {kind: scores}]",
}


def tick(here: World, now: datetime, **changes: str) -> Tick:
    with here.runtime(now, **{**LATE, **changes}) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        drain(runtime)
    assert found.error is None
    return found


@pytest.mark.slow
def test_a_window_is_foreseen_once_its_rows_are_in_and_judged_when_its_labels_are(here: World) -> None:
    here.score(20)
    early = tick(here, week(21) + HOURS - timedelta(minutes=1))
    assert (early.outlooks, early.evaluations) == ([], [])
    [outlook] = tick(here, week(21) + HOURS).outlooks
    assert outlook.at == week(21) + HOURS
    assert outlook.outcome is None
    assert outlook.metrics["outlook/low"] < outlook.metrics["outlook/auc"] < outlook.metrics["outlook/high"]
    assert tick(here, week(21) + DAY).outlooks == []
    late = tick(here, week(21) + 30 * DAY)
    [evaluation] = late.evaluations
    assert late.outlooks == []
    for name in ("auc", "low", "high", "score_distance"):
        assert evaluation.metrics[f"outlook/{name}"] == outlook.metrics[f"outlook/{name}"]
    assert late.status == {"": Status.OK}


@pytest.mark.slow
def test_labels_do_not_change_an_outlook(here: World) -> None:
    here.score(20, labelled=0.5)
    [half] = tick(here, week(21) + HOURS).outlooks
    assert (half.scored, half.labelled) == (400, 200)
    here.label_late(20)
    here.score(21, labelled=1.0)
    here.score(22, labelled=0.0)
    full, none = tick(here, week(23) + HOURS).outlooks
    assert (full.labelled, none.labelled) == (400, 0)
    assert full.outcome is none.outcome is None


@pytest.mark.slow
def test_a_warning_comes_before_the_labels_and_is_confirmed_by_them(here: World) -> None:
    """Scores of the positives fall to those of the negatives: the scores alone show it, 30 days earlier."""
    here.score(20, shift=0.0)
    warned = tick(here, week(21) + HOURS)
    assert warned.status == {"": Status.AT_RISK}
    assert {verdict.rule: verdict.outcome for verdict in warned.outlooks[0].verdicts} == {
        "outlook": Status.AT_RISK,
        "scores": Status.AT_RISK,
    }
    assert here.alarms.count("AT-RISK credit") == 1
    assert "; the labels are not due yet.\n" in here.alarms
    judged = tick(here, week(21) + 30 * DAY)
    assert judged.status == {"": Status.DEGRADED}
    assert "the warning from the scores is confirmed" in here.alarms
    with here.runtime(**LATE) as runtime:
        changes = store.transitions(runtime.store, "credit")
        episodes = store.episodes(runtime.store, "credit")
    assert [(change.before, change.after) for change in changes] == [
        (Status.OK, Status.AT_RISK),
        (Status.AT_RISK, Status.DEGRADED),
    ]
    assert changes[1].at - changes[0].at == 30 * DAY - HOURS
    warning, decline = (each for each in episodes if each.kind in ("outlook", "performance"))
    assert (warning.kind, warning.rules, warning.end_why) == ("outlook", ("outlook", "scores"), "degraded")
    assert (warning.start, warning.told_to, warning.end) == (week(20), ("log",), changes[1].at)
    assert (decline.kind, decline.start, decline.is_open) == ("performance", week(20), True)
    # How much of the fall the scores foretold is a part of its explanation.
    [evaluation] = judged.evaluations
    metrics = evaluation.metrics
    assert metrics["shift/foreseen"] + metrics["shift/unforeseen"] == pytest.approx(
        metrics["champion/auc"] - metrics["reference/auc"], abs=1e-3
    )
    assert metrics["shift/foreseen"] < 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "answer", "said"),
    [(1.4, "wrong", "Warning withdrawn"), (1.2, "undecided", "Warning neither confirmed nor withdrawn")],
)
def test_a_warning_that_the_labels_do_not_bear_out_is_withdrawn(
    here: World, shift: float, answer: str, said: str
) -> None:
    """A pipeline adds a constant: the scores have moved, the order of the cases has not.

    The AUROC is that of the reference or above, or a little lower by chance.
    """
    here.score(20, shift=shift)
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET p = p + 1.5 WHERE id >= 2000000")
    rules = "[{kind: forecast}, {kind: scores}]"
    warned = tick(here, week(21) + HOURS, rules=rules)
    assert warned.status == {"": Status.AT_RISK}
    assert sum(row["window"] for row in warned.outlooks[0].tables["scores"]) == pytest.approx(1)
    [evaluation] = (judged := tick(here, week(21) + 30 * DAY, rules=rules)).evaluations
    assert judged.status == {"": Status.OK}
    with here.runtime(**LATE) as runtime:
        last = store.last_transition(runtime.store, "credit", "")
    assert last is not None
    assert last.reasons[0] == Caveat("warning-ended", answer=answer), evaluation.metrics["champion/auc"]
    assert said in here.alarms


@pytest.mark.slow
def test_a_warning_holds_while_later_windows_are_quiet(here: World) -> None:
    here.score(20, shift=0.0)
    here.score(21)
    assert tick(here, week(22) + HOURS).status == {"": Status.AT_RISK}
    assert here.alarms.count("AT-RISK credit") == 1


@pytest.mark.slow
def test_a_rule_that_joins_a_warning_is_news(here: World) -> None:
    """Scores that moved up by a constant do not lower the AUROC expected; scores without clear cases do."""
    here.score(20)
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE scored SET p = p + 1.0 WHERE id >= 2000000")
    [first] = tick(here, week(21) + HOURS).outlooks
    assert first.warning_rules == {"scores"}
    here.score(21, shift=0.0)
    [second] = tick(here, week(22) + HOURS).outlooks
    assert "outlook" in second.warning_rules
    assert here.alarms.count("AT-RISK credit") == 2
    here.score(22, shift=0.0)
    tick(here, week(23) + HOURS)
    assert here.alarms.count("AT-RISK credit") == 2


@pytest.mark.slow
def test_windows_that_are_judged_at_once_get_their_outlook_too_and_no_warning(here: World) -> None:
    here.score(20, shift=0.0)
    here.score(21)
    found = tick(here, week(22) + 30 * DAY)
    assert found.outlooks == []
    assert ["outlook/auc" in evaluation.metrics for evaluation in found.evaluations] == [True, True]
    with here.runtime(**LATE) as runtime:
        kept = store.outlooks(runtime.store, "credit")
    assert [outlook.outcome for outlook in kept] == [Status.AT_RISK, None]
    assert "AT-RISK" not in here.alarms


@pytest.mark.slow
def test_rows_that_came_after_the_outlook_are_counted(here: World) -> None:
    here.score(20)
    tick(here, week(21) + HOURS)
    here.score(20, n=100, region="late")
    [evaluation] = tick(here, week(21) + 30 * DAY).evaluations
    [since] = [caveat for caveat in evaluation.caveats if caveat.code == "rows-since-outlook"]
    assert since.values == {"then": 400, "now": 500}


@pytest.mark.slow
def test_an_outlook_waits_for_rows(here: World) -> None:
    here.score(20, n=39)
    assert tick(here, week(21) + HOURS).outlooks == []
    here.score(20, n=400, region="late")
    [outlook] = tick(here, week(21) + DAY).outlooks
    assert (outlook.at, outlook.scored) == (week(21) + HOURS, 439)


def test_a_reference_of_too_few_windows_says_why_there_is_no_outlook(here: World) -> None:
    config = here.configure(**LATE).folder / "rocmonitor.yaml"
    text = config.read_text().replace("from: 2026-01-05", "from: 2026-04-13")
    config.write_text(text)
    from rocmonitor import config as configuration
    from rocmonitor.service.runtime import Runtime

    here.score(20)
    known = configuration.load(config)
    with store.open_store(known.store_url) as kept:
        runtime = Runtime(config=known, store=kept, clock=Clock(week(21) + HOURS))
        [outlook] = run_monitor(runtime, known.monitors["credit"], now=week(21) + HOURS).outlooks
    assert outlook.outcome is Status.INSUFFICIENT
    assert "at least 8" in words_of(outlook.verdicts[0].lacks[0])


@pytest.mark.slow
def test_a_segment_without_a_reference_says_so_and_one_without_rows_waits(here: World) -> None:
    here.score(20, region="north", n=200)
    found = tick(here, week(21) + HOURS, segments="[region]").outlooks
    assert {outlook.segment: outlook.outcome for outlook in found} == {
        "": None,
        "region=north": Status.INSUFFICIENT,  # the reference has no such segment
    }


@pytest.mark.slow
def test_a_dry_run_foresees_and_keeps_nothing(here: World) -> None:
    here.score(20, shift=0.0)
    with here.runtime(week(21) + HOURS, **LATE) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock(), dry_run=True)
        assert len(found.outlooks) == 1
        assert store.outlooks(runtime.store, "credit") == []


def add_errors(here: World, number: int) -> None:
    """Turn every second label of a week: what no score shows."""
    with here._engine() as engine, engine.begin() as connection:
        ids = f"id BETWEEN {number}00000 AND {number}99999"
        connection.exec_driver_sql(f"UPDATE scored SET label = 1 - label WHERE id % 2 = 0 AND {ids}")


def last_reasons(here: World) -> list[str]:
    with here.runtime(**LATE) as runtime:
        last = store.last_transition(runtime.store, "credit", "")
    assert last is not None
    return [each.code for each in last.reasons if isinstance(each, Caveat)]


@pytest.mark.slow
def test_without_labels_a_warning_is_neither_confirmed_nor_withdrawn(here: World) -> None:
    here.score(20, shift=0.0, labelled=0.0)
    assert tick(here, week(21) + HOURS).status == {"": Status.AT_RISK}
    assert tick(here, week(21) + 30 * DAY).status == {"": Status.INSUFFICIENT}
    assert "the warning from the scores" not in here.alarms


@pytest.mark.slow
def test_another_windows_labels_do_not_confirm_a_warning_and_it_comes_back(here: World) -> None:
    here.score(20)
    add_errors(here, 20)
    here.score(21, shift=0.0)
    assert tick(here, week(22) + HOURS).status == {"": Status.AT_RISK}
    assert tick(here, week(21) + 30 * DAY).status == {"": Status.DEGRADED}
    assert "the warning from the scores" not in here.alarms
    add_errors(here, 20)  # back again: late corrections
    here.score(20, n=1, region="late")
    assert tick(here, week(21) + 31 * DAY).status == {"": Status.AT_RISK}
    assert last_reasons(here) == ["warning-waits", "judged-again"]
    with here.runtime(**LATE) as runtime:
        assert store.transitions(runtime.store, "credit")[-1].since == week(21)
    assert tick(here, week(22) + 30 * DAY).status == {"": Status.DEGRADED}
    assert last_reasons(here)[0] == "warning-ended"


@pytest.mark.slow
def test_a_warning_is_confirmed_although_one_degraded_window_is_no_alarm_yet(here: World) -> None:
    here.score(20, shift=0.0)
    twice = {"alarm": "{after: 2, of: 3, recover_after: 1}"}
    assert tick(here, week(21) + HOURS, **twice).status == {"": Status.AT_RISK}
    assert tick(here, week(21) + 30 * DAY, **twice).status == {"": Status.OK}
    assert "the warning from the scores is confirmed" in here.alarms
    assert "too few degraded windows for an alarm" in here.alarms
    assert "Recovered" not in here.alarms
    assert "all rules pass" not in here.alarms


@pytest.mark.slow
def test_a_warning_of_a_window_that_is_no_longer_judged_ends(here: World) -> None:
    here.score(20, shift=0.0)
    assert tick(here, week(21) + HOURS).status == {"": Status.AT_RISK}
    here.score(23)
    later = LATE["window"].replace("}", ", start: 2026-06-15}")
    assert tick(here, week(24) + 30 * DAY, window=later).status == {"": Status.OK}


SOON = {
    "window": "{every: 7d, label_delay: 2d, revise_for: 60d}",
    "rules": "[{kind: forecast, confidence_level: 0.99}, {kind: outlook}]",
}


def narrower(here: World, number: int) -> None:
    """Make the scores of a week half as large: their order stays, and they lead to a lower AUROC.

    These weeks are alike, so that chance makes none of them worse than the one before.
    """
    here.score(number, alike=20)
    with here._engine() as engine, engine.begin() as connection:
        ids = f"id BETWEEN {number}00000 AND {number}99999"
        connection.exec_driver_sql(f"UPDATE scored SET p = 0.5 + (p - 0.5) / 2 WHERE {ids}")


@pytest.mark.slow
def test_warnings_that_the_labels_withdrew_are_not_repeated(here: World) -> None:
    made = []
    for number in (20, 21, 22):
        narrower(here, number)
        made += tick(here, week(number + 1) + HOURS, **SOON).outlooks
        [judged] = tick(here, week(number + 1) + 2 * DAY, **SOON).evaluations
        assert judged.outcome is Status.OK
        assert judged.metrics["outlook/expected_auc"] == made[-1].metrics["outlook/expected_auc"]
    assert [each.outcome for each in made] == [Status.AT_RISK, None, None]
    assert made[1].verdicts[0].details["learned"] > 0


@pytest.mark.slow
def test_what_is_judged_in_one_tick_teaches_as_if_it_had_been_in_time(here: World) -> None:
    for number in (20, 21, 22):
        narrower(here, number)
    at_once = tick(here, week(23) + 2 * DAY, **SOON).evaluations
    assert [each.metrics["outlook/warned"] for each in at_once] == [1, 0, 0]
