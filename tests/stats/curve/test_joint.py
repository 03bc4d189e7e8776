"""Joint tails of two correlated binomial counts: exact sums, and the series against the recursion."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats as reference

from rocmonitor.stats.curve.joint import both_reach, excess_on_grid


def _by_integers(r, m, n, both, only_1, only_2):
    """All (a, b, c) with a + b >= r and a + c >= r, in whole numbers until the last division."""
    rest, total = n - both - only_1 - only_2, 0
    for a in range(m + 1):
        for b in range(max(r - a, 0), m - a + 1):
            for c in range(max(r - a, 0), m - a - b + 1):
                ways = comb(m, a) * comb(m - a, b) * comb(m - a - b, c)
                total += ways * both**a * only_1**b * only_2**c * rest ** (m - a - b - c)
    return total / n**m


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("m", [1, 2, 5, 7])
def test_equals_whole_number_sums(n, m):
    cells = [(a, b, c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    for r in range(1, m + 1):
        expected = [_by_integers(r, m, n, *cell) for cell in cells]
        np.testing.assert_allclose(both_reach(r, m, n, *np.array(cells).T), expected, atol=1e-14)


def _by_condition(r, m, n, both, only_1, only_2):
    """Sum over N1 with scipy's binomials: given N1, N2 is a sum of two."""
    above = both + only_1
    total = 0.0
    for count in range(r, m + 1):
        weight = reference.binom.pmf(count, m, above / n)
        if weight < 1e-18:
            continue
        from_above = np.arange(count + 1)
        mass = reference.binom.pmf(from_above, count, both / above if above else 0)
        rest = reference.binom.sf(r - 1 - from_above, m - count, only_2 / (n - above) if n > above else 0)
        total += weight * (mass @ rest)
    return total


@pytest.mark.parametrize(("n", "m"), [(300, 300), (90, 900), (900, 90)])
def test_equals_conditional_sums_at_any_correlation(n, m):
    rng = np.random.default_rng(n)
    for r in (1, 2, m // 20, m // 2, m - 1):
        near = r / m * n + rng.normal(size=(2, 8)) * np.sqrt(n) / 2
        above_1, above_2 = np.clip(near, 0, n).astype(np.int64)
        least, most = np.maximum(above_1 + above_2 - n, 0), np.minimum(above_1, above_2)
        both = (least + (most - least) * np.array([0, 0, 0.2, 0.5, 0.9, 0.99, 1, 1])).astype(np.int64)
        cells = both, above_1 - both, above_2 - both
        expected = [_by_condition(r, m, n, *cell) for cell in zip(*(c.tolist() for c in cells), strict=True)]
        np.testing.assert_allclose(both_reach(r, m, n, *cells), expected, atol=2e-13)


@pytest.mark.parametrize(("r", "m"), [(500, 1_000), (100, 1_000), (1_850, 2_000), (150, 300)])
@pytest.mark.parametrize("correlation", [-0.05, 0.0, 0.4, 0.8])
def test_series_equals_recursion(r, m, correlation):
    rng = np.random.default_rng(r)
    n = m
    spread = np.sqrt(n * (r / m) * (1 - r / m))
    above = np.unique(np.rint(r + np.linspace(-7.5, 7.5, 24) * spread).astype(np.int64))
    p = above / n
    scale = np.sqrt(np.multiply.outer(p * (1 - p), p * (1 - p)))
    both = n * (np.multiply.outer(p, p) + (correlation + rng.normal(size=scale.shape) / 200) * scale)
    both = np.rint(both).astype(np.int64)
    least, most = np.maximum(np.add.outer(above, above) - n, 0), np.minimum.outer(above, above)
    where = (both >= least) & (both <= most)
    i, j = np.nonzero(where)
    series = excess_on_grid(r, m, n, both, above, above, where)
    assert series is not None
    reach = reference.binom.sf(r - 1, m, p)
    direct = both_reach(r, m, n, both[i, j], above[i] - both[i, j], above[j] - both[i, j])
    np.testing.assert_allclose((np.multiply.outer(reach, reach) + series)[i, j], direct, atol=1e-12)


def test_series_declines_where_it_would_lose_digits():
    above = np.arange(400, 600, 5)
    same = np.minimum.outer(above, above)
    assert excess_on_grid(500, 1_000, 1_000, same, above, above, np.ones(same.shape, bool)) is None
