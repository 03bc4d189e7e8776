"""The skewness of an AUC: over all resamples exactly, and of the studentised AUC for second-order intervals.

An AUC near 1 has far more room below than above, and so have its resamples. Their third moment is a sum over
triples of pairs, which share rows in six ways: with cumulative sums over the distinct scores each of these
is O(k), for any ties. Below, h = psi - auc, g is its mean over the negatives for one positive (V10 - auc)
and f its mean over the positives for one negative (V01 - auc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rocmonitor.stats.area.placements import placements
from rocmonitor.stats.area.variances import Moments, exact_bootstrap_variance, moments
from rocmonitor.stats.caveat import Caveat
from rocmonitor.stats.proportion import resample_size
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Counts, Floats, Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class AucSkewness(Result):
    """The first three moments of an AUC over all stratified resamples.

    Attributes
    ----------
    auc : float
        Their mean, the AUC of the sample.
    se : float
        Their standard deviation: the standard error of ``auc(…, method="exact-bootstrap")``.
    third_moment : float
        Their third central moment.
    skewness : float
        ``third_moment / se**3``; 0 when `se` is 0.
    n_pos, n_neg : int
        Class sizes of the sample.
    m_pos, m_neg : int
        Class sizes of the resamples.
    caveats : tuple of Caveat
    """

    auc: float
    se: float
    third_moment: float
    skewness: float
    n_pos: int
    n_neg: int
    m_pos: int
    m_neg: int
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f}, over resamples of {self.m_pos} positives and {self.m_neg} negatives: "
            f"standard deviation {self.se:.4f}, skewness {self.skewness:+.3f}"
        )


@on_sample
def auc_skewness(sample: Sample, /, *, m_pos: int | None = None, m_neg: int | None = None) -> AucSkewness:
    """Third moment and skewness of the AUC over all stratified resamples, in closed form.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative. Or one `Sample` in place of the two arrays.
    y_score : array_like, shape (n,)
        Finite scores; higher means more positive.
    m_pos, m_neg : int, optional
        Sizes of the resamples; the class sizes by default.

    Returns
    -------
    AucSkewness
        ``.auc .se .third_moment .skewness .n_pos .n_neg .m_pos .m_neg .caveats``.

    Raises
    ------
    InputError
        Unusable data (see `Sample`), resample sizes that are not positive.
    DegenerateDataError
        A class without rows.

    Notes
    -----
    With m = m_pos and n = m_neg the third central moment is::

        [ E h³ + 3 (n-1) E h² g + 3 (m-1) E h² f + (n-1)(n-2) E g³ + (m-1)(m-2) E f³
          + 6 (m-1)(n-1) E h g f ] / (m n)²

    with means over all pairs of a positive and a negative of the sample. The other ways in which three
    pairs can share rows leave one pair on its own, whose mean is 0. It extends the variance of Noether
    (1967) and Bamber (1975) by one order, and is what a Monte Carlo bootstrap converges to.

    Cost: the sort of the sample, then O(k) for k distinct scores.

    Examples
    --------
    >>> print(auc_skewness([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9]))
    AUC 0.8333, over resamples of 3 positives and 3 negatives: standard deviation 0.1697, skewness -1.192
    """
    sample.require_both_classes()
    m, n = resample_size(m_pos, sample.n_pos, "m_pos"), resample_size(m_neg, sample.n_neg, "m_neg")
    of = moments(sample)
    third = _third_moment(sample, of, m, n)
    se = math.sqrt(exact_bootstrap_variance(of.zeta10, of.zeta01, of.kernel, m, n))
    return AucSkewness(
        auc=of.auc,
        se=se,
        third_moment=third,
        skewness=third / se**3 if se else 0.0,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        m_pos=m,
        m_neg=n,
        caveats=() if se else (Caveat("skewness-undefined"),),
    )


class Studentised(NamedTuple):
    """Mean and skewness of (auc - true area) / se, to the first order in which they are not 0."""

    mean: float
    skewness: float


def studentised(sample: Sample, of: Moments, se: float) -> Studentised:
    """How the AUC divided by its own standard error departs from the standard normal law.

    Parameters
    ----------
    sample : Sample
    of : Moments
        Its moments.
    se : float
        Greater than 0, from "delong" or "exact-bootstrap" at the sample's own sizes.

    Notes
    -----
    A sample whose AUC came out high has too small a standard error as well. With T the AUC and v its
    estimated variance, Z = (T - E T)/sd(T) and W = (v - E v)/E v, the studentised AUC is Z (1 - W/2) and has
    mean -Cov(Z, W)/2 and third cumulant E Z³ - 3 Cov(Z, W) to this order (Hall 1992, The bootstrap and
    Edgeworth expansion, section 2.6). Both
    follow from the linear parts of T and v::

        sd(T)³ E Z³ = b + 6 c,    sd(T)³ Cov(Z, W) = b + 4 c,
        b = E g³ / n_pos² + E f³ / n_neg²,    c = E h g f / (n_pos n_neg)

    Cost: O(k).
    """
    g, f = _deviations(sample, of)
    own = _cube(sample.pos, g) / sample.n_pos**2 + _cube(sample.neg, f) / sample.n_neg**2
    shared = _chain(sample, g, f) / (float(sample.n_pos) * sample.n_neg)
    return Studentised(-(own + 4 * shared) / 2 / se**3, -(2 * own + 6 * shared) / se**3)


def second_order_ends(auc: float, se: float, shape: tuple[float, float], tail: float) -> tuple[float, float]:
    """Ends of the interval that leaves `tail` on either side, by Hall's transformation, within [0, 1].

    Parameters
    ----------
    auc, se : float
        `se` greater than 0.
    shape : Studentised
    tail : float
        Below 1/2.

    Notes
    -----
    With mean k1 and skewness k3 of the studentised AUC S, S + a S² + a² S³/3 + c is normal to second order,
    a = -k3/6 and c = k3/6 - k1: a monotone cubic, which has an inverse at every level (Hall 1992, On the
    removal of skewness by transformation, J. R. Statist. Soc. B 54, 221-228). At confidence levels below
    about 0.3 the auc itself may lie outside; it is taken in.

    Measured at 95 %, two normal laws, DeLong's standard error, in 5,000 to 10,000 samples each (500/5000:
    1,500; percentile bootstrap: 400 to 1,500): share of intervals wholly above and wholly below the true
    area, in per cent.

    ====  ===========  ===========  ===========  ===========  ============
    AUC   n_pos/n_neg  none         logit        percentile   second-order
    ====  ===========  ===========  ===========  ===========  ============
    0.70  20/200        4.9,  1.9    2.9,  2.4    4.3,  1.9    2.4,  2.1
    0.90  20/200       10.3,  0.7    5.6,  2.5    9.7,  1.5    3.8,  1.7
    0.90  20/2000      11.3,  0.8    6.9,  2.4    9.8,  2.8    5.2,  1.8
    0.90  50/50         6.6,  0.8    2.2,  2.7    4.5,  1.2    0.3,  2.0
    0.99  20/200       23.4,  0.0    7.5,  2.5   18.7,  0.2    6.3,  0.6
    0.99  20/2000      28.5,  0.0   18.7,  2.3   27.3,  0.0    9.5,  0.6
    0.99  50/50        17.3,  0.1    3.2,  2.6   13.9,  0.3    4.4,  1.0
    0.99  100/1000     12.8,  0.2    6.4,  2.3   10.0,  1.3    3.7,  2.0
    0.99  500/5000          -        4.3,  1.9        -        2.9,  2.1
    ====  ===========  ===========  ===========  ===========  ============

    So it covers more than "logit" in every design, and comes near 95 % from about 100 rows of the rarer
    class on even at an area of 0.99. The price is width: 3 % more at 0.7, 30 % at 0.9 with 20 positives, at
    0.99 about 60 % on average (36 % in the median). With few rows of both classes near 0.9 it covers too much
    (50/50: 97.8 %). The same correction on the logit scale was measured too, and did not beat plain "logit".
    """
    mean, skewness = shape
    bend, shift = -skewness / 6, skewness / 6 - mean
    z = float(ndtri(tail))
    low, high = (auc - se * _untransformed(y - shift, bend) for y in (-z, z))
    return max(min(low, auc), 0.0), min(max(high, auc), 1.0)


def _untransformed(value: float, bend: float) -> float:
    """S with S + bend S² + bend² S³/3 = value; written so that a bend of 0 is no special case."""
    root = float(np.cbrt(1 + 3 * bend * value))
    return 3 * value / (root * root + root + 1)


def _third_moment(sample: Sample, of: Moments, m: int, n: int) -> float:
    g, f = _deviations(sample, of)
    right, level, wrong = of.lost, 0.5 - of.auc, -of.auc  # the values of h
    below, above = placements(sample)
    below -= 0.5 * sample.neg  # now strictly
    above -= 0.5 * sample.pos
    # Means of h² for a positive, and for a negative, at each score.
    of_pos = below * right**2 + sample.neg * level**2 + (sample.n_neg - below - sample.neg) * wrong**2
    of_neg = above * right**2 + sample.pos * level**2 + (sample.n_pos - above - sample.pos) * wrong**2
    of_pos /= sample.n_neg
    of_neg /= sample.n_pos
    ties = _mean(sample.pos, sample.neg) / sample.n_neg
    apart = _mean(sample.pos, below) / sample.n_neg
    cube = apart * right**3 + ties * level**3 + max(1 - apart - ties, 0.0) * wrong**3
    total = (
        cube
        + 3 * (n - 1) * _mean(sample.pos, of_pos * g)
        + 3 * (m - 1) * _mean(sample.neg, of_neg * f)
        + float(n - 1) * (n - 2) * _cube(sample.pos, g)
        + float(m - 1) * (m - 2) * _cube(sample.neg, f)
        + 6.0 * (m - 1) * (n - 1) * _chain(sample, g, f)
    )
    return total / (float(m) * n) ** 2


def _deviations(sample: Sample, of: Moments) -> tuple[Floats, Floats]:
    """The g and f at each distinct score; near an AUC of 1 from what is lacking, which keeps the digits."""
    deviations = placements(sample)
    for values, n in zip(deviations, (sample.n_neg, sample.n_pos), strict=True):
        if of.auc > 0.5:
            values -= n
        values /= n
        values += of.lost if of.auc > 0.5 else -of.auc
    return deviations


def _chain(sample: Sample, g: Floats, f: Floats) -> float:
    """E h g f: the negatives' f adds up to 0, so psi may stand for h, and a cumulative sum for its mean."""
    own = sample.neg * f
    below = np.cumsum(own)
    below -= 0.5 * own
    below *= g
    return _mean(sample.pos, below) / sample.n_neg


def _cube(counts: Counts, values: Floats) -> float:
    cubes = values * values
    cubes *= values
    return _mean(counts, cubes)


def _mean(counts: Counts, values: Floats | Counts) -> float:
    return float(np.sum(counts * values)) / float(counts.sum())  # not @: see mean_and_variance
