"""Clocks: what the time column of a query contains, and where a window starts and ends on it.

A column contains instants (with a zone) or wall times (without one, in the zone ``sources.NAME.timezone``).
Wall times are compared as they are, never converted. So every row is in exactly one of two adjacent windows,
even where a clock change repeats or skips an hour:

- a repeated hour counts as its first occurrence: a window that starts in the second occurrence starts, on
  this clock, when the hour is over;
- a skipped hour contains no real times; any that are found there belong to the window before the change.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Window

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 counts wall time as well as UTC
_TEXT = re.compile(
    r"\d{4}-\d\d-\d\d(?:(?P<separator>[ T])\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<offset>Z|[+-]\d\d(?::?\d\d)?)?)?"
)

_DAY_FIRST = re.compile(r"\d\d[./]\d\d[./]\d{4}(?!\d)")
_SECONDS = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Clock:
    """The content of a time column: wall times in a zone, or instants; as texts with a separator."""

    zone: ZoneInfo | None
    separator: str | None = None

    def ends(self, window: Window) -> tuple[datetime, datetime]:
        """Start and end on this clock: naive wall times, or aware instants in UTC."""
        return self.at(window.start), self.at(window.end)

    def bound(self, window: Window) -> tuple[datetime | str, datetime | str]:
        """Return what ``:start`` and ``:end`` are bound to."""
        start, end = self.ends(window)
        if self.separator is None:
            return start, end
        return _shortest(start, self.separator), _shortest(end, self.separator)

    def at(self, instant: datetime) -> datetime:
        """Return an instant on this clock."""
        return instant if self.zone is None else wall_time(instant, self.zone)

    def bound_at(self, instant: datetime) -> datetime | str:
        """Return what ``:as_of`` is bound to."""
        time = self.at(instant)
        return time if self.separator is None else f"{time:%Y-%m-%d}{self.separator}{time:%H:%M:%S.%f}"

    def microseconds(self, window: Window) -> tuple[int, int]:
        """Start and end as `read` counts."""
        start, end = self.ends(window)
        return since_epoch(start), since_epoch(end)

    def read(self, text: object) -> int | None:
        """Microseconds of a time given as text; None for text that is not a time on this clock."""
        try:
            time = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            return None
        if time is None or (time.tzinfo is None and self.zone is None):
            return None
        if time.tzinfo is not None:
            time = time.astimezone(self.zone or UTC).replace(tzinfo=None)
        since = time - EPOCH  # as in `since_epoch`, without a call for each row
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def text_clock(
    text: str, zone: ZoneInfo | None, *, source: str, monitor: str, column: str, key: str = "time"
) -> Clock:
    """Return the clock of a column of text, as SQLite keeps times, from one of its values.

    The query compares text as text, so all times must have one format, from the year down, and one zone:
    ``YYYY-MM-DD``, optionally with ``HH:MM[:SS[.ffffff]]`` after a space or a T, and optionally UTC's ``Z``
    or ``+00:00`` at the end. SQLAlchemy, pandas and SQLite's own functions write this. The query must convert
    anything else (another offset, seconds since 1970), in its SELECT and in its WHERE, with
    ``datetime(column)`` or ``datetime(column, 'unixepoch')`` and ``sources.NAME.timezone: UTC``.
    """
    match = _TEXT.fullmatch(text)
    offset = match and match["offset"]
    if not match or (offset and offset.strip("Z+0:")):
        zone_of = "UTC"
        converted = f"datetime({column}, 'unixepoch')" if _SECONDS.fullmatch(text) else f"datetime({column})"
        if _DAY_FIRST.match(text):
            zone_of = "the zone of these times"
            year, month, day = (f"substr({column}, {part})" for part in ("7, 4", "4, 2", "1, 2"))
            converted = f"{year} || '-' || {month} || '-' || {day} || substr({column}, 11)"
            if "/" in text:
                converted += " (which reads the day first; exchange 4 and 1 for the month first)"
        raise ConfigError(
            f"monitors.{monitor}.columns.{key}: {column} holds {text!r}, which cannot be compared as text "
            f"with :start, :end and :as_of; use {converted} in the SELECT and the WHERE of the query, "
            f"and set sources.{source}.timezone to {zone_of}"
        )
    if offset:
        return Clock(None, match["separator"])
    wall = declared(zone, source=source, monitor=monitor, column=column, key=key)
    return Clock(wall, match["separator"] or " ")


def declared(zone: ZoneInfo | None, *, source: str, monitor: str, column: str, key: str = "time") -> ZoneInfo:
    """Return the zone of wall times, which must be configured."""
    if zone is None:
        raise ConfigError(
            f"sources.{source}.timezone: needed, because {column} (monitors.{monitor}.columns.{key}) holds "
            "times without a zone; name the zone they are written in, such as UTC or Europe/Berlin"
        )
    return zone


def wall_time(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return the first wall time not before `instant`; a repeated hour counts as its first occurrence.

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
    since = plain - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds  # 4 times as fast as //


_WRITTEN = "0000-00-00 00:00:00.000000"  # 0: a digit; also without the fraction
_UTC = ("+00:00", "Z")


def read_times(clock: Clock, values: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what `Clock.read` gives of each value, 0 where that is None, and where it is not None.

    Times that are all written alike are read together, several times as fast as one by one.
    """
    together = _alike(clock, values)
    if together is not None:
        return together, np.ones(len(together), dtype=np.bool_)
    instants = [clock.read(value) for value in values]
    is_time = np.array([time is not None for time in instants], dtype=np.bool_)
    return np.array([time or 0 for time in instants], dtype=np.int64), is_time


def _alike(clock: Clock, values: Sequence[Any]) -> NDArray[np.int64] | None:
    """Microseconds of times to the second or its millionth that have one length; None if one has not."""
    if not values or set(map(type, values)) != {str}:
        return None
    suffix = "" if clock.zone is not None else next((end for end in _UTC if values[0].endswith(end)), None)
    length = len(values[0])
    if suffix is None or length - len(suffix) not in (19, len(_WRITTEN)):
        return None
    text = "".join(values)
    if not text.isascii() or set(map(len, values)) != {length}:
        return None
    plain = length - len(suffix)
    shape = np.frombuffer((_WRITTEN[:plain] + suffix).encode(), dtype=np.uint8)
    letters = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, length)
    is_digit = (shape == ord("0")) & (np.arange(length) < plain)
    fixed = ~is_digit
    fixed[10] = False
    if (letters[:, fixed] != shape[fixed]).any() or not np.isin(letters[:, 10], (ord(" "), ord("T"))).all():
        return None
    digits = letters[:, is_digit] - np.uint8(ord("0"))  # what is below "0" wraps around
    if (digits > 9).any() or not digits[:, :4].any(axis=1).all():  # Python has no year 0
        return None
    written = np.ascontiguousarray(letters[:, :plain]).view(f"S{plain}")[:, 0]
    try:
        return written.astype("datetime64[us]").astype(np.int64)
    except ValueError:  # 30 February
        return None
