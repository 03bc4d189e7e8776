"""Scores without a label, as counts: all that a window shows before its labels arrive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.rows import Counts, Floats, add_up


class ScoreCounts(NamedTuple):
    """Unlabelled scores of one model; a pair of arrays, as `expected_auc` takes it."""

    score: Floats  # (k,): The distinct scores, increasing
    counts: Counts  # (k,): Rows at each

    @classmethod
    def of(cls, score: Floats, weight: Counts | None = None) -> ScoreCounts:
        """Count the rows at each score; `weight`, shape (n,), is how many rows each score stands for."""
        if weight is None:
            distinct, count = np.unique(score, return_counts=True)
            return cls(distinct, count.astype(np.int64, copy=False))
        distinct, place = np.unique(score, return_inverse=True)
        return cls(distinct, add_up(place, weight, len(distinct)))

    @property
    def rows(self) -> int:
        """Rows at all scores."""
        return int(self.counts.sum())

    def plus(self, other: ScoreCounts) -> ScoreCounts:
        """Return the rows of both."""
        if not len(other.score):
            return self
        score = np.concatenate([self.score, other.score])
        return ScoreCounts.of(score, np.concatenate([self.counts, other.counts]))


class PairedScoreCounts(NamedTuple):
    """Unlabelled scores of two models on the same rows: one cell for each row, or group of equal rows."""

    score_1: Floats  # (c,): As in `PairedSample`; a pair of scores may come more than once
    score_2: Floats
    counts: Counts  # (c,): Rows in each cell

    @classmethod
    def of(cls, score_1: Floats, score_2: Floats, weight: Counts | None = None) -> PairedScoreCounts:
        """Return a cell for each pair of scores; `weight`, shape (c,), is how many rows each stands for."""
        return cls(score_1, score_2, np.ones(len(score_1), dtype=np.int64) if weight is None else weight)

    @property
    def rows(self) -> int:
        """Rows in all cells."""
        return int(self.counts.sum())


def no_scores() -> ScoreCounts:
    """Return the counts of no rows."""
    return ScoreCounts(_EMPTY, np.zeros(0, dtype=np.int64))


_EMPTY: NDArray[np.float64] = np.zeros(0)
