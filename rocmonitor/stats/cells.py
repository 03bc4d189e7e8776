"""The cells of a sample, beside their scores and counts: by cluster, or as ranges of neighbouring scores.

Rows of one cluster, such as several of one customer, are alike, so they show less than as many independent
rows (`rocmonitor.stats.area.clustered`). A condensed sample knows the lowest and the highest score of the
rows in each cell, and the grid that cut them (`rocmonitor.stats.condensed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.conventions import PER_UNIT
from rocmonitor.errors import InputError
from rocmonitor.stats.rows import Counts, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cells of a sample by cluster."""

    ids: NDArray[Any]  # (g,): The clusters, each once
    cluster: NDArray[np.intp]  # (c,): Position of each cell's cluster in `ids`
    # (c,): Position of each cell's score in ``sample.score``; of a pair, the position of the cell itself.
    index: NDArray[np.intp]
    pos: Counts  # (c,): Rows in each cell
    neg: Counts

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Clusters with a positive, with a negative, and all."""
        pos, neg = (int(np.count_nonzero(self.sums(rows))) for rows in (self.pos, self.neg))
        return pos, neg, len(self.ids)

    def sums(self, values: Floats | Counts) -> Floats:
        """Return sums over the cells of each cluster, shape (g,)."""
        return np.bincount(self.cluster, weights=values, minlength=len(self.ids)).astype(np.float64)


def cluster_ids(cluster: ArrayLike, rows: int) -> NDArray[Any]:
    """Identities of clusters, one for each row or cell: whole numbers or texts, none of them missing."""
    ids = np.asarray(cluster)
    if ids.shape != (rows,):
        raise InputError(f"cluster must hold one id for each of the {rows} rows; its shape is {ids.shape}")
    if ids.dtype.kind in "US" and not isinstance(cluster, np.ndarray):
        ids = np.asarray(cluster, dtype=object)  # of a list with texts, None and NaN have become texts
    if ids.dtype.kind == "f" and rows and not np.isnan(ids).any() and np.array_equal(ids, np.rint(ids)):
        ids = ids.astype(np.int64)
    if ids.dtype.kind in "iub":
        return ids
    plain = ids.astype(object)
    missing = sum(value is None or value != value for value in plain)
    if missing:
        raise InputError(
            f"cluster must not be missing: {missing} of {rows} ids are None or NaN; give such a row an id of "
            "its own if it belongs to no other, or set it aside"
        )
    return np.array([str(value) for value in plain], dtype=np.str_)


def clustered(ids: NDArray[Any], index: NDArray[np.intp], pos: Counts, neg: Counts) -> Clusters:
    """Return the clusters of validated cells; O(c log c)."""
    unique_ids, code = np.unique(ids, return_inverse=True)
    return Clusters(unique_ids, np.asarray(code, dtype=np.intp), index, pos, neg)


def repeated(ids: Sequence[NDArray[Any]]) -> tuple[int, int]:
    """Return how many clusters come in several of some samples, and how many there are; O(c log c)."""
    times = np.unique(np.concatenate(ids), return_counts=True)[1]
    return int(np.count_nonzero(times > 1)), len(times)


def merged_ids(parts: Sequence[Clusters | None]) -> NDArray[Any] | None:
    """Return the clusters of the cells of several samples, one after another; None when none has clusters."""
    with_ids = [part for part in parts if part is not None]
    if not with_ids:
        return None
    if len(with_ids) < len(parts):
        raise InputError("samples must all have clusters, or none of them; give each its cluster ids")
    return np.concatenate([part.ids[part.cluster] for part in with_ids])


Scale = Literal["logit", "linear"]

FAR = 2.0**52  # cells whose numbers would be beyond are one: whole numbers are exact up to here
FINEST = 1e9  # the largest `per_unit`
BESIDE = 1e12
"""Added to the numbers of cells beside the log-odds: more than `FINEST` times any of those, which is 745."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The ends of score cells, the same for every window, so that cells of windows fit together.

    Parameters
    ----------
    scale, {"logit", "linear"}: "logit": scores between 0 and 1 are cut by their log-odds, all others as by
        "linear". "linear": at multiples of 1 / `per_unit`.
    per_unit: Cells of a unit; the larger, the finer.
    """

    scale: Scale = "logit"
    per_unit: float = PER_UNIT

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scale):
            raise InputError(f"scale must be 'logit' or 'linear', not {self.scale!r}")
        if not 0 < self.per_unit <= FINEST:
            raise InputError(f"per_unit must be more than 0 and at most 1e9; it is {self.per_unit!r}")

    def __str__(self) -> str:
        return f"{self.scale}, {self.per_unit:g} cells a unit"

    def numbers(self, score: Floats) -> Floats:
        """Return the number of the cell of each finite score, whole.

        On the scale "logit" cells beside those of scores between 0 and 1 have numbers far away from theirs.
        """
        beside = BESIDE if self.scale == "logit" else 0.0
        with np.errstate(over="ignore"):  # what is too far is infinitely far
            number = np.floor(np.abs(score) * self.per_unit)
        number = np.where(number > FAR, 2 * FAR, number + beside)
        number = np.where(score > 0, number, -1 - number)
        if self.scale == "logit":
            inside = (score > 0) & (score < 1)
            number[inside] = np.floor(np.log(score[inside] / (1 - score[inside])) * self.per_unit)
        return number


@dataclass(frozen=True, slots=True, eq=False)
class CellEnds:
    """The scores in each cell of a condensed sample."""

    # (k,): Lowest and highest score of the rows in each cell. No two cells overlap. Where both are equal, all
    # rows of the cell have that score: a tie, as in any sample.
    low: Floats
    high: Floats
    grid: Grid | None = None  # which cut them; None where that is not known


def disjoint(low: Floats, high: Floats, pos: Counts, neg: Counts) -> tuple[Floats, Floats, Counts, Counts]:
    """Return the cells that hold rows, in increasing order; those that overlap are joined.

    Cost: O(k log k). InputError where the lowest score of a cell is above its highest.
    """
    if (low > high).any():
        raise InputError("low must not be above high: low is the lowest score of a cell")
    order = np.lexsort((high, low))
    order = order[(pos[order] > 0) | (neg[order] > 0)]
    low, high, pos, neg = low[order], high[order], pos[order], neg[order]
    reached = np.maximum.accumulate(high)
    first = np.concatenate([[True], low[1:] > reached[:-1]])[: len(low)]
    if first.all():
        return low, high, pos, neg
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(low)) - 1
    return low[starts], reached[ends], np.add.reduceat(pos, starts), np.add.reduceat(neg, starts)


def one_grid(ends: Sequence[CellEnds | None]) -> Grid | None:
    """Return the grid of several samples; None where none is known."""
    known = [end.grid for end in ends if end is not None and end.grid is not None]
    grids = list(dict.fromkeys(known))
    if len(grids) > 1:
        raise InputError(
            f"samples are condensed on different grids ({'; '.join(map(str, grids))}): give all of them the "
            "same condense settings, and pull them again"
        )
    return grids[0] if grids else None
