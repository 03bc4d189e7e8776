"""Second-order intervals of an AUC: the skewness of the studentised AUC, and its removal.

In formulas, h = psi - auc for a pair of a positive and a negative, g is its mean over the negatives for one
positive (V10 - auc), and f its mean over the positives for one negative (V01 - auc).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.area.delong import Moments, placements, sums_over_parts
from rocmonitor.stats.rows import weighted_sum
from rocmonitor.stats.sample import Counts, Floats, Sample


class Studentised(NamedTuple):
    """Mean and skewness of (auc - true area) / se, to the first order in which they are not 0."""

    mean: float
    skewness: float


def studentised(sample: Sample, of: Moments, se: float) -> Studentised:
    """Return how the AUC divided by its own standard error (above 0) departs from the standard normal law.

    A sample whose AUC is too high by chance also has too small a standard error. With T the AUC and v its
    estimated variance, Z = (T - E T)/sd(T) and W = (v - E v)/E v, the studentised AUC is Z (1 - W/2) and has
    mean -Cov(Z, W)/2 and third cumulant E Z³ - 3 Cov(Z, W) to this order ([H92] section 2.6). Both follow
    from the linear parts of T and v, in O(k)::

        sd(T)³ E Z³ = b + 6 c,    sd(T)³ Cov(Z, W) = b + 4 c,
        b = E g³ / n_pos² + E f³ / n_neg²,    c = E h g f / (n_pos n_neg)
    """
    before = 0.0

    def sums(below: Floats, above: Floats, pos: Floats, neg: Floats) -> tuple[float, ...]:
        nonlocal before
        g, f = centred(below, sample.n_neg, of), centred(above, sample.n_pos, of)
        chain = neg * f
        own, chain[0] = 0.5 * chain, chain[0] + before
        np.cumsum(chain, out=chain)
        before = float(chain[-1])
        return np.sum(pos * (g * g * g)), np.sum(neg * (f * f * f)), np.sum(pos * ((chain - own) * g))

    cubes10, cubes01, chains = sums_over_parts(sample, sums)
    own = cubes10 / sample.n_pos / sample.n_pos**2 + cubes01 / sample.n_neg / sample.n_neg**2
    shared = chains / sample.n_pos / sample.n_neg / (float(sample.n_pos) * sample.n_neg)
    return Studentised(-(own + 4 * shared) / 2 / se**3, -(2 * own + 6 * shared) / se**3)


def second_order_ends(auc: float, se: float, shape: tuple[float, float], tail: float) -> tuple[float, float]:
    """Return ends of the interval that leaves `tail` on either side, by the transformation of [H92b], within
    [0, 1].

    With mean k1 and skewness k3 of the studentised AUC S, S + a S² + a² S³/3 + c is normal to second order,
    where a = -k3/6 and c = k3/6 - k1. This cubic is monotone, so it has an inverse at every level.
    At confidence levels below about 0.3 the auc itself may lie outside; the interval is then extended to it.
    """
    mean, skewness = shape
    bend, shift = -skewness / 6, skewness / 6 - mean
    z = float(scipy.special.ndtri(tail))
    low, high = (auc - se * _untransformed(y - shift, bend) for y in (-z, z))
    return max(min(low, auc), 0.0), min(max(high, auc), 1.0)


def _untransformed(value: float, bend: float) -> float:
    """S with S + bend S² + bend² S³/3 = value; written so that a bend of 0 is no special case."""
    root = float(np.cbrt(1 + 3 * bend * value))
    return 3 * value / (root * root + root + 1)


def deviations(sample: Sample, of: Moments) -> tuple[Floats, Floats]:
    """Return the g and f at each distinct score; near an AUC of 1 computed from 1 - AUC, which keeps the
    digits.
    """
    below, above = placements(sample)
    return centred(below, sample.n_neg, of), centred(above, sample.n_pos, of)


def centred(values: Floats, n: int, of: Moments) -> Floats:
    """Placement values as counts of `n` rows, less the AUC, in place."""
    if of.auc > 0.5:
        values -= n
    values /= n
    values += of.lost if of.auc > 0.5 else -of.auc
    return values


def chain_mean(sample: Sample, g: Floats, f: Floats) -> float:
    """E h g f: the negatives' f adds up to 0, so psi may stand for h, and a cumulative sum for its mean."""
    own = sample.neg * f
    below = np.cumsum(own)
    own *= 0.5
    below -= own
    below *= g
    return weighted_mean(sample.pos, below) / sample.n_neg


def cube_mean(counts: Counts, values: Floats) -> float:
    """Mean of the cubes of values that occur `counts` times."""
    cubes = values * values
    cubes *= values
    return weighted_mean(counts, cubes)


def weighted_mean(counts: Counts, values: Floats | Counts) -> float:
    """Mean of values that occur `counts` times."""
    return weighted_sum(counts, values) / float(counts.sum())
