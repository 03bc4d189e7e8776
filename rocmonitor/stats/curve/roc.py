"""The points of the ROC curve of a sample, with the counts behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import proportion_ends
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import number_list, require_all
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample, on_sample

_SHOWN = 8  # thresholds whose intervals are drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve(Table):
    """The points of an ROC curve: one for each distinct score, and the one at which no row is flagged.

    Attributes
    ----------
    threshold, shape (k + 1,): Infinity, then the distinct scores, decreasing. Rows with score >= threshold
        are flagged.
    fpr, tpr, shape (k + 1,): Flagged shares of the negatives and of the positives, from (0, 0) to (1, 1).
    fp, tp, shape (k + 1,): Flagged negatives and positives.
    """

    threshold: Floats
    fpr: Floats
    tpr: Floats
    fp: Counts
    tp: Counts
    n_pos: int
    n_neg: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        about = f"95 % intervals at some thresholds; {classes(self.n_pos, self.n_neg)}"
        plotting.roc_plane(ax, about)
        plotting.curve(ax, self.fpr, self.tpr)
        some = np.unique(np.linspace(0, len(self.tpr) - 1, _SHOWN + 2)[1:-1].round().astype(int))
        rates = []
        for count, n in ((self.fp[some], self.n_neg), (self.tp[some], self.n_pos)):
            low, high = proportion_ends(count, n, n, "wilson", 0.025)
            rates.append((count / n, low, high))
        plotting.crosses(ax, rates[0], rates[1], label=label)

    def __str__(self) -> str:
        return f"ROC curve of {len(self.tpr)} points, {classes(self.n_pos, self.n_neg)}"


@on_sample
def roc_curve(sample: Sample, /) -> RocCurve:
    """Return the points of the ROC curve.

    Notes
    -----
    The points are those of ``sklearn.metrics.roc_curve(…, drop_intermediate=False)``. Cost: the sort of the
    sample, then O(k) for k distinct scores.

    Examples
    --------
    >>> curve = roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.threshold.tolist(), curve.fpr.tolist(), curve.tpr.tolist()
    ([inf, 0.8, 0.4, 0.1], [0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    sample.require_both_classes()
    tp, fp = (np.concatenate([[0], np.cumsum(counts[::-1])]) for counts in (sample.pos, sample.neg))
    return RocCurve(
        threshold=np.concatenate([[np.inf], sample.score[::-1]]),
        fpr=fp / sample.n_neg,
        tpr=tp / sample.n_pos,
        fp=fp,
        tp=tp,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


def valid_thresholds(values: ArrayLike) -> Floats:
    """Thresholds, shape (h,); infinite ones are allowed."""
    at = number_list(values, "thresholds")
    require_all(~np.isnan(at), "thresholds", "be numbers", "leave out NaN")
    return at


def threshold_pairs(values: ArrayLike) -> Floats:
    """Pairs of thresholds as an array of its own, shape (h, 2)."""
    try:
        at = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"pairs must be (t1, t2) pairs of numbers, as many of one as of the other: {error}"
        ) from error
    if at.ndim != 2 or at.shape[1] != 2 or not len(at):
        raise InputError(
            f"pairs must be at least one (t1, t2) pair of thresholds, shape (h, 2); its shape is {at.shape}"
        )
    require_all(~np.isnan(at), "pairs", "be numbers", "leave out NaN")
    return at


def rates_within(values: ArrayLike, name: str, unit: str = "rate") -> Floats:
    """Rates within (0, 1), shape (h,)."""
    rates = number_list(values, name, unit)
    require_all((rates > 0) & (rates < 1), name, "lie within (0, 1)", "leave out NaN, 0 and 1")
    return rates


def require_rates(m_neg: int) -> None:
    """Refuse a resample whose negatives are too few for a false positive rate within (0, 1)."""
    if m_neg < 2:
        raise DegenerateDataError(
            f"a false positive rate within (0, 1) needs at least 2 negatives; a resample has {m_neg}"
        )


def nearest_ranks(fpr: ArrayLike, m: int, name: str = "fpr") -> tuple[Counts, tuple[Caveat, ...]]:
    """Return the r of the nearest r / m to each rate, and the caveat `moved-rate` where a rate is not r / m.

    Values: `count` of `total` rates, `at` (as asked for), `used`, and `rows`, which is m.
    """
    rates = rates_within(fpr, name)
    r = np.clip(np.rint(rates * m), 1, m - 1).astype(np.int64)
    moved = ~np.isclose(r, rates * m, rtol=1e-9, atol=1e-9)
    if not moved.any():
        return r, ()
    count = np.count_nonzero(moved)
    return r, (Caveat("moved-rate", count=count, total=len(r), at=rates[moved], used=r[moved] / m, rows=m),)


def only_rank(rate: ArrayLike, m: int, name: str = "fpr") -> Counts:
    """Return the r of the nearest r / m to one rate, shape (1,)."""
    r, _ = nearest_ranks(rate, m, name)
    require_one(r, name)
    return r


def require_one(values: Floats | Counts, name: str) -> None:
    """Refuse several points where one is needed."""
    if len(values) != 1:
        raise InputError(f"{name} must be one number; {len(values)} were given")


_PAIRS_AT_ONCE = 256


def flagged(sample: Sample, thresholds: Floats) -> tuple[Counts, Counts]:
    """Positives and negatives with score >= threshold, each shape (h,)."""
    first = np.searchsorted(sample.score, thresholds, side="left")
    # Sums between the thresholds: those up to each score are as many as there are scores.
    stops = np.unique(np.append(first, 0))
    inner = stops[stops < len(sample.score)]
    below_pos, below_neg = (
        np.append(0, np.cumsum(np.add.reduceat(c, inner))) for c in (sample.pos, sample.neg)
    )
    place = np.searchsorted(stops, first)
    return sample.n_pos - below_pos[place], sample.n_neg - below_neg[place]


def flagged_table(place_1: Counts, place_2: Counts, counts: Counts, shape: tuple[int, int]) -> Floats:
    """Rows up to each place of two models' orders, cumulated, of cells at these places."""
    table = np.bincount(place_1 * shape[1] + place_2, weights=counts, minlength=shape[0] * shape[1])
    return np.asarray(table.reshape(shape).cumsum(axis=0).cumsum(axis=1), dtype=np.float64)


def threshold_levels(sample: Sample) -> NDArray[np.intp]:
    """For each distinct score the first threshold (negative score, decreasing) that flags it, (k,)."""
    is_threshold = (sample.neg[::-1] > 0).astype(np.intp)  # adding up truth values takes ten times as long
    # A score between two thresholds is first flagged by the lower one.
    return (np.cumsum(is_threshold) - is_threshold)[::-1]


def tie_caveats(sample: Sample, fpr: Floats, **model: str) -> tuple[Caveat, ...]:
    """`tied-threshold`: ties of negatives make the threshold of a rate flag more by a tenth, and half a row.

    Values: `count` of `total` rates, `at` (the rates), `realised`, and `model` if it is given.
    """
    above = np.cumsum(sample.neg[::-1])
    least = np.ceil(fpr * (1 - 1e-12) * sample.n_neg).astype(np.int64)
    realised = above[np.searchsorted(above, np.maximum(least, 1))] / sample.n_neg
    off = realised > 1.1 * fpr + 0.5 / sample.n_neg
    if not off.any():
        return ()
    count = np.count_nonzero(off)
    return (
        Caveat("tied-threshold", count=count, total=len(fpr), at=fpr[off], realised=realised[off], **model),
    )


def disagreements(pair: PairedSample, pairs: Floats) -> Counts:
    """Positives that only model 1, only model 2 flags, then negatives likewise: (4, h); O(c) for c cells."""
    parts = []
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        level, at = [], []
        for sample, index, thresholds in (
            (pair.first, pair.index_1, pairs[start : start + _PAIRS_AT_ONCE, 0]),
            (pair.second, pair.index_2, pairs[start : start + _PAIRS_AT_ONCE, 1]),
        ):
            first, rank = np.unique(np.searchsorted(sample.score, thresholds), return_inverse=True)
            # How many of the thresholds flag a cell: the first of them flags those of level 1 and more.
            level.append(np.searchsorted(first, np.arange(len(sample.score)), side="right")[index])
            at.append(rank)
        shape = int(at[0].max()) + 2, int(at[1].max()) + 2
        only = []
        for counts in (pair.pos, pair.neg):
            table = flagged_table(level[0], level[1], counts, shape)  # rows that neither model flags
            neither = table[at[0], at[1]]
            only += [table[-1, at[1]] - neither, table[at[0], -1] - neither]
        parts.append(np.rint(only).astype(np.int64))
    return np.concatenate(parts, axis=1)
