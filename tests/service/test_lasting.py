"""Rule `lasting` in a tick: it reads the windows before from the store."""

from __future__ import annotations

from datetime import datetime, timedelta

from scenario import World, week

from rocmonitor.policy.evaluation import Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import Tick, run_monitor

DAY = timedelta(days=1)
RULES = "[{kind: lasting}]"
NEXT = "{name: credit, version: 8, challenger_version: 9}"


def tick(here: World, now: datetime, **changes: str) -> Tick:
    with here.runtime(now, **{"rules": RULES, **changes}) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        drain(runtime)
    assert found.error is None
    return found


def statistics(found: Tick) -> list[float]:
    return [each.metrics["lasting/statistic"] for each in found.evaluations]


def test_a_lasting_drop_is_found_over_several_ticks_and_told_since_when(here: World) -> None:
    here.score(20)
    assert tick(here, week(21) + 2 * DAY).status == {"": Status.OK}
    outcomes = []
    for number in range(21, 26):
        here.score(number, shift=0.95)
        found = tick(here, week(number + 1) + 2 * DAY)
        outcomes.append(found.evaluations[0].outcome)
    assert outcomes[0] is Status.OK
    assert outcomes[-1] is Status.DEGRADED
    assert "AUROC has been 0." in here.alarms
    assert " since the week of 2026-0" in here.alarms


def test_one_tick_of_many_windows_finds_what_many_ticks_find(here: World) -> None:
    for number in range(20, 25):
        here.score(number, shift=1.0)
    dry = statistics(tick(here, week(25) + 2 * DAY, segments="[region]"))
    assert len(dry) == 10
    assert dry[::2] == dry[1::2]  # one region: the segment is all rows
    assert len(set(dry)) == 5


def test_the_chart_starts_anew_with_another_champion(here: World) -> None:
    for number in range(20, 24):
        here.score(number, shift=0.6)
    assert tick(here, week(24) + 2 * DAY).status == {"": Status.DEGRADED}
    here.score(24, shift=0.6)
    [first] = tick(here, week(25) + 2 * DAY, model=NEXT).evaluations
    assert first.verdicts[0].details["windows"] == 1
    here.score(25, shift=0.6)
    [second] = tick(here, week(26) + 2 * DAY, model=NEXT).evaluations
    assert second.verdicts[0].details["windows"] == 2


def test_a_revision_of_an_old_window_counts_from_the_next_window_on(here: World) -> None:
    here.score(20, n=400, labelled=0.6)
    here.score(21)
    before = statistics(tick(here, week(22) + 2 * DAY))
    here.label_late(20, label=1)
    revised = tick(here, week(22) + 3 * DAY)
    assert [each.revision for each in revised.evaluations] == [1]
    here.score(22)
    [after] = statistics(tick(here, week(23) + 2 * DAY))
    assert revised.evaluations[0].metrics["lasting/statistic"] != before[0]
    assert after > before[1]  # the late labels, all positive, made week 20 worse


def test_a_window_without_labels_is_a_gap(here: World) -> None:
    here.score(20, shift=0.9)
    here.score(22, shift=0.9)
    found = tick(here, week(23) + 2 * DAY)
    assert [each.outcome is Status.INSUFFICIENT for each in found.evaluations] == [False, True, False]
    assert found.evaluations[2].verdicts[0].details["windows"] == 3
