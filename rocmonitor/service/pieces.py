"""Windows that are joined from the calendar's: what is counted of the pieces, and the windows they make."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import takewhile

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.joining import Counted, Joining, join, with_rest
from rocmonitor.policy.windows import Window
from rocmonitor.sources import LabelCounts, SqlSource

_COUNTED = 400

Pieces = Sequence[tuple[Window, LabelCounts]]
"""Pieces in order, each with what was counted in it."""


def count(
    source: SqlSource, monitor: Monitor, pieces: Sequence[Window], now: datetime
) -> Iterator[tuple[Window, LabelCounts]]:
    """Yield what pieces hold, with the labels that were known when each was due: later ones move no
    boundary.
    """
    if not monitor.replays_labels:
        yield from source.label_counts_together(monitor, pieces)
        return
    for piece in pieces:
        yield piece, source.label_counts(monitor, piece, as_of=min(now, monitor.labels.due_at(piece)))


def closed(
    monitor: Monitor, joining: Joining, pieces: Pieces, now: datetime, positive_share: float | None = None
) -> list[Window]:
    """Return the windows that these pieces make, in order; `joining` is the monitor's.

    Pieces whose outlook is due and whose labels are not count with what they hold at least at the usual share
    of positives, where that is known.
    """
    counted = []
    for piece, labels in pieces:
        age = monitor.labels.age(piece, now)
        is_due = age != "open" and (age != "waiting" or monitor.labels.enough(labels.rows, labels.labelled))
        if joining.rows is not None or is_due:  # rows alone decide where a window ends, or labels may
            counted.append(_counted(piece, labels))
        elif positive_share is not None and outlook_is_due(monitor, piece, now):
            # What it will hold of each class, less two standard deviations.
            means = (labels.rows * share for share in (positive_share, 1 - positive_share))
            n_pos, n_neg = (max(0, int(mean - 2 * mean**0.5)) for mean in means)
            counted.append(Counted(window=piece, rows=labels.rows, n_pos=n_pos, n_neg=n_neg))
        else:
            break
    return [whole.window for whole in join(counted, joining)[0]]


def outlook_is_due(monitor: Monitor, window: Window, now: datetime) -> bool:
    """Return True if the monitor wants outlooks, and the window ended long enough ago for one."""
    at = monitor.outlook_at(window)
    return at is not None and at <= now


def within(fixed: Iterable[Window], pieces: Sequence[Window]) -> list[Window]:
    """Return those that lie in the time from the first piece to the last."""
    return [
        window
        for window in fixed
        if pieces and pieces[0].start <= window.start and window.end <= pieces[-1].end
    ]


def before_empty(counted: Pieces, inside: Sequence[Window], passed: Collection[Window]) -> Pieces:
    """Return the pieces before those that are passed over because they come after the last row.

    What follows these is cut when rows come again. The ones passed over before the first row do not count.
    """
    first = min([*inside, *(piece for piece, _ in counted)], default=None)
    empty = min((window for window in passed if first is not None and window > first), default=None)
    return [entry for entry in counted if empty is None or entry[0] < empty]


def together(pieces: Pieces) -> Counted | None:
    """Return what is counted of all; None of none."""
    return reduce(Counted.then, (_counted(*entry) for entry in pieces)) if pieces else None


def _counted(piece: Window, labels: LabelCounts) -> Counted:
    return Counted(window=piece, rows=labels.rows, n_pos=labels.n_pos, n_neg=labels.n_neg)


def reference_joining(monitor: Monitor) -> Joining | None:
    """Return how the reference windows are joined; None where they are those of the calendar, or equal
    parts.
    """
    return monitor.joining if monitor.reference.windows is None else None


def usual_length(monitor: Monitor, windows: Sequence[Window], rows: int) -> timedelta:
    """Return how long a window lasts on average; of joined ones, as the reference shows."""
    if reference_joining(monitor) is not None and windows:
        return (windows[-1].end - windows[0].start) / len(windows)
    if monitor.window.rows is not None and rows:  # the reference is cut into equal parts
        period = monitor.reference_period
        return max(monitor.window.length, (period.end - period.start) * (monitor.window.rows / rows))
    return monitor.window.length


def reference_windows(
    monitor: Monitor, source: SqlSource, now: datetime, beat: Callable[[], object] = lambda: None
) -> tuple[list[Window], Pieces]:
    """Return the windows of the reference, and the pieces they were joined from, where they were.

    Pieces at the end that are not enough belong to the window before, if it may be that long. `beat` is
    called after each count.
    """
    joining, pieces = reference_joining(monitor), monitor.reference_windows
    if joining is None:
        return pieces, []
    pairs = []
    for counted in count(source, monitor, pieces, now):
        pairs.append(counted)
        beat()
    enough, rest = join((_counted(*entry) for entry in pairs), joining)
    return [whole.window for whole in with_rest(enough, rest, joining)], pairs


def last_window(
    monitor: Monitor, joining: Joining, source: SqlSource, pieces: Sequence[Window], now: datetime
) -> tuple[Window, bool]:
    """Return the last window that a run judges, and whether there is one.

    Up to 400 pieces are counted and joined as a run joins them. Of more, the last ones that are enough for a
    window stand for it, found by O(log n) counts: a run may cut elsewhere. `pieces`, at least one, are in
    order, and due.
    """
    if len(pieces) <= _COUNTED:
        counted = list(count(source, monitor, pieces, now))
        first = next((at for at, (_, labels) in enumerate(counted) if labels.rows), 0)
        if windows := closed(monitor, joining, counted[first:], now):
            return windows[-1], True
        return Window(pieces[first].start, pieces[-1].end), False

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
    """Return a caveat if a window is several of the calendar, because one alone was too small."""
    if monitor.window.pool is None:
        return ()
    pieces = len(monitor.calendar.within(window.start, window.end))
    if pieces < 2:
        return ()
    values = {"every": written(monitor.window.every), "period": window.in_zone(monitor.timezone)}
    return (Caveat("windows-pooled", windows=pieces, **values, min_per_class=monitor.min_per_class),)


def unjudged(kept: store.Store, monitor: Monitor, after: datetime | None) -> Counted | None:
    """Return what ticks counted of the pieces after the last window that is judged or foreseen, which ended
    `after`; None where nothing.
    """
    if monitor.joining is None:
        return None
    newest = {
        arrived.window: arrived for arrived in store.arrivals(kept, monitor.name, after or monitor.start)
    }
    counted: Counted | None = None
    for window, arrived in sorted(newest.items()):
        piece = Counted(window=window, rows=arrived.rows, n_pos=0, n_neg=0)
        if counted is None:
            counted = piece if arrived.rows else None
        elif window.start >= counted.window.end:  # counts of another calendar may lie beside
            counted = counted.then(piece)
    return counted


FEW = 4
"""The number of windows without rows judged after the last row; later ones wait until rows come."""


def without_rows(
    windows: Sequence[Window],
    judged: Mapping[tuple[str, Window], store.Evaluated],
    count_rows: Callable[[Window], int],
) -> set[Window]:
    """Return the windows that are passed over: before the first row, and from the fifth on after the last.

    Windows that were judged stay, and so do those between two windows with rows. `windows` are those that
    have ended and whose rows are due, in order. `count_rows` takes a window of any length; it is called once
    or twice for each end of the windows that may be empty, and O(log n) times where some are.
    """
    judged_windows = {window for segment, window in judged if not segment}
    empty = judged_empty(judged)
    return _before(windows, judged_windows, count_rows) | _after(windows, judged_windows, empty, count_rows)


def judged_empty(judged: Mapping[tuple[str, Window], store.Evaluated]) -> set[Window]:
    """Return the judged windows that had no row with a label, nearly always because they had no rows."""
    return {
        window
        for (segment, window), evaluated in judged.items()
        if not segment and evaluated.outcome is Status.INSUFFICIENT and not evaluated.label_counts
    }


def with_rows(windows: Sequence[Window], count_rows: Callable[[Window], int]) -> list[Window]:
    """Return the windows from the first with rows to the last with rows; all of them where none has any."""
    passed = without_rows(windows, {}, count_rows)
    inside = [window for window in windows if window not in passed]
    last = len(inside)
    while last and not count_rows(inside[last - 1]):
        last -= 1
    return inside[:last] or list(windows)


def _before(
    windows: Sequence[Window], judged: Collection[Window], count_rows: Callable[[Window], int]
) -> set[Window]:
    new = list(takewhile(lambda window: window not in judged, windows))
    if len(new) < 2 or count_rows(new[0]):
        return set()
    whole = Window(new[0].start, new[-1].end)
    if not count_rows(whole):
        return set(new) if len(new) < len(windows) else set()  # without any row at all the end decides

    first = 1 + bisect_left(  # at most the last
        range(1, len(new) - 1), True, key=lambda at: count_rows(Window(new[0].start, new[at].end)) > 0
    )
    return set(new[:first])


def _after(
    windows: Sequence[Window],
    judged: Collection[Window],
    empty: Collection[Window],
    count_rows: Callable[[Window], int],
) -> set[Window]:
    new = list(reversed(list(takewhile(lambda window: window not in judged, reversed(windows)))))
    older = windows[: len(windows) - len(new)]
    before = len(list(takewhile(lambda window: window in empty, reversed(older))))
    if before + len(new) <= FEW or not new or count_rows(new[-1]):
        return set()
    if count_rows(Window(new[0].start, new[-1].end)):
        first = 1 + bisect_left(  # at most the last
            range(1, len(new) - 1), True, key=lambda at: not count_rows(Window(new[at].start, new[-1].end))
        )
        return set(new[first + FEW :])
    return set(new[max(FEW - before, 0) :])
