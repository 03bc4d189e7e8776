"""The binomial law, the law of trinomial differences, mixtures of binomials, and quantiles of laws.

What a law may leave out is bounded by Bernstein's inequality.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

NEGLIGIBLE = 1e-16  # A probability that may be left out, on each side of a law
LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16
LEVEL_ROUNDING = 1e-12  # a distribution function this close to a level has reached it
_BINS = 1 << 14  # of the first search for a quantile
MOST_CELLS = 50_000_000  # the largest number of probabilities a law may hold at once: 400 MB


def require_room(cells: float) -> None:
    """Refuse a law that would hold more than `MOST_CELLS` probabilities at once."""
    if cells > MOST_CELLS:
        raise InputError(
            f"the exact law of so many rows would hold {cells:,.0f} probabilities at once, and at most "
            f"{MOST_CELLS:,} are allowed (400 MB): use a normal method (agresti, agresti-coull or wald, "
            "which hardly differ for so many rows), stratified sampling, or a sample of the rows"
        )


def law_ends(low: int, law: Floats, m: int, tail: float) -> tuple[float, float]:
    """Return the least rates, of `m`, whose distribution reaches `tail` and 1 - `tail`."""
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

    exp(-h² / (2 (variance + step h / 3))) = exp(-log_mass), no draw being further than `step` from its mean.
    """
    third = step * log_mass / 3
    return third + np.sqrt(third**2 + 2 * log_mass * variance)


def binomial_law(m: int, p: float) -> Floats:
    """Probabilities of 0, 1, …, m successes in `m` trials: O(m), relative error about 1e-13 at m = 1e5."""
    return _binomial_pmf(m, p, 0, m)


def binomial_range(m: int, p: float) -> tuple[int, int]:
    """Return the first and the last count of a range that holds all but 2e-16 of the mass of Bin(m, p)."""
    centre, half = m * p, bernstein(m * p * (1 - p))
    return max(0, math.floor(centre - half)), min(m, math.ceil(centre + half))


def binomial_window(m: int, p: float) -> tuple[int, Floats]:
    """Return `binomial_law` within `binomial_range`: first count, and O(sqrt(m)) probabilities."""
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
    """Return the deviance k log(k / mean) + mean - k, infinite where the mean is 0."""
    gap = (mean - k) / np.maximum(k, 1)
    return np.asarray(k * gap - scipy.special.xlog1py(k, gap))


_STIRLING_ERROR = np.array(
    [0.0]
    + [math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - math.log(2 * math.pi) / 2 for k in range(1, 16)]
)


def _stirling_error(n: Floats) -> Floats:
    """Return the error of log n! by log(sqrt(2 pi n) (n / e)^n), n >= 1."""
    large = np.maximum(n, 16)
    square = large * large
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / large
    return np.asarray(np.where(n < 16, _STIRLING_ERROR[np.minimum(n, 15).astype(np.intp)], series))


def _binomial_pmf(m: int, p: float, low: int, high: int) -> Floats:
    """Probabilities of low…high successes (they hold the mode), by their ratios from the mode outwards."""
    require_room(high - low + 1)
    if p <= 0.0 or p >= 1.0:
        certain = m if p >= 1.0 else 0
        return np.asarray(np.arange(low, high + 1) == certain, dtype=np.float64)
    mode = min(max(int((m + 1) * p), low), high)
    up, down = np.arange(mode, high, dtype=np.float64), np.arange(mode, low, -1, dtype=np.float64)
    above = np.cumprod((m - up) / (up + 1) * (p / (1 - p)))
    below = np.cumprod(down / (m - down + 1) * ((1 - p) / p))
    mass = np.concatenate([below[::-1], [1.0], above])
    return np.asarray(mass / mass.sum())


_NODES_A_DEVIATION = 7  # a binomial's frequencies above 7 a deviation are lost in rounding; 20 more
_TERMS_AT_ONCE = 1 << 12  # for memory
_STEPS_A_BINOMIAL = 1000  # values of a characteristic function that take as long as a binomial law


def mixed_binomials(weight: Floats, count: Floats, n: int, m: int) -> tuple[int, Floats]:
    """Return the mixture of Bin(m, count / n) with these weights: first count, and probabilities."""
    first = np.flatnonzero(np.concatenate([[True], count[1:] != count[:-1]]))
    weight, count = np.add.reduceat(weight, first), count[first]
    if 2 * count.min() <= n:
        return _mixture(weight, count / n, m)
    # Misses are fewer, and their angles keep more digits.
    low, law = _mixture(weight, (n - count) / n, m)
    return m - low - len(law) + 1, law[::-1]


def _mixture(weight: Floats, share: Floats, m: int) -> tuple[int, Floats]:
    """Return the mixture of Bin(m, share): first count, and probabilities from there on."""
    low, high = binomial_range(m, float(share.min()))[0], binomial_range(m, float(share.max()))[1]
    require_room(high - low + 1)
    law = np.zeros(high - low + 1)
    size = scipy.fft.next_fast_len(len(law), real=True)
    least = m * float((share * (1 - share)).min())
    # |characteristic function| <= exp(-variance (1 - cos angle)) of every binomial, negligible beyond this.
    widest = np.arccos(1 - LOG_NEGLIGIBLE / max(least, LOG_NEGLIGIBLE / 2))
    angle = np.asarray(2 * np.pi / size * np.arange(int(widest * size / (2 * np.pi) + 1e-9) + 1))
    nodes, p = _few_nodes(weight, share, m)
    if len(angle) * len(p) < _STEPS_A_BINOMIAL * len(share):
        transform = np.zeros(size // 2 + 1, dtype=np.complex128)
        sine, less = np.sin(angle)[:, np.newaxis], 2 * np.sin(angle / 2)[:, np.newaxis] ** 2
        square, phase, real = less * (-2 * p * (1 - p)), sine * p, less * p
        np.arctan2(phase, np.subtract(1, real, out=real), out=phase)
        transform[: len(angle)] = waves(square, phase, nodes, m, low, angle[:, np.newaxis])
        return low, np.maximum(scipy.fft.irfft(transform, size)[: len(law)], 0.0)
    for chance, rate in zip(weight.tolist(), share.tolist(), strict=True):
        first, mass = binomial_window(m, rate)
        law[first - low : first - low + len(mass)] += chance * mass
    return low, law


def waves(
    square: Floats, phase: Floats, weight: Floats, m: int, low: int, angle: Floats
) -> NDArray[np.complex128]:
    """Return the conjugate of sums of weight z^m e^(-i low angle) over the last axis, shape (angles,).

    `square` is |z|² - 1 and `phase` the phase of z, both overwritten; `angle` has shape (angles, 1). By the
    tangent: quicker than the cosine and the sine of the phase, which follow from it.
    """
    np.maximum(square, -1.0, out=square)
    with np.errstate(divide="ignore"):
        np.log1p(square, out=square)
    square *= m / 2
    modulus, half = np.exp(square, out=square), phase
    modulus *= weight
    half *= m / 2
    half -= low / 2 * angle
    total = modulus.sum(axis=-1)
    np.tan(half, out=half)
    modulus /= 1 + half * half
    half *= modulus
    return np.asarray(2 * (modulus.sum(axis=-1) - 1j * half.sum(axis=-1)) - total)


def _few_nodes(weight: Floats, p: Floats, m: int) -> tuple[Floats, Floats]:
    """Nodes of p and their weights that give the same mixture of binomial laws to 1e-14.

    A binomial law is smooth in p, on the scale of its deviation: its mean over all p is that of
    its Chebyshev interpolant, whose nodes are few where many p lie within a standard deviation.
    """
    low, high = float(p.min()), float(p.max())
    middle, half = (low + high) / 2, (high - low) / 2
    scale = np.sqrt(min(low * (1 - low), high * (1 - high)) / m)
    size = 20 + int(_NODES_A_DEVIATION * half / scale) if scale > 0 else len(p)
    if size >= len(p):
        return weight, p
    nodes = np.cos(np.pi * (np.arange(size) + 0.5) / size)
    # The means of the Chebyshev polynomials T_0…T_(size - 1), from the values of 2 sqrt(size) of them:
    # T_(a step + b) = 2 T_(a step) T_b - T_(a step - b), and T_(a step) = T_a(T_step).
    step = math.isqrt(size)
    near = _chebyshev((p - middle) / half, step)
    far = _chebyshev(near[step], size // step)
    moments = (weight * far) @ near[:step].T
    moments[:, 1:] *= 2
    moments[0, 1:] /= 2
    for before, line in itertools.pairwise(moments):
        line[1:] -= before[:0:-1]
    return scipy.fft.dct(moments.ravel()[:size], type=3) / size, middle + half * nodes


def few_differences(weight: Floats, gap: Floats, apart: Floats, m: int) -> tuple[Floats, Floats, Floats]:
    """Nodes of a - b and a + b, and weights, that give the same mixture of trinomial differences to 1e-14.

    As `_few_nodes`, in two dimensions. The law depends on a - b on the scale of its deviation, on a + b (the
    square of that) on the scale of the variance. The terms themselves where they are not many more.
    """
    ends = [(float(values.min()), float(values.max())) for values in (gap, apart)]
    middle, half = np.array([[(low + high) / 2, (high - low) / 2] for low, high in ends]).T
    widest = max(abs(ends[0][0]), abs(ends[0][1]))
    least = ends[1][0] - widest**2  # of the variance, anywhere between the ends
    if least <= 0 or widest > ends[1][0]:  # a node may be no pair of shares
        return weight, gap, apart
    across = 20 + int(_NODES_A_DEVIATION * half[0] / math.sqrt(least / m))
    along = 20 + int(_NODES_A_DEVIATION**2 / 2 * half[1] / least)
    if half.min() == 0 or 2 * across * along > len(weight):
        return weight, gap, apart
    moments = np.zeros((across, along))
    for part in (slice(i, i + _TERMS_AT_ONCE) for i in range(0, len(weight), _TERMS_AT_ONCE)):
        x, y = ((values[part] - middle[i]) / half[i] for i, values in enumerate((gap, apart)))
        moments += (weight[part] * _chebyshev(x, across - 1)) @ _chebyshev(y, along - 1).T
    nodes = [np.cos(np.pi * (np.arange(size) + 0.5) / size) for size in (across, along)]
    weights = scipy.fft.dct(scipy.fft.dct(moments, type=3, axis=0), type=3, axis=1) / (across * along)
    at = np.meshgrid(*(middle[i] + half[i] * nodes[i] for i in (0, 1)), indexing="ij")
    return weights.ravel(), at[0].ravel(), at[1].ravel()


def _chebyshev(x: Floats, order: int) -> Floats:
    """T_0…T_order at x, shape (order + 1, w)."""
    values = np.empty((order + 1, len(x)))
    values[0], values[1] = 1.0, x
    twice = 2 * x
    for i in range(2, order + 1):
        np.multiply(twice, values[i - 1], out=values[i])
        values[i] -= values[i - 2]
    return values


def trinomial_difference(m: int, a: float, b: float) -> tuple[int, Floats]:
    """Law of X - Y for (X, Y, rest) multinomial in `m` trials with shares `a`, `b`, 1 - a - b.

    The first difference and the probabilities from there on: all but 2e-16 of the mass; O(sqrt(m)).
    """
    lows, law = joint_difference(m, [(a, b)])
    return lows[0], law


def joint_difference(m: int, shares: Sequence[tuple[float, float]]) -> tuple[list[int], Floats]:
    """Joint law of such differences of several kinds of rows, all drawn in the same `m` trials.

    One inverse FFT of (1 + sum over the kinds of a (e^iθ - 1) + b (e^-iθ - 1))^m, over a window of each
    difference. Returns the first differences, and the probabilities from there on.
    """
    real, imaginary, shift = (np.zeros((1,) * len(shares)) for _ in range(3))
    windows = []  # of each difference: all but 2e-16 of its mass
    for a, b in shares:
        centre = round(m * (a - b))
        # A step deviates from its mean by up to 2; 1 more for rounding.
        half = math.ceil(bernstein(m * max(a + b - (a - b) ** 2, 0.0), step=2.0)) + 1
        windows.append((max(-m, centre - half), min(m, centre + half)))
    sizes = [1 << (high - low).bit_length() for low, high in windows]  # powers of 2, above high - low
    require_room(math.prod(sizes))
    for axis, ((a, b), (low, _), size) in enumerate(zip(shares, windows, sizes, strict=True)):
        last = axis == len(shares) - 1
        angle = 2 * np.pi * np.arange(size // 2 + 1 if last else size) / size
        angle = angle.reshape([-1 if other == axis else 1 for other in range(len(shares))])
        real = real - 2 * (a + b) * np.sin(angle / 2) ** 2
        imaginary = imaginary + (a - b) * np.sin(angle)
        shift = shift + low * angle
    with np.errstate(divide="ignore"):
        # The logarithm from the distance to 1, which keeps its digits through the power m.
        log_modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0)) / 2
    phase = m * np.arctan2(imaginary, 1 + real) - shift
    law = np.fft.irfftn(np.exp(m * log_modulus) * np.exp(-1j * phase), sizes, axes=range(len(shares)))
    law = law[tuple(slice(high - low + 1) for low, high in windows)]
    return [low for low, _ in windows], np.maximum(law, 0.0)
