"""Differences at pairs of thresholds: laws and intervals equal full enumeration; laws that must hold."""

from __future__ import annotations

import json
from itertools import product
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from stats import oracle_curves as oracle
from strategies import differing, increasing_maps, paired_samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.binomial import trinomial_difference
from rocmonitor.stats.curve.difference import threshold_difference
from rocmonitor.stats.sample import PairedSample

METHODS = ["agresti-min", "wald", "exact"]
TIED = (
    np.array([1, 1, 1, 1, 1, 0, 0, 0, 0]),
    np.array([3.0, 3.0, 2.0, 1.0, 4.0, 3.0, 1.0, 1.0, 2.0]),
    np.array([2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0]),
)
CUTS = [-np.inf, 1.0, 2.0, 2.5, 3.0, 4.0, np.inf]


def _dense(m, low, law):
    full = np.zeros(2 * m + 1)
    full[m + low : m + low + len(law)] = law
    return full


@pytest.mark.parametrize("m", [1, 2, 5, 11])
@pytest.mark.parametrize("shares", [(0, 0), (1, 0), (0, 1), (0.5, 0.5), (0.2, 0.3), (0.01, 0.9), (0.6, 0.4)])
def test_trinomial_difference_by_its_sum(m, shares):
    a, b = shares
    expected = np.zeros(2 * m + 1)
    for x, y in product(range(m + 1), repeat=2):
        if x + y <= m:
            ways = factorial(m) // (factorial(x) * factorial(y) * factorial(m - x - y))
            expected[m + x - y] += ways * a**x * b**y * max(1 - a - b, 0.0) ** (m - x - y)
    np.testing.assert_allclose(_dense(m, *trinomial_difference(m, a, b)), expected, atol=1e-12)


@pytest.mark.parametrize("m", [500, 3000])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2, 0.3), (0.002, 0.0), (0.001, 0.7), (0.3, 0.3)])
def test_large_trinomial_difference_by_conditioning(m, shares):
    a, b = shares
    expected = np.zeros(2 * m + 1)
    for x, chance in enumerate(reference.binom.pmf(np.arange(m + 1), m, a)):
        y = np.arange(m - x + 1)
        expected[m + x - y] += chance * reference.binom.pmf(y, m - x, b / (1 - a))
    ours = _dense(m, *trinomial_difference(m, a, b))
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    assert ours.sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param((None, None), marks=pytest.mark.slow),
        (3, 5),
        pytest.param((5, 2), marks=pytest.mark.slow),
    ],
)
def test_intervals_equal_enumeration(sizes):
    y, s1, s2 = TIED
    m = {1: sizes[0] or 5, 0: sizes[1] or 4}
    pairs = list(product(CUTS, CUTS))
    z = reference.norm.ppf(0.9)
    for method in METHODS:
        ours = threshold_difference(
            y, s1, s2, pairs, method=method, confidence_level=0.8, joint=False, m_pos=sizes[0], m_neg=sizes[1]
        )
        for label, name in ((1, "dtpr"), (0, "dfpr")):
            one, two = s1[y == label], s2[y == label]
            for line, (t1, t2) in enumerate(pairs):
                law = oracle.difference_law(one, two, t1, t2, m[label])
                ends = [getattr(ours, name + end)[line] for end in ("_low", "_high")]
                mean = sum(d * chance for d, chance in law.items()) / m[label]
                assert getattr(ours, name)[line] == pytest.approx(mean, abs=1e-12)
                if method == "exact":
                    expected = [_quantile(law, q) / m[label] for q in (0.1, 0.9)]
                elif method == "wald":
                    square = sum(d * d * chance for d, chance in law.items()) / m[label] ** 2
                    half = z * sqrt(max(square - mean**2, 0))
                    expected = [max(mean - half, -1), min(mean + half, 1)]
                else:
                    expected = _agresti_min(one >= t1, two >= t2, m[label], z)
                assert ends == pytest.approx(expected, abs=1e-7 if method == "wald" else 1e-12)


def _quantile(law, level):
    reached = 0.0
    for difference in sorted(law):
        reached += law[difference]
        if reached >= level - 1e-12:
            return difference
    raise AssertionError


def _agresti_min(flags_1, flags_2, m, z):
    p1 = (np.sum(flags_1 & ~flags_2) + 0.5) / (len(flags_1) + 2)
    p2 = (np.sum(flags_2 & ~flags_1) + 0.5) / (len(flags_1) + 2)
    half = z * sqrt((p1 + p2 - (p1 - p2) ** 2) / (m + 2))
    return [max(p1 - p2 - half, -1), min(p1 - p2 + half, 1)]


@settings(deadline=None, max_examples=60)
@given(
    paired_samples().filter(differing),
    st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=4),
    st.sampled_from(METHODS),
    increasing_maps,
)
def test_laws(drawn, cuts, method, increasing):
    y, s1, s2 = drawn
    pairs = np.array(cuts) / 8
    ours = threshold_difference(y, s1, s2, pairs, method=method)
    swapped = threshold_difference(y, s2, s1, pairs[:, ::-1], method=method)
    for name in ("dtpr", "dfpr"):
        low, high = getattr(ours, name + "_low"), getattr(ours, name + "_high")
        assert np.all((low >= -1) & (low <= high) & (high <= 1))
        np.testing.assert_array_equal(getattr(swapped, name), -getattr(ours, name))
        if method == "agresti-min":
            assert np.all(low < high)
        if method != "exact":  # quantiles take the smaller difference on both sides
            np.testing.assert_allclose(getattr(swapped, name + "_low"), -high, atol=1e-12)

    same = threshold_difference(y, s1, s1, pairs[:, [0, 0]], method=method)
    assert same.dtpr.tolist() == same.dfpr.tolist() == [0] * len(pairs)
    if method != "agresti-min":
        assert same.dtpr_low.tolist() == same.dtpr_high.tolist() == [0] * len(pairs)

    mapped_pairs = np.column_stack([increasing(pairs[:, 0]), pairs[:, 1]])
    mapped = threshold_difference(y[::-1], increasing(s1)[::-1], s2[::-1], mapped_pairs, method=method)
    for name in ("dtpr", "dtpr_low", "dtpr_high", "dfpr", "dfpr_low", "dfpr_high"):
        np.testing.assert_array_equal(getattr(mapped, name), getattr(ours, name))


def test_joint_spreads_the_level_over_both_sides():
    joint = threshold_difference(*TIED, [(2, 2)], confidence_level=0.81)
    single = threshold_difference(*TIED, [(2, 2)], confidence_level=0.9, joint=False)
    assert joint.dtpr_low[0] == pytest.approx(single.dtpr_low[0], abs=1e-12)
    assert joint.dfpr_high[0] == pytest.approx(single.dfpr_high[0], abs=1e-12)


def test_grouped_counts_equal_rows():
    rng = np.random.default_rng(5)
    y, s1, s2 = rng.integers(0, 2, 400), rng.integers(0, 6, 400) / 8, rng.integers(0, 5, 400) / 8
    cells, index = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    n_pos, n_neg = (np.bincount(index.ravel(), weights=y == label).astype(int) for label in (1, 0))
    grouped = PairedSample.from_counts(cells[:, 0], cells[:, 1], n_pos, n_neg)
    pairs = [(0.25, 0.5), (0.125, 0.125), (9, -9)]
    for method in METHODS:
        ours = threshold_difference(y, s1, s2, pairs, method=method)
        assert threshold_difference(grouped, pairs, method=method).to_dict() == ours.to_dict()


def test_results_leave_as_plain_data():
    ours = threshold_difference(*TIED, [(2, 3), (np.inf, np.inf)], method="wald")
    json.dumps(ours.to_dict(), allow_nan=False)
    assert ours.to_frame().shape == (2, 8)
    assert ours.pairs.tolist() == [[2, 3], [np.inf, np.inf]]
    flat = Caveat("zero-length", rate="TPR difference", count=1, total=2, at=[["inf", "inf"]])
    assert flat in ours.caveats
    assert str(ours) == (
        "Differences at 2 pairs of thresholds, 95 % joint regions (wald), 5 positives, 4 negatives"
    )
    wide = threshold_difference(*TIED, [(-np.inf, np.inf)])
    at = [["-inf", "inf"]]
    clipped = Caveat("clipped", rate="TPR difference", count=1, total=1, within="[-1, 1]", at=at)
    assert clipped in wide.caveats


@pytest.mark.parametrize(
    ("pairs", "arguments", "message"),
    [
        ([], {}, "at least one \\(t1, t2\\) pair"),
        ([(1.0, np.nan)], {}, "numbers: 1 of 2"),
        ([(1.0, 2.0)], {"method": "agresti"}, "method must be one of agresti-min"),
        ([(1.0, 2.0)], {"confidence_level": 0}, "confidence_level"),
        ([(1.0, 2.0)], {"m_neg": -1}, "m_neg"),
    ],
)
def test_refuses(pairs, arguments, message):
    with pytest.raises(InputError, match=message):
        threshold_difference(*TIED, pairs, **arguments)


def test_one_class_is_degenerate():
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        threshold_difference([1, 1], [0.1, 0.2], [0.1, 0.2], [(0.1, 0.1)])
