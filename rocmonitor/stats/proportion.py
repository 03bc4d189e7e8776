"""Intervals of a proportion, and the binomial law that resampling a class gives it.

A rate of the ROC curve at a fixed threshold is a proportion within one class, and under the
stratified bootstrap its count is binomial: the law is known exactly, nothing is resampled.
Dugas and Gadoury (2009) is [DG09] below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from rocmonitor.errors import InputError

Floats = NDArray[np.float64]

ProportionMethod = Literal["agresti-coull", "wald", "wilson", "clopper-pearson", "jeffreys", "exact"]

SMOOTHING = 2.0
"""Successes, and as many failures, that Agresti and Coull add ([DG09] eq. 1, ``a``)."""

_MOST_ROWS = 2**53
_LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16: the mass a window may leave out on each side
LEVEL_ROUNDING = 1e-12  # a distribution function this close to a level has reached it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Intervals of several proportions, or of differences of two.

    Attributes
    ----------
    low, high : ndarray, shape (h,)
        Ends, within [0, 1], or [-1, 1] for differences.
    clipped : ndarray of bool, shape (h,)
        Where the method's own end lay outside.
    """

    low: Floats
    high: Floats
    clipped: NDArray[np.bool_]


def proportion_intervals(
    count: ArrayLike,
    n: int,
    *,
    method: ProportionMethod = "agresti-coull",
    confidence_level: float = 0.95,
    m: int | None = None,
) -> Intervals:
    """Two-sided intervals of a proportion of which `count` out of `n` were seen.

    Parameters
    ----------
    count : array_like, shape (h,)
        Whole numbers in [0, n].
    n : int
        Trials, at least 1.
    method : str
        ``agresti-coull``: normal, after adding 2 successes and 2 failures ([DG09] eq. 1); ``wald``: normal,
        nothing added; ``wilson``: inverted score test; ``clopper-pearson``: inverted binomial test;
        ``jeffreys``: equal tails of the posterior under Beta(1/2, 1/2), end 0 when nothing was
        seen and 1 when everything was (Brown, Cai and DasGupta, 2001); ``exact``: quantiles of the exact
        bootstrap law Bin(m, count/n) / m.
    confidence_level : float
        Within (0, 1).
    m : int, optional
        Size of a resample, `n` by default. ``agresti-coull``, ``wald`` and ``exact`` describe the rate in a
        resample of that size ([DG09] alg. 1); the others know no resampling and refuse it.

    Returns
    -------
    Intervals
        ``wald`` and ``exact`` collapse to zero length where nothing or everything was seen; the others never.

    Raises
    ------
    InputError
        Counts outside [0, n], a level outside (0, 1), an unknown method, `m` where it has no meaning.

    Notes
    -----
    Cost: O(h), and O(h log m) for ``exact``. Agresti and Coull's interval is centred on
    (count + 2)/(n + 4): at levels below about 0.84 it can lie off an observed rate of 0 or 1.

    Examples
    --------
    >>> intervals = proportion_intervals([0, 50], 100, method="wilson")
    >>> intervals.low.round(4).tolist(), intervals.high.round(4).tolist()
    ([0.0, 0.4038], [0.037, 0.5962])
    """
    seen, size = _valid_counts(count, n), resample_size(m, n, "m")
    require_method(method, get_args(ProportionMethod))
    tail = (1 - require_level(confidence_level)) / 2
    if method in _OF_RESAMPLES:
        return clipped_intervals(*_OF_RESAMPLES[method](seen, n, size, tail))
    if size != n:
        raise InputError(
            f"method {method!r} knows no resampling: its resample size must be the class size, {n}, "
            f"not {size}; use one of {', '.join(_OF_RESAMPLES)}"
        )
    return clipped_intervals(*_INVERTED[method](seen, n, tail))


def clipped_intervals(low: Floats, high: Floats, *, least: float = 0.0) -> Intervals:
    """Cut intervals to [least, 1] and say which ones were cut."""
    return Intervals(
        low=np.clip(low, least, 1.0), high=np.clip(high, least, 1.0), clipped=(low < least) | (high > 1.0)
    )


def interval_caveats(
    rate: str, estimate: Floats, intervals: Intervals, *, within: str = "[0, 1]"
) -> tuple[str, ...]:
    """What a reader of `intervals` should know: clipping, zero length, an estimate outside."""
    low, high = intervals.low, intervals.high
    outside = (estimate < low) | (estimate > high)
    found = (
        (intervals.clipped, f"clipped to {within}"),
        (low == high, "of zero length: use a method that smooths"),
        (outside, "not around the estimate: smoothing moved them off it"),
    )
    return tuple(
        f"{np.count_nonzero(where)} of {len(where)} {rate} intervals are {what}"
        for where, what in found
        if where.any()
    )


def normal_quantile(tail: float) -> float:
    """The standard normal deviate that leaves `tail` above it."""
    return -float(special.ndtri(tail))


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
    """Ends of the exact interval of a rate whose count, of `m`, has a tabulated law.

    The smallest counts whose distribution function reaches `tail` and ``1 - tail``; ``law[i]`` is the
    probability of the count ``low + i``.
    """
    ends = np.searchsorted(np.cumsum(law), [tail - LEVEL_ROUNDING, 1 - tail - LEVEL_ROUNDING])
    low_end, high_end = (low + np.minimum(ends, len(law) - 1)) / m
    return float(low_end), float(high_end)


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
    """The first and the last count of a range that holds all but 2e-16 of the mass of Bin(m, p).

    Its half-width h solves Bernstein's exp(-h² / (2 (v + h/3))) = exp(-37), v = m p (1 - p).
    """
    centre, variance = m * p, m * p * (1 - p)
    third = _LOG_NEGLIGIBLE / 3
    half = third + math.sqrt(third**2 + 2 * _LOG_NEGLIGIBLE * variance)
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
    ends = special.xlogy(hits, p) + special.xlog1py(misses, -p)  # right where one of the two is 0
    return np.asarray(np.where((hits == 0) | (misses == 0), ends, law))


def _deviance(k: Floats, mean: Floats) -> Floats:
    """The deviance k log(k / mean) + mean - k, infinite where the mean is 0."""
    gap = (mean - k) / np.maximum(k, 1)
    return np.asarray(k * gap - special.xlog1py(k, gap))


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


def resample_size(m: int | None, n: int, name: str) -> int:
    """The resample size `m`, or the class size `n` when none is given."""
    if m is None:
        return n
    if not is_number(m) or not 1 <= m <= _MOST_ROWS or m != int(m):
        raise InputError(
            f"{name} must be a whole number of at least 1 (rows in a resample, up to 2**53), not {m!r}"
        )
    return int(m)


def resample_caveats(m_pos: int, n_pos: int, m_neg: int, n_neg: int) -> tuple[str, ...]:
    """Says so when resamples are not as large as the classes."""
    if (m_pos, m_neg) == (n_pos, n_neg):
        return ()
    return (
        f"the intervals are those of resamples of {m_pos:,} positives and {m_neg:,} negatives, "
        "not of the sample's own size",
    )


def require_level(confidence_level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if not is_number(confidence_level) or not 0 < confidence_level < 1:
        raise InputError(
            f"confidence_level must lie within (0, 1), for example 0.95; it is {confidence_level!r}"
        )
    return float(confidence_level)


def is_number(value: object) -> bool:
    """Whether a value is one real number, of Python or NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def require_method(method: str, offered: tuple[str, ...]) -> None:
    """Refuse a method that is not offered."""
    if method not in offered:
        raise InputError(f"method must be one of {', '.join(offered)}; it is {method!r}")


def _valid_counts(count: ArrayLike, n: int) -> Floats:
    seen = np.atleast_1d(np.asarray(count, dtype=np.float64))
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}: no proportion is known without trials")
    wrong = len(seen) - np.count_nonzero((seen >= 0) & (seen <= n) & (seen == np.floor(seen)))
    if wrong:
        raise InputError(f"count must hold whole numbers within [0, {n}]: {wrong} of {len(seen)} are not")
    return seen


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


def _smoothed(added: float) -> Callable[[Floats, int, int, float], tuple[Floats, Floats]]:
    def interval(count: Floats, n: int, m: int, tail: float) -> tuple[Floats, Floats]:
        p = (count + added) / (n + 2 * added)
        half = normal_quantile(tail) * np.sqrt(p * (1 - p) / (m + 2 * added))
        return p - half, p + half

    return interval


def _wilson(count: Floats, n: int, tail: float) -> tuple[Floats, Floats]:
    z = normal_quantile(tail)
    p, z2 = count / n, z * z / n
    half = z * np.sqrt(p * (1 - p) / n + z2 / (4 * n))
    # At the ends the formula is 0 or 1 but for rounding.
    low = np.where(count == 0, 0.0, (p + z2 / 2 - half) / (1 + z2))
    return low, np.where(count == n, 1.0, (p + z2 / 2 + half) / (1 + z2))


def _clopper_pearson(count: Floats, n: int, tail: float) -> tuple[Floats, Floats]:
    low = special.betaincinv(np.maximum(count, 1), n - count + 1, tail)
    high = special.betainccinv(count + 1, np.maximum(n - count, 1), tail)
    return np.where(count == 0, 0.0, low), np.where(count == n, 1.0, high)


def _jeffreys(count: Floats, n: int, tail: float) -> tuple[Floats, Floats]:
    low = special.betaincinv(count + 0.5, n - count + 0.5, tail)
    high = special.betainccinv(count + 0.5, n - count + 0.5, tail)
    return np.where(count == 0, 0.0, low), np.where(count == n, 1.0, high)


def _exact(count: Floats, n: int, m: int, tail: float) -> tuple[Floats, Floats]:
    def quantile(p: float, level: float) -> float:
        return law_quantile(lambda seen: float(special.betaincc(seen + 1, m - seen, p)), m, level) / m

    rates = (count / n).tolist()
    return (
        np.array([quantile(p, tail) for p in rates], dtype=np.float64),
        np.array([quantile(p, 1 - tail) for p in rates], dtype=np.float64),
    )


_OF_RESAMPLES: dict[str, Callable[[Floats, int, int, float], tuple[Floats, Floats]]] = {
    "agresti-coull": _smoothed(SMOOTHING),
    "wald": _smoothed(0.0),
    "exact": _exact,
}
_INVERTED: dict[str, Callable[[Floats, int, float], tuple[Floats, Floats]]] = {
    "wilson": _wilson,
    "clopper-pearson": _clopper_pearson,
    "jeffreys": _jeffreys,
}
