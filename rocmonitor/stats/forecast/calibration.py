"""The calibrated distance: a conformal quantile of how far past windows lay, for a batch of any size.

Distances D are handled as signed roots x = sign(A_window - A) sqrt(2 D). Near the reference x is
(A_window - A) / sigma with sigma² = zeta10 + zeta01, the variances of its placement values (dA/dx at 0), and
D is the rate at which chances of a far AUC fall (Sanov): sampling noise in x is nearly normal also far
out and near an AUC of 1, with a variance that the class sizes tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy

from rocmonitor.halving import halved
from rocmonitor.stats.area.delong import exact_bootstrap_variance
from rocmonitor.stats.proportion import quantile_beyond
from rocmonitor.stats.sample import Floats
from rocmonitor.stats.series import scatter_between

Alternative = Literal["two-sided", "less"]

_HALVINGS = 60  # of the bracket of a root: down to its last digits
_FAR = 9.0  # standard deviations that no noise leaves
LEVEL_ROUNDING = 1e-9  # of a level


@dataclass(frozen=True, slots=True)
class Noise:
    """Sampling noise of a root distance, from the moments of psi over the pairs of the reference."""

    zeta10: float
    zeta01: float
    kernel: float

    def variance(self, n_pos: int, n_neg: int) -> float:
        """Variance of x for class sizes; 0 for a reference without noise (separated, one score)."""
        scale = self.zeta10 + self.zeta01
        if scale <= 0:
            return 0.0
        return exact_bootstrap_variance(self.zeta10, self.zeta01, self.kernel, n_pos, n_neg) / scale


class Root(NamedTuple):
    """A root distance and its level."""

    root: float
    level: float


def resized(shifts: Floats, noise: Floats, coming: Floats) -> tuple[Floats, Floats]:
    """Return signed roots as windows of the coming one's size would have them, and the noise they still lack.

    `noise` and `coming`, shape (n,) each, are the sampling variances of past windows and of the coming one.

    With true values that scatter normally by tau² about a mean, a root that is brought nearer to the mean by
    sqrt((tau² + coming) / (tau² + noise)) has the law of the coming window. tau² is `scatter_between` and one
    standard error more, so that windows whose scatter is not known are not brought too near. Windows with
    less noise than the coming one stay as they are; `conformal_root` adds what they lack, whatever their law.
    """
    more, n = coming - noise, len(shifts)
    if n < 2 or not (more < 0).any() or not noise.all():
        return shifts, np.maximum(more, 0.0)
    scatter = scatter_between(shifts, noise)
    scatter += math.sqrt(2 / (n - 1)) * (scatter + 1 / float(np.mean(1 / noise)))
    nearer = np.sqrt((scatter + np.minimum(noise, coming)) / (scatter + noise))
    middle = float(np.mean(shifts))
    return middle + (shifts - middle) * nearer, np.maximum(more, 0.0)


def conformal_root(
    shifts: Floats, missing: Floats, weights: Floats, confidence_level: float, alternative: Alternative
) -> Root:
    """Return the root distance that holds the coming window with the confidence level, and its level.

    `shifts`, shape (n,), are the signed roots of the past windows, `missing` (>= 0) the variance of the
    sampling noise that the coming window has more than each, `weights` within [0, 1], not all 0, where the
    coming one has 1. Bounded is |x|, or -x for "less". The level is at most W / (W + 1), W the sum of the
    weights.

    A window that gets the missing noise e_i ~ N(0, missing_i) added is exchangeable with the coming one.
    Nothing is drawn: with G_i(q) = P(|x_i + e_i| <= q) and their weighted mean G, the quantile of drawn noise
    lies on average where G (W + rho) = confidence_level (W + 1), rho = sum w G_i (1 - G_i) / (W G (1 - G)): 0
    without noise (the conformal quantile of `observed_root`), 1 when all is noise (the quantile of a known
    law), in between an interpolation (docs/coverage.md). It is never less than the quantile without noise: a
    smaller batch does not get a narrower interval. Cost: O(n log n) without noise, else 120 evaluations of n
    normal laws.
    """
    used = weights > 0
    shifts, missing, weights = shifts[used], missing[used], weights[used]
    outside = np.abs(shifts) if alternative == "two-sided" else -shifts
    if not missing.any():
        return observed_root(outside, weights, confidence_level)
    deviation = np.sqrt(missing)
    noisy = deviation > 0
    scale = np.where(noisy, deviation, 1.0)

    def beyond(root: float) -> Floats:
        """(n,): the chance that each window, with its missing noise, lies beyond the root distance."""
        far = scipy.special.ndtr((-shifts - root) / scale)
        if alternative == "two-sided":
            far = scipy.special.ndtr((shifts - root) / scale) + far
        return np.asarray(np.where(noisy, far, outside > root))

    largest = float(np.max(np.abs(shifts) + _FAR * deviation))
    return noisy_root(beyond, outside, weights, confidence_level, largest)


def noisy_root(
    outside: Callable[[float], Floats],
    values: Floats,
    weights: Floats,
    confidence_level: float,
    largest: float,
) -> Root:
    """Return the conformal quantile where noise is missing, up to `largest` (see `conformal_root`).

    `values` are those of past windows without it, and `outside` gives the chance that each, with its missing
    noise, lies beyond a value.
    """
    observed = observed_root(values, weights, confidence_level)
    total = float(weights.sum())

    def within(value: float) -> float:
        """Return how many of the weights are within a value, on average over the noise."""
        beyond = outside(value)
        mean = float(weights @ beyond) / total
        between = total * mean * (1 - mean)
        noise = float(weights @ (beyond * (1 - beyond))) / between if between > 0 else 1.0
        return (1 - mean) * (total + min(noise, 1.0))

    def reaching(wanted: float) -> float:
        # Where a window lacks no noise this jumps, and its upper side is wanted.
        return halved(0.0, largest, lambda value: within(value) >= wanted - LEVEL_ROUNDING, _HALVINGS)[1]

    reached = np.cumsum(weights[np.argsort(values, kind="stable")])
    wanted = round(confidence_level * (total + 1), 9)  # 20 * 0.95 may come out just above 19
    place = int(np.searchsorted(reached, wanted))
    if 0 < place < len(reached) and reached[place] > wanted:
        ends = reached[place - 1], reached[place]
        root = float(np.interp(wanted, ends, [reaching(end) for end in ends]))
    else:
        root = reaching(wanted)
    return Root(max(root, observed.root), observed.level)


def own_distance(distances: Sequence[float], root: float) -> float:
    """Return the distance of a root: a window's own one to its last digit, if the root is a window's.

    So complete separation is reached at this distance, and not just below it.
    """
    distance = root * root / 2
    nearest = min(distances, key=lambda other: abs(other - distance))
    return nearest if math.isclose(nearest, distance, rel_tol=1e-14) else distance


def sampling_root(variance: float, confidence_level: float, alternative: Alternative) -> float:
    """Return the root distance that sampling noise of this variance alone keeps to with the level."""
    tail = 1 - confidence_level
    return max(0.0, quantile_beyond(tail / 2 if alternative == "two-sided" else tail)) * math.sqrt(variance)


def windows_needed(confidence_level: float) -> int:
    """Past windows from which on a calibrated interval can have this level: 19 for 0.95."""
    return math.ceil(round(1 / (1 - confidence_level), 9)) - 1


def observed_root(outside: Floats, weights: Floats, confidence_level: float) -> Root:
    """Return the conformal quantile of weighted values, interpolated; at most the largest.

    The k-th smallest of n values holds a coming one with probability k / (n + 1), whatever their law
    ([VGS05]; with weights, [BCRT23]). In between, the interpolated value leaves out at most what is wanted
    wherever their density falls outwards, for the chance to lie beyond a value is convex there; else it has
    the level of the rank below at least, and the one wanted up to O(n^-2) ([BH93]).
    """
    order = np.argsort(outside, kind="stable")
    reached = np.cumsum(weights[order])
    total = float(reached[-1])
    wanted = round(confidence_level * (total + 1), 9)  # 20 * 0.95 may come out just above 19
    root = float(np.interp(wanted, reached, outside[order]))
    return Root(max(0.0, root), min(confidence_level, total / (total + 1)))
