"""The law of trinomial differences: of m rows, those that count +1 less those that count -1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rocmonitor.stats.binomial import Floats, bernstein


def trinomial_difference(m: int, a: float, b: float) -> tuple[int, Floats]:
    """Law of X - Y for (X, Y, rest) multinomial in `m` trials with shares `a`, `b`, 1 - a - b.

    Returns the first difference and the probabilities from there on: all but 2e-16 of the mass; O(sqrt(m)).
    """
    lows, law = joint_difference(m, [(a, b)])
    return lows[0], law


def joint_difference(m: int, shares: Sequence[tuple[float, float]]) -> tuple[list[int], Floats]:
    """Joint law of such differences of several kinds of rows, all drawn in the same `m` trials.

    One inverse FFT of (1 + sum over the kinds of a (e^iθ - 1) + b (e^-iθ - 1))^m, over a window of each
    difference that leaves out less than 2e-16 of the mass. Returns the first differences, and the
    probabilities from there on.
    """
    real, imaginary, shift = (np.zeros((1,) * len(shares)) for _ in range(3))
    windows = [difference_range(m, a, b) for a, b in shares]
    sizes = [1 << (high - low).bit_length() for low, high in windows]  # powers of 2, above high - low
    for axis, ((a, b), (low, _), size) in enumerate(zip(shares, windows, sizes, strict=True)):
        last = axis == len(shares) - 1
        angle = 2 * np.pi * np.arange(size // 2 + 1 if last else size) / size
        angle = angle.reshape([-1 if each == axis else 1 for each in range(len(shares))])
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


def difference_range(m: int, a: float, b: float) -> tuple[int, int]:
    """The first and the last value of a range that holds all but 2e-16 of the mass of X - Y."""
    centre = round(m * (a - b))
    # A step deviates from its mean by up to 2; 1 more for rounding.
    half = math.ceil(bernstein(m * max(a + b - (a - b) ** 2, 0.0), step=2.0)) + 1
    return max(-m, centre - half), min(m, centre + half)
