"""P(N1 >= r, N2 >= r) of two correlated binomial counts on a grid, by a series in their correlation.

The counts of `m` draws that pass a threshold of model 1 and one of model 2 have the law of Aitken and Gonin
(1935): the product of two binomials times the sum of rho^i K_i(a) K_i(b), where K_i are the Krawtchouk
polynomials, orthonormal under each binomial. Only rho mixes the two thresholds, so that a whole grid of them
is a few matrix products. The series is exact; it ends at i = m, or where rho^i is negligible.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.stats.binomial import LOG_NEGLIGIBLE, Counts, Floats, log_binomial

_FASTEST_TAYLOR = 0.65  # ratio of successive terms in rho - rho_0 up to which there are few of them


def excess_on_grid(
    r: int, m: int, n: int, both: Counts, above_1: Counts, above_2: Counts, where: NDArray[np.bool_]
) -> Floats | None:
    """P(N1 >= r, N2 >= r) - P(N1 >= r) P(N2 >= r) for every pair of thresholds, shape (w1, w2).

    1 <= r <= m draws out of `n` rows, of which `both`, shape (w1, w2), lie at or above both thresholds, and
    `above_1` and `above_2` at or above each, neither none nor all. Only the pairs `where` it is asked for are
    right. None where the series would be long or lose digits: |rho| near 1, or much spread, or r near 0 or m.

    The excess is the sum over i >= 1 of rho^i phi_i(p1) phi_i(p2), with phi_i the sum of Bin(a; m, p) K_i(a)
    over a >= r: phi_i(p) = sqrt(m p (1-p) / i) Bin(r-1; m-1, p) K_(i-1)(r-1) with K for m - 1 draws. It is
    expanded once more, in powers of rho - rho_0: one matrix product for each power. Absolute error about
    1e-13 at m = 10,000.
    """
    p1, p2 = above_1 / n, above_2 / n
    scale = np.sqrt(np.multiply.outer(p1 * (1 - p1), p2 * (1 - p2)))
    rho = (both / n - np.multiply.outer(p1, p2)) / scale
    least, largest = rho[where].min(), rho[where].max()
    middle, half = float(least + largest) / 2, float(largest - least) / 2 + 1e-9
    room = 1 - abs(middle)
    if half > _FASTEST_TAYLOR * room:
        return None
    length = min(m, math.ceil(LOG_NEGLIGIBLE / -math.log(abs(middle) + half)))
    if length > min(_stable_length(r, m, p1), _stable_length(r, m, p2)):
        return None
    phi_1, phi_2 = _phi(r, m, p1, length), _phi(r, m, p2, length)
    degree = np.arange(1, length + 1)
    rho -= middle
    np.clip(rho, -half, half, out=rho)
    excess = np.zeros(rho.shape)
    for power in range(min(length, math.ceil(LOG_NEGLIGIBLE / math.log(room / half))), -1, -1):
        weight = scipy.special.binom(degree, power) * np.power(middle, np.maximum(degree - power, 0))
        excess *= rho
        excess += (phi_1 * weight[:, np.newaxis]).T @ phi_2
    return excess


def _phi(r: int, m: int, p: Floats, length: int) -> Floats:
    """phi_1, …, phi_length of `excess_on_grid`, shape (length, w), by the recurrence of orthonormal K."""
    phi = np.empty((length, len(p)))
    M, x, pq = m - 1, r - 1, p * (1 - p)
    before, now = np.zeros(len(p)), np.sqrt(m * pq) * np.exp(log_binomial(M, x, p))
    for i in range(length):
        phi[i] = now / math.sqrt(i + 1)
        if i < M:
            after = (x - p * M - (1 - 2 * p) * i) * now - np.sqrt(i * (M - i + 1) * pq) * before
            before, now = now, after / np.sqrt((i + 1) * (M - i) * pq)
    return phi


def _stable_length(r: int, m: int, p: Floats) -> float:
    """Up to which degree K_i(r - 1) oscillates or grows: beyond it K_i fades, and the recurrence loses it."""
    M = m - 1
    away = r - 1 - p * M
    half = (1 - 2 * p) * away + 2 * p * (1 - p) * M
    return float((half + np.sqrt(np.maximum(half**2 - away**2, 0.0))).min())
