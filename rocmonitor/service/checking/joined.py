"""The lines of `check` about windows that are joined from those of the calendar."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from rocmonitor.config import Config, Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError, RocmonitorError
from rocmonitor.policy.arrival import ALIKE, needed_share
from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.service.checking.outside import Sources
from rocmonitor.service.checking.words import MORE_ROWS, Doubt
from rocmonitor.service.pieces import Pieces, reference_joining, reference_windows, usual_length
from rocmonitor.sources import LabelCounts, Rows, SqlSource
from rocmonitor.wording.format import count, days, instant, listed, percent

_UNITS = {"1h": "hours", "1d": "days", "7d": "weeks", "1mo": "months", "1q": "quarters", "1y": "years"}


def window_length(monitor: Monitor) -> str:
    """Return how long windows are."""
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
    """Return what windows are joined from; the windows themselves, where they are not joined."""
    spec = monitor.window
    if spec.rows is None:
        return "windows"
    return _UNITS.get(written(spec.every), f"periods of {written(spec.every)}")


def not_enough(monitor: Monitor, window: Window, labels: LabelCounts) -> str:
    """Return a line if all rows so far are no window yet."""
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
    """Return how long windows are that differ."""
    in_days = [(window.end - window.start) / DAY for window in windows]
    if not in_days:
        return ""
    shortest, longest = days(min(in_days)), days(max(in_days))
    span = count(max(in_days), "day") if shortest == longest else f"{shortest} to {longest} days"
    return f" of {span}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedReference:
    """The reference of a monitor that joins its windows, as `reference_windows` gives it."""

    windows: list[Window]
    pieces: Pieces
    per_year: float
    """Windows a year, as the reference shows."""


def joined_references(config: Config, sources: Sources, now: datetime) -> dict[str, JoinedReference]:
    """Return those that an alarm budget is divided by.

    Left out is a monitor whose reference cannot be read: its own section says why.
    """
    by_monitor: dict[str, JoinedReference] = {}
    if config.alarm_budget is None:
        return by_monitor
    for monitor in config.monitors.values():
        if monitor.joining is None:
            continue
        with suppress(RocmonitorError):
            source = sources.opened(monitor.source)
            windows, pieces = reference_windows(monitor, source, now)
            rows = 0
            if reference_joining(monitor) is None:  # else the length of the windows shows
                rows = sum(source.label_counts(monitor, window, as_of=now).rows for window in windows)
            if windows:
                per_year = YEAR / usual_length(monitor, windows, rows)
                by_monitor[monitor.name] = JoinedReference(windows=windows, pieces=pieces, per_year=per_year)
    return by_monitor


def too_short(monitor: Monitor, rows: int) -> Iterator[ConfigError]:
    """Yield a reference that has fewer rows than one window."""
    needed = monitor.window.rows
    if needed is not None and monitor.reference.windows is None and rows < needed:
        yield ConfigError(
            f"monitors.{monitor.name}.reference has {rows:,} rows, and a window has at least {needed:,} "
            "(window.rows): choose a longer period (reference.from, reference.to), or fewer rows"
        )


MOST_SEGMENTS = 5
"""The number of segment values named as too small."""


def small_segments(segments: Mapping[str, Rows], min_per_class: int) -> list[str]:
    """Return the segment values that would be insufficient, each with the class that is too small.

    A doubt comes first where they are most of all.
    """
    small: list[str] = []
    for name, rows in segments.items():
        classes = {"positives": rows.counts.n_pos, "negatives": rows.counts.n_neg}
        short = [f"{count:,} {what}" for what, count in classes.items() if count < min_per_class]
        if name and short:
            small.append(f"{name}: {' and '.join(short)}, min_per_class is {min_per_class:,}: insufficient")
    many, total = len(small), len([name for name in segments if name])
    if len(small) > MOST_SEGMENTS:
        small[MOST_SEGMENTS:] = [f"and {len(small) - MOST_SEGMENTS:,} more that are insufficient"]
    if many > total / 2:
        helps = f"{MORE_ROWS}, or coarser segments"
        small.insert(0, Doubt(f"{many} of {total} segment values have too few rows to be judged: {helps}"))
    return small


_FEWEST_ROWS = 20
"""With fewer a share of labelled rows says little."""
_LATEST = 90
"""Days by which a window may be judged too early, to say by how many it is."""

WINDOWS_OF_CURVE = 6
"""The last windows of the reference that are counted at each age."""

Counted = tuple[Window, LabelCounts]


def label_shares(
    monitor: Monitor, sources: Sources, last: Counted | None, reference: Sequence[Counted], now: datetime
) -> list[str]:
    """Return the share of labelled rows in the last window and in the reference, and a conclusion.

    `last` is the last window that is old enough to be judged; it and the reference windows have the labels of
    now. With ``columns.labelled_at`` those known at `window.label_delay` are counted, window by window.
    """
    source, past = sources.opened(monitor.source), _share([counts for _, counts in reference])
    if past is None:
        return []
    if monitor.columns.labelled_at is not None:
        return _by_age(monitor, source, last, [window for window, _ in reference], past)
    needed = needed_share(monitor.window.min_labelled, past, dated=False)
    if early := _too_early(monitor, source, past, needed, now):
        return early
    last_share = None if last is None else _share([last[1]])
    if last_share is None:
        return [f"{percent(past, 2)} of the reference's rows have a label"]
    both = f"{percent(last_share, 2)} of the rows of the last window have a label, "
    both += f"{percent(past, 2)} of the reference's"
    way_out = (
        "judge later (window.label_delay), or say when labels became known (columns.labelled_at), so that "
        "windows are estimated and compared with the reference at the same label age"
    )
    if last_share < needed:
        return [
            Doubt(f"{both}; {percent(needed, 2)} are needed, so such a window is insufficient: {way_out}")
        ]
    if abs(last_share - past) > ALIKE:
        return [
            Doubt(f"{both}: where labels come first to some scores, their AUROCs are not alike; {way_out}")
        ]
    return [f"{both}: they can be compared as they are"]


def _too_early(monitor: Monitor, source: SqlSource, past: float, needed: float, now: datetime) -> list[str]:
    """Return a doubt where rows as old as those of a window that falls due now lack labels.

    Today's last window may be older than that, and have them all.
    """
    spec = monitor.labels

    def share(late: int) -> float | None:
        """Return the share of labelled rows of a window judged so many days later; None of too few rows."""
        end = now - spec.delay - late * DAY
        counted = source.label_counts(monitor, Window(end - spec.every, end), as_of=now)
        return _share([counted]) if counted.rows >= _FEWEST_ROWS else None

    due = share(0)
    if due is None or due >= past - ALIKE:
        return []
    late = bisect_left(range(_LATEST), past - ALIKE, key=lambda days: share(days) or 0.0)
    later = written(spec.delay + late * DAY) if late < _LATEST else "a longer time"
    what = "insufficient" if due < needed else "judged by the labels that come first"
    return [
        Doubt(
            f"{percent(due, 2)} of the rows that are as old as those of a window when it is judged "
            f"({written(spec.delay)} after its end) have a label, {percent(past, 2)} of the reference's: "
            f"such a window is {what}; set window.label_delay: {later}, or say when labels became known "
            "(columns.labelled_at)"
        )
    ]


def _by_age(
    monitor: Monitor, source: SqlSource, last: Counted | None, windows: Sequence[Window], past: float
) -> list[str]:
    due = (source.label_counts(monitor, window, as_of=monitor.labels.due_at(window)) for window in windows)
    then = [share for counts in due if (share := _share([counts])) is not None]
    low, high = min(then), max(then)
    least, most = percent(low, 2), percent(high, 2)
    shares = least if least == most else f"{least} to {most}"
    latest, by_age = windows[-WINDOWS_OF_CURVE:], []
    for age in monitor.labels.shown_ages:
        counts = [source.label_counts(monitor, window, as_of=window.end + age) for window in latest]
        by_age.append(f"{percent(_share(counts) or 0, 2)} after {days(age / DAY)} days")
    lines = [
        f"when due, {shares} of the rows of a reference window had a label, {percent(past, 2)} in the end",
        f"labels by age, in its last {len(latest)} windows: {', '.join(by_age)}",
    ]
    if sum(then) / len(then) > past - 0.005:
        return [*lines, "so labels are complete when a window is due, and windows are judged by them"]
    lines.append(
        "so a window is estimated when due, and compared with what reference windows showed at that label age"
    )
    if whole := sorted({rule.kind for rule in monitor.rules if rule.needs.all_labels}):
        line = (
            f"{listed(whole)}: only {shares} of the rows have a label when due, and all are needed: seldom "
        )
        lines.append(Doubt(f"{line}or never judged; raise window.label_delay ({by_age[-1]})"))
    if last is None:
        return lines
    now = _share([source.label_counts(monitor, last[0], as_of=monitor.labels.due_at(last[0]))])
    if now is None:
        return lines
    lines.append(f"the last window: {percent(now, 2)} when due")
    if now < low - ALIKE:
        lines[-1] = Doubt(
            f"{lines[-1]}, fewer than in any reference window: rules may be insufficient until its labels "
            "are in; choose a reference in which labels came as they do now"
        )
    return lines


def _share(counts: Sequence[LabelCounts]) -> float | None:
    rows = sum(labels.rows for labels in counts)
    return sum(labels.labelled for labels in counts) / rows if rows else None
