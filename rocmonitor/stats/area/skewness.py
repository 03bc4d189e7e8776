"""The skewness of an AUC: of the studentised one, removed in second-order intervals; and over all resamples.

In formulas, h = psi - auc for a pair of a positive and a negative, g is its mean over the negatives for one
positive (V10 - auc), and f its mean over the positives for one negative (V01 - auc). The third moment over
resamples is a sum over triples of pairs, which share rows in six ways: with cumulative sums over the distinct
scores each of these is O(k), for any ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.stats.area.delong import (
    Moments,
    exact_bootstrap_variance,
    moments,
    placements,
    sums_over_parts,
)
from rocmonitor.stats.proportion import resample_size
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import weighted_sum
from rocmonitor.stats.sample import Counts, Floats, Sample, on_sample


def studentised(sample: Sample, pairs: Moments, se: float) -> tuple[float, float]:
    """Return mean and skewness of (auc - true area) / se, to the first order in which they are not 0.

    A sample whose AUC is too high by chance also has too small a standard error. With T the AUC and v its
    estimated variance, Z = (T - E T)/sd(T) and W = (v - E v)/E v, the studentised AUC is Z (1 - W/2) and has
    mean -Cov(Z, W)/2 and third cumulant E Z³ - 3 Cov(Z, W) to this order ([H92] section 2.6). Both follow
    from the linear parts of T and v, in O(k)::

        sd(T)³ E Z³ = b + 6 c,    sd(T)³ Cov(Z, W) = b + 4 c,
        b = E g³ / n_pos² + E f³ / n_neg²,    c = E h g f / (n_pos n_neg)
    """
    cubes10, cubes01, chains = _cubes_and_chains(sample, pairs)
    own = cubes10 / sample.n_pos / sample.n_pos**2 + cubes01 / sample.n_neg / sample.n_neg**2
    shared = chains / sample.n_pos / sample.n_neg / (float(sample.n_pos) * sample.n_neg)
    return -(own + 4 * shared) / 2 / se**3, -(2 * own + 6 * shared) / se**3


def _cubes_and_chains(sample: Sample, pairs: Moments) -> tuple[float, ...]:
    """Return the sums of g³ over the positives, of f³ over the negatives, and of h g f over all pairs.

    The negatives' f adds up to 0, so psi may stand for h, and a cumulative sum for its mean.
    """
    before = 0.0

    def sums(below: Floats, above: Floats, pos: Floats, neg: Floats) -> tuple[float, ...]:
        nonlocal before
        g, f = centred(below, sample.n_neg, pairs), centred(above, sample.n_pos, pairs)
        chain = neg * f
        own, chain[0] = 0.5 * chain, chain[0] + before
        np.cumsum(chain, out=chain)
        before = float(chain[-1])
        return np.sum(pos * (g * g * g)), np.sum(neg * (f * f * f)), np.sum(pos * ((chain - own) * g))

    return sums_over_parts(sample, sums)


def second_order_ends(auc: float, se: float, shape: tuple[float, float], tail: float) -> tuple[float, float]:
    """Return ends of the interval that leaves `tail` on either side, within [0, 1] ([H92b]).

    With mean k1 and skewness k3 of the studentised AUC S, S + a S² + a² S³/3 + c is normal to second order,
    where a = -k3/6 and c = k3/6 - k1. This cubic is monotone, so it has an inverse at every level.
    At confidence levels below about 0.3 the auc itself may lie outside; the interval is then extended to it.
    """
    mean, skewness = shape
    bend, shift = -skewness / 6, skewness / 6 - mean
    z = float(scipy.special.ndtri(tail))
    values = np.array([-z, z]) - shift
    root = np.cbrt(1 + 3 * bend * values)
    # The inverse, written so that a bend of 0 is no special case.
    low, high = (auc - se * (3 * values / (root * root + root + 1))).tolist()
    return max(min(low, auc), 0.0), min(max(high, auc), 1.0)


def deviations(sample: Sample, pairs: Moments) -> tuple[Floats, Floats]:
    """Return g and f at each distinct score; near an AUC of 1 from 1 - AUC, which keeps the digits."""
    below, above = placements(sample)
    return centred(below, sample.n_neg, pairs), centred(above, sample.n_pos, pairs)


def centred(values: Floats, n: int, pairs: Moments) -> Floats:
    """Placement values as counts of `n` rows, less the AUC, in place."""
    if pairs.auc > 0.5:
        values -= n
    values /= n
    values += pairs.lost if pairs.auc > 0.5 else -pairs.auc
    return values


def weighted_mean(counts: Counts, values: Floats | Counts) -> float:
    """Mean of values that occur `counts` times."""
    return weighted_sum(counts, values) / float(counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class AucSkewness(Result):
    """The first three moments of an AUC over all stratified resamples.

    Attributes
    ----------
    auc, se, third_moment: Their mean, the AUC of the sample; their standard deviation, that of
        ``method="exact-bootstrap"`` of `auc`; and their third central moment.
    skewness: ``third_moment / se**3``; 0 when `se` is 0.
    n_pos, n_neg, m_pos, m_neg: Class sizes of the sample and of the resamples.
    caveats
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
    m_pos, m_neg: Sizes of the resamples; the class sizes by default.

    Notes
    -----
    With m = m_pos and n = m_neg the third central moment is::

        [ E h³ + 3 (n-1) E h² g + 3 (m-1) E h² f + (n-1)(n-2) E g³ + (m-1)(m-2) E f³
          + 6 (m-1)(n-1) E h g f ] / (m n)²

    with means over all pairs of a positive and a negative of the sample. The other ways in which three pairs
    can share rows leave one pair on its own, whose mean is 0. It extends the variance of [N67] and [B75] by
    one order. Cost: the sort of the sample, then O(k) for k distinct scores.

    Examples
    --------
    >>> print(auc_skewness([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9]))
    AUC 0.8333, over resamples of 3 positives and 3 negatives: standard deviation 0.1697, skewness -1.192
    """
    sample.require_both_classes()
    m, n = resample_size(m_pos, sample.n_pos, "m_pos"), resample_size(m_neg, sample.n_neg, "m_neg")
    pairs = moments(sample)
    g, f = deviations(sample, pairs)
    right, level, wrong = pairs.lost, 0.5 - pairs.auc, -pairs.auc  # the values of h
    below, above = placements(sample)
    below -= 0.5 * sample.neg  # now strictly
    above -= 0.5 * sample.pos
    # Means of h² for a positive, and for a negative, at each score.
    of_pos = below * right**2 + sample.neg * level**2 + (sample.n_neg - below - sample.neg) * wrong**2
    of_neg = above * right**2 + sample.pos * level**2 + (sample.n_pos - above - sample.pos) * wrong**2
    of_pos /= sample.n_neg
    of_neg /= sample.n_pos
    ties = weighted_mean(sample.pos, sample.neg) / sample.n_neg
    apart = weighted_mean(sample.pos, below) / sample.n_neg
    cubes10, cubes01, chains = _cubes_and_chains(sample, pairs)
    cube = apart * right**3 + ties * level**3 + max(1 - apart - ties, 0.0) * wrong**3
    total = (
        cube
        + 3 * (n - 1) * weighted_mean(sample.pos, of_pos * g)
        + 3 * (m - 1) * weighted_mean(sample.neg, of_neg * f)
        + float(n - 1) * (n - 2) * cubes10 / sample.n_pos
        + float(m - 1) * (m - 2) * cubes01 / sample.n_neg
        + 6.0 * (m - 1) * (n - 1) * chains / sample.n_pos / sample.n_neg
    )
    third = total / (float(m) * n) ** 2
    se = math.sqrt(exact_bootstrap_variance(pairs.zeta10, pairs.zeta01, pairs.kernel, m, n))
    return AucSkewness(
        auc=pairs.auc,
        se=se,
        third_moment=third,
        skewness=third / se**3 if se else 0.0,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        m_pos=m,
        m_neg=n,
        caveats=() if se else (Caveat("skewness-undefined"),),
    )
