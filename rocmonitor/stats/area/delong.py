"""The DeLong formula: placement values, their variances, and the variance of an AUC that follows ([DDC88]).

A positive's placement value V10 is its mean psi over the negatives, a negative's V01 its mean psi over the
positives. Both take one value at each distinct score, so everything here is O(k) once the sample is sorted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rocmonitor.stats.rows import parts, weighted_sum
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample

ROUNDING = 1e-13  # differences and variances this far below the scale of what was subtracted are rounding


def placements(sample: Sample) -> tuple[Floats, Floats]:
    """Placement values at each distinct score, as counts: multiples of 1/2, exact, shape (k,).

    Negatives below each score and positives above it, rows level with it counted one half:
    n_neg V10 of a positive there and n_pos V01 of a negative there.
    """
    # In place here and below: fresh memory costs more than the arithmetic. Adding up whole numbers takes a
    # tenth of the time that float64 does.
    below = np.cumsum(sample.neg).astype(np.float64)
    below -= 0.5 * sample.neg
    above = np.cumsum(sample.pos).astype(np.float64)
    above -= 0.5 * sample.pos
    np.subtract(sample.n_pos, above, out=above)
    return below, above


def sums_over_parts(
    sample: Sample, function: Callable[[Floats, Floats, Floats, Floats], tuple[float, ...]]
) -> tuple[float, ...]:
    """Return the sums of the values of `function` over parts of the distinct scores.

    It takes `placements` there, as below and above, with the positives and the negatives. Large samples have
    no room, and small ones no time, for arrays of all scores that are read once.
    """
    sums = []
    neg_before, pos_after = 0.0, float(sample.n_pos)
    for part in parts(len(sample.score)):
        # Whole numbers up to 2**53 and their halves are exact, in any order; of one type they are quicker.
        pos, neg = sample.pos[part].astype(np.float64), sample.neg[part].astype(np.float64)
        below, above = np.cumsum(sample.neg[part]).astype(np.float64), pos * 0.5
        up_to = np.cumsum(sample.pos[part]).astype(np.float64)
        below += neg_before
        above -= up_to
        above += pos_after
        neg_before, pos_after = float(below[-1]), pos_after - float(up_to[-1])
        below -= np.multiply(neg, 0.5, out=up_to)
        sums.append(function(below, above, pos, neg))
    return tuple(math.fsum(column) for column in zip(*sums, strict=True))


def mean_over_pairs(
    below: Floats, above: Floats, pos: Counts | Floats, neg: Counts | Floats
) -> tuple[float, float, float]:
    """Mean of a pair statistic, and the variances zeta10 and zeta01 of its placement values.

    `below` and `above` are the placement values of each cell as counts (see `placements`), or differences of
    such; `pos` and `neg` are the rows in each. All have shape (c,).
    """
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    mean, variance10 = mean_and_variance(below, pos)
    _, variance01 = mean_and_variance(above, neg)
    return mean / n_neg, variance10 / n_neg**2, variance01 / n_pos**2


def mean_and_variance(values: Floats, weights: Counts | Floats) -> tuple[float, float]:
    """Mean and variance (n denominator) of `values`, shape (c,), that occur `weights` times."""
    # Measured from a value that occurs, so that equal values leave residuals of exactly 0: rounding
    # must not turn "no variance" into a tiny one.
    origin = float(values[np.argmax(weights > 0)])
    shifted = values - origin
    n = float(weights.sum())
    mean = weighted_sum(weights, shifted) / n
    shifted -= mean
    np.square(shifted, out=shifted)
    return origin + mean, weighted_sum(weights, shifted) / n


class Moments(NamedTuple):
    """Moments of psi over the pairs of a sample."""

    auc: float
    lost: float  # 1 - auc, with all its digits
    zeta10: float  # variance of V10 over the positives
    zeta01: float  # variance of V01 over the negatives
    kernel: float  # variance of psi over all pairs

    @property
    def alike(self) -> bool:
        """True if every positive compares alike with every negative."""
        # Rows of psi are monotone: with equal sums they are equal, and so are the columns.
        return self.zeta10 == self.zeta01 == 0


def moments(sample: Sample) -> Moments:
    """Moments of psi in O(k); the sample must hold both classes."""
    n_pos, n_neg = sample.n_pos, sample.n_neg
    # Measured from a placement that occurs, so that equal values leave residuals of exactly 0: rounding must
    # not turn "no variance" into a tiny one.
    i, j = int(np.argmax(sample.pos > 0)), int(np.argmax(sample.neg > 0))
    below_0 = float(sample.neg[:i].sum()) + 0.5 * float(sample.neg[i])
    above_0 = n_pos - float(sample.pos[:j].sum()) - 0.5 * float(sample.pos[j])

    def means(below: Floats, above: Floats, pos: Floats, neg: Floats) -> tuple[float, ...]:
        of_pos, of_neg = np.sum(pos * (below - below_0)), np.sum(neg * (above - above_0))
        return of_pos, of_neg, np.sum(pos * (n_neg - below)), np.sum(pos * neg)

    of_pos, of_neg, lost, ties = sums_over_parts(sample, means)
    mean10, mean01 = of_pos / n_pos, of_neg / n_neg

    def squares(below: Floats, above: Floats, pos: Floats, neg: Floats) -> tuple[float, ...]:
        off10, off01 = below - below_0 - mean10, above - above_0 - mean01
        return np.sum(pos * (off10 * off10)), np.sum(neg * (off01 * off01))

    square10, square01 = sums_over_parts(sample, squares)
    auc, pairs = (below_0 + mean10) / n_neg, float(n_pos) * n_neg
    zeta10, zeta01 = square10 / n_pos / float(n_neg) ** 2, square01 / n_neg / float(n_pos) ** 2
    # psi**2 is psi, but 1/4 and not 1/2 on a tie; rounding may go a hair below 0.
    kernel = max(auc * (lost / pairs) - ties / pairs / 4, 0.0)
    return Moments(auc, lost / pairs, zeta10, zeta01, kernel)


def delong_variance(zeta10: float, zeta01: float, n_pos: int, n_neg: int) -> float:
    """Unbiased variance of a mean over pairs from its placement variances (n denominators)."""
    return zeta10 / (n_pos - 1) + zeta01 / (n_neg - 1)


def exact_bootstrap_variance(zeta10: float, zeta01: float, kernel: float, m_pos: int, m_neg: int) -> float:
    """Variance of a mean over pairs in resamples of m_pos positives and m_neg negatives.

    [H48] eq. 5.13 for the empirical distribution: `kernel` is the variance of one pair, zeta10 and zeta01 are
    those of the placement values.
    """
    return (kernel + (m_neg - 1) * zeta10 + (m_pos - 1) * zeta01) / (float(m_pos) * m_neg)


def difference_placements(
    pair: PairedSample, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Differences of the two models' placement values (see `placements`) in each cell, shape (c,)."""
    below, above = (values[pair.index_1] for values in first)
    below -= second[0][pair.index_2]
    above -= second[1][pair.index_2]
    return below, above
