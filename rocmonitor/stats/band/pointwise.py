"""The true positive rate at single false positive rates, by the smoothed bootstrap.

The law of the fluctuation R*(t) - R(t) of resamples about the curve that they are drawn from stands for that
of the empirical curve about the true one, as it is or in standard deviations: [BCV08] (Bertail, Clémençon and
Vayatis 2008) eq. 4, R (1 - R) / n_pos + slope² t (1 - t) / n_neg, the slope being the ratio of the two
densities at the threshold. A density is a count of rows near the threshold, so that a replicate needs no
scores: given its r-th largest negative, the other negatives on either side are uniform there in the
coordinate of `drawing`, and their number within the window is binomial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.stats.band.drawing import (
    Rule,
    Smoothed,
    bandwidths,
    deviations,
    drawn_curves,
    empirical_curve,
    require_curve,
    smoothed_curve,
    whole_resamples,
)
from rocmonitor.stats.curve.kernel import Bandwidth, ClassScores, class_scores
from rocmonitor.stats.curve.roc import nearest_ranks
from rocmonitor.stats.curve.vertical import VerticalIntervals
from rocmonitor.stats.proportion import (
    Rng,
    clipped_intervals,
    generator,
    interval_caveats,
    require_level,
    require_method,
)
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample, on_sample

PointwiseMethod = Literal["smoothed", "studentized", "naive"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocPointwise(VerticalIntervals):
    """ROC points at given false positive rates, with a bootstrap interval for the true positive rate.

    As `VerticalIntervals`, with `n_resamples` and, as `tpr`, the empirical curve: its lower end where it
    rises vertically, straight lines across ties.
    """

    n_resamples: int

    def __str__(self) -> str:
        points = f"{len(self.fpr)} ROC points by false positive rate"
        return self._line(points, method=f"{self.method} bootstrap")


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
    fpr, shape (h,): Rates within (0, 1); the nearest r / n_neg, r = 1…n_neg - 1, is used and reported.
    method: ``smoothed``: resamples of the scores with Gaussian noise; ``naive``: of the scores as they are;
        ``studentized``: smoothed, each fluctuation divided by the replicate's own standard deviation ([BCV08]
        eq. 4), whose densities are counts within sqrt(3) 1.06 sd n^(-1/3) of the threshold.
    confidence_level, n_resamples, rng: As for `roc_band`, of each interval, so that (1 + B) times half of 1 -
        `confidence_level` is made whole.
    bandwidth: Of the noise, as for `roc_band`; ``naive`` has none.

    Returns
    -------
    The ends lie as far from `tpr` as the opposite quantiles of the fluctuation from 0.

    Notes
    -----
    Coverage: docs/coverage.md. Cost after sorting: O(k), then O(h) a replicate for h rates, whatever n is.

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
        smoothed, width = smoothed_curve(sample, bandwidths(sample, bandwidth)), windows(sample)
        fluctuation = studentized_draws(sample, smoothed, ranks, width, resamples, source)
        sd = spread_at(sample, ranks, tpr, width)
    else:
        law = empirical_curve(sample)
        if method == "smoothed":
            law = smoothed_curve(sample, bandwidths(sample, bandwidth)).curve
        # Ranks are asked for in any order; curves are drawn at increasing ones.
        increasing, back = np.unique(ranks, return_inverse=True)
        drawn = drawn_curves(law, increasing, sample.n_pos, sample.n_neg, resamples, source)
        fluctuation, sd = drawn[:, back] - law.at(t), np.ones(len(ranks))
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


_FACTOR = 1.06 * math.sqrt(3)  # a uniform law's half width over its deviation is sqrt(3)


class Windows(NamedTuple):
    """Half widths of the windows in which positives and negatives are counted, in `class_scores`' unit."""

    pos: float
    neg: float


def windows(sample: Sample) -> Windows:
    """Return windows of a uniform kernel for each class: deviation 1.06 sd n^(-1/3), the paper's order."""
    pos, neg, _ = class_scores(sample)
    sd_pos, sd_neg = deviations(sample, "studentized", "use another method")
    return Windows(
        _FACTOR * sd_pos * float(pos.total) ** (-1 / 3), _FACTOR * sd_neg * float(neg.total) ** (-1 / 3)
    )


def spread_at(sample: Sample, ranks: Counts, tpr: Floats, width: Windows) -> Floats:
    """Return standard deviations at FPR `ranks` / n_neg where the empirical curve is `tpr`, shape (h,)."""
    pos, neg, _ = class_scores(sample)
    flagged = np.rint((neg.above + neg.share) * neg.total)
    at = neg.score[np.searchsorted(-flagged, -ranks, side="right") - 1]  # the r-th largest
    near_pos, near_neg = _share_near(pos, at, width.pos), _share_near(neg, at, width.neg)
    return _spread(sample, ranks / sample.n_neg, tpr, near_pos, near_neg, width)


def studentized_draws(
    sample: Sample, law: Smoothed, ranks: Counts, width: Windows, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """(R* - R) / sd* of each replicate at each rank, (n_resamples, h); ranks are drawn one by one."""
    n_pos, n_neg = sample.n_pos, sample.n_neg
    fpr, tpr = law.curve
    drawn = np.empty((n_resamples, len(ranks)))
    for column, r in enumerate(ranks.tolist()):
        u = rng.beta(r, n_neg - r + 1, n_resamples)
        z = np.interp(u, fpr, law.threshold)

        def beyond(rates: Floats, at: Floats) -> Floats:
            return np.interp(at, law.threshold[::-1], rates[::-1])

        chance = [beyond(tpr, z + width.pos), law.curve.at(u), beyond(tpr, z - width.pos)]
        cells = np.diff(np.column_stack(chance), axis=1, prepend=0.0, append=1.0)
        count = rng.multinomial(n_pos, np.maximum(cells, 0.0))
        over = rng.binomial(r - 1, np.clip(1 - beyond(fpr, z + width.neg) / u, 0, 1))
        under = rng.binomial(n_neg - r, np.clip(1 - (1 - beyond(fpr, z - width.neg)) / (1 - u), 0, 1))
        reached = (count[:, 0] + count[:, 1]) / n_pos
        sd = _spread(
            sample,
            np.full(n_resamples, r / n_neg),
            reached,
            (count[:, 1] + count[:, 2]) / n_pos,
            (over + under + 1) / n_neg,  # the threshold itself is one of them
            width,
        )
        drawn[:, column] = (reached - law.curve.at(np.asarray(r / n_neg))) / sd
    return drawn


def _spread(
    sample: Sample, t: Floats, tpr: Floats, near_pos: Floats, near_neg: Floats, width: Windows
) -> Floats:
    slope = near_pos / width.pos / (near_neg / width.neg)
    # One positive in squares: near the corners eq. 4 can be 0.
    variance = tpr * (1 - tpr) / sample.n_pos + slope**2 * t * (1 - t) / sample.n_neg
    return np.asarray(np.sqrt(variance + sample.n_pos**-2.0))


def _share_near(rows: ClassScores, at: Floats, half: float) -> Floats:
    below = np.concatenate([[0.0], 1 - rows.above])
    last = np.searchsorted(rows.score, at + half, side="right")
    return np.asarray(below[last] - below[np.searchsorted(rows.score, at - half)])
