"""The variance of one AUC in closed form: resampling, Hanley and McNeil, two normal laws, the upper bound.

All start from the same moments. None subtracts large numbers: near areas of 0 and 1 no digits are lost.
The papers are those of `auc`; [H48] is Hoeffding (1948), Annals of Mathematical Statistics 19, 293-325.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.placements import mean_and_variance, sums_over_parts
from rocmonitor.stats.sample import Counts, Floats, Sample

_NEGLIGIBLE = 1e-12  # a standard error that no interval shows


class Moments(NamedTuple):
    """Moments of psi over the pairs of a sample."""

    auc: float
    lost: float  # 1 - auc, with all its digits
    zeta10: float  # variance of V10 over the positives
    zeta01: float  # variance of V01 over the negatives
    kernel: float  # variance of psi over all pairs

    @property
    def alike(self) -> bool:
        """Whether every positive compares alike with every negative."""
        # Rows of psi are monotone: with equal sums they are equal, and so are the columns.
        return self.zeta10 == self.zeta01 == 0


class Variance(NamedTuple):
    """The variance of an AUC, and what must be said about it."""

    value: float
    caveat: Caveat | None = None


def moments(sample: Sample) -> Moments:
    """Moments of psi in O(k); the sample must hold both classes."""
    n_pos, n_neg = sample.n_pos, sample.n_neg
    below_0, above_0 = _first_placements(sample)

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


def _first_placements(sample: Sample) -> tuple[float, float]:
    """The first placement value of a positive and of a negative, which others are measured from.

    So equal values leave residuals of exactly 0: rounding must not turn "no variance" into a tiny one.
    """
    i, j = int(np.argmax(sample.pos > 0)), int(np.argmax(sample.neg > 0))
    below = float(sample.neg[:i].sum()) + 0.5 * float(sample.neg[i])
    return below, sample.n_pos - float(sample.pos[:j].sum()) - 0.5 * float(sample.pos[j])


def delong_variance(zeta10: float, zeta01: float, n_pos: int, n_neg: int) -> float:
    """Unbiased variance of a mean over pairs from its placement variances (n denominators)."""
    return zeta10 / (n_pos - 1) + zeta01 / (n_neg - 1)


def exact_bootstrap_variance(zeta10: float, zeta01: float, kernel: float, m_pos: int, m_neg: int) -> float:
    """Variance of a mean over pairs in resamples of m_pos positives and m_neg negatives.

    [H48] eq. 5.13 for the empirical distribution: `kernel` is the variance of one pair, zeta10 and zeta01 are
    those of the placement values.
    """
    return (kernel + (m_neg - 1) * zeta10 + (m_pos - 1) * zeta01) / (float(m_pos) * m_neg)


def _wmk16(sample: Sample, of: Moments, m_pos: int, m_neg: int) -> Variance:
    """[WMK16] eq. 13-15, rewritten so that nothing cancels.

    In eq. 13, Q² + Q P + P²/3 = (Q + P/2)² + P²/12, and the mean of the first term less A² is zeta01;
    likewise eq. 14 and zeta10. So it is the exact bootstrap variance with three terms added for ties.
    """
    level = np.flatnonzero((sample.pos > 0) & (sample.neg > 0))
    share_pos, share_neg = sample.pos[level] / sample.n_pos, sample.neg[level] / sample.n_neg
    both = share_pos * share_neg
    tied_pos, tied_neg = float(np.sum(both * share_pos)) / 12, float(np.sum(both * share_neg)) / 12
    return Variance(
        exact_bootstrap_variance(of.zeta10 + tied_neg, of.zeta01 + tied_pos, of.auc * of.lost, m_pos, m_neg)
    )


def _hanley_mcneil(sample: Sample, of: Moments, _m_pos: int, _m_neg: int) -> Variance:
    """[HM82] eq. 1 and 2: Q1 = A/(2 - A), Q2 = 2 A²/(1 + A), each less A² without loss."""
    q1 = of.auc * of.lost**2 / (1 + of.lost)
    q2 = of.auc**2 * of.lost / (1 + of.auc)
    return Variance(exact_bootstrap_variance(q2, q1, of.auc * of.lost, sample.n_pos, sample.n_neg))


def _binormal(sample: Sample, of: Moments, _m_pos: int, _m_neg: int) -> Variance:
    """[D12]: delta method on Phi(d), d = (mean_pos - mean_neg) / sqrt(var_pos + var_neg)."""
    # A power of two loses no digit, and keeps the squares of scores like 1e300 finite.
    largest = max(-sample.score[0], sample.score[-1])
    score = np.ldexp(sample.score, -math.frexp(largest)[1])
    mean_pos, var_pos = _unbiased(score, sample.pos, sample.n_pos)
    mean_neg, var_neg = _unbiased(score, sample.neg, sample.n_neg)
    both = var_pos + var_neg
    if both == 0:  # each class has one score
        return Variance(0.0)
    d = (mean_pos - mean_neg) / math.sqrt(both)
    se = _binormal_error(d, var_pos / both, var_neg / both, sample.n_pos, sample.n_neg)
    if se < _NEGLIGIBLE:
        if of.alike:
            return Variance(0.0)
        raise DegenerateDataError(
            f"the normal laws that method 'binormal' fits lie {abs(d):.3g} standard deviations apart, where "
            "their area has no measurable error, and yet pairs are in the wrong order: use another method"
        )
    return Variance(se**2, Caveat("error-of-normal-scores", area=float(scipy.special.ndtr(d))))


def _binormal_error(d: float, share_pos: float, share_neg: float, n_pos: int, n_neg: int) -> float:
    """Standard error of Phi(d) when the classes have these shares of the sum of the two variances."""
    square = min(d * d, 1e4)  # beyond, the density is 0 whatever it is multiplied with
    means = share_pos / n_pos + share_neg / n_neg
    variances = share_pos**2 / (n_pos - 1) + share_neg**2 / (n_neg - 1)
    return math.exp(-square / 2) * math.sqrt((means + square / 2 * variances) / (2 * math.pi))


def _unbiased(values: Floats, weights: Counts, n: int) -> tuple[float, float]:
    mean, variance = mean_and_variance(values, weights)
    return mean, variance * n / (n - 1)


# By method: the variance, from the sample, its moments and the sizes m_pos and m_neg of a resample.
CLOSED_FORMS: dict[str, Callable[[Sample, Moments, int, int], Variance]] = {
    "delong": lambda rows, of, *_: Variance(delong_variance(of.zeta10, of.zeta01, rows.n_pos, rows.n_neg)),
    "exact-bootstrap": lambda _, of, *sizes: Variance(exact_bootstrap_variance(*of[2:], *sizes)),
    "wmk16": _wmk16,
    "hanley-mcneil": _hanley_mcneil,
    "binormal": _binormal,
    "upper-bound": lambda rows, of, *_: Variance(of.auc * of.lost / min(rows.n_pos, rows.n_neg)),
}
