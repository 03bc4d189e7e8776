"""Resamples of two models' rows, pairs kept together, and the difference of their ROC curves in each.

A resample is a count for every row, or cell of equal rows, of a class. The rows are sorted once by each
model's score; after that a resample takes cumulated counts in the two orders, and looks up where the
negatives first reach a rank and how many positives there are by then. Nothing is sorted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.band.drawing import Progress
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import PairedSample

_AT_ONCE = 2**15  # rows resampled together: they stay in the processor's cache
_FEW_CELLS = 8  # rows a cell from which drawing the cells' counts is faster than drawing rows
_BYTE = 256
_REPORTS = 10  # of progress, at most


class Rows(NamedTuple):
    """The cells of one class, by decreasing score of model 1, equal ones by model 2; shape (c,) each."""

    size: Counts  # rows in each cell
    by_2: Counts  # the cells by decreasing score of model 2

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Counts:
        """How often resamples of the class hold each cell, shape (n_resamples, c)."""
        n, cells = int(self.size.sum()), len(self.size)
        if n >= _FEW_CELLS * cells:
            return rng.multinomial(n, self.size / n, n_resamples)
        row = rng.integers(n, size=(n_resamples, n))
        row += np.arange(0, n_resamples * n, n)[:, np.newaxis]
        times = np.bincount(row.ravel(), minlength=row.size).reshape(row.shape)
        if n == cells:
            return times
        return np.add.reduceat(times, np.cumsum(self.size) - self.size, axis=1)

    def cumulated(self, times: Counts) -> tuple[Counts, Counts]:
        """Rows among the first 0, 1, …, c cells in the order of model 1, and of model 2, (b, c + 1) each."""
        # One byte a cell, while it holds the counts: three times as fast as eight to put in another order.
        narrow = times.astype(np.uint8) if times.max() < _BYTE else times
        return _from_nothing(times), _from_nothing(np.take(narrow, self.by_2, axis=1))


class Order(NamedTuple):
    """How one model sorts the cells: by levels, its distinct scores from the highest to the lowest."""

    level: Counts  # of the negatives' cells in the model's order, (c_neg,)
    before_pos: Counts  # cells of positives above each of the k levels, and all of them, (k + 1,)
    before_neg: Counts  # the same of negatives

    def flagged(self, pos: Counts, neg: Counts, ranks: Counts) -> Floats:
        """Positives that the model flags at FPR `ranks` / n_neg of each resample, shape (b, h).

        On a straight line where positives and negatives share the threshold's score.
        """
        line = np.arange(len(neg))[:, np.newaxis]
        level = self.level[np.array([np.searchsorted(reached[1:], ranks) for reached in neg])]
        over, under = neg[line, self.before_neg[level]], neg[line, self.before_neg[level + 1]]
        least, most = pos[line, self.before_pos[level]], pos[line, self.before_pos[level + 1]]
        return np.asarray(least + (most - least) * ((ranks - over) / (under - over)))


class Pairing(NamedTuple):
    """The rows of two models, ready to be resampled."""

    pos: Rows
    neg: Rows
    order_1: Order
    order_2: Order
    sign: int  # -1 where model 1 here is the second of the two that were given

    def differences(self, times_pos: Counts, times_neg: Counts, ranks: Counts) -> Floats:
        """TPR of the first model given less that of the second, in resamples, at `ranks`, shape (b, h)."""
        pos_1, pos_2 = self.pos.cumulated(times_pos)
        neg_1, neg_2 = self.neg.cumulated(times_neg)
        gap = self.order_1.flagged(pos_1, neg_1, ranks) - self.order_2.flagged(pos_2, neg_2, ranks)
        return np.asarray(gap * (self.sign / int(self.pos.size.sum())) + 0.0)  # no -0

    def observed(self, ranks: Counts) -> Floats:
        """The difference in the sample itself, shape (h,)."""
        return self.differences(self.pos.size[np.newaxis], self.neg.size[np.newaxis], ranks).ravel()


def pairing(pair: PairedSample) -> Pairing:
    """Sort the cells by both models: O(c log c).

    Rows and their counts, rows in any order, and the two models swapped all come out the same, but for the
    sign: so that one generator gives all of them the same resamples.
    """
    here, swapped = _cells(pair), _cells(pair.swapped())
    sign = 1 if _comes_first(here, swapped) else -1
    cells = here if sign == 1 else swapped
    level_1, level_2, pos, neg = cells
    of_pos, of_neg = pos > 0, neg > 0
    by_2_pos, by_2_neg = (np.argsort(level_2[seen], kind="stable") for seen in (of_pos, of_neg))
    neg_1, neg_2 = level_1[of_neg], level_2[of_neg][by_2_neg]
    return Pairing(
        Rows(pos[of_pos], by_2_pos),
        Rows(neg[of_neg], by_2_neg),
        Order(neg_1, _before(level_1, of_pos), _before(level_1, of_neg)),
        Order(neg_2, _before(level_2, of_pos), _before(level_2, of_neg)),
        sign,
    )


def drawn_differences(
    rows: Pairing, ranks: Counts, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None
) -> Floats:
    """`Pairing.differences` of resamples of each class, shape (n_resamples, h): O(n) a resample."""
    drawn = np.empty((n_resamples, len(ranks)))
    at_once = max(1, _AT_ONCE // max(int(rows.pos.size.sum()), int(rows.neg.size.sum()), len(ranks)))
    reported = 0
    for start in range(0, n_resamples, at_once):
        part = drawn[start : start + at_once]
        times_pos, times_neg = rows.pos.drawn(len(part), rng), rows.neg.drawn(len(part), rng)
        part[:] = rows.differences(times_pos, times_neg, ranks)
        done = start + len(part)
        if progress is not None and done * _REPORTS // n_resamples > reported:
            reported = done * _REPORTS // n_resamples
            progress(f"{done} of {n_resamples} resamples of the difference of the ROC curves")
    return drawn


def _cells(pair: PairedSample) -> tuple[Counts, Counts, Counts, Counts]:
    """Levels of both models, positives and negatives of the distinct cells, sorted by level 1, then 2."""
    level_1 = len(pair.first.score) - 1 - pair.index_1
    level_2 = len(pair.second.score) - 1 - pair.index_2
    key = level_1 * len(pair.second.score) + level_2
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    at = order[first]
    pos, neg = (np.add.reduceat(count[order], first) for count in (pair.pos, pair.neg))
    return level_1[at], level_2[at], pos, neg


def _comes_first(cells: tuple[Counts, ...], others: tuple[Counts, ...]) -> bool:
    """Whether the first table that differs is smaller in the first of its lines that differ."""
    for one, other in zip(cells, others, strict=True):
        differ = np.flatnonzero(one != other)
        if len(differ):
            return bool(one[differ[0]] < other[differ[0]])
    return True


def _before(level: Counts, seen: NDArray[np.bool_]) -> Counts:
    """How many of the cells `seen` lie above each level, and all of them."""
    return np.concatenate([[0], np.cumsum(np.bincount(level[seen], minlength=int(level.max()) + 1))])


def _from_nothing(times: NDArray[np.integer]) -> Counts:
    total = np.zeros((len(times), times.shape[1] + 1), dtype=np.int64)
    np.cumsum(times, axis=1, dtype=np.int64, out=total[:, 1:])
    return total
