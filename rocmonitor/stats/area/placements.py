"""Placement values and what follows from them: the mean of a pair statistic and its two variances.

A positive's placement value V10 is its mean psi over the negatives, a negative's V01 its mean psi over the
positives. Both take one value at each distinct score, so everything here is O(k) once the sample is sorted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from rocmonitor.stats.rows import parts, weighted_sum
from rocmonitor.stats.sample import Counts, Floats, Sample

ROUNDING = 1e-13
"""Differences and variances this far below the scale of what was subtracted are rounding."""


def placements(sample: Sample) -> tuple[Floats, Floats]:
    """Placement values at each distinct score, as counts: multiples of 1/2, exact, shape (k,).

    Negatives below each score and positives above it, rows level with it counted one half:
    n_neg V10 of a positive there and n_pos V01 of a negative there.
    """
    # In place here and below: fresh memory costs more than the arithmetic. Adding up whole numbers takes a
    # tenth of the time that float64 does.
    below = np.cumsum(sample.neg).astype(np.float64)
    below -= 0.5 * sample.neg
    above = np.cumsum(sample.pos).astype(np.float64)
    above -= 0.5 * sample.pos
    np.subtract(sample.n_pos, above, out=above)
    return below, above


def placed_parts(sample: Sample) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """Parts of `placements`, as below and above, with the positives and the negatives there.

    Large samples have no room, and small ones no time, for arrays of all scores that are read once.
    """
    neg_before, pos_after = 0.0, float(sample.n_pos)
    for part in parts(len(sample.score)):
        # Whole numbers up to 2**53 and their halves are exact, in any order; of one type they are quicker.
        pos, neg = sample.pos[part].astype(np.float64), sample.neg[part].astype(np.float64)
        below, above = np.cumsum(sample.neg[part]).astype(np.float64), pos * 0.5
        up_to = np.cumsum(sample.pos[part]).astype(np.float64)
        below += neg_before
        above -= up_to
        above += pos_after
        neg_before, pos_after = float(below[-1]), pos_after - float(up_to[-1])
        below -= np.multiply(neg, 0.5, out=up_to)
        yield below, above, pos, neg


def sums_over_parts(
    sample: Sample, of: Callable[[Floats, Floats, Floats, Floats], tuple[float, ...]]
) -> tuple[float, ...]:
    """Sums of what `of` finds in each of `placed_parts`."""
    found = [of(*part) for part in placed_parts(sample)]
    return tuple(math.fsum(column) for column in zip(*found, strict=True))


def mean_over_pairs(
    below: Floats, above: Floats, pos: Counts | Floats, neg: Counts | Floats
) -> tuple[float, float, float]:
    """Mean of a pair statistic, and the variances zeta10 and zeta01 of its placement values.

    `below` and `above` are the placement values of each cell as counts (see `placements`), or differences of
    such; `pos` and `neg` are the rows in each. All have shape (c,).
    """
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    mean, variance10 = mean_and_variance(below, pos)
    _, variance01 = mean_and_variance(above, neg)
    return mean / n_neg, variance10 / n_neg**2, variance01 / n_pos**2


def mean_and_variance(values: Floats, weights: Counts | Floats) -> tuple[float, float]:
    """Mean and variance (n denominator) of `values`, shape (c,), that occur `weights` times."""
    # Measured from a value that occurs, so that equal values leave residuals of exactly 0: rounding
    # must not turn "no variance" into a tiny one.
    origin = float(values[np.argmax(weights > 0)])
    shifted = values - origin
    n = float(weights.sum())
    mean = weighted_sum(weights, shifted) / n
    shifted -= mean
    np.square(shifted, out=shifted)
    return origin + mean, weighted_sum(weights, shifted) / n
