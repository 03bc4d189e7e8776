"""The true positive rate at single false positive rates, by the smoothed bootstrap.

The law of the fluctuation R*(t) - R(t) of resamples about the curve that they are drawn from stands for that
of the empirical curve about the true one, as it is or in standard deviations. [BCV08] is Bertail, Clémençon
and Vayatis (2008), sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.stats.band.drawing import drawn_curves, require_curve, whole_resamples
from rocmonitor.stats.band.smoothing import Rule, bandwidths, empirical_curve, smoothed_curve
from rocmonitor.stats.band.studentizing import spread_at, studentized_draws, windows
from rocmonitor.stats.curve.kernel import Bandwidth
from rocmonitor.stats.curve.points import nearest_ranks
from rocmonitor.stats.proportion import clipped_intervals, interval_caveats, require_level, require_method
from rocmonitor.stats.resampling import Rng, generator
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample, on_sample

PointwiseMethod = Literal["smoothed", "studentized", "naive"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocPointwise(Table):
    """ROC points at given false positive rates, with a bootstrap interval for the true positive rate.

    As `VerticalIntervals`, with `n_resamples` and, as `tpr`, the empirical curve: its lower end where it
    rises vertically, straight lines across ties.
    """

    fpr: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    method: str
    confidence_level: float
    n_resamples: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.fpr)} ROC points by false positive rate, {100 * self.confidence_level:g} % intervals "
            f"({self.method} bootstrap), {self.n_pos} positives, {self.n_neg} negatives"
        )


@on_sample
def roc_pointwise(
    sample: Sample,
    fpr: ArrayLike,
    *,
    method: PointwiseMethod = "smoothed",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
    bandwidth: Bandwidth | Rule = "normal",
) -> RocPointwise:
    """Bootstrap intervals of TPR at given false positive rates ([BCV08], sections 3 and 4).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    fpr : array_like, shape (h,)
        Rates within (0, 1); the nearest r / n_neg, r = 1…n_neg - 1, is used and reported.
    method : str
        ``smoothed``: resamples of the scores with Gaussian noise; ``naive``: of the scores as they are;
        ``studentized``: smoothed, each fluctuation divided by the replicate's own standard deviation
        ([BCV08] eq. 4), whose densities are counts within sqrt(3) 1.06 sd n^(-1/3) of the threshold.
    confidence_level, n_resamples, rng
        As for `roc_band`, of each interval, so that (1 + B) times half of 1 - `confidence_level` is made
        whole.
    bandwidth : float, (float, float) or str
        Of the noise, as for `roc_band`; ``naive`` has none.

    Returns
    -------
    RocPointwise
        The ends lie as far from `tpr` as the opposite quantiles of the fluctuation from 0.

    Raises
    ------
    DegenerateDataError, InputError
        As for `roc_band`; no rates, or rates outside (0, 1).

    Notes
    -----
    Coverage: docs/coverage.md. Cost after sorting: O(k), then O(h) a replicate for h rates, whatever n is.

    References
    ----------
    .. [BCV08] Bertail, Clémençon, Vayatis (2008). On bootstrapping the ROC curve. NIPS 21.

    Examples
    --------
    >>> points = roc_pointwise([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], method="naive", rng=1)
    >>> points.fpr.tolist(), points.tpr.tolist()
    ([0.5], [0.5])
    """
    require_method(method, get_args(PointwiseMethod))
    tail = (1 - require_level(confidence_level)) / 2
    require_curve(sample)
    ranks, moved = nearest_ranks(fpr, sample.n_neg)
    resamples, place, adjusted = whole_resamples(n_resamples, tail, method)
    source = generator(rng, resamples, method=method)
    t = ranks / sample.n_neg
    tpr = empirical_curve(sample).at(t)
    if method == "studentized":
        fluctuation, sd = _studentized(sample, ranks, tpr, bandwidth, resamples, source)
    else:
        fluctuation, sd = _drawn(sample, ranks, method, bandwidth, resamples, source), np.ones(len(t))
    fluctuation.sort(axis=0)
    least, greatest = fluctuation[resamples - 1 - place], fluctuation[place]
    intervals = clipped_intervals(tpr - greatest * sd, tpr - least * sd)
    return RocPointwise(
        fpr=t,
        tpr=tpr,
        tpr_low=intervals.low,
        tpr_high=intervals.high,
        method=method,
        confidence_level=float(confidence_level),
        n_resamples=resamples,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=moved + adjusted + interval_caveats("TPR", tpr, intervals),
    )


def _studentized(
    sample: Sample,
    ranks: Counts,
    tpr: Floats,
    bandwidth: Bandwidth | Rule,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Fluctuations in standard deviations, shape (resamples, h), and the deviations of the sample, (h,)."""
    smoothed, width = smoothed_curve(sample, bandwidths(sample, bandwidth)), windows(sample)
    drawn = studentized_draws(sample, smoothed, ranks, width, resamples, rng)
    return drawn, spread_at(sample, ranks, tpr, width)


def _drawn(
    sample: Sample,
    ranks: Counts,
    method: str,
    bandwidth: Bandwidth | Rule,
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Fluctuations of TPR about the curve that is drawn from, shape (resamples, h)."""
    naive = method == "naive"
    law = empirical_curve(sample) if naive else smoothed_curve(sample, bandwidths(sample, bandwidth)).curve
    # Ranks are asked for in any order; curves are drawn at increasing ones.
    increasing, back = np.unique(ranks, return_inverse=True)
    drawn = drawn_curves(law, increasing, sample.n_pos, sample.n_neg, resamples, rng)
    return np.asarray(drawn[:, back] - law.at(ranks / sample.n_neg))
