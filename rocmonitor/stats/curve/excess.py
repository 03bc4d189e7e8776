"""Two correlated binomial counts: how much likelier both reach a number than if they were independent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.binomial import LOG_NEGLIGIBLE, Counts, Floats, log_binomial

_LONGEST = 1000  # terms up to which the series is quicker than `both_reach`
_NEGLIGIBLE = 1e-17  # of the series: it is at most 1
_CELLS_AT_ONCE = 1 << 14  # a few arrays of these fit a core's cache


def excess_on_grid(
    r: int, m: int, n: int, both: Counts, above_1: Counts, above_2: Counts, where: NDArray[np.bool_]
) -> Floats | None:
    """P(N1 >= r, N2 >= r) - P(N1 >= r) P(N2 >= r) for every pair of thresholds, shape (w1, w2).

    1 <= r <= m draws out of `n` rows, of which `both`, shape (w1, w2), lie at or above both thresholds, and
    `above_1` and `above_2` at or above each, neither none nor all. Only the pairs `where` it is asked for are
    right. None where the series would be long or lose digits: |rho| near 1, or r near 0 or m.

    The two counts have the law of Aitken and Gonin (1935): the product of two binomials times the sum of
    rho^i K_i(a) K_i(b), with K_i the Krawtchouk polynomials, orthonormal under each binomial. The excess is
    the sum over i >= 1 of rho^i phi_i(p1) phi_i(p2), with phi_i the sum of Bin(a; m, p) K_i(a) over a >= r:
    phi_i(p) = sqrt(m p (1-p) / i) Bin(r-1; m-1, p) K_(i-1)(r-1) with K for m - 1 draws. It ends at i = m, or
    where the rest is negligible, and is added up from its end (Horner). Error about 1e-13 at m = 10,000.
    """
    p1, p2 = above_1 / n, above_2 / n
    scale = np.sqrt(np.multiply.outer(p1 * (1 - p1), p2 * (1 - p2)))
    rho = (both / n - np.multiply.outer(p1, p2)) / scale
    largest = float(np.abs(rho[where]).max())
    length = _length(largest, m)
    if length > min(_LONGEST, _stable_length(r, m, p1), _stable_length(r, m, p2)):
        return None
    phi_1, phi_2 = np.split(_phi(r, m, np.concatenate([p1, p2]), length), [len(p1)], axis=1)
    excess = np.zeros(rho.shape)
    orders = np.arange(1, length + 1)
    lines = max(1, _CELLS_AT_ONCE // len(p2))
    for first in range(0, len(p1), lines):
        part = slice(first, first + lines)
        seen = np.flatnonzero(where[part].any(axis=0))
        if len(seen):
            across = slice(int(seen[0]), int(seen[-1]) + 1)
            power = rho[part, across]
            steepest = float(np.abs(power[where[part, across]]).max())
            one, other = phi_1[:, part], phi_2[:, across]
            # Far from r the phi are small, too.
            largest = steepest**orders * np.abs(one).max(axis=1) * np.abs(other).max(axis=1)
            last = int(np.count_nonzero(np.cumsum(largest[::-1]) > _NEGLIGIBLE))
            excess[part, across] = _series(power, one[:last], other[:last])
    return excess


def _length(rho: float, m: int) -> int:
    """Terms up to where rho^i is negligible; there are m."""
    return min(m, math.ceil(LOG_NEGLIGIBLE / -math.log(rho))) if 0 < rho < 1 else m if rho else 1


def _series(rho: Floats, phi_1: Floats, phi_2: Floats) -> Floats:
    """Sum of rho^i phi_1[i - 1] phi_2[i - 1] over i >= 1."""
    total, term = np.zeros(rho.shape), np.empty(rho.shape)
    for one, other in zip(phi_1[::-1], phi_2[::-1], strict=True):
        total += np.multiply.outer(one, other, out=term)
        total *= rho
    return total


def _phi(r: int, m: int, p: Floats, length: int) -> Floats:
    """phi_1, …, phi_length of `excess_on_grid`, shape (length, w), by the recurrence of orthonormal K."""
    phi = np.empty((length, len(p)))
    M, x, root = m - 1, r - 1, np.sqrt(p * (1 - p))
    away, skewed = (x - p * M) / root, (1 - 2 * p) / root
    before, now = np.zeros(len(p)), math.sqrt(m) * root * np.exp(log_binomial(M, x, p))
    for i in range(length):
        phi[i] = now / math.sqrt(i + 1)
        if i < M:
            after = (away - i * skewed) * now - math.sqrt(i * (M - i + 1)) * before
            before, now = now, after / math.sqrt((i + 1) * (M - i))
    return phi


def _stable_length(r: int, m: int, p: Floats) -> float:
    """Up to which degree K_i(r - 1) oscillates or grows: beyond it K_i fades, and the recurrence loses it."""
    M = m - 1
    away = r - 1 - p * M
    half = (1 - 2 * p) * away + 2 * p * (1 - p) * M
    return float((half + np.sqrt(np.maximum(half**2 - away**2, 0.0))).min())
