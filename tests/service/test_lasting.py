"""Rule `lasting` in a tick: it reads the windows before from the store."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from scenario import World, week

from rocmonitor import store
from rocmonitor.alerts import Context, Message, compose
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.service import references
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.service.tick.courses import Courses
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.verdicts import verdict

DAY = timedelta(days=1)
RULES = "[{kind: lasting}]"
NEXT = "{name: credit, version: 8, challenger_version: 9}"


def tick(here: World, now: datetime, **changes: str) -> Tick:
    with here.runtime(now, **{"rules": RULES, **changes}) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
    assert found.error is None
    return found


def messages(here: World) -> list[Message]:
    """The changes of status that wait for the channel, oldest first."""
    with here.runtime(week(200), rules=RULES) as runtime:
        rows = store.pending(runtime.store, runtime.clock(), limit=1000)
        return [
            compose(
                Transition.from_dict(row.payload["transition"]),
                None if row.evaluation_id is None else store.evaluation(runtime.store, row.evaluation_id),
                Context(zone=ZoneInfo("UTC")),
                [Transition.from_dict(each) for each in row.payload.get("also", ())],
            )
            for row in rows
            if row.destination == "channel:log" and "transition" in row.payload
        ]


def statistics(found: Tick) -> list[float]:
    return [each.metrics["lasting/statistic"] for each in found.evaluations]


@pytest.mark.slow
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
    [alarm] = messages(here)
    assert re.search(r"since 2026-0\d-\d\d", alarm.body)


@pytest.mark.slow
def test_one_tick_of_many_windows_finds_what_many_ticks_find(here: World) -> None:
    for number in range(20, 25):
        here.score(number, shift=1.0)
    dry = statistics(tick(here, week(25) + 2 * DAY, segments="[region]"))
    assert len(dry) == 10
    assert dry[::2] == dry[1::2]  # one region: the segment is all rows
    assert len(set(dry)) == 5


@pytest.mark.slow
def test_windows_beyond_the_longest_course_are_forgotten_and_read_again_when_asked_for(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("policy.lasting", "service.tick.courses"):
        monkeypatch.setattr(f"rocmonitor.{module}.LONGEST", 2)
    sizes: list[int] = []
    add = Courses.add
    monkeypatch.setattr(Courses, "add", lambda *a: (add(*a), sizes.append(len(a[0]._windows[a[1].segment]))))
    for number in range(20, 31):
        here.score(number, shift=1.0)
    now, late = week(31) + 2 * DAY, {"window": "{every: 7d, label_delay: 1d, revise_for: 200d}"}
    with here.runtime(now, rules=RULES, **late) as runtime:
        everything = run_monitor(runtime, runtime.config.monitors["credit"], now=now, dry_run=True)
    assert max(sizes) == 11
    sizes.clear()
    found = [each for each in tick(here, now, **late).evaluations if not each.revision]
    assert [each.metrics for each in found] == [each.metrics for each in everything.evaluations]
    assert max(sizes) == 6
    mended(here, 23)  # four are kept: the chart before this one needs the store
    again = tick(here, now + DAY, **late).evaluations[0]
    assert (again.window.start, again.revision) == (week(23), 1)
    before = statistics(everything)
    assert again.metrics["lasting/statistic"] not in before
    with here.runtime(now, rules=RULES, **late) as runtime:
        shown = run_monitor(runtime, runtime.config.monitors["credit"], now=now + DAY, dry_run=True)
    assert shown.evaluations == []


def found(tick: Tick) -> list[tuple[int, int, Status]]:
    """Week, revision and outcome of each evaluation of all rows."""
    return [
        ((each.window.start - week(0)).days // 7, each.revision, each.outcome)
        for each in tick.evaluations
        if each.segment == ""
    ]


def mended(here: World, number: int) -> None:
    """The rows of a week as they should have been: other scores, and another number of labels."""
    here.clear(number)
    here.score(number)


class TestRevisions:
    def test_corrected_windows_are_revised_and_the_chart_goes_on_from_there(self, here: World) -> None:
        for number in (20, 21, 22):
            here.score(number, shift=0.2, n=401)
        here.score(23)
        first = tick(here, week(24) + 2 * DAY)
        assert found(first)[-2:] == [(22, 0, Status.DEGRADED), (23, 0, Status.DEGRADED)]
        assert first.status == {"": Status.OK}  # the chart alone remembers: 23 shows that the loss is over
        for number in (20, 21, 22):
            mended(here, number)
        second = tick(here, week(24) + 3 * DAY)
        assert found(second) == [(number, 1, Status.OK) for number in (20, 21, 22)]  # 23 stays as it was
        assert second.status == {"": Status.OK}
        here.score(24)
        third = tick(here, week(25) + 2 * DAY)
        assert found(third) == [(24, 0, Status.OK)]
        assert third.status == {"": Status.OK}
        assert [each.kind for each in messages(here)][-1] == "recovery"

    def test_a_revision_that_changes_no_alarm_revises_no_other_window(self, here: World) -> None:
        here.score(20, n=400, labelled=0.9)
        here.score(21)
        before = statistics(tick(here, week(22) + 2 * DAY))
        here.label_late(20, label=1)
        revised = tick(here, week(22) + 3 * DAY)
        assert [each.revision for each in revised.evaluations] == [1]
        here.score(22)
        [after] = statistics(tick(here, week(23) + 2 * DAY))
        assert revised.evaluations[0].metrics["lasting/statistic"] != before[0]
        assert after > before[1]  # the late labels, all positive, made week 20 worse


class TestGaps:
    def test_a_window_without_labels_is_a_gap(self, here: World) -> None:
        here.score(20, shift=0.9)
        here.score(22, shift=0.9)
        found = tick(here, week(23) + 2 * DAY)
        assert [each.outcome is Status.INSUFFICIENT for each in found.evaluations] == [False, True, False]
        assert found.evaluations[2].verdicts[0].details["windows"] == 3

    def test_after_a_paused_month_the_chart_goes_on_where_it_was(self, here: World) -> None:
        for number in (20, 21, 26, 27):
            here.score(number, shift=0.7)
        evaluations = tick(here, week(28) + 2 * DAY).evaluations
        seen = [each for each in evaluations if each.outcome is not Status.INSUFFICIENT]
        assert len(evaluations) == 8
        stands = [each.metrics["lasting/statistic"] for each in seen]
        assert stands == sorted(stands)
        assert [each.outcome for each in seen][-1] is Status.DEGRADED
        assert seen[-1].verdicts[0].details["since"] == "2026-05-25"

    def test_a_champion_that_is_replaced_in_the_middle_is_charted_on_its_own(self, here: World) -> None:
        for number in (20, 21, 22):
            here.score(number, shift=0.5, n=401)
        assert tick(here, week(23) + 2 * DAY).status == {"": Status.DEGRADED}
        for number in (23, 24):
            here.score(number, shift=0.5)
        after = tick(here, week(25) + 2 * DAY, model=NEXT)
        assert [each.verdicts[0].details["windows"] for each in after.evaluations] == [1, 2]
        assert after.evaluations[0].outcome is Status.OK
        mended(here, 20)  # which the old champion scored
        again = tick(here, week(25) + 3 * DAY, model=NEXT)
        assert {(each.champion_version, each.revision) for each in again.evaluations} == {("7", 1)}

    def test_a_reference_of_one_window_cannot_be_compared_with(self, here: World) -> None:
        here.score(20)
        one = tick(here, week(21) + 2 * DAY, reference="{from: 2026-05-18, to: 2026-05-25}")
        [found] = one.evaluations[0].verdicts
        assert found.outcome is Status.INSUFFICIENT
        assert verdict(found) == (
            "a lasting change needs at least 3 reference windows with both classes, which show "
            "how much windows differ; 1 of 1 can be used: give more or shorter windows, so lasting cannot be "
            "judged"
        )

    @pytest.mark.slow
    def test_equal_windows_are_doubted_and_judged_by_their_sampling_error(self, here: World) -> None:
        for number in range(20):
            here.clear(number)
            here.score(number, alike=1)
        for number in range(20, 24):
            here.score(number, shift=0.5)
        last = tick(here, week(24) + 2 * DAY).evaluations[-1]
        assert last.outcome is Status.DEGRADED
        [doubt] = [each for each in last.caveats if each.code == "reference-windows-equal"]
        assert "check the reference's query" in words_of(doubt)

    def test_the_season_is_mentioned_once_and_not_in_an_alarm(self, here: World) -> None:
        rules = "[{kind: lasting}, {kind: forecast}, {kind: drop, value: 0.02}]"
        for number in range(20, 23):
            here.score(number, shift=0.4)
        last = tick(here, week(23) + 2 * DAY, rules=rules).evaluations[-1]
        assert [each.about for each in last.caveats if each.code == "season-not-seen"] == [()]
        told = messages(here)[-1]
        assert "a season cannot be told from a change" not in told.body


def test_an_option_of_the_rule_makes_another_reference_when_it_is_used(here: World) -> None:
    plain, default, used = (
        references.digest(here.configure(rules=f"[{{kind: lasting{each}}}]").monitors["credit"])
        for each in ("", ", alternative: less", ", alternative: two-sided")
    )
    assert plain == default != used


@pytest.mark.slow
def test_a_window_with_too_few_labels_is_insufficient_and_stops_no_later_tick(here: World) -> None:
    for number in range(20, 29):
        here.score(number, labelled=0.37 if number == 23 else 1.0)
    rules = "[{kind: forecast}, {kind: lasting}]"
    found = tick(here, week(26) + 2 * DAY, rules=rules)
    [refused] = [each for each in found.evaluations if each.window.start == week(23)]
    assert refused.outcome is Status.INSUFFICIENT
    assert not [name for name in refused.metrics if name.startswith("lasting/")]
    assert "forecast/low" in refused.metrics  # for charts without gaps
    for number in (27, 28, 29):
        later = tick(here, week(number) + 2 * DAY, rules=rules)
        assert later.judged == 1
        assert later.status[""] is not Status.ERROR
