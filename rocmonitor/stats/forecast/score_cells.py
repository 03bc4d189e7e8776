"""The distance of a law of scores from that of the reference: cells of the score, and the nats of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.forecast.calibration import Root, noisy_root, observed_root
from rocmonitor.stats.forecast.distance import bin_ends, binned_counts
from rocmonitor.stats.sample import Counts, Floats, Sample

FEW_SCORES = 50  # distinct scores of a reference up to which each is a cell
CELLS = 20  # quantile cells of a reference that has more
_FAR = 9.0  # standard deviations, of a gamma law also scales, that hardly any noise leaves
FLOOR = 0.5  # rows that a cell of the reference is taken to hold at least


class ScoreCells(NamedTuple):
    """Cells of the score, and the rows of the reference in each."""

    ends: Floats  # (h - 1,): upper ends, included; the last cell has none
    rows: Floats  # (h,)

    def distance(self, window: Counts) -> float:
        """KL(window || reference) in nats, of rows in each cell."""
        return max(0.0, float(self.contributions(window).sum()))

    def contributions(self, window: Counts) -> Floats:
        """Return what each cell adds to the distance, shape (h,); negative where the window has fewer rows.

        A cell of the reference that is empty because a part was taken out counts as half a row.
        """
        old = np.maximum(self.rows, FLOOR) / self.rows.sum()
        new = window / window.sum()
        return np.asarray(new * np.log(np.where(new > 0, new / old, 1.0)))

    def sampling_distance(self, rows: float) -> float:
        """Return the mean distance of rows drawn from the law of the reference, to first order."""
        return (len(self.rows) - 1) / 2 * (1 / rows + 1 / float(self.rows.sum()))


def score_cells(reference: Sample) -> ScoreCells:
    """Return distinct scores if they are few, else quantile cells of the rows; no tie is split."""
    rows = reference.pos + reference.neg
    few = len(reference.score) <= FEW_SCORES
    return cells_between(reference, reference.score[:-1] if few else bin_ends(reference.score, rows, CELLS))


def cells_between(reference: Sample, ends: Floats) -> ScoreCells:
    """Return the cells that end at given scores."""
    return ScoreCells(ends, binned_counts(reference.score, reference.pos + reference.neg, ends))


class Thinning(NamedTuple):
    """The moments that give the score distances of smaller samples of past windows, shape (n,) each."""

    rows: Counts  # of each window
    log_variance: Floats  # of ln(window / reference) over its rows
    occupied: Counts  # cells that it has rows in
    inverse_shares: Floats  # sum of 1 / share over them

    def mean_and_variance(self, distances: Floats, rows: int) -> tuple[Floats, Floats]:
        """Return moments of the distance of `rows` rows of each window, without replacement, to second order.

        2 n KL of n rows to their own law is q times a chi-square variable with occupied - 1 degrees of
        freedom, where q = 1 + (inverse_shares - 1) / (6 n (occupied - 1)) [W76].
        """
        missing = np.maximum(1 / rows - 1 / self.rows, 0.0)
        free = self.occupied - 1
        wider = 1 + (self.inverse_shares - 1) / (6 * rows * np.maximum(free, 1))
        more = wider * missing
        return distances + free / 2 * more, missing * self.log_variance + free / 2 * more**2


def thinned_quantile(
    distances: Floats, thinning: Thinning, rows: int, weights: Floats, confidence_level: float
) -> Root:
    """Return the conformal quantile of score distances, for a coming window of a given size.

    Past windows with more rows are taken as samples of `rows` of them, whose distance is a gamma variable
    with the mean and the variance of `Thinning`; those with fewer stay as they are.
    """
    mean, variance = thinning.mean_and_variance(distances, rows)
    used = weights > 0
    distances, weights, mean, variance = distances[used], weights[used], mean[used], variance[used]
    if not variance.any():
        return observed_root(distances, weights, confidence_level)
    noisy = variance > 0
    shape = np.where(noisy, mean**2 / np.where(noisy, variance, 1.0), 1.0)
    scale = np.where(noisy, variance / np.where(noisy, mean, 1.0), 1.0)

    def outside(value: float) -> Floats:
        return np.asarray(
            np.where(noisy, scipy.special.gammaincc(shape, value / scale), distances > value), np.float64
        )

    largest = float(np.max(mean + _FAR * (np.sqrt(variance) + scale)))
    return noisy_root(outside, distances, weights, confidence_level, largest)


def mixture_distance(reference: Sample, ends: Floats, window: Counts) -> float:
    """Return the distance of a window's rows from the nearest mix of the reference's two classes, in nats.

    Over the cells that `ends` divides, shape (h - 1,), with the window's rows in each, shape (h,). It is as
    small as sampling makes it where only the prevalence has changed. A cell where a class has no rows counts
    half a row of it.
    """
    neg, pos = (binned_counts(reference.score, counts, ends) for counts in (reference.neg, reference.pos))
    seen = window > 0
    share = window[seen] / window.sum()
    neg, pos = (np.maximum(counts, FLOOR)[seen] / counts.sum() for counts in (neg, pos))

    def rising(prevalence: float) -> float:
        return float(share @ ((neg - pos) / (neg + prevalence * (pos - neg))))

    if rising(0.0) >= 0:
        prevalence = 0.0
    elif rising(1.0) <= 0:
        prevalence = 1.0
    else:
        prevalence = float(scipy.optimize.brentq(rising, 0.0, 1.0))
    return max(0.0, float(share @ np.log(share / (neg + prevalence * (pos - neg)))))
