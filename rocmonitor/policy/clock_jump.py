"""The check of the clock: its time against the time that has passed since the last look.

Clocks are set: by hand, by a virtual machine that wakes up, by a server of times that is wrong. Windows that
seem to have ended, because the clock is ahead, must not be judged: they would be found empty, for good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

TOLERANCE = timedelta(minutes=5)
"""Clocks that differ by less agree."""
CONFIRM_AFTER = timedelta(hours=1)
"""Time after which a clock that was set forward is believed."""
_LONGEST_PAUSE = timedelta(days=3653)
"""A machine that was started anew may have been away for as long as that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BelievedClock:
    """When the clock was last believed."""

    at: datetime
    boot: str  # the run of the machine, within one of which `elapsed` can be compared
    elapsed: float  # seconds since that began, on a clock that nobody sets
    ahead: timedelta | None = None  # how far ahead the clock is that is not believed yet
    ahead_since: float | None = None  # like `elapsed`


def believe(
    clock: datetime, boot: str, elapsed: float, seen: BelievedClock | None
) -> tuple[datetime, BelievedClock]:
    """Return the time that can be believed, never after `clock`, and what to remember for `seen` next time.

    Back, a clock is believed at once: nothing is judged too early by it.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> _, seen = believe(noon, "a", 100.0, None)
    >>> time, seen = believe(noon + timedelta(days=40), "a", 160.0, seen)  # a minute later
    >>> print(time, "|", seen.ahead)
    2026-03-01 12:01:00+00:00 | 39 days, 23:59:00
    """
    believed = BelievedClock(at=clock, boot=boot, elapsed=elapsed)
    if seen is None:
        return clock, believed
    same = boot == seen.boot and elapsed >= seen.elapsed
    expected = seen.at + timedelta(seconds=elapsed - seen.elapsed) if same else seen.at
    ahead = clock - expected
    if ahead <= (TOLERANCE if same else _LONGEST_PAUSE):
        return clock, believed
    if same and seen.ahead is not None and seen.ahead_since is not None:
        if abs(ahead - seen.ahead) > TOLERANCE:  # it was set once more
            return expected, replace(seen, ahead=ahead, ahead_since=elapsed)
        lasted = timedelta(seconds=elapsed - seen.ahead_since)
        return (clock, believed) if lasted >= CONFIRM_AFTER else (expected, seen)
    return expected, replace(believed, at=expected, ahead=ahead, ahead_since=elapsed)
