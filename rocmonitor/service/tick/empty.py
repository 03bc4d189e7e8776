"""Windows before the first row and after the last are not judged: they show nothing, and may be hundreds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Window

FEW = 4
"""So many windows without rows are judged after the last row; later ones wait until rows come."""


def without_rows(
    windows: Sequence[Window],
    judged: Mapping[tuple[str, Window], store.Evaluated],
    count_rows: Callable[[Window], int],
) -> set[Window]:
    """The windows that are passed over: before the first row, and from the fifth on after the last.

    Windows that were judged stay, and so do those between two windows with rows.

    Parameters
    ----------
    windows : sequence of Window
        Those that have ended and whose rows are due, in order.
    judged : mapping
        What is stored, by segment and window.
    count_rows : callable
        The number of rows in a window of any length. It is called once or twice for each end of the windows
        that may be empty, and O(log n) times where some are.
    """
    known = {window for segment, window in judged if not segment}
    empty = {window for window in known if _is_empty(judged["", window])}
    return _before(windows, known, count_rows) | _after(windows, known, empty, count_rows)


def _is_empty(found: store.Evaluated) -> bool:
    return found.outcome is Status.INSUFFICIENT and not found.label_counts


def _before(
    windows: Sequence[Window], known: Collection[Window], count_rows: Callable[[Window], int]
) -> set[Window]:
    """Those before the first row."""
    new = list(takewhile(lambda window: window not in known, windows))
    if len(new) < 2 or count_rows(new[0]):
        return set()
    whole = Window(new[0].start, new[-1].end)
    if not count_rows(whole):
        return set(new) if len(new) < len(windows) else set()  # without any row at all the end decides

    def has_rows_until(place: int) -> bool:
        return count_rows(Window(new[0].start, new[place].end)) > 0

    first = 1 + bisect_left(range(1, len(new) - 1), True, key=has_rows_until)  # at most the last
    return set(new[:first])


def _after(
    windows: Sequence[Window],
    known: Collection[Window],
    empty: Collection[Window],
    count_rows: Callable[[Window], int],
) -> set[Window]:
    """Those after the last row, but for the first few."""
    new = list(reversed(list(takewhile(lambda window: window not in known, reversed(windows)))))
    older = windows[: len(windows) - len(new)]
    before = len(list(takewhile(lambda window: window in empty, reversed(older))))
    if before + len(new) <= FEW or not new or count_rows(new[-1]):
        return set()
    if count_rows(Window(new[0].start, new[-1].end)):

        def is_empty_from(place: int) -> bool:
            return not count_rows(Window(new[place].start, new[-1].end))

        first = 1 + bisect_left(range(1, len(new) - 1), True, key=is_empty_from)  # at most the last
        return set(new[first + FEW :])
    return set(new[max(FEW - before, 0) :])
