"""Condensed samples, known by cells of neighbouring scores: how far their statistics may be wrong.

Statistics take the rows of a cell as tied. Any other order of them is as possible, so each statistic has a
guaranteed error: no order leads further away. The proofs are in docs/condensed.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.cells import one_grid
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CondensedError(Result):
    """The most that statistics of a condensed sample may differ from those of its rows.

    Attributes
    ----------
    auc: Of the AUC. Some order of the rows within the cells reaches it.
    se: Of its standard error, by "delong" and by "exact-bootstrap".
    tpr, fpr: Of the true and of the false positive rate at any threshold; `tpr` also of the true positive
        rate at any false positive rate.
    cells: Cells of the sample.
    spread_cells: Cells with more than one score. The others are ties, in which nothing is lost.
    """

    _estimate: ClassVar[str | None] = "auc"

    auc: float
    se: float
    tpr: float
    fpr: float
    n_pos: int
    n_neg: int
    cells: int
    spread_cells: int
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        return (
            f"at most {self.auc:.2g} of the AUC, {self.se:.2g} of its standard error, {self.tpr:.2g} of a "
            f"true positive rate ({self.spread_cells} of {self.cells} cells hold more than one score)"
        )


def condensed_error(sample: Sample) -> CondensedError:
    """Return the guaranteed errors of a condensed sample; 0 for any other.

    Parameters
    ----------
    sample: From `Sample.from_cells`, `condensed`, or a source with ``grouped: condensed``; with both classes.

    Notes
    -----
    With p positives and m negatives in a cell, of n_pos and n_neg: the AUC is off by at most sum p m / (2
    n_pos n_neg) over the cells that hold more than one score, a rate by the largest share of its class in one
    of them, DeLong's standard error by the root of

        sum (p / n_pos) (m / (2 n_neg))² / (n_pos - 1) + sum (m / n_neg) (p / (2 n_pos))² / (n_neg - 1),

    for it is the length of a vector of placement values, and none of them is off by more than half of the
    other class's share of the cell. Cost: O(k) for k cells.

    Examples
    --------
    >>> cells = Sample.from_cells([0.1, 0.4, 0.8], [0.1, 0.5, 0.9], n_pos=[0, 1, 3], n_neg=[4, 2, 0])
    >>> found = condensed_error(cells)
    >>> round(found.auc, 6), found.tpr
    (0.041667, 0.75)
    """
    if not isinstance(sample, Sample):
        raise InputError(f"sample must be a Sample, not a {type(sample).__name__}")
    sample.require_both_classes()
    p, m = _spread(sample)
    of_se = [standard_error_bound(sample, "exact-bootstrap")]
    if min(sample.n_pos, sample.n_neg) > 1:
        of_se.append(standard_error_bound(sample, "delong"))
    return CondensedError(
        auc=float(np.sum(p * m)) / 2,
        se=max(of_se),
        tpr=float(p.max(initial=0.0)),
        fpr=float(m.max(initial=0.0)),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        cells=len(sample.score),
        spread_cells=len(p),
    )


def standard_error_bound(
    sample: Sample, method: str, m_pos: int | None = None, m_neg: int | None = None
) -> float:
    """Return how far the standard error of a condensed sample may be off, by one of two methods.

    "exact-bootstrap": the standard deviation of a resampled AUC. That of the difference between the AUC of
    the rows and of the cells, both resampled alike, bounds how far the two standard deviations differ; the
    mean square of that difference over all pairs comes in on top of DeLong's two sums.
    """
    p, m = _spread(sample)
    of_pos, of_neg = float(np.sum(p * m * m)) / 4, float(np.sum(m * p * p)) / 4
    if method == "delong":
        return math.sqrt(of_pos / (sample.n_pos - 1) + of_neg / (sample.n_neg - 1))
    rows_pos, rows_neg = float(m_pos or sample.n_pos), float(m_neg or sample.n_neg)
    of_pairs = float(np.sum(p * m)) / 4
    return math.sqrt((of_pairs + (rows_neg - 1) * of_pos + (rows_pos - 1) * of_neg) / (rows_pos * rows_neg))


def error_of_auc(sample: Sample, method: str, m_pos: int, m_neg: int) -> tuple[float, float] | None:
    """Return the guaranteed errors of an AUC and of its standard error; None without joined scores."""
    if sample.ends is None:
        return None
    p, m = _spread(sample)
    return float(np.sum(p * m)) / 2, standard_error_bound(sample, method, m_pos, m_neg)


def extremes(sample: Sample) -> tuple[Sample, Sample]:
    """Return the two orders of the rows of a condensed sample between which every other one lies.

    First all positives of a cell on its lowest score and all negatives on its highest, then the other way
    round. The ROC curve, the AUC, its bounds within a distance and rates at a threshold of any order lie
    between theirs. The sample itself, twice, where every cell is one score.
    """
    if sample.ends is None:
        return sample, sample
    low, high = sample.ends.low, sample.ends.high
    none = np.zeros(len(low), dtype=np.int64)
    both = np.concatenate([low, high])
    worst = Sample.from_counts(both, np.concatenate([sample.pos, none]), np.concatenate([none, sample.neg]))
    best = Sample.from_counts(both, np.concatenate([none, sample.pos]), np.concatenate([sample.neg, none]))
    return worst, best


def aligned(whole: Sample, parts: Sequence[Sample]) -> list[Sample]:
    """Return the parts on the cells of the whole merged from them: each of their cells lies in one."""
    one_grid([whole.ends, *(part.ends for part in parts)])
    if whole.ends is None:
        return list(parts)
    ends, on_cells = whole.ends, []
    for part in parts:
        first, last = (part.score, part.score) if part.ends is None else (part.ends.low, part.ends.high)
        at = np.searchsorted(ends.low, first, side="right") - 1
        if len(at) and (at[0] < 0 or (last > ends.high[at]).any()):
            on_cells.append(part)  # it is no part of the whole
        else:
            on_cells.append(
                Sample.from_cells(ends.low[at], ends.high[at], part.pos, part.neg, grid=ends.grid)
            )
    return on_cells


def _spread(sample: Sample) -> tuple[Floats, Floats]:
    if sample.ends is None:
        return np.zeros(0), np.zeros(0)
    spread = sample.ends.low < sample.ends.high
    return sample.pos[spread] / sample.n_pos, sample.neg[spread] / sample.n_neg


def of_any_order(
    sample: Sample, rows_of: Callable[[Sample], list[dict[str, Any]]], *, halfway: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Rows of a table, with intervals that hold whatever the order of the rows within the cells.

    Columns that end in ``low`` and ``high`` are those ends. Those named in `halfway` are taken halfway
    between the extreme orders, all others with the cells as ties.
    """
    table = rows_of(sample.with_ends(None))
    if sample.ends is None:
        return table
    outermost, widened = {"low": min, "high": max}, []
    for row, *others in zip(table, *(rows_of(extreme) for extreme in extremes(sample)), strict=True):
        ends = {name: outermost.get(name.rpartition("_")[2]) for name in row}
        widened.append(
            row
            | {name: end(line[name] for line in (row, *others)) for name, end in ends.items() if end}
            | {name: sum(other[name] for other in others) / 2 for name in halfway}
        )
    return widened
