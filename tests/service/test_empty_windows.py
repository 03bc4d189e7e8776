"""Windows before the first row and after the last are passed over; those in between are judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from scenario import World, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Calendar, Window
from rocmonitor.service.pieces import FEW, without_rows
from rocmonitor.service.tick import run_monitor

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)


def windows_of(number: int) -> list[Window]:
    calendar = Calendar(every=WEEK, zone=ZoneInfo("UTC"))
    return calendar.within(FIRST, FIRST + number * WEEK)


@given(st.lists(st.booleans(), max_size=14))
def test_what_is_passed_over_equals_its_definition(filled: list[bool]):
    windows = windows_of(len(filled))

    def count_rows(asked: Window) -> int:
        return sum(
            has
            for window, has in zip(windows, filled, strict=True)
            if asked.start <= window.start and window.end <= asked.end
        )

    passed = without_rows(windows, {}, count_rows)
    if True in filled:
        first, last = filled.index(True), len(filled) - 1 - filled[::-1].index(True)
        expected = {*windows[:first], *windows[last + 1 + FEW :]}
    else:
        expected = set(windows[FEW:])
    assert passed == expected


def test_years_without_rows_are_a_few_windows_not_hundreds(two_weeks: World):
    here = two_weeks
    with here.runtime(rules="[{kind: floor, value: 0.3}]") as runtime:
        monitor = runtime.config.monitors["credit"]
        for _ in range(2):  # a second tick adds none
            tick = run_monitor(runtime, monitor, now=week(400))
            assert tick.error is None
            outcomes = [outcome for _, outcome in store.outcomes(runtime.store, "credit", "")]
            assert len(outcomes) == 2 + FEW
            assert outcomes[2:] == [Status.INSUFFICIENT] * FEW
        here.score(29)  # rows come again: the windows in between are judged, as before
        tick = run_monitor(runtime, monitor, now=week(400))
        judged = [window.start for window, _ in store.outcomes(runtime.store, "credit", "")]
        assert judged == [week(number) for number in range(20, 30 + FEW)]
