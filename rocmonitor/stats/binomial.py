"""The binomial law and its quantiles, and Bernstein's bound of what a law may leave out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

NEGLIGIBLE = 1e-16
"""A probability that may be left out, on each side of a law."""
LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16
LEVEL_ROUNDING = 1e-12  # a distribution function this close to a level has reached it
_BINS = 1 << 14  # of the first search for a quantile


def law_quantile(distribution: Callable[[int], float], m: int, level: float) -> int:
    """Smallest count l in 0…m with ``distribution(l) >= level``, by bisection: O(log m) calls."""
    below, reached = -1, m
    while reached - below > 1:
        middle = (below + reached) // 2
        if distribution(middle) >= level - LEVEL_ROUNDING:
            reached = middle
        else:
            below = middle
    return reached


def law_ends(low: int, law: Floats, m: int, tail: float) -> tuple[float, float]:
    """Ends of the exact interval of a rate whose count, of `m`, has the law `law`, from the count `low` on.

    The smallest counts whose distribution function reaches `tail` and ``1 - tail``.
    """
    ends = np.searchsorted(np.cumsum(law), [tail - LEVEL_ROUNDING, 1 - tail - LEVEL_ROUNDING])
    low_end, high_end = (low + np.minimum(ends, len(law) - 1)) / m
    return float(low_end), float(high_end)


def value_quantiles(value: Floats, mass: Floats, tail: float) -> tuple[float, float]:
    """Smallest values, in any order and with ties, whose distribution function reaches `tail`, 1 - `tail`.

    O(size): only the values of one bin are sorted.
    """
    least, width = float(value.min()), float(np.ptp(value))
    if width == 0.0:
        return least, least
    number = np.minimum(((value - least) * (_BINS / width)).astype(np.intp), _BINS - 1)
    reached = np.cumsum(np.bincount(number, weights=mass, minlength=_BINS))
    ends = []
    for level in (tail, reached[-1] - tail):
        hit = min(int(np.searchsorted(reached, level - LEVEL_ROUNDING)), _BINS - 1)
        inside = np.flatnonzero(number == hit)
        inside = inside[np.argsort(value[inside])]
        before = reached[hit - 1] if hit else 0.0
        place = np.searchsorted(before + np.cumsum(mass[inside]), level - LEVEL_ROUNDING)
        ends.append(float(value[inside[min(int(place), len(inside) - 1)]]))
    return ends[0], ends[1]


def bernstein(variance: Any, log_mass: Any = LOG_NEGLIGIBLE, step: Any = 1.0) -> Any:
    """Deviation h that a sum of independent draws exceeds, to one side, with probability < exp(-log_mass).

    Bernstein's inequality solved for h: exp(-h² / (2 (variance + step h / 3))) = exp(-log_mass), where no
    draw is further than `step` from its mean.
    """
    third = step * log_mass / 3
    return third + np.sqrt(third**2 + 2 * log_mass * variance)


def binomial_law(m: int, p: float) -> Floats:
    """Probabilities of 0, 1, …, m successes in `m` trials, shape (m + 1,).

    Cost: O(m). Relative error about 1e-13 at m = 1e5 (scipy's ``bdtr`` errs by 1e-10 there).

    Examples
    --------
    >>> binomial_law(2, 0.25).tolist()
    [0.5625, 0.375, 0.0625]
    """
    return _binomial_pmf(m, p, 0, m)


def binomial_range(m: int, p: float) -> tuple[int, int]:
    """The first and the last count of a range that holds all but 2e-16 of the mass of Bin(m, p)."""
    centre, half = m * p, bernstein(m * p * (1 - p))
    return max(0, math.floor(centre - half)), min(m, math.ceil(centre + half))


def binomial_window(m: int, p: float) -> tuple[int, Floats]:
    """The part of `binomial_law` within `binomial_range`: first count, and O(sqrt(m)) probabilities."""
    low, high = binomial_range(m, p)
    return low, _binomial_pmf(m, p, low, high)


def log_characteristic(angle: Floats, p: Floats) -> NDArray[np.complex128]:
    """Logarithm of 1 + p (e^(i angle) - 1), shape (angles, w); its real part keeps its digits near 0."""
    sine, less = np.sin(angle)[:, np.newaxis], 2 * np.sin(angle / 2)[:, np.newaxis] ** 2
    with np.errstate(divide="ignore"):
        # Not -inf for 0: complex products would make it NaN.
        real = np.maximum(np.log1p(np.maximum(-2 * p * (1 - p) * less, -1.0)) / 2, -1e3)
    return np.asarray(real + 1j * np.arctan2(p * sine, 1 - p * less))


def log_binomial(n: ArrayLike, k: ArrayLike, p: Floats) -> Floats:
    """Logarithm of P(Bin(n, p) = k), by deviations from the mean (Loader, 2000): no digits are lost."""
    trials, hits = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    misses = trials - hits
    inside = np.maximum(hits, 1) * np.maximum(misses, 1)
    law = -_deviance(hits, trials * p) - _deviance(misses, trials * (1 - p))
    law += _stirling_error(trials) - _stirling_error(hits) - _stirling_error(misses)
    law += np.log(np.maximum(trials, 1) / (2 * math.pi * inside)) / 2
    ends = scipy.special.xlogy(hits, p) + scipy.special.xlog1py(misses, -p)  # right where one of the two is 0
    return np.asarray(np.where((hits == 0) | (misses == 0), ends, law))


def _deviance(k: Floats, mean: Floats) -> Floats:
    """The deviance k log(k / mean) + mean - k, infinite where the mean is 0."""
    gap = (mean - k) / np.maximum(k, 1)
    return np.asarray(k * gap - scipy.special.xlog1py(k, gap))


_STIRLING_ERROR = np.array(
    [0.0]
    + [math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - math.log(2 * math.pi) / 2 for k in range(1, 16)]
)


def _stirling_error(n: Floats) -> Floats:
    """The error of log n! by log(sqrt(2 pi n) (n / e)^n), n >= 1."""
    large = np.maximum(n, 16)
    square = large * large
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / large
    return np.asarray(np.where(n < 16, _STIRLING_ERROR[np.minimum(n, 15).astype(np.intp)], series))


def _binomial_pmf(m: int, p: float, low: int, high: int) -> Floats:
    """Probabilities of low…high successes (they hold the mode), by their ratios from the mode outwards."""
    if p <= 0.0 or p >= 1.0:
        certain = m if p >= 1.0 else 0
        return np.asarray(np.arange(low, high + 1) == certain, dtype=np.float64)
    mode = min(max(int((m + 1) * p), low), high)
    up, down = np.arange(mode, high, dtype=np.float64), np.arange(mode, low, -1, dtype=np.float64)
    above = np.cumprod((m - up) / (up + 1) * (p / (1 - p)))
    below = np.cumprod(down / (m - down + 1) * ((1 - p) / p))
    mass = np.concatenate([below[::-1], [1.0], above])
    return np.asarray(mass / mass.sum())
