"""Windows that are joined from the calendar's: what is counted of the pieces, and the windows they make."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import takewhile

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.policy.joining import Counted, Joining, free, join, with_rest
from rocmonitor.policy.windows import Window
from rocmonitor.sources import LabelCounts, SqlSource

Pieces = Sequence[tuple[Window, LabelCounts]]
"""Pieces in order, each with what was counted in it."""


def count(source: SqlSource, monitor: Monitor, piece: Window, now: datetime) -> LabelCounts:
    """What a piece holds, with the labels that were known when it was due: later ones move no boundary."""
    return source.label_counts(monitor, piece, as_of=min(now, monitor.labels.due_at(piece)))


def closed(monitor: Monitor, joining: Joining, pieces: Pieces, now: datetime) -> list[Window]:
    """The windows that these pieces make, in order; `joining` is the monitor's."""
    ready = takewhile(lambda each: joining.rows is not None or _is_due(monitor, *each, now), pieces)
    return [each.window for each in join((_counted(*each) for each in ready), joining)[0]]


def joined_windows(
    monitor: Monitor,
    source: SqlSource,
    fixed: Collection[Window],
    now: datetime,
    windows: Sequence[Window],
) -> Sequence[Window]:
    """The monitor's windows within a stretch of time: the fixed ones, and what can be joined between them.

    Parameters
    ----------
    windows : sequence of Window
        Those of the calendar; they are the monitor's own where it joins none.
    """
    joining = monitor.joining
    ended = [each for each in windows if each.end <= now]
    if joining is None or not ended:
        return windows
    counted = [(piece, count(source, monitor, piece, now)) for piece in free(ended, fixed)]
    return sorted([*within(fixed, ended), *closed(monitor, joining, counted, now)])


def within(fixed: Iterable[Window], pieces: Sequence[Window]) -> list[Window]:
    """Those that lie in the time from the first piece to the last."""
    return [each for each in fixed if pieces and pieces[0].start <= each.start and each.end <= pieces[-1].end]


def before_empty(counted: Pieces, inside: Sequence[Window], passed: Collection[Window]) -> Pieces:
    """The pieces before those that are passed over because they come after the last row.

    What follows these is cut when rows come again. The ones passed over before the first row do not count.
    """
    first = min([*inside, *(piece for piece, _ in counted)], default=None)
    empty = min((each for each in passed if first is not None and each > first), default=None)
    return [each for each in counted if empty is None or each[0] < empty]


def together(pieces: Pieces) -> Counted | None:
    """What is counted of all; None of none."""
    return reduce(Counted.then, (_counted(*each) for each in pieces)) if pieces else None


def _is_due(monitor: Monitor, piece: Window, labels: LabelCounts, now: datetime) -> bool:
    """Whether the labels of a piece may decide where a window ends; rows alone decide at its end."""
    age = monitor.labels.age(piece, now)
    return age != "open" and (age != "waiting" or monitor.labels.enough(labels.rows, labels.labelled))


def _counted(piece: Window, labels: LabelCounts) -> Counted:
    return Counted(window=piece, rows=labels.rows, n_pos=labels.n_pos, n_neg=labels.n_neg)


def reference_joining(monitor: Monitor) -> Joining | None:
    """How the reference windows are joined; None where they are those of the calendar, or equal parts."""
    return monitor.joining if monitor.reference.windows is None else None


def usual_length(monitor: Monitor, windows: Sequence[Window], rows: int) -> timedelta:
    """How long a window lasts on average: of joined ones, as the reference with so many rows shows."""
    if reference_joining(monitor) is not None and windows:
        return (windows[-1].end - windows[0].start) / len(windows)
    if monitor.window.rows is not None and rows:  # the reference is cut into equal parts
        period = monitor.reference_period
        return max(monitor.window.length, (period.end - period.start) * (monitor.window.rows / rows))
    return monitor.window.length


def reference_windows(
    monitor: Monitor, source: SqlSource, now: datetime, beat: Callable[[], object] = lambda: None
) -> tuple[list[Window], Pieces]:
    """The windows of the reference, and the pieces they were joined from, where they were.

    Pieces at the end that are not enough belong to the window before, where that may be so long. `beat` is
    called after each count.
    """
    joining, pieces = reference_joining(monitor), monitor.reference_windows
    if joining is None:
        return pieces, []
    found = []
    for piece in pieces:
        found.append((piece, count(source, monitor, piece, now)))
        beat()
    enough, rest = join((_counted(*each) for each in found), joining)
    return [each.window for each in with_rest(enough, rest, joining)], found


def last_window(
    monitor: Monitor, joining: Joining, source: SqlSource, pieces: Sequence[Window], now: datetime
) -> tuple[Window, bool]:
    """The last pieces that are enough for a window, and whether they are; O(log n) counts.

    Parameters
    ----------
    pieces : sequence of Window
        Those that are due, in order; at least one.
    """

    def is_enough(number: int) -> bool:
        window = Window(pieces[-number].start, pieces[-1].end)
        labels = source.label_counts(monitor, window, as_of=now)
        return joining.is_enough(replace(_counted(window, labels), pieces=number))

    most = min(len(pieces), joining.most or len(pieces))
    low, high = 0, 1  # `low` are not enough
    while high < most and not is_enough(high):
        low, high = high, min(2 * high, most)
    enough = high < most or is_enough(most)
    if enough:
        high = low + 1 + bisect_left(range(low + 1, high), True, key=is_enough)  # at most as it was
    return Window(pieces[-high].start, pieces[-1].end), enough


def pooled(monitor: Monitor, window: Window) -> tuple[Caveat, ...]:
    """That a window is several of the calendar, because one alone was too small."""
    if monitor.window.pool is None:
        return ()
    pieces = len(monitor.calendar.within(window.start, window.end))
    if pieces < 2:
        return ()
    said = {"every": written(monitor.window.every), "period": window.in_zone(monitor.timezone)}
    return (Caveat("windows-pooled", windows=pieces, **said, min_per_class=monitor.min_per_class),)


def unjudged(kept: store.Store, monitor: Monitor, after: datetime | None) -> Counted | None:
    """What ticks counted of the pieces after the last window that is judged or foreseen; None where nothing.

    Parameters
    ----------
    after : datetime or None
        The end of that window; None without any.

    Raises
    ------
    StoreError
    """
    if monitor.joining is None:
        return None
    newest = {each.window: each for each in store.arrivals(kept, monitor.name, after or monitor.start)}
    found: Counted | None = None
    for window, each in sorted(newest.items()):
        piece = Counted(window=window, rows=each.rows, n_pos=0, n_neg=0)
        if found is None:
            found = piece if each.rows else None
        elif window.start >= found.window.end:  # counts of another calendar may lie beside
            found = found.then(piece)
    return found
