"""Repeated ids: which row of several with one id counts; see `rocmonitor.sources.batch.to_batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rocmonitor.sources.chunk import Chunk

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


def repeats(cells: Chunk, ids: Words, time: NDArray[np.int64], known: Mask) -> NDArray[np.intp]:
    """Which rows repeat an id and are not the one that is kept."""
    among = np.flatnonzero(known)
    ordered = np.sort(ids[among, 0])
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    among = among[np.isin(ids[among, 0], repeated, kind="sort")]  # numpy 2.0 overflows by table
    keys: list[NDArray[Any]] = [codes[among] for codes in reversed(cells.segments)]
    if cells.challenger is not None:
        keys.append(_worst_first(cells.challenger[among]))
    keys += [_worst_first(cells.champion[among]), cells.label[among], time[among], *ids[among].T]
    order = np.lexsort(keys)
    in_order = ids[among[order]]
    again: Mask = (in_order[1:] == in_order[:-1]).all(axis=1)
    return among[order[:-1][again]]


def _worst_first(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(scores), -np.inf, scores)
