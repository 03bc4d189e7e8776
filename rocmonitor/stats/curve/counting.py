"""How many rows thresholds flag, and how many rows two models flag differently."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.sample import PairedSample, Sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_PAIRS_AT_ONCE = 256


def flagged(sample: Sample, thresholds: Floats) -> tuple[Counts, Counts]:
    """Positives and negatives with score >= threshold, each shape (h,)."""
    first = np.searchsorted(sample.score, thresholds, side="left")
    below_pos, below_neg = (np.concatenate([[0], np.cumsum(c)]) for c in (sample.pos, sample.neg))
    return sample.n_pos - below_pos[first], sample.n_neg - below_neg[first]


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
