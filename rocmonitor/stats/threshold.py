"""The ROC point at a fixed threshold: its exact bootstrap law, intervals, and dominance of two models.

"Flagged" means score >= threshold. Resampling is stratified: each class keeps its size, so a class's
flagged count is binomial and two models' counts on the same rows are trinomial, the classes independent.
Dugas and Gadoury (2009), sections 3.1 and 3.2 and appendix A, is [DG09] below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import (
    Intervals,
    ProportionMethod,
    binomial_law,
    binomial_window,
    proportion_intervals,
    require_level,
    resample_size,
)
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.sample import PairedSample, Sample, on_pair, on_sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdIntervals(Table):
    """ROC points at given thresholds, with an interval for each rate.

    Attributes
    ----------
    threshold : ndarray, shape (h,)
        As given.
    tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high : ndarray, shape (h,)
        Observed rates (also the mean of their exact bootstrap law) and the ends of their intervals.
    method : str
    confidence_level : float
    joint : bool
        Whether the level is that of the rectangle (both rates at once) or of each interval.
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of str
        Intervals that were clipped to [0, 1], have zero length, or lie off the observed rate.
    """

    threshold: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats
    method: str
    confidence_level: float
    joint: bool
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.threshold)} ROC points by threshold, {100 * self.confidence_level:g} % "
            f"{'joint regions' if self.joint else 'intervals'} ({self.method}), "
            f"{self.n_pos} positives, {self.n_neg} negatives"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdLaw(Result):
    """Exact stratified bootstrap law of the two counts at one threshold; the counts are independent.

    Attributes
    ----------
    threshold : float
    tp : ndarray, shape (m_pos + 1,)
        Probability that 0, 1, …, m_pos of a resample's positives are flagged.
    fp : ndarray, shape (m_neg + 1,)
        The same for its negatives.
    n_pos, n_neg : int
        Class sizes.
    """

    threshold: float
    tp: Floats
    fp: Floats
    n_pos: int
    n_neg: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDominance(Table):
    """Probabilities of the five outcomes of comparing two models at pairs of thresholds.

    Attributes
    ----------
    threshold_1, threshold_2 : ndarray, shape (h,)
        Thresholds of the first and of the second model.
    first, second, both_higher, both_lower, tie : ndarray, shape (h,)
        Probabilities, adding up to 1; defined in `threshold_dominance`.
    n_pos, n_neg : int
        Class sizes.
    """

    threshold_1: Floats
    threshold_2: Floats
    first: Floats
    second: Floats
    both_higher: Floats
    both_lower: Floats
    tie: Floats
    n_pos: int
    n_neg: int

    @property
    def pairs(self) -> Floats:
        """The pairs of thresholds, shape (h, 2)."""
        return np.column_stack([self.threshold_1, self.threshold_2])

    def __str__(self) -> str:
        return (
            f"Dominance at {len(self.first)} pairs of thresholds, "
            f"{self.n_pos} positives, {self.n_neg} negatives"
        )


@on_sample
def threshold_intervals(
    sample: Sample,
    thresholds: ArrayLike,
    *,
    method: ProportionMethod = "agresti-coull",
    confidence_level: float = 0.95,
    joint: bool = True,
    m_pos: int | None = None,
    m_neg: int | None = None,
) -> ThresholdIntervals:
    """Intervals of TPR and FPR at given thresholds ([DG09] alg. 1).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    thresholds : array_like, shape (h,)
        At least one; any order. ``inf`` flags nothing, ``-inf`` everything.
    method : str
        ``agresti-coull``, ``wald``, ``wilson``, ``clopper-pearson``, ``jeffreys`` or ``exact``: see
        `rocmonitor.stats.proportion.proportion_intervals`.
    confidence_level : float
        Within (0, 1).
    joint : bool
        True: the rectangle of the two intervals has the level, each side 1 - alpha' with
        alpha' = 1 - sqrt(1 - alpha). False: each interval has it.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default; ``agresti-coull``, ``wald`` and ``exact`` only.

    Returns
    -------
    ThresholdIntervals

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or negative.
    InputError
        No thresholds, NaN among them, an unknown method, a level outside (0, 1).

    Notes
    -----
    Cost: O(k + h log k) for k distinct scores after sorting; ``exact`` takes O(h log m) more. The thresholds
    count as chosen beforehand: picked on these very rows, the intervals are too narrow.

    Examples
    --------
    >>> points = threshold_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], joint=False)
    >>> points.tpr.tolist(), points.fpr.tolist()
    ([0.5], [0.5])
    >>> points.tpr_low.round(4).tolist(), points.tpr_high.round(4).tolist()
    ([0.0999], [0.9001])
    """
    sample.require_both_classes()
    at = _thresholds(thresholds)
    level = require_level(confidence_level)
    level = math.sqrt(level) if joint else level
    tp, fp = _flagged(sample, at)
    tpr, fpr = tp / sample.n_pos, fp / sample.n_neg
    size = resample_size(m_pos, sample.n_pos, "m_pos")
    in_pos = proportion_intervals(tp, sample.n_pos, method=method, confidence_level=level, m=size)
    size = resample_size(m_neg, sample.n_neg, "m_neg")
    in_neg = proportion_intervals(fp, sample.n_neg, method=method, confidence_level=level, m=size)
    return ThresholdIntervals(
        threshold=at,
        tpr=tpr,
        tpr_low=in_pos.low,
        tpr_high=in_pos.high,
        fpr=fpr,
        fpr_low=in_neg.low,
        fpr_high=in_neg.high,
        method=method,
        confidence_level=float(confidence_level),
        joint=joint,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=interval_caveats("TPR", tpr, in_pos) + interval_caveats("FPR", fpr, in_neg),
    )


@on_sample
def threshold_law(
    sample: Sample, threshold: float, *, m_pos: int | None = None, m_neg: int | None = None
) -> ThresholdLaw:
    """Exact stratified bootstrap law of the flagged counts at one threshold ([DG09] 3.1).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    threshold : float
        Not NaN; may be infinite.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default.

    Returns
    -------
    ThresholdLaw
        Bin(m_pos, TPR) and Bin(m_neg, FPR), independent of each other.

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or negative.
    InputError
        A threshold that is NaN or not one number.

    Notes
    -----
    Cost: O(k + m) for k distinct scores.

    Examples
    --------
    >>> law = threshold_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.9)
    >>> law.tp.tolist(), law.fp.tolist()
    ([0.25, 0.5, 0.25], [1.0, 0.0, 0.0])
    """
    sample.require_both_classes()
    at = _thresholds(threshold)
    if len(at) != 1:
        raise InputError(f"threshold must be one number; {len(at)} were given")
    tp, fp = _flagged(sample, at)
    return ThresholdLaw(
        threshold=float(at[0]),
        tp=binomial_law(resample_size(m_pos, sample.n_pos, "m_pos"), float(tp[0] / sample.n_pos)),
        fp=binomial_law(resample_size(m_neg, sample.n_neg, "m_neg"), float(fp[0] / sample.n_neg)),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


@on_pair
def threshold_dominance(
    pair: PairedSample, pairs: ArrayLike, *, m_pos: int | None = None, m_neg: int | None = None
) -> ThresholdDominance:
    """Probability that one model dominates the other at pairs of thresholds ([DG09] eq. 2, alg. 2).

    With dTP = TPR of model 1 minus TPR of model 2 in a stratified bootstrap resample, and dFP likewise:

    ===========  =======================================================================
    first        dTP >= 0 and dFP <= 0, not both zero: model 1 dominates (the paper's f1)
    second       dTP <= 0 and dFP >= 0, not both zero: model 2 dominates (the paper's f2)
    both_higher  dTP > 0 and dFP > 0: undecided, model 1 flags more of either class
    both_lower   dTP < 0 and dFP < 0: undecided, model 1 flags less of either class
    tie          dTP = 0 and dFP = 0: the same ROC point
    ===========  =======================================================================

    These are all nine combinations of signs, each once, so they add up to 1. Equality in one rate only
    leaves the decision to the other rate.

    Parameters
    ----------
    y_true, score_1, score_2 : array_like, shape (n,)
        Labels and the two models' scores on the same rows, or one `PairedSample` in their place.
    pairs : array_like, shape (h, 2)
        Thresholds (t1, t2) of model 1 and model 2; may be infinite.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default.

    Returns
    -------
    ThresholdDominance

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or negative.
    InputError
        No pairs, entries that are not pairs, NaN among them.

    Notes
    -----
    As a test this is weak: two good models often land in an undecided quadrant, so `first` seldom comes near
    0.95 even when model 1 is better ([DG09] fig. 2). Use it to describe, not to decide.

    Exact. Per class, D = (only model 1 flags) - (only model 2 flags) is a trinomial difference. Given the
    number k of rows that the models disagree on, k ~ Bin(m, q), the first kind is Bin(k, p): only
    O(sqrt(m)) values of k carry mass. Cost: O(h (c + sqrt(m))) for c cells, no O(m²) table.

    Examples
    --------
    >>> result = threshold_dominance([0, 1], [0.2, 0.9], [0.6, 0.4], [(0.5, 0.5)])
    >>> result.first.tolist(), result.tie.tolist()
    ([1.0], [0.0])
    """
    pair.require_both_classes()
    at = threshold_pairs(pairs)
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, at)
    m = resample_size(m_pos, pair.n_pos, "m_pos")
    pos_less, pos_equal, pos_more = _signs(pos_1, pos_2, pair.n_pos, m)
    m = resample_size(m_neg, pair.n_neg, "m_neg")
    neg_less, neg_equal, neg_more = _signs(neg_1, neg_2, pair.n_neg, m)
    return ThresholdDominance(
        threshold_1=at[:, 0].copy(),
        threshold_2=at[:, 1].copy(),
        first=pos_more * (neg_less + neg_equal) + pos_equal * neg_less,
        second=pos_less * (neg_more + neg_equal) + pos_equal * neg_more,
        both_higher=pos_more * neg_more,
        both_lower=pos_less * neg_less,
        tie=pos_equal * neg_equal,
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
    )


def interval_caveats(
    rate: str, estimate: Floats, intervals: Intervals, *, within: str = "[0, 1]"
) -> tuple[str, ...]:
    """What a reader of `intervals` should know: clipping, zero length, an estimate outside."""
    low, high = intervals.low, intervals.high
    outside = (estimate < low) | (estimate > high)
    found = (
        (intervals.clipped, f"clipped to {within}"),
        (low == high, "of zero length: use a method that smooths"),
        (outside, "not around the estimate: smoothing moved them off it"),
    )
    return tuple(
        f"{np.count_nonzero(where)} of {len(where)} {rate} intervals are {what}"
        for where, what in found
        if where.any()
    )


def _flagged(sample: Sample, thresholds: Floats) -> tuple[Counts, Counts]:
    """Positives and negatives with score >= threshold, each shape (h,)."""
    first = np.searchsorted(sample.score, thresholds, side="left")
    below_pos, below_neg = (np.concatenate([[0], np.cumsum(c)]) for c in (sample.pos, sample.neg))
    return sample.n_pos - below_pos[first], sample.n_neg - below_neg[first]


def disagreements(pair: PairedSample, pairs: Floats) -> Counts:
    """Positives that only model 1, only model 2 flags, then negatives likewise: shape (4, h)."""
    first_1 = np.searchsorted(pair.first.score, pairs[:, 0], side="left")
    first_2 = np.searchsorted(pair.second.score, pairs[:, 1], side="left")
    only = np.empty((4, len(pairs)), dtype=np.int64)
    for column, (start_1, start_2) in enumerate(zip(first_1.tolist(), first_2.tolist(), strict=True)):
        by_1, by_2 = pair.index_1 >= start_1, pair.index_2 >= start_2
        only_1, only_2 = by_1 & ~by_2, by_2 & ~by_1
        only[:, column] = [c[where].sum() for c in (pair.pos, pair.neg) for where in (only_1, only_2)]
    return only


def _signs(only_1: Counts, only_2: Counts, n: int, m: int) -> tuple[Floats, Floats, Floats]:
    """P(D < 0), P(D = 0), P(D > 0) of trinomial differences in `m` draws out of `n`, each shape (h,)."""
    rows = [_sign(a, b, n, m) for a, b in zip(only_1.tolist(), only_2.tolist(), strict=True)]
    less, equal, more = np.array(rows, dtype=np.float64).T
    return less, equal, more


def _sign(only_1: int, only_2: int, n: int, m: int) -> tuple[float, float, float]:
    """P(D < 0), P(D = 0), P(D > 0), conditioning on the number k of disagreements.

    Given k, D is a walk of k steps +1 (probability p) or -1. With e_j = P(D = 0 | 2j) and
    A_j = P(D > 0 | 2j - 1), one more pair of steps gives e_(j+1) = e_j 4 p (1-p) (2j+1) / (2j+2) and
    A_(j+1) = A_j + (p - 1/2) e_j, A_0 = 1/2; and P(D > 0 | 2j) = A_j - e_j / 2.
    """
    disagree = only_1 + only_2
    if disagree == 0:
        return 0.0, 1.0, 0.0
    low, mass = binomial_window(m, disagree / n)
    p = only_1 / disagree
    j = np.arange(low // 2, (low + len(mass)) // 2 + 1)
    at_zero, above = _walk(j, p)
    k = np.arange(low, low + len(mass))
    even = k % 2 == 0
    equal = float(mass[even] @ at_zero[k[even] // 2 - j[0]])
    reach = min(float(mass @ above[(k + 1) // 2 - j[0]]), 1.0)
    return max(1.0 - reach - equal / 2, 0.0), equal, max(reach - equal / 2, 0.0)


def _walk(j: NDArray[np.int64], p: float) -> tuple[Floats, Floats]:
    """e_j and A_j of `_sign` at consecutive j, from their values at the first."""
    first = int(j[0])
    above = float(special.betainc(first, first, p)) if first else 0.5
    # P(X >= j) of 2j - 1 trials less P(X > j) of 2j trials is half of P(X = j of 2j).
    at_zero = 2 * max(above - float(special.betainc(first + 1, first, p)), 0.0) if first else 1.0
    steps = 4 * p * (1 - p) * (2 * j[:-1] + 1) / (2 * j[:-1] + 2)
    zeros = at_zero * np.concatenate([[1.0], np.cumprod(steps)])
    return zeros, above + (p - 0.5) * np.concatenate([[0.0], np.cumsum(zeros[:-1])])


def _thresholds(values: ArrayLike) -> Floats:
    try:
        at = np.array(values, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"thresholds must be numbers: {error}") from error
    if at.ndim != 1 or not len(at):
        raise InputError(f"thresholds must be a list of at least one number; its shape is {at.shape}")
    _no_nan(at, "thresholds")
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
    _no_nan(at, "pairs")
    return at


def _no_nan(values: Floats, name: str) -> None:
    bad = np.count_nonzero(np.isnan(values))
    if bad:
        raise InputError(f"{name} must not be NaN: {bad} of {values.size} are; leave them out")
