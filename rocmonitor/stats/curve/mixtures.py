"""The law of a mixture of binomials, by its characteristic function."""

from __future__ import annotations

import itertools
import math

import numpy as np

from rocmonitor.stats.binomial import (
    LOG_NEGLIGIBLE,
    Floats,
    binomial_range,
    binomial_window,
    log_characteristic,
)

_NODES_A_DEVIATION = 7  # a binomial's frequencies above 7 a deviation are lost in rounding; 20 more
_STEPS_A_BINOMIAL = 1000  # values of a characteristic function that take as long as a binomial law


def mixed_binomials(weight: Floats, count: Floats, n: int, m: int) -> tuple[int, Floats]:
    """The mixture of Bin(m, count / n) with these weights: first value, and probabilities from there on."""
    weight, count = _grouped(weight, count)
    if 2 * count.min() <= n:
        return _mixture(weight, count / n, m)
    # Misses are fewer, and their angles keep more digits.
    low, law = _mixture(weight, (n - count) / n, m)
    return m - low - len(law) + 1, law[::-1]


def _mixture(weight: Floats, share: Floats, m: int) -> tuple[int, Floats]:
    """The mixture of Bin(m, share): first count, and probabilities from there on."""
    from scipy import fft

    low, high = binomial_range(m, float(share.min()))[0], binomial_range(m, float(share.max()))[1]
    law = np.zeros(high - low + 1)
    size = fft.next_fast_len(len(law), real=True)
    least = m * float((share * (1 - share)).min())
    # |characteristic function| <= exp(-variance (1 - cos angle)) of every binomial, negligible beyond this.
    widest = np.arccos(1 - LOG_NEGLIGIBLE / max(least, LOG_NEGLIGIBLE / 2))
    angle = np.asarray(2 * np.pi / size * np.arange(int(widest * size / (2 * np.pi) + 1e-9) + 1))
    nodes, p = _few_nodes(weight, share, m)
    if len(angle) * len(p) < _STEPS_A_BINOMIAL * len(share):
        each = np.exp(m * log_characteristic(angle, p) - 1j * low * angle[:, np.newaxis])
        phi = np.einsum("ap,p->a", each, nodes)  # not @: threads cost more than so small a product
        return low, np.maximum(np.fft.irfft(phi.conj(), size)[: len(law)], 0.0)
    for chance, rate in zip(weight.tolist(), share.tolist(), strict=True):
        first, mass = binomial_window(m, rate)
        law[first - low : first - low + len(mass)] += chance * mass
    return low, law


def _few_nodes(weight: Floats, p: Floats, m: int) -> tuple[Floats, Floats]:
    """Nodes of p and their weights that give the same mixture of binomial laws to 1e-14.

    A binomial law is smooth in p, on the scale of its deviation: its mean over all p is that of
    its Chebyshev interpolant, whose nodes are few where many p lie within a standard deviation.
    """
    from scipy import fft

    low, high = float(p.min()), float(p.max())
    middle, half = (low + high) / 2, (high - low) / 2
    scale = np.sqrt(min(low * (1 - low), high * (1 - high)) / m)
    size = 20 + int(_NODES_A_DEVIATION * half / scale) if scale > 0 else len(p)
    if size >= len(p):
        return weight, p
    nodes = np.cos(np.pi * (np.arange(size) + 0.5) / size)
    moments = _chebyshev_moments(weight, (p - middle) / half, size)
    return fft.dct(moments, type=3) / size, middle + half * nodes


def _chebyshev_moments(weight: Floats, x: Floats, size: int) -> Floats:
    """Means of the Chebyshev polynomials T_0…T_(size - 1) of x, from the values of 2 sqrt(size) of them.

    T_(a step + b) = 2 T_(a step) T_b - T_(a step - b), and T_(a step) = T_a(T_step).
    """
    step = math.isqrt(size)
    near = _chebyshev(x, step)
    far = _chebyshev(near[step], size // step)
    moments = (weight * far) @ near[:step].T
    moments[:, 1:] *= 2
    moments[0, 1:] /= 2
    for before, line in itertools.pairwise(moments):
        line[1:] -= before[:0:-1]
    return np.asarray(moments.ravel()[:size])


def _chebyshev(x: Floats, order: int) -> Floats:
    """T_0…T_order at x, shape (order + 1, w)."""
    values = np.empty((order + 1, len(x)))
    values[0], values[1] = 1.0, x
    twice = 2 * x
    for i in range(2, order + 1):
        np.multiply(twice, values[i - 1], out=values[i])
        values[i] -= values[i - 2]
    return values


def _grouped(weight: Floats, count: Floats) -> tuple[Floats, Floats]:
    """One term for each run of equal counts."""
    first = np.flatnonzero(np.concatenate([[True], count[1:] != count[:-1]]))
    return np.add.reduceat(weight, first), count[first]
