"""What `check` says of windows that are joined from those of the calendar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from rocmonitor.config import Config, Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError, RocmonitorError
from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.service.pieces import Pieces, reference_joining, reference_windows, usual_length
from rocmonitor.sources import LabelCounts, open_source
from rocmonitor.wording.format import count, instant

_UNITS = {"1h": "hours", "1d": "days", "7d": "weeks", "1mo": "months", "1q": "quarters"}


def window_length(monitor: Monitor) -> str:
    """How long windows are."""
    spec = monitor.window
    if spec.rows is not None:
        return f"at least {spec.rows:,} rows, in whole {pieces(monitor)}"
    if spec.pool is not None:
        return (
            f"every {written(spec.every)}, up to {spec.pool} pooled until each class has "
            f"{monitor.min_per_class:,} rows"
        )
    return f"every {written(spec.every)}"


def pieces(monitor: Monitor) -> str:
    """What windows are joined from; the windows themselves, where they are not joined."""
    spec = monitor.window
    if spec.rows is None:
        return "windows"
    return _UNITS.get(written(spec.every), f"periods of {written(spec.every)}")


def not_enough(monitor: Monitor, window: Window, labels: LabelCounts) -> str:
    """That all rows so far are no window yet."""
    since = instant(window.start, monitor.timezone)
    if monitor.window.rows is not None:
        return (
            f"none can be judged yet: {labels.rows:,} of {monitor.window.rows:,} rows since {since} are old "
            "enough"
        )
    return (
        f"none can be judged yet: {labels.n_pos:,} positives and {labels.n_neg:,} negatives since {since}; "
        f"{monitor.min_per_class:,} of each are needed (min_per_class), or {monitor.window.pool} windows"
    )


def lengths(windows: Sequence[Window]) -> str:
    """How long windows are that differ."""
    days = [(window.end - window.start) / DAY for window in windows]
    if not days:
        return ""
    shortest, longest = (f"{each:.3g}" for each in (min(days), max(days)))
    span = count(max(days), "day") if shortest == longest else f"{shortest} to {longest} days"
    return f" of {span}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedReference:
    """The reference of a monitor that joins its windows.

    Attributes
    ----------
    windows, pieces
        As of `reference_windows`.
    per_year : float
        Windows a year, as the reference shows.
    """

    windows: list[Window]
    pieces: Pieces
    per_year: float


def joined_references(config: Config, now: datetime) -> dict[str, JoinedReference]:
    """Those that an alarm budget is divided by.

    Left out is a monitor whose reference cannot be read: its own section says why.
    """
    found: dict[str, JoinedReference] = {}
    if config.alarm_budget is None:
        return found
    for monitor in config.monitors.values():
        if monitor.joining is None:
            continue
        of = config.sources[monitor.source]
        with suppress(RocmonitorError), open_source(of, config.folder, name=monitor.source) as source:
            windows, pieces = reference_windows(monitor, source, now)
            rows = 0
            if reference_joining(monitor) is None:  # else the length of the windows shows
                rows = sum(source.label_counts(monitor, each, as_of=now).rows for each in windows)
            if windows:
                per_year = YEAR / usual_length(monitor, windows, rows)
                found[monitor.name] = JoinedReference(windows=windows, pieces=pieces, per_year=per_year)
    return found


def too_short(monitor: Monitor, rows: int) -> Iterator[ConfigError]:
    """A reference that has fewer rows than one window."""
    needed = monitor.window.rows
    if needed is not None and monitor.reference.windows is None and rows < needed:
        yield ConfigError(
            f"monitors.{monitor.name}.reference has {rows:,} rows, and a window has at least {needed:,} "
            "(window.rows): choose a longer period (reference.from, reference.to), or fewer rows"
        )
