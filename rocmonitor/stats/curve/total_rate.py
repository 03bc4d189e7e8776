"""The rates at a fixed total positive rate: flag the top share of all rows, as a budget for treatment asks.

In a resample of n rows, the threshold T_r of the nominal total positive rate r / n is the r-th largest score
of both classes together, repeats counted, and "flagged" means score >= T_r: at least r rows, more on a tie.
Dugas and Gadoury (2009) close with the wish for this case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import NEGLIGIBLE, Counts, Floats, law_ends
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    ClassSize,
    IntervalTable,
    Sampling,
    both_class_sizes,
    interval_options,
    measured,
    sampled_sizes,
)
from rocmonitor.stats.curve.roc import nearest_ranks, only_rank
from rocmonitor.stats.curve.shared_threshold import (
    Block,
    ClassCounts,
    class_rows,
    full_moments,
    moments,
    stratified_law,
    windows,
)
from rocmonitor.stats.proportion import Rng, Smoothing, require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample, on_sample

TotalRateMethod = Literal["agresti", "wald", "exact", "empirical"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateIntervals(IntervalTable):
    """ROC points at given total positive rates; the rest is as in `IntervalTable`.

    Attributes
    ----------
    rate, shape (h,): The total positive rates r / n that were used: the nearest to those asked for.
    tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high, shape (h,): Means of the exact bootstrap laws, and the
        ends of the intervals, each with the level by itself.
    """

    _points: ClassVar[str] = "{} ROC points by total positive rate"

    rate: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.roc_plane(ax, self._about())
        plotting.crosses(
            ax,
            (self.fpr, self.fpr_low, self.fpr_high),
            (self.tpr, self.tpr_low, self.tpr_high),
            names=[f"{rate:.3g} flagged" for rate in self.rate],
            label=label,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateLaw(Result):
    """Exact bootstrap laws of the flagged counts at a total positive rate.

    Attributes
    ----------
    rate: The rate r / n that was used.
    tp, fp, shape (n_pos + 1,) and (n_neg + 1,), or (n_pos + n_neg + 1,) under full sampling: Probability that
        0, 1, … of a resample's positives, and of its negatives, are flagged. The two counts are not
        independent: at least r rows are flagged in all.
    """

    rate: float
    tp: Floats
    fp: Floats
    sampling: str
    n_pos: int
    n_neg: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.laws(ax, [("false positives", self.fp), ("true positives", self.tp)])
        note = f"exact, {self.sampling} resamples; {self.rate:g} of all rows flagged"
        plotting.describe(ax, x="flagged rows of a resample", y="probability", note=note, label=label)


@on_sample
def total_rate_intervals(
    sample: Sample,
    rates: ArrayLike,
    *,
    method: TotalRateMethod = "agresti",
    confidence_level: float = 0.95,
    sampling: Sampling = "stratified",
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> TotalRateIntervals:
    """Intervals of TPR and FPR when a given share of all rows is flagged.

    Parameters
    ----------
    rates, shape (h,): Total positive rates within (0, 1). Offered are r / n, r = 1…n - 1; the nearest is used
        and reported.
    method: ``agresti``: normal, with the exact moments after adding 2 flagged and 2 unflagged rows of the
        class; ``wald``: the same, nothing added; ``exact``: quantiles of the exact bootstrap law;
        ``empirical``: percentiles over drawn resamples.
    sampling: ``stratified``: a resample keeps the class sizes; ``full``: its n rows are drawn from both
        classes together.

    Returns
    -------
    ``agresti`` never gives an interval of zero length; the other three can.

    Notes
    -----
    A positive of score s is flagged when fewer than r of the other rows score above s, and two positives are
    when the lower one is: the moments need only tails of the sum of two binomials (under full sampling of
    one), O(sqrt(n)) of them. ``exact`` takes O(n) for each rate; under full sampling O(n^1.5). Times:
    docs/coverage.md.

    ``agresti``: with m positives, pi the chance of one to be flagged and gamma the covariance of two, the
    variance of TPR is pi (1 - pi) / m + (1 - 1/m) gamma. Adding rows makes m into m + 4, pi into
    (m pi + 2) / (m + 4) and gamma into gamma m² / (m + 4)²: [DG09] alg. 4 is the same in these terms. Under
    full sampling the means of 1/m and of 1/(m + 4) take their places.

    Examples
    --------
    >>> points = total_rate_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], method="wald")
    >>> points.rate.tolist(), points.tpr.round(4).tolist(), points.fpr.round(4).tolist()
    ([0.5], [0.75], [0.375])
    """
    sample.require_both_classes()
    sample.require_distinct_scores()
    options = interval_options(
        method, get_args(TotalRateMethod), confidence_level, n_resamples=n_resamples, rng=rng
    )
    sizes = sampled_sizes(sampling, sample.n_pos, sample.n_neg, sample.n_pos, sample.n_neg)
    n = sample.n_pos + sample.n_neg
    r, moved = nearest_ranks(rates, n, "rates")
    pos, neg = class_rows(sample)
    full, laws = sampling == "full", {}
    for name, own, other, size in (("tpr", pos, neg, sizes[0]), ("fpr", neg, pos, sizes[1])):
        of_rows, inverse = np.empty((len(r), 2)), size.mean_inverse(0.0)
        places = windows(r, own, other, full=full).tolist()
        for line, (rank, window) in enumerate(zip(r.tolist(), places, strict=True)):
            if full:
                pi, square = full_moments(rank, own, other, size, *window)
                # What makes the variance pi (1 - pi) E[1/M] + (1 - E[1/M]) gamma.
                gamma = (square - pi**2 - inverse * pi * (1 - pi)) / (1 - inverse)
            else:
                pi, two = moments(rank, own, other, *window)
                gamma = two - pi**2
            of_rows[line] = pi, gamma
        laws[name] = _ClassRate(r, own, other, sampling, size, of_rows)
    return TotalRateIntervals(rate=r / n, **measured(sample, laws, options, r / n, moved))


@on_sample
def total_rate_law(sample: Sample, rate: float, *, sampling: Sampling = "stratified") -> TotalRateLaw:
    """Exact bootstrap laws of the true and the false positives at a total positive rate.

    Parameters
    ----------
    y_true, y_score, sampling: As for `total_rate_intervals`, with its errors; resamples without a class do
        not count.
    rate: Within (0, 1); the nearest r / n is used and reported.

    Returns
    -------
    With an absolute error about 1e-12. Only O(sqrt(n)) scores and counts matter, and few steps where few rows
    tie: O(n) work. Under full sampling the mixture of these laws over the class sizes, O(n^1.5).

    Examples
    --------
    >>> law = total_rate_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5)
    >>> law.tp.round(6).tolist(), law.fp.round(6).tolist()
    ([0.0625, 0.375, 0.5625], [0.4375, 0.375, 0.1875])
    """
    sample.require_both_classes()
    sample.require_distinct_scores()
    require_method(sampling, get_args(Sampling), "sampling")
    n = sample.n_pos + sample.n_neg
    rank = int(only_rank(rate, n, "rate")[0])
    pos, neg = class_rows(sample)
    if sampling == "full":
        sizes = both_class_sizes(sample.n_pos, sample.n_neg, sample.n_pos / n)
        tp, fp = np.zeros(n + 1), np.zeros(n + 1)
        for mixed, own, other, size in ((tp, pos, neg, sizes[0]), (fp, neg, pos, sizes[1])):
            for m, weight in zip(size.rows.tolist(), size.weight.tolist(), strict=True):
                mixed[: m + 1] += weight * stratified_law(rank, own._replace(m=m), other._replace(m=n - m))
    else:
        tp, fp = stratified_law(rank, pos, neg), stratified_law(rank, neg, pos)
    return TotalRateLaw(
        rate=rank / n, tp=tp, fp=fp, sampling=sampling, n_pos=sample.n_pos, n_neg=sample.n_neg
    )


@dataclass(frozen=True, eq=False)
class _ClassRate(BootstrapLaw):
    """The flagged share of the class `own` when the threshold is the r-th largest score of all rows."""

    r: Counts
    own: ClassCounts
    other: ClassCounts
    sampling: Sampling
    size: ClassSize
    of_rows: Floats
    """For each rank the chance pi of a row to be flagged, and the covariance gamma of two, shape (h, 2)."""
    kept: dict[int, Block] = field(default_factory=dict)

    @property
    def mean(self) -> Floats:
        return self.of_rows[:, 0]

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Pi (1 - pi) / m + (1 - 1/m) gamma for the variance."""
        pi, gamma = self.of_rows.T
        n = self.own.total
        shrunk, inverse = n / (n + added.rows), self.size.mean_inverse(added.rows)
        pi = shrunk * pi + added.kind / (n + added.rows)
        variance = pi * (1 - pi) * inverse + (1 - inverse) * shrunk**2 * gamma
        return pi, np.maximum(variance, 0.0)

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        rank, own, other = int(self.r[i]), self.own, self.other
        if self.sampling == "full":
            law = partial(_sized_law, rank, own, other, own.total + other.total)
            return self.size.rate_quantiles(law, tail)
        return law_ends(0, stratified_law(rank, own, other, self.kept), own.m, tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return values of resamples that serve all ranks."""
        own, other, n = self.own, self.other, self.own.m + self.other.m
        sizes = self.size.drawn(n_resamples, rng)
        drawn = np.empty((n_resamples, len(self.r)))
        for line, m in enumerate(sizes.tolist()):
            above, of_other = (
                np.cumsum(rng.multinomial(count, rows.at / rows.total))
                for rows, count in ((own, m), (other, n - m))
            )
            drawn[line] = above[np.searchsorted(above + of_other, self.r)] / m
        return drawn


def _sized_law(r: int, own: ClassCounts, other: ClassCounts, n: int, m: int) -> tuple[int, Floats]:
    """First count and probabilities when `m` of the `n` rows of a resample are of the class."""
    law = stratified_law(r, own._replace(m=m), other._replace(m=n - m))
    some = np.flatnonzero(law > NEGLIGIBLE)
    return int(some[0]), law[some[0] : some[-1] + 1]
