"""The skewness of an AUC over all resamples, exactly.

Its third moment is a sum over triples of pairs, which share rows in six ways: with cumulative sums over the
distinct scores each of these is O(k), for any ties. Below, h = psi - auc, g is its mean over the negatives
for one positive (V10 - auc) and f its mean over the positives for one negative (V01 - auc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rocmonitor.caveat import Caveat
from rocmonitor.stats.area.delong import Moments, exact_bootstrap_variance, moments, placements
from rocmonitor.stats.area.skewness import chain_mean, cube_mean, deviations, weighted_mean
from rocmonitor.stats.proportion import resample_size
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample, on_sample


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

    Raises
    ------
    DegenerateDataError, InputError: A class without rows; unusable data (see `Sample`), resample sizes that
        are not positive.

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


def _third_moment(sample: Sample, of: Moments, m: int, n: int) -> float:
    g, f = deviations(sample, of)
    right, level, wrong = of.lost, 0.5 - of.auc, -of.auc  # the values of h
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
    cube = apart * right**3 + ties * level**3 + max(1 - apart - ties, 0.0) * wrong**3
    total = (
        cube
        + 3 * (n - 1) * weighted_mean(sample.pos, of_pos * g)
        + 3 * (m - 1) * weighted_mean(sample.neg, of_neg * f)
        + float(n - 1) * (n - 2) * cube_mean(sample.pos, g)
        + float(m - 1) * (m - 2) * cube_mean(sample.neg, f)
        + 6.0 * (m - 1) * (n - 1) * chain_mean(sample, g, f)
    )
    return total / (float(m) * n) ** 2
