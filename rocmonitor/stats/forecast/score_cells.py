"""How far a law of scores lies from that of the reference: cells of the score, and what each adds in nats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING, Root, noisy_root, observed_root
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
        """What each cell adds to the distance, shape (h,); negative where the window has fewer rows.

        A cell of the reference that is empty because a part was taken out counts as half a row.
        """
        old = np.maximum(self.rows, FLOOR) / self.rows.sum()
        new = window / window.sum()
        return np.asarray(new * np.log(np.where(new > 0, new / old, 1.0)))

    def sampling_distance(self, rows: float) -> float:
        """The mean distance of so many rows drawn from the law of the reference, to the first order."""
        return (len(self.rows) - 1) / 2 * (1 / rows + 1 / float(self.rows.sum()))


def score_cells(reference: Sample) -> ScoreCells:
    """Each distinct score if they are few, otherwise quantile cells of the rows; a tie is never split."""
    rows = reference.pos + reference.neg
    few = len(reference.score) <= FEW_SCORES
    return cells_between(reference, reference.score[:-1] if few else bin_ends(reference.score, rows, CELLS))


def cells_between(reference: Sample, ends: Floats) -> ScoreCells:
    """The cells that end at given scores."""
    return ScoreCells(ends, binned_counts(reference.score, reference.pos + reference.neg, ends))


def thinned_quantile(
    distances: Floats,
    missing: Floats,
    log_variance: Floats,
    occupied: Counts,
    weights: Floats,
    confidence_level: float,
) -> Root:
    """The conformal quantile of score distances, for a coming window of another size.

    `missing` is 1/rows of the coming window less that of each past one, >= 0; `log_variance` the variance of
    ln(window / reference) over the rows of each, `occupied` the cells it has rows in. A sample of fewer rows
    of a past window, without replacement, has a larger distance: to the second order in its shares its
    mean is larger by (occupied - 1)/2 missing, and its variance is missing log_variance + (occupied - 1)/2
    missing². A gamma law has both moments.
    """
    used = weights > 0
    distances, missing, log_variance = distances[used], missing[used], log_variance[used]
    occupied, weights = occupied[used], weights[used]
    found = observed_root(distances, weights, confidence_level * (float(weights.sum()) + 1) - LEVEL_ROUNDING)
    more = (occupied - 1) / 2 * missing
    mean, variance = distances + more, missing * log_variance + more * missing
    if not variance.any():
        return found
    noisy = variance > 0
    shape = np.where(noisy, mean**2 / np.where(noisy, variance, 1.0), 1.0)
    scale = np.where(noisy, variance / np.where(noisy, mean, 1.0), 1.0)

    def outside(value: float) -> Floats:
        return np.asarray(
            np.where(noisy, scipy.special.gammaincc(shape, value / scale), distances > value), np.float64
        )

    largest = float(np.max(mean + _FAR * (np.sqrt(variance) + scale)))
    return noisy_root(outside, weights, confidence_level, found.root, largest)
