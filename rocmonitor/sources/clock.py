"""Clocks: what the time column of a query holds, and what a window's ends are on it.

A column holds instants (they carry a zone) or wall times (they carry none; ``sources.NAME.timezone`` says
whose). Wall times are compared as they stand, never converted, so every row lies in exactly one of two
adjacent windows also where a clock change makes an hour twice or not at all:

- the hour that comes twice belongs to its first pass: a window that starts in the second pass starts on this
  clock when the hour is over;
- an hour that is skipped holds no true times; those found there count to the window before the change.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Window

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 counts wall time as well as UTC
_MICROSECOND = timedelta(microseconds=1)
_TEXT = re.compile(
    r"\d{4}-\d\d-\d\d(?:(?P<separator>[ T])\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<offset>Z|[+-]\d\d(?::?\d\d)?)?)?"
)


@dataclass(frozen=True, slots=True)
class Clock:
    """What the time column holds.

    Parameters
    ----------
    zone : ZoneInfo or None
        Whose wall time it is; None for instants.
    separator : str or None
        Between date and time, where times are text.
    """

    zone: ZoneInfo | None
    separator: str | None = None

    def ends(self, window: Window) -> tuple[datetime, datetime]:
        """Start and end on this clock: naive wall times, or aware instants in UTC."""
        if self.zone is None:
            return window.start, window.end
        return wall_time(window.start, self.zone), wall_time(window.end, self.zone)

    def bound(self, window: Window) -> tuple[datetime | str, datetime | str]:
        """What ``:start`` and ``:end`` are bound to."""
        start, end = self.ends(window)
        if self.separator is None:
            return start, end
        return _shortest(start, self.separator), _shortest(end, self.separator)

    def microseconds(self, window: Window) -> tuple[int, int]:
        """Start and end as `read` counts."""
        start, end = self.ends(window)
        return since_epoch(start), since_epoch(end)

    def read(self, text: object) -> int | None:
        """Microseconds of a time held as text; None for what is no time on this clock."""
        try:
            time = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            return None
        if time is None or (time.tzinfo is None and self.zone is None):
            return None
        if time.tzinfo is not None and self.zone is not None:
            time = time.astimezone(self.zone).replace(tzinfo=None)
        return since_epoch(time)


def text_clock(text: str, zone: ZoneInfo | None, *, source: str, monitor: str, column: str) -> Clock:
    """The clock of a column of text, as SQLite keeps times, from one of its values.

    Text is compared as text by the query, so it must be written from the year downwards, all alike, and in
    one zone: ``YYYY-MM-DD``, with ``HH:MM[:SS[.ffffff]]`` after a space or a T, with nothing or UTC's ``Z``
    or ``+00:00`` behind. That is what SQLAlchemy, pandas and SQLite's own functions write. Anything else
    (another offset, seconds since 1970) is for the query to convert, in its SELECT and in its WHERE, with
    ``datetime(column)`` or ``datetime(column, 'unixepoch')`` and ``sources.NAME.timezone: UTC``.
    """
    found = _TEXT.fullmatch(text)
    offset = found and found["offset"]
    if not found or (offset and offset.strip("Z+0:")):
        raise ConfigError(
            f"monitors.{monitor}.columns.time: {column} holds {text!r}, which cannot be compared as text "
            f"with :start and :end; use datetime({column}) in the SELECT and the WHERE of the query (with "
            f"'unixepoch' if it counts seconds), and set sources.{source}.timezone to UTC"
        )
    if offset:
        return Clock(None, found["separator"])
    return Clock(declared(zone, source=source, monitor=monitor, column=column), found["separator"] or " ")


def declared(zone: ZoneInfo | None, *, source: str, monitor: str, column: str) -> ZoneInfo:
    """The zone of wall times, which must be configured."""
    if zone is None:
        raise ConfigError(
            f"sources.{source}.timezone: needed, because {column} (monitors.{monitor}.columns.time) holds "
            "times without a zone; name the zone they are written in, such as UTC or Europe/Berlin"
        )
    return zone


def wall_time(instant: datetime, zone: ZoneInfo) -> datetime:
    """The first wall time that is not before `instant`, when an hour that comes twice is its first pass.

    Examples
    --------
    >>> berlin = ZoneInfo("Europe/Berlin")
    >>> for hour in (0, 1, 2):  # 27 October 2024: 03:00 CEST is 02:00 CET
    ...     print(wall_time(datetime(2024, 10, 27, hour, 30, tzinfo=UTC), berlin))
    2024-10-27 02:30:00
    2024-10-27 03:00:00
    2024-10-27 03:30:00
    """
    local = instant.astimezone(zone)
    if local.fold:
        whole = instant.replace(microsecond=0)
        repeated = local.replace(fold=0).utcoffset() - local.utcoffset()  # type: ignore[operator]
        seconds = range(int(repeated.total_seconds()) + 1)
        over = bisect_left(
            seconds, True, key=lambda s: not (whole + timedelta(seconds=s)).astimezone(zone).fold
        )
        local = (whole + timedelta(seconds=over)).astimezone(zone)
    return local.replace(tzinfo=None)


def _shortest(time: datetime, separator: str) -> str:
    """Text that sorts before every longer way to write the same time."""
    text = f"{time:%Y-%m-%d}{separator}{time:%H:%M:%S.%f}"
    for zeros in (".000000", ":00", f"{separator}00:00"):
        if not text.endswith(zeros):
            break
        text = text.removesuffix(zeros)
    return text


def since_epoch(time: date) -> int:
    """Microseconds since 1970 of a wall time, or of an instant in UTC."""
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)  # noqa: DTZ001
    plain = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    return (plain - EPOCH) // _MICROSECOND
