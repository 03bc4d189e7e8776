"""The ROC point at a fixed threshold: its exact bootstrap law and intervals.

"Flagged" means score >= threshold. In a stratified resample each class keeps its size, so a class's
flagged count is binomial; in a full one the class sizes are random, and that is all that ties the classes.
[DG09] is Dugas and Gadoury (2009), sections 3.1 and 3.2 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import Counts, Floats, binomial_law, binomial_window, log_binomial
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    ClassSize,
    IntervalOptions,
    IntervalTable,
    Sampling,
    interval_options,
    measured,
    sampled_sizes,
)
from rocmonitor.stats.curve.roc import flagged, require_one, valid_thresholds
from rocmonitor.stats.proportion import (
    ProportionMethod,
    Rng,
    Smoothing,
    normal_density,
    plain_points,
    proportion_ends,
    quantile_beyond,
    require_method,
    resample_caveats,
    resample_sizes,
)
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample, on_sample

ThresholdMethod = ProportionMethod | Literal["empirical"]

MOST_EXCESS = 0.004
"""Coverage beyond the level from which an interval is called conservative: a region has two, and 1 point."""

_OF_RESAMPLES = ("agresti-coull", "wald", "exact", "empirical")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdIntervals(IntervalTable):
    """ROC points at given thresholds, with an interval for each rate; the rest is as in `IntervalTable`.

    Attributes
    ----------
    threshold, shape (h,): As given.
    tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high, shape (h,): Observed rates (also the mean of their exact
        bootstrap law) and the ends of their intervals.
    joint: Whether the level is that of the rectangle (both at once) or of each interval.
    """

    _points: ClassVar[str] = "{} ROC points by threshold"

    threshold: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats
    joint: bool

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.roc_plane(ax, self._about())
        plotting.crosses(
            ax,
            (self.fpr, self.fpr_low, self.fpr_high),
            (self.tpr, self.tpr_low, self.tpr_high),
            names=[plotting.named(threshold) for threshold in self.threshold],
            boxes=self.joint,
            label=label,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdLaw(Result):
    """Exact bootstrap law of the two counts at one threshold: each by itself, and both by `joint`.

    Attributes
    ----------
    tp, fp, shape (m_pos + 1,) and (m_neg + 1,), or (m_pos + m_neg + 1,) under full sampling: Probability that
        0, 1, … of a resample's positives, and of its negatives, are flagged.
    m_pos, m_neg: Sizes of a resample; under full sampling their sum is.
    true_positives, false_positives, n_pos, n_neg: The observed counts, and class sizes.
    """

    threshold: float
    tp: Floats
    fp: Floats
    sampling: str
    m_pos: int
    m_neg: int
    true_positives: int
    false_positives: int
    n_pos: int
    n_neg: int

    def joint(self, tp: ArrayLike, fp: ArrayLike) -> Floats:
        """Probabilities of both counts at once; `tp` and `fp` are whole numbers and broadcast.

        Stratified the product of the two laws; full a trinomial, less the resamples that lack a class.
        """
        a, b = np.broadcast_arrays(np.asarray(tp, dtype=np.int64), np.asarray(fp, dtype=np.int64))
        inside = (a >= 0) & (b >= 0) & (a < len(self.tp)) & (b < len(self.fp))
        if self.sampling == "stratified":
            return np.where(inside, self.tp[np.where(inside, a, 0)] * self.fp[np.where(inside, b, 0)], 0.0)
        m, n = self.m_pos + self.m_neg, self.n_pos + self.n_neg
        inside &= a + b <= m
        a, b = np.where(inside, a, 0), np.where(inside, b, 0)
        hit, miss = self.true_positives / n, self.false_positives / (n - self.true_positives)
        law = np.exp(log_binomial(m, a, np.asarray(hit)) + log_binomial(m - a, b, np.asarray(miss)))
        no_neg, no_pos = (
            (n_class / n) ** m * np.exp(log_binomial(m, count, np.asarray(seen / n_class)))
            for n_class, seen, count in (
                (self.n_pos, self.true_positives, a),
                (self.n_neg, self.false_positives, b),
            )
        )
        law -= np.where(b == 0, no_neg, 0.0) + np.where(a == 0, no_pos, 0.0)
        return np.where(inside, np.maximum(law, 0.0) / _both_classes(self.n_pos, self.n_neg, m), 0.0)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.laws(ax, [("false positives", self.fp), ("true positives", self.tp)])
        note = f"exact, {self.sampling} resamples; threshold {self.threshold:g}"
        plotting.describe(ax, x="flagged rows of a resample", y="probability", note=note, label=label)


@on_sample
def threshold_intervals(
    sample: Sample,
    thresholds: ArrayLike,
    *,
    method: ThresholdMethod = "agresti-coull",
    confidence_level: float = 0.95,
    joint: bool = True,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ThresholdIntervals:
    """Intervals of TPR and FPR at given thresholds ([DG09] alg. 1).

    Parameters
    ----------
    thresholds, shape (h,): At least one; any order. ``inf`` flags nothing, ``-inf`` everything.
    method: ``agresti-coull``, ``wald``, ``wilson``, ``clopper-pearson``, ``jeffreys`` or ``exact``: see
        `rocmonitor.stats.proportion.proportion_ends`; ``empirical``: percentiles over drawn resamples.
    joint: True: the rectangle of the two intervals has the level, each side 1 - alpha' with alpha' = 1 -
        sqrt(1 - alpha). False: each interval has it.
    m_pos, m_neg: Sizes of a resample, the class sizes by default; ``agresti-coull``, ``wald`` and ``exact``
        only.
    sampling: ``stratified``: a resample keeps the class sizes; ``full``: m_pos + m_neg rows are drawn from
        both classes together, for ``agresti-coull``, ``wald``, ``exact`` and ``empirical``. The two rates are
        then uncorrelated, not independent, and `joint` is nearly right only.

    Returns
    -------
    Those of ``clopper-pearson`` never cover less than their level; the caveat `conservative` names the
    thresholds at which they cover clearly more.

    Notes
    -----
    Cost: O(k + h log k) for k distinct scores after sorting; ``exact`` takes O(h log m) more, under full
    sampling O(h m log m). The thresholds count as chosen beforehand: picked on these very rows, the intervals
    are too narrow.

    Examples
    --------
    >>> points = threshold_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], joint=False)
    >>> points.tpr.tolist(), points.tpr_low.round(4).tolist(), points.tpr_high.round(4).tolist()
    ([0.5], [0.0999], [0.9001])
    """
    sample.require_both_classes()
    sample.require_distinct_scores()
    at = valid_thresholds(thresholds)
    offered = (*get_args(ProportionMethod), "empirical")
    options = interval_options(
        method, offered, confidence_level, joint=joint, n_resamples=n_resamples, rng=rng
    )
    m_pos, m_neg = resample_sizes(m_pos, sample.n_pos, m_neg, sample.n_neg)
    rows_pos, rows_neg = sampled_sizes(sampling, m_pos, m_neg, sample.n_pos, sample.n_neg)
    if sampling == "full" and method not in _OF_RESAMPLES:
        raise InputError(
            f"method {method!r} does not support full sampling: use {', '.join(_OF_RESAMPLES)}, or "
            "sampling='stratified'"
        )
    tp, fp = flagged(sample, at)
    laws = {
        "tpr": ThresholdRate(tp, sample.n_pos, rows_pos),
        "fpr": ThresholdRate(fp, sample.n_neg, rows_neg),
    }
    caveats = resample_caveats(m_pos, sample.n_pos, m_neg, sample.n_neg)
    if method == "clopper-pearson":
        # An interval of whole counts that never covers too little covers too much by about half a step at
        # either end: by phi(z) / sd, sd the deviation of the count.
        excess = normal_density(quantile_beyond(options.tail))
        for name, law in laws.items():
            where = excess > MOST_EXCESS * np.sqrt(law.count * (law.n - law.count) / law.n)
            if where.any():
                count, points = np.count_nonzero(where), plain_points(at[where])
                more = Caveat("conservative", rate=name.upper(), count=count, total=len(at), at=points)
                caveats += (more,)
    return ThresholdIntervals(threshold=at, joint=joint, **measured(sample, laws, options, at, caveats))


@dataclass(frozen=True, eq=False)
class ThresholdRate(BootstrapLaw):
    """The law of the flagged share, `count` of `n` rows: Bin(M, count / n) / M for M rows in a resample."""

    count: Counts
    n: int
    size: ClassSize

    @property
    def mean(self) -> Floats:
        """Observed rates."""
        return np.asarray(self.count / self.n)

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Return means and variances of the binomial laws."""
        p = added.share(self.count, self.n)
        return p, p * (1 - p) * self.size.mean_inverse(added.rows)

    def exact(self, i: int) -> tuple[int, Floats]:
        """Return the first count at the i-th threshold, and probabilities from there on; stratified."""
        return binomial_window(int(self.size.rows[0]), float(self.mean[i]))

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        """Quantiles of the binomial law at the i-th threshold."""
        return self.size.rate_quantiles(partial(binomial_window, p=float(self.mean[i])), tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Rates in drawn resamples."""
        rows = self.size.drawn((n_resamples, len(self.count)), rng)
        return np.asarray(rng.binomial(rows, self.count / self.n) / rows)

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        """With a fixed number of rows, those of a proportion ([DG09] alg. 1)."""
        if options.rng is not None or len(self.size.rows) > 1:
            return super().ends(options)
        m = int(self.size.rows[0])
        return proportion_ends(self.count.astype(np.float64), self.n, m, options.method, options.tail)


@on_sample
def threshold_law(
    sample: Sample,
    threshold: float,
    *,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
) -> ThresholdLaw:
    """Exact bootstrap law of the flagged counts at one threshold ([DG09] 3.1).

    Parameters
    ----------
    y_true, y_score, sampling, m_pos, m_neg: As for `threshold_intervals`, with its errors; resamples without
        a class do not count.
    threshold: Not NaN; may be infinite.

    Returns
    -------
    Stratified: Bin(m_pos, TPR) and Bin(m_neg, FPR), independent. Full: each count is binomial with its share
        of all rows, but for what a missing class takes away, and the two depend on each other. Cost: O(k + m)
        for k distinct scores.

    Examples
    --------
    >>> law = threshold_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.9)
    >>> law.tp.tolist(), law.fp.tolist()
    ([0.25, 0.5, 0.25], [1.0, 0.0, 0.0])
    """
    sample.require_both_classes()
    sample.require_distinct_scores()
    require_method(sampling, get_args(Sampling), "sampling")
    at = valid_thresholds(threshold)
    require_one(at, "threshold")
    seen_pos, seen_neg = (int(seen[0]) for seen in flagged(sample, at))
    m_pos, m_neg = resample_sizes(m_pos, sample.n_pos, m_neg, sample.n_neg)
    if sampling == "full":  # given that both classes are drawn
        m, n, laws = m_pos + m_neg, sample.n_pos + sample.n_neg, []
        for seen, n_own in ((seen_pos, sample.n_pos), (seen_neg, sample.n_neg)):
            law = binomial_law(m, seen / n) - (n_own / n) ** m * binomial_law(m, seen / n_own)
            law[0] -= ((n - n_own) / n) ** m
            laws.append(np.maximum(law, 0.0) / _both_classes(n_own, n - n_own, m))
        tp, fp = laws
    else:
        tp, fp = binomial_law(m_pos, seen_pos / sample.n_pos), binomial_law(m_neg, seen_neg / sample.n_neg)
    return ThresholdLaw(
        threshold=float(at[0]),
        tp=tp,
        fp=fp,
        sampling=sampling,
        m_pos=m_pos,
        m_neg=m_neg,
        true_positives=seen_pos,
        false_positives=seen_neg,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


def _both_classes(n_pos: int, n_neg: int, m: int) -> float:
    n = n_pos + n_neg
    return 1 - (n_pos / n) ** m - (n_neg / n) ** m
