"""A clock that is set is seen by the time that passes on a clock that nobody sets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from rocmonitor.policy.clock_jump import CONFIRM_AFTER, TOLERANCE, BelievedClock, believe

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass
class Machine:
    """The true time, and a clock that is wrong by `wrong`."""

    passed: timedelta = timedelta()
    wrong: timedelta = timedelta()
    boot: str = "first"
    started: timedelta = timedelta()
    seen: BelievedClock | None = None

    def believed(self) -> timedelta:
        """How far the believed time is from the true one."""
        clock = NOON + self.passed + self.wrong
        elapsed = (self.passed - self.started).total_seconds()
        time, self.seen = believe(clock, self.boot, elapsed, self.seen)
        assert time <= clock
        return time - (NOON + self.passed)


@pytest.mark.parametrize("pause", [MINUTE, HOUR, 7 * DAY, 400 * DAY])
def test_a_clock_that_was_not_set_is_believed_however_long_nobody_looked(pause: timedelta) -> None:
    machine = Machine()
    for _ in range(5):
        assert machine.believed() == timedelta()
        machine.passed += pause


@pytest.mark.parametrize("pause", [MINUTE, 20 * MINUTE])
@pytest.mark.parametrize("jump", [10 * MINUTE, DAY, 40 * DAY, 36500 * DAY])
def test_a_clock_that_jumps_ahead_is_not_believed_until_it_has_gone_on_for_an_hour(
    jump: timedelta, pause: timedelta
) -> None:
    machine = Machine()
    machine.believed()
    machine.passed, machine.wrong = MINUTE, jump
    began = machine.passed
    while machine.passed - began < CONFIRM_AFTER:
        assert machine.believed() == timedelta()
        machine.passed += pause
    assert machine.believed() == jump
    assert machine.seen is not None
    assert machine.seen.ahead is None


def test_a_clock_that_jumps_ahead_and_back_was_never_believed() -> None:
    machine = Machine()
    for wrong in (timedelta(), 40 * DAY, 40 * DAY, timedelta(), timedelta()):
        machine.wrong = wrong
        assert machine.believed() == timedelta()
        machine.passed += MINUTE
    assert machine.seen is not None
    assert machine.seen.ahead is None


def test_a_clock_that_is_set_again_and_again_is_not_confirmed() -> None:
    machine = Machine()
    machine.believed()
    for number in range(1, 10):
        machine.passed += 30 * MINUTE
        machine.wrong = number * DAY
        assert machine.believed() == timedelta()


def test_back_a_clock_is_believed_at_once() -> None:
    machine = Machine(wrong=40 * DAY)
    assert machine.believed() == 40 * DAY  # the first look: there is nothing to compare it with
    machine.wrong = timedelta()
    machine.passed += MINUTE
    assert machine.believed() == timedelta()


def test_small_differences_are_nothing() -> None:
    machine = Machine()
    machine.believed()
    machine.wrong, machine.passed = TOLERANCE, MINUTE
    assert machine.believed() == TOLERANCE


def test_a_machine_that_was_started_anew_may_have_been_away() -> None:
    machine = Machine()
    machine.believed()
    machine.passed, machine.started, machine.boot = 40 * DAY, 40 * DAY - MINUTE, "second"
    assert machine.believed() == timedelta()


def test_after_a_start_a_clock_far_out_of_range_is_not_believed_until_confirmed() -> None:
    machine = Machine()
    machine.believed()
    machine.passed, machine.started, machine.boot, machine.wrong = HOUR, HOUR, "second", 36500 * DAY
    assert machine.believed() < timedelta()  # the last time that was believed
    machine.passed += CONFIRM_AFTER
    assert machine.believed() == 36500 * DAY
