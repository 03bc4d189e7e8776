"""When labels arrived: each row's `columns.labelled_at` as a code, and what the codes mean for a batch.

The database gives a code for each row: the number of the first of some increasing instants, the last of which
is the as-of instant, by which the label was known. So rows and groups of rows carry one small number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, and_, case, literal

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.sources.clock import Clock

Codes = NDArray[np.int8]

NO_INSTANT, BEFORE_ROW, LATER = -2, -1, 127
"""No (readable) instant; one before the row's own time; one after the last of the instants."""


def arrival(
    known: ColumnElement[Any], row_time: ColumnElement[Any] | None, instants: Sequence[Any]
) -> ColumnElement[int]:
    """Return the code of a column of instants; `row_time` is left out where it is on another clock."""
    cases: list[tuple[ColumnElement[bool], ColumnElement[int]]] = [(known.is_(None), literal(NO_INSTANT))]
    if row_time is not None:
        cases.append((and_(row_time.is_not(None), known < row_time), literal(BEFORE_ROW)))
    cases += [(known <= literal(at), literal(number)) for number, at in enumerate(instants)]
    return case(*cases, else_=literal(LATER))


def arrival_of_text(
    known: Clock, row_time: Clock | None, instants: Sequence[int]
) -> Callable[[object, object], int]:
    """Return the same for texts, as a function of a row's `labelled_at` and time; instants in µs."""

    def code(labelled_at: object, time: object) -> int:
        at = known.read(labelled_at)
        if at is None:
            return NO_INSTANT
        scored = None if row_time is None else row_time.read(time)
        if scored is not None and at < scored:
            return BEFORE_ROW
        place = bisect_left(instants, at)
        return place if place < len(instants) else LATER

    return code


def caveats(
    codes: Codes,
    weight: NDArray[np.int64] | None,
    labelled: NDArray[np.bool_],
    unlabelled: NDArray[np.bool_],
    monitor: Monitor,
) -> Iterator[Caveat]:
    """Yield what is odd about the instants of usable rows, and how many labels came later."""

    def rows(among: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(among) if weight is None else weight[among].sum())

    masks = {
        "labels-without-instant": labelled & (codes == NO_INSTANT),
        "labelled-before-scored": labelled & (codes == BEFORE_ROW),
        "instants-without-label": unlabelled & (codes != NO_INSTANT) & (codes != LATER),
        "labelled-later": unlabelled & (codes == LATER),
    }
    where = {"monitor": monitor.name, "column": monitor.columns.labelled_at}
    for code, among in masks.items():
        if among.any():
            yield Caveat(code, **where, count=rows(among), rows=rows(labelled | unlabelled))
