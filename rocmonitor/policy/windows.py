"""Windows: half-open stretches of time, aligned in a named zone, and when each is old enough to be judged."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rocmonitor.errors import InputError

DAY = timedelta(days=1)
MOST_WINDOWS = 1_000_000
"""A calendar with more windows is refused: nobody waits for it."""

A_MONDAY = datetime(1970, 1, 5)  # noqa: DTZ001 wall time: its zone is the monitor's
A_MONTH = DAY * 365.2425 / 12
"""The mean length of a month."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The rows with ``start <= time < end``; both aware, in UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise InputError(f"a window needs instants with a time zone: {self.start} to {self.end}")
        if not self.start < self.end:
            raise InputError(f"a window must end after it starts: {self.start} to {self.end}")
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))

    @classmethod
    def from_dict(cls, stored: Mapping[str, str]) -> Window:
        """Return the window whose ``start`` and ``end`` are written as ISO 8601."""
        return cls(datetime.fromisoformat(stored["start"]), datetime.fromisoformat(stored["end"]))

    def to_dict(self) -> dict[str, str]:
        """Return ``start`` and ``end`` as ISO 8601."""
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    def overlaps(self, other: Window) -> bool:
        """Return True if some instant lies in both."""
        return self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%dT%H:%MZ}/{self.end:%Y-%m-%dT%H:%MZ}"

    def in_zone(self, zone: ZoneInfo) -> str:
        """Start and end as a person in `zone` writes them; midnights as plain dates."""
        ends = [instant.astimezone(zone) for instant in (self.start, self.end)]
        form = "%Y-%m-%d" if all(end.time() == time() for end in ends) else "%Y-%m-%d %H:%M"
        return f"{ends[0]:{form}} to {ends[1]:{form}}"

    def name(self, zone: ZoneInfo) -> str:
        """Start as a person in `zone` writes it; a midnight as a plain date."""
        start = self.start.astimezone(zone)
        return f"{start:%Y-%m-%d}" if start.time() == time() else f"{start:%Y-%m-%d %H:%M}"

    @property
    def unit(self) -> str:
        """The name of the window's length: week, day or window."""
        return {7: "week", 1: "day"}.get(round((self.end - self.start) / DAY), "window")


class Months(NamedTuple):
    """A length in months of the calendar; 3 are a quarter.

    Examples
    --------
    >>> Months(3).mean.days
    91
    """

    number: int

    @property
    def mean(self) -> timedelta:
        """The mean length of this number of months."""
        return self.number * A_MONTH

    def after(self, wall: datetime, count: int) -> datetime:
        """`count` such lengths after a wall time; a day that a month lacks is its last one."""
        month = wall.year * 12 + wall.month - 1 + count * self.number
        year, month = month // 12, month % 12 + 1
        return wall.replace(year=year, month=month, day=min(wall.day, monthrange(year, month)[1]))


Length = timedelta | Months


def mean_length(every: Length) -> timedelta:
    """Return how long windows of this length are on average."""
    return every.mean if isinstance(every, Months) else every


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The rule that cuts time into windows.

    Whole days and months are those of the calendar in `zone`: a window starts and ends at local midnight, so
    it lasts an hour less or more across a clock change. Other lengths are elapsed time. Some window starts at
    the wall time `align` in `zone`; by default a Monday at midnight, of months the first of January. Months
    that start on the 31st start on the last day where a month has no 31st.
    """

    every: Length
    zone: ZoneInfo
    align: datetime | None = None

    def __post_init__(self) -> None:
        if mean_length(self.every) <= timedelta():
            raise InputError(f"window.every must be longer than nothing; it is {self.every}")

    @property
    def origin(self) -> datetime:
        """The wall time at which window 0 starts."""
        if self.align is not None:
            return self.align
        return A_MONDAY.replace(day=1) if isinstance(self.every, Months) else A_MONDAY

    def boundary(self, number: int) -> datetime:
        """Return where window `number` starts, counted from `align`; window 0 starts there."""
        if isinstance(self.every, Months):
            return self.every.after(self.origin, number).replace(tzinfo=self.zone).astimezone(UTC)
        if self.every % DAY:
            return self.origin.replace(tzinfo=self.zone).astimezone(UTC) + number * self.every
        return (self.origin + number * self.every).replace(tzinfo=self.zone).astimezone(UTC)

    def first_at_or_after(self, instant: datetime) -> int:
        """Return the number of the first window that does not start before `instant`."""
        wall = instant.astimezone(self.zone).replace(tzinfo=None)
        number = (wall - self.origin) // mean_length(self.every) - 1 - isinstance(self.every, Months)
        while self.boundary(number) < instant:
            number += 1
        return number

    def following(self, instant: datetime) -> Window:
        """Return the first window that does not start before `instant`."""
        number = self.first_at_or_after(instant)
        return Window(self.boundary(number), self.boundary(number + 1))

    def within(self, start: datetime, end: datetime) -> list[Window]:
        """Return the whole windows inside [start, end), in order; InputError for more than a million."""
        if (many := (end - start) / mean_length(self.every)) > MOST_WINDOWS:
            raise InputError(
                f"{many:,.0f} windows from {start:%Y-%m-%d} to {end:%Y-%m-%d} are too many (at most "
                f"{MOST_WINDOWS:,}): begin later (window.start), or make window.every longer"
            )
        windows = []
        number = self.first_at_or_after(start)
        while (stop := self.boundary(number + 1)) <= end:
            windows.append(Window(self.boundary(number), stop))
            number += 1
        return windows


def split(start: datetime, end: datetime, parts: int, zone: ZoneInfo) -> list[Window]:
    """Return the time between two wall times in `zone` in `parts` windows, as equal as can be.

    A period of whole days with at least one for each part is cut at local midnights, so that no part starts
    in the middle of a day.
    """
    if parts < 1:
        raise InputError(f"reference.windows must be at least 1; it is {parts}")
    length = end - start
    edges = [start + length * part / parts for part in range(parts + 1)]
    if not length % DAY and length >= parts * DAY:
        edges = [start + (length // DAY * part // parts) * DAY for part in range(parts + 1)]
    return [Window(*pair) for pair in pairwise(edge.replace(tzinfo=zone) for edge in edges)]


def tiling(windows: Sequence[Window], whole: Window) -> list[Window]:
    """Return those of some windows that fill a period, each instant once; none where they leave a gap.

    Windows lie inside the period, by their start; of those with one start the first that is taken counts.
    """
    taken, reached = list[Window](), whole.start
    for window in windows:
        if window.start == reached:
            taken.append(window)
            reached = window.end
    return taken if reached == whole.end else []


def gaps(windows: Sequence[Window], whole: Window) -> list[Window]:
    """Return what a period has beside some windows inside it, which do not overlap, in order."""
    free, reached = list[Window](), whole.start
    for window in [*sorted(windows), Window(whole.end, datetime.max.replace(tzinfo=UTC))]:
        if window.start > reached:
            free.append(Window(reached, window.start))
        reached = window.end
    return free


def day_of(window: Window) -> float:
    """Days since 1970 at its start, for the season."""
    return window.start.timestamp() / 86400
