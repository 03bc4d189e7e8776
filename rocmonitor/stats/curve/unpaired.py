"""Two ROC curves of different rows: differences of TPR at false positive rates, of both rates at thresholds.

Two samples that share no row are independent, and so are their resamples: the bootstrap law of a difference
is the convolution of the two laws, and its variance is the sum. The laws are those of [DG09], Dugas and
Gadoury (2009), sections 3.1 and 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rocmonitor.caveat import Caveat
from rocmonitor.stats.binomial import LEVEL_ROUNDING, Counts, Floats, require_room
from rocmonitor.stats.curve.difference import ThresholdDifference
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    IntervalOptions,
    interval_options,
    measured,
    sampled_sizes,
)
from rocmonitor.stats.curve.roc import flagged, nearest_ranks, threshold_pairs, tie_caveats, valid_thresholds
from rocmonitor.stats.curve.threshold import ThresholdRate
from rocmonitor.stats.curve.vertical import RateLaw, rate_law, vertical_sizes
from rocmonitor.stats.curve.vertical_difference import VerticalDifference
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import AGRESTI_CAFFO, NOT_SMOOTHED, Rng, Smoothing, proportion_ends
from rocmonitor.stats.sample import Sample, on_two

UnpairedMethod = Literal["agresti", "wald", "exact", "empirical"]
_NEWTON_STEPS = 2  # towards a quantile
_NEAR = 1  # row of the first class to either side of it, between which every value is looked at

UnpairedThresholdMethod = Literal["newcombe", "agresti-caffo", "wald", "exact", "empirical"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalDifferenceUnpaired(VerticalDifference):
    """Differences of the true positive rates of two samples at false positive rates, first minus second.

    As `VerticalDifference`; `n_pos` and `n_neg` are of the first sample, `n_pos_2` and `n_neg_2` of the
    second.

    Attributes
    ----------
    fpr, shape (h,): The rates asked for.
    fpr_1, fpr_2, shape (h,): The rates r / n_neg that were used, of either sample: the nearest.
    """

    fpr_1: Floats
    fpr_2: Floats
    n_pos_2: int
    n_neg_2: int

    def __str__(self) -> str:
        # The class that slots make is not the one that super() without arguments looks for.
        return f"{VerticalDifference.__str__(self)}; second {classes(self.n_pos_2, self.n_neg_2)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDifferenceUnpaired(ThresholdDifference):
    """Differences of the rates of two samples, first minus second, at pairs of thresholds.

    As `ThresholdDifference`; `n_pos` and `n_neg` are of the first sample, `n_pos_2` and `n_neg_2` of the
    second.
    """

    n_pos_2: int
    n_neg_2: int

    def __str__(self) -> str:
        return f"{ThresholdDifference.__str__(self)}; second {classes(self.n_pos_2, self.n_neg_2)}"


@on_two
def vertical_difference_unpaired(
    first: Sample,
    second: Sample,
    fpr: ArrayLike,
    *,
    method: UnpairedMethod = "agresti",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> VerticalDifferenceUnpaired:
    """Intervals of the TPR of one sample minus that of another at given false positive rates.

    Parameters
    ----------
    first, second : Sample, or (y_true, y_score), or y_true and y_score one after the other: Samples that
        share no row, such as a window and its reference; the scales need not agree.
    fpr, shape (h,): Rates within (0, 1). Each sample offers r / n_neg, r = 1…n_neg - 1; the nearest is used
        and reported.
    method: ``agresti``: normal, with the exact moments of [DG09] eq. 6 and 7 of each sample after adding 1
        flagged and 1 unflagged positive to it [AC00]; ``wald``: the same, nothing added; ``exact``: quantiles
        of the exact bootstrap law; ``empirical``: percentiles over drawn resamples.

    Returns
    -------
    ``agresti`` never gives an interval of zero length; the others can.

    Notes
    -----
    Cost after sorting: O(k) for k distinct scores, and O(sqrt(n_neg)) for each rate; ``exact`` takes
    O(sqrt(n_pos) log n_pos) more. Measured coverage: docs/coverage.md.

    Examples
    --------
    >>> window = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
    >>> reference = [0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9]
    >>> result = vertical_difference_unpaired(window, reference, [0.5], method="wald")
    >>> result.fpr.tolist(), result.dtpr.tolist()
    ([0.5], [-0.375])
    """
    options = interval_options(
        method, get_args(UnpairedMethod), confidence_level, n_resamples=n_resamples, rng=rng
    )
    rates, used, caveats = [], [], list[Caveat]()
    for sample, name in ((first, "first"), (second, "second")):
        sample.require_both_classes(what=f"{name} sample: ")
        sample.require_distinct_scores(f"{name} sample: ")
        m_pos, m_neg = vertical_sizes(sample, None, None)
        r, moved = nearest_ranks(fpr, m_neg)
        used.append(r / m_neg)
        rates.append(rate_law(sample, r, m_pos, m_neg))
        caveats += [caveat.concerning(name) for caveat in moved]
        caveats += tie_caveats(sample, used[-1], model=name)
    asked = np.array(fpr, dtype=np.float64, ndmin=1)
    law = _Apart(rates[0], rates[1], (first.n_pos, second.n_pos))
    fields = measured(first, {"dtpr": law}, options, asked, tuple(caveats))
    _, variance = law.moments(law.smoothing if method == "agresti" else NOT_SMOOTHED)
    return VerticalDifferenceUnpaired(
        fpr=asked,
        fpr_1=used[0],
        fpr_2=used[1],
        dtpr_se=np.sqrt(variance),
        n_pos_2=second.n_pos,
        n_neg_2=second.n_neg,
        **fields,
    )


@on_two
def threshold_difference_unpaired(
    first: Sample,
    second: Sample,
    thresholds: ArrayLike,
    *,
    method: UnpairedThresholdMethod = "newcombe",
    confidence_level: float = 0.95,
    joint: bool = True,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ThresholdDifferenceUnpaired:
    """Intervals of TPR and FPR of one sample minus those of another at thresholds.

    Parameters
    ----------
    first, second: As for `vertical_difference_unpaired`.
    thresholds, shape (h,) or (h, 2): The same for both samples, or pairs (t1, t2) of the first and of the
        second; may be infinite.
    method: ``newcombe``: Wilson's limits of the two rates put together [N98]; ``agresti-caffo``: normal,
        after adding 1 flagged and 1 unflagged row to each sample [AC00]; ``wald``: normal, nothing added;
        ``exact``: quantiles of the exact bootstrap law; ``empirical``: percentiles over drawn resamples.
    confidence_level, joint, n_resamples, rng: As for `threshold_intervals`.

    Returns
    -------
    ``newcombe`` and ``agresti-caffo`` never give an interval of zero length. Cost: O(k + h log k) for k
    distinct scores; ``exact`` O(h sqrt(m) log m) more.

    Examples
    --------
    >>> window = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
    >>> reference = [0, 0, 1, 1], [0.1, 0.4, 0.7, 0.9]
    >>> result = threshold_difference_unpaired(window, reference, [0.5], joint=False)
    >>> result.dtpr.tolist(), result.dfpr.tolist()
    ([-0.5], [0.5])
    """
    for sample, name in ((first, "first"), (second, "second")):
        sample.require_both_classes(what=f"{name} sample: ")
        sample.require_distinct_scores(f"{name} sample: ")
    if np.ndim(thresholds) == 2:
        at = threshold_pairs(thresholds)
    else:
        at = np.column_stack([valid_thresholds(thresholds)] * 2)
    options = interval_options(
        method,
        get_args(UnpairedThresholdMethod),
        confidence_level,
        joint=joint,
        n_resamples=n_resamples,
        rng=rng,
    )
    at_1, at_2 = at.T.copy()
    (tp_1, fp_1), (tp_2, fp_2) = flagged(first, at_1), flagged(second, at_2)
    laws = {}
    for name, counts, sizes in (
        ("dtpr", (tp_1, tp_2), (first.n_pos, second.n_pos)),
        ("dfpr", (fp_1, fp_2), (first.n_neg, second.n_neg)),
    ):
        rates = [
            ThresholdRate(count, n, sampled_sizes("stratified", n, n, n, n)[0])
            for count, n in zip(counts, sizes, strict=True)
        ]
        laws[name] = _Apart(rates[0], rates[1], sizes)
    return ThresholdDifferenceUnpaired(
        threshold_1=at_1,
        threshold_2=at_2,
        joint=joint,
        n_pos_2=second.n_pos,
        n_neg_2=second.n_neg,
        **measured(first, laws, options, at, ()),
    )


@dataclass(frozen=True, eq=False)
class _Apart(BootstrapLaw):
    """The law of a rate of one sample less that of another; `rows` are the sizes of the class."""

    first: RateLaw | ThresholdRate
    second: RateLaw | ThresholdRate
    rows: tuple[int, int]
    smoothing = AGRESTI_CAFFO
    least = -1.0

    @property
    def mean(self) -> Floats:
        return self.first.mean - self.second.mean

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        (mean_1, variance_1), (mean_2, variance_2) = self.first.moments(added), self.second.moments(added)
        return mean_1 - mean_2, variance_1 + variance_2

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        """Smallest values whose distribution function reaches `tail` and 1 - `tail`.

        Values are multiples of 1 / (m1 m2). Those near the quantile of the normal law with the same moments
        are added up one by one; elsewhere they are bisected.
        """
        (low_1, law_1), (low_2, law_2) = self.first.exact(i), self.second.exact(i)
        require_room(len(law_1) + len(law_2))
        m_1, m_2 = self.rows
        law = _Lattice(law_1, law_2, low_1, low_2 + np.arange(len(law_2)), m_1, m_2)
        low, high = (law.reaching(level - LEVEL_ROUNDING) for level in (tail, 1 - tail))
        return low / m_1 / m_2, high / m_1 / m_2

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        return self.first.drawn(n_resamples, rng) - self.second.drawn(n_resamples, rng)

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        """Return those of ``newcombe`` too, which puts the limits of two rates together."""
        first, second = self.first, self.second
        if options.method != "newcombe" or isinstance(first, RateLaw) or isinstance(second, RateLaw):
            return super().ends(options)
        (low_1, high_1), (low_2, high_2) = (
            proportion_ends(rate.count.astype(np.float64), rate.n, rate.n, "wilson", options.tail)
            for rate in (first, second)
        )
        p_1, p_2 = first.mean, second.mean
        below, above = np.hypot(p_1 - low_1, high_2 - p_2), np.hypot(high_1 - p_1, p_2 - low_2)
        return p_1 - p_2 - below, p_1 - p_2 + above


class _Lattice:
    """The law of count_1 m_2 - count_2 m_1 of two independent counts; `counts_2` are those of `law_2`."""

    def __init__(
        self, law_1: Floats, law_2: Floats, low_1: int, counts_2: Counts, m_1: int, m_2: int
    ) -> None:
        self.law_1, self.law_2, self.low_1, self.m_2 = law_1, law_2, low_1, m_2
        self.reached = np.concatenate([[0.0], np.cumsum(law_1)])
        self.taken = counts_2 * m_1
        counts_1 = low_1 + np.arange(len(law_1))
        self.least = low_1 * m_2 - int(self.taken[-1])
        self.most = int(counts_1[-1]) * m_2 - int(self.taken[0])
        means = float(law_1 @ counts_1), float(law_2 @ counts_2)
        self.mean = means[0] * m_2 - means[1] * m_1
        of_1, of_2 = m_2 * (counts_1 - means[0]), m_1 * (counts_2 - means[1])
        self.sd = math.sqrt(float(law_1 @ of_1**2 + law_2 @ of_2**2))

    def up_to(self, value: int) -> float:
        counts = (value + self.taken) // self.m_2 - (self.low_1 - 1)
        np.minimum(np.maximum(counts, 0, out=counts), len(self.law_1), out=counts)
        return float(np.sum(self.law_2 * self.reached[counts]))

    def reaching(self, level: float) -> int:
        """Return the smallest value whose distribution function is at least `level`."""
        z = float(ndtri(level))
        guess, thin = self.mean + z * self.sd, self.sd * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
        for _ in range(_NEWTON_STEPS):
            guess += (level - self.up_to(round(guess))) * thin
        below, hit = round(guess) - _NEAR * self.m_2, round(guess) + _NEAR * self.m_2
        before = self.up_to(below)
        if before < level <= self.up_to(hit):
            # The value up to which what is missing is reached, by all values above `below` and up to `hit`.
            first = np.maximum((below + self.taken) // self.m_2 + 1, self.low_1)
            last = np.minimum((hit + self.taken) // self.m_2, self.low_1 + len(self.law_1) - 1)
            many = np.maximum(last - first + 1, 0)
            place = np.repeat(np.arange(len(many)), many)
            count = first[place] + np.arange(len(place)) - (np.cumsum(many) - many)[place]
            value = count * self.m_2 - self.taken[place]
            order = np.argsort(value)
            mass = (self.law_1[count - self.low_1] * self.law_2[place])[order]
            at = int(np.searchsorted(np.cumsum(mass), level - before))
            return int(value[order[min(at, len(order) - 1)]])
        below, hit = self.least - 1, self.most
        while hit - below > 1:
            middle = (below + hit) // 2
            below, hit = (below, middle) if self.up_to(middle) >= level else (middle, hit)
        return hit
