"""Intervals of a proportion against scipy.stats, published numbers and their own definitions."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import binomial_law, binomial_window
from rocmonitor.stats.proportion import (
    ProportionMethod,
    clipped_intervals,
    proportion_ends,
    require_level,
    resample_size,
)

SMOOTH = ["agresti-coull", "wilson", "clopper-pearson", "jeffreys"]
LEVELS = [0.5, 0.9, 0.95, 0.999]


def _intervals(count, n, *, method="agresti-coull", confidence_level=0.95, m=None):
    ends = proportion_ends(np.array(count), n, m or n, method, (1 - confidence_level) / 2)
    return clipped_intervals(*ends)


def _all_counts(n, method, level, **kwargs):
    return _intervals(np.arange(n + 1), n, method=method, confidence_level=level, **kwargs)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize(("method", "theirs"), [("wilson", "wilson"), ("clopper-pearson", "exact")])
def test_equals_scipys_binomial_test(method, theirs, n, level):
    ours = _all_counts(n, method, level)
    for count in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(count, n).proportion_ci(level, method=theirs)
        assert ours.low[count] == pytest.approx(expected.low, rel=1e-8, abs=1e-10)
        assert ours.high[count] == pytest.approx(expected.high, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 7, 40, 1000])
def test_jeffreys_holds_equal_tails_of_its_posterior(n, level):
    ours = _all_counts(n, "jeffreys", level)
    count = np.arange(n + 1)
    posterior = stats.beta(count + 0.5, n - count + 0.5)
    np.testing.assert_allclose(posterior.cdf(ours.low)[1:], (1 - level) / 2, rtol=1e-7)
    np.testing.assert_allclose(posterior.sf(ours.high)[:-1], (1 - level) / 2, rtol=1e-7)
    assert ours.low[0] == 0
    assert ours.high[-1] == 1


def test_agresti_coull_when_nothing_is_seen_as_printed():
    # Dugas and Gadoury (2009), 5.1: n = 10,000, joint 90 %, [0, 4.7539e-04].
    ours = _intervals([0], 10_000, confidence_level=sqrt(0.9))
    assert ours.low[0] == 0
    assert ours.high[0] == pytest.approx(4.7539e-4, abs=5e-9)
    assert ours.clipped[0]


def test_joint_wald_coverage_as_printed():
    # Dugas and Gadoury (2009), 5.1: P(no false positive) 0.2701; joint 90 % coverage 0.692 in 1,000 runs.
    n, level = 10_000, sqrt(0.9)
    covered = 1.0
    for rate in (0.3999, 1.3090e-4):
        wald = _all_counts(n, "wald", level)
        covered *= binomial_law(n, rate)[(wald.low <= rate) & (rate <= wald.high)].sum()
    assert binomial_law(n, 1.3090e-4)[0] == pytest.approx(0.2701, abs=5e-5)
    assert covered == pytest.approx(0.692, abs=3 * sqrt(0.692 * 0.308 / 1000))


@pytest.mark.parametrize("level", LEVELS)
def test_wald_and_agresti_coull_by_their_formula(level):
    z = stats.norm.ppf((1 + level) / 2)
    for method, a in (("wald", 0), ("agresti-coull", 2)):
        ours = _all_counts(30, method, level, m=20)
        for count in range(31):
            p = (count + a) / (30 + 2 * a)
            half = z * sqrt(p * (1 - p) / (20 + 2 * a))
            assert ours.low[count] == pytest.approx(max(p - half, 0), abs=1e-12)
            assert ours.high[count] == pytest.approx(min(p + half, 1), abs=1e-12)
            assert ours.clipped[count] == (p - half < 0 or p + half > 1)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 4), (3, 8), (50, 50)])
@pytest.mark.parametrize("level", LEVELS)
def test_exact_are_quantiles_of_the_binomial_law(n, m, level):
    ours = _all_counts(n, "exact", level, m=m)
    for count in range(n + 1):
        law = [comb(m, k) * (count / n) ** k * (1 - count / n) ** (m - k) for k in range(m + 1)]
        reached = np.cumsum(law)
        expected = [np.flatnonzero(reached >= q - 1e-12)[0] / m for q in ((1 - level) / 2, (1 + level) / 2)]
        assert [ours.low[count], ours.high[count]] == expected


@pytest.mark.parametrize("method", get_args(ProportionMethod))
@pytest.mark.parametrize("n", [1, 2, 10, 333])
@pytest.mark.parametrize("level", LEVELS)
def test_intervals_are_ordered_bounded_and_mirrored(method, n, level):
    ours = _all_counts(n, method, level)
    assert np.all(ours.low >= 0)
    assert np.all(ours.high <= 1)
    assert np.all(np.diff(ours.low) >= 0)
    assert np.all(np.diff(ours.high) >= 0)
    if method in SMOOTH:
        assert np.all(ours.low < ours.high)
    if method != "exact":  # quantiles take the smaller count on both sides
        np.testing.assert_allclose(ours.low, 1 - ours.high[::-1], atol=1e-12)


@pytest.mark.parametrize("method", ["wald", "exact"])
def test_unsmoothed_intervals_collapse_at_the_ends(method):
    ours = _intervals([0, 20], 20, method=method)
    assert ours.low.tolist() == ours.high.tolist() == [0, 1]


@pytest.mark.parametrize(("m", "p"), [(1, "1/2"), (6, "1/3"), (60, "59/60"), (400, "1/400"), (777, "5/7")])
def test_binomial_law_is_exact(m, p):
    share = Fraction(p)
    exact = [comb(m, k) * share**k * (1 - share) ** (m - k) for k in range(m + 1)]
    np.testing.assert_allclose(binomial_law(m, float(share)), np.array(exact, dtype=float), rtol=2e-12)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_binomial_law_of_certainty(p):
    assert binomial_law(3, p).tolist() == ([1, 0, 0, 0] if p == 0 else [0, 0, 0, 1])


@pytest.mark.parametrize("m", [1, 10, 10_000, 1_000_000])
@pytest.mark.parametrize("p", [0.0, 1e-9, 1e-4, 0.2, 0.5, 0.999, 1.0])
def test_window_holds_the_mass(m, p):
    low, mass = binomial_window(m, p)
    high = low + len(mass) - 1
    law = binomial_law(m, p)
    assert law[:low].sum() + law[high + 1 :].sum() < 2e-16
    np.testing.assert_allclose(mass, law[low : high + 1], rtol=1e-12, atol=1e-300)
    assert len(mass) <= 18 * sqrt(m * p * (1 - p)) + 60


def test_wilson_has_no_resamples_of_another_size():
    with pytest.raises(InputError, match="resamples of 9 rows, only of the class size, 10"):
        _intervals([1], 10, method="wilson", m=9)


@pytest.mark.parametrize("level", [None, "0.9", [0.95], True, float("nan"), 0, 1, 95])
def test_a_level_is_one_number_within_0_and_1(level):
    with pytest.raises(InputError, match="confidence_level must lie within"):
        require_level(level)


@pytest.mark.parametrize("m", ["5", float("nan"), float("inf"), 10**30, True, 1.5, 0])
def test_a_resample_has_a_whole_number_of_rows(m):
    with pytest.raises(InputError, match="m_pos must be a whole number"):
        resample_size(m, 10, "m_pos")
