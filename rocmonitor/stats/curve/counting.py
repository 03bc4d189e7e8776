"""How many rows thresholds flag, how many rows two models flag differently, and what ties do to a rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats.binomial import Counts, Floats
from rocmonitor.stats.sample import PairedSample, Sample

_PAIRS_AT_ONCE = 256


def flagged(sample: Sample, thresholds: Floats) -> tuple[Counts, Counts]:
    """Positives and negatives with score >= threshold, each shape (h,)."""
    first = np.searchsorted(sample.score, thresholds, side="left")
    below_pos, below_neg = (np.concatenate([[0], np.cumsum(c)]) for c in (sample.pos, sample.neg))
    return sample.n_pos - below_pos[first], sample.n_neg - below_neg[first]


def negative_thresholds(sample: Sample) -> tuple[Floats, Floats]:
    """Negatives (as a share), positives (as a count) at or above each distinct negative score, decreasing."""
    sample.require_both_classes()
    sample.require_distinct_scores()
    threshold = np.flatnonzero(sample.neg[::-1])
    above_neg = np.cumsum(sample.neg[::-1])[threshold]
    above_pos = np.cumsum(sample.pos[::-1])[threshold]
    return above_neg / sample.n_neg, above_pos.astype(np.float64)


def threshold_levels(sample: Sample) -> NDArray[np.intp]:
    """For each distinct score the first threshold, a negative score in decreasing order, that flags it, (k,).

    The number of thresholds where none does.
    """
    is_threshold = sample.neg[::-1] > 0
    # A score between two thresholds is first flagged by the lower one.
    return (np.cumsum(is_threshold) - is_threshold)[::-1]


def tie_caveats(sample: Sample, fpr: Floats, **model: str) -> tuple[Caveat, ...]:
    """`tied-threshold`, where ties of negatives make the threshold of a rate flag many more than that.

    Counted on the observed rows: by more than a tenth, and half a row. Values: `count` of `total` rates, `at`
    (the rates), `realised`, and `model` if it is given.
    """
    share, _ = negative_thresholds(sample)
    realised = share[np.minimum(np.searchsorted(share, fpr * (1 - 1e-12)), len(share) - 1)]
    off = realised > 1.1 * fpr + 0.5 / sample.n_neg
    if not off.any():
        return ()
    count = np.count_nonzero(off)
    return (
        Caveat("tied-threshold", count=count, total=len(fpr), at=fpr[off], realised=realised[off], **model),
    )


def disagreements(pair: PairedSample, pairs: Floats) -> Counts:
    """Positives that only model 1, only model 2 flags, then negatives likewise: shape (4, h).

    Cells are counted by the thresholds that flag them, some hundred pairs at a time: O(c) for c cells.
    """
    parts = [pairs[i : i + _PAIRS_AT_ONCE] for i in range(0, len(pairs), _PAIRS_AT_ONCE)]
    return np.concatenate([_disagreements(pair, part) for part in parts], axis=1)


def _disagreements(pair: PairedSample, pairs: Floats) -> Counts:
    level, at = [], []
    for sample, index, thresholds in (
        (pair.first, pair.index_1, pairs[:, 0]),
        (pair.second, pair.index_2, pairs[:, 1]),
    ):
        start, rank = np.unique(np.searchsorted(sample.score, thresholds), return_inverse=True)
        # How many of the thresholds flag a cell: the first of them flags those of level 1 and more.
        level.append(np.searchsorted(start, np.arange(len(sample.score)), side="right")[index])
        at.append(rank)
    shape = [int(rank.max()) + 2 for rank in at]
    cell = level[0] * shape[1] + level[1]
    only = []
    for counts in (pair.pos, pair.neg):
        table = np.bincount(cell, weights=counts, minlength=shape[0] * shape[1]).reshape(shape)
        table = table.cumsum(axis=0).cumsum(axis=1)  # rows that neither model flags
        neither = table[at[0], at[1]]
        only += [table[-1, at[1]] - neither, table[at[0], -1] - neither]
    return np.rint(only).astype(np.int64)
