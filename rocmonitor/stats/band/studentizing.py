"""The standard deviation of the curve at one rate, of the sample and of each replicate.

Bertail, Clémençon and Vayatis (2008), eq. 4: variance = R (1 - R) / n_pos + slope² t (1 - t) / n_neg, the
slope being the ratio of the two densities at the threshold. A density is a count of rows near the threshold,
so that a replicate needs no scores: given its r-th largest negative, the other negatives on either side are
uniform there in the coordinate of `drawing`, and their number within the window is binomial.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rocmonitor.stats.band.smoothing import Smoothed, deviations
from rocmonitor.stats.curve.kernel import ClassScores, class_scores
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample

_FACTOR = 1.06 * math.sqrt(3)  # a uniform law's half width over its deviation is sqrt(3)


class Windows(NamedTuple):
    """Half widths of the windows in which positives and negatives are counted, in `class_scores`' unit."""

    pos: float
    neg: float


def windows(sample: Sample) -> Windows:
    """Of a uniform kernel with the deviation 1.06 sd n^(-1/3), the paper's order, for each class."""
    pos, neg, _ = class_scores(sample)
    sd_pos, sd_neg = deviations(sample, "studentized", "use another method")
    return Windows(
        _FACTOR * sd_pos * float(pos.total) ** (-1 / 3), _FACTOR * sd_neg * float(neg.total) ** (-1 / 3)
    )


def spread_at(sample: Sample, ranks: Counts, tpr: Floats, width: Windows) -> Floats:
    """Standard deviations at FPR `ranks` / n_neg where the empirical curve is `tpr`, shape (h,)."""
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
    """The share of a class within `half` of each of `at`."""
    below = np.concatenate([[0.0], 1 - rows.above])
    last = np.searchsorted(rows.score, at + half, side="right")
    return np.asarray(below[last] - below[np.searchsorted(rows.score, at - half)])
