"""Two models at a false positive rate: laws and moments equal full enumeration; laws; refusals."""

from __future__ import annotations

import json
from math import sqrt

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
from rocmonitor.stats.curve.vertical import vertical_intervals
from rocmonitor.stats.curve.vertical_difference import (
    difference_law,
    vertical_difference,
    vertical_difference_law,
)
from rocmonitor.stats.sample import PairedSample

TIED = (
    np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
    np.array([3.0, 3.0, 2.0, 1.0, 4.0, 3.0, 1.0, 1.0, 2.0, 2.5]),
    np.array([2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0]),
)
CONTINUOUS = (
    np.array([1, 0, 1, 0, 0, 1, 0, 1]),
    np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35, 0.5, 0.4]),
    np.array([0.3, 0.25, 0.8, 0.1, 0.6, 0.9, 0.55, 0.2]),
)
MIRRORED = (CONTINUOUS[0], CONTINUOUS[1], -CONTINUOUS[1])
BLOCK = (np.array([1, 1, 0, 0, 0]), np.array([0.7, *[0.5] * 4]), np.array([1.0, 2.0, 3.0, 1.0, 2.0]))
DATA = {"tied": TIED, "continuous": CONTINUOUS, "mirrored": MIRRORED, "block": BLOCK}
SIZES = [(None, None), (3, 5), (4, 2)]


def _sizes(y, sizes):
    return sizes[0] or int(np.sum(y == 1)), sizes[1] or int(np.sum(y == 0))


def _scores(n, correlation, seed=0):
    rng = np.random.default_rng(seed)
    y, common = np.repeat([1, 0], n), rng.normal(size=2 * n)
    s1, s2 = (y + sqrt(correlation) * common + sqrt(1 - correlation) * rng.normal(size=2 * n) for _ in "12")
    return y, s1, s2


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("data", DATA)
def test_law_equals_enumeration(data, sizes):
    y, s1, s2 = DATA[data]
    m_pos, m_neg = _sizes(y, sizes)
    for r in range(1, m_neg):
        ours = vertical_difference_law(y, s1, s2, r / m_neg, m_pos=sizes[0], m_neg=sizes[1])
        expected = oracle.vertical_difference_law(y, s1, s2, r, m_pos, m_neg)
        np.testing.assert_allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("method", "added"), [("agresti", 0.5), ("wald", 0)])
def test_moment_intervals_equal_enumeration(data, sizes, method, added):
    y, s1, s2 = DATA[data]
    m_pos, m_neg = _sizes(y, sizes)
    rates = np.arange(1, m_neg) / m_neg
    ours = vertical_difference(
        y, s1, s2, rates, method=method, confidence_level=0.9, m_pos=sizes[0], m_neg=sizes[1]
    )
    z = reference.norm.ppf(0.95)
    for line in range(m_neg - 1):
        plain, _ = oracle.vertical_difference_moments(y, s1, s2, line + 1, 0, m_pos, m_neg)
        mean, variance = oracle.vertical_difference_moments(y, s1, s2, line + 1, added, m_pos, m_neg)
        half = z * sqrt(max(variance, 0))
        error = 1e-12 if variance > 1e-6 else 1e-7
        assert ours.dtpr[line] == pytest.approx(plain, abs=1e-12)
        assert ours.dtpr_low[line] == pytest.approx(max(mean - half, -1), abs=error)
        assert ours.dtpr_high[line] == pytest.approx(min(mean + half, 1), abs=error)


@settings(deadline=None, max_examples=30)
@given(paired_samples(min_per_class=2, max_per_class=4).filter(differing), st.data())
def test_law_and_quantiles_equal_enumeration_on_any_small_sample(drawn, data):
    y, s1, s2 = drawn
    n_pos, n_neg = int(np.sum(y == 1)), int(np.sum(y == 0))
    r = data.draw(st.integers(1, n_neg - 1))
    expected = oracle.vertical_difference_law(y, s1, s2, r, n_pos, n_neg)
    np.testing.assert_allclose(vertical_difference_law(y, s1, s2, r / n_neg), expected, atol=1e-12)
    ours = vertical_difference(y, s1, s2, [r / n_neg], method="exact", confidence_level=0.8)
    assert ours.dtpr[0] == pytest.approx(expected @ np.arange(-n_pos, n_pos + 1) / n_pos, abs=1e-12)
    assert ours.dtpr_low[0] == (oracle.quantile(expected, 0.1) - n_pos) / n_pos
    assert ours.dtpr_high[0] == (oracle.quantile(expected, 0.9) - n_pos) / n_pos


@pytest.mark.parametrize(("second", "r"), [(1, 30), (1, 150), (-1, 30), (-1, 150), (-1, 290)])
def test_law_is_the_mixture_of_trinomial_differences_term_by_term(second, r):
    y, s1, s2 = _scores(300, 0.7)
    pair = PairedSample(y, s1, s2 if second == 1 else -s1)
    law = difference_law(pair, np.array([r]), 300, 300, 1000)
    expected = np.zeros(601)
    for weight, net, apart in zip(*law.mixtures[0][:3], strict=True):
        low, mass = trinomial_difference(300, (apart + net) / 600, (apart - net) / 600)
        expected[300 + low : 300 + low + len(mass)] += weight * mass
    ours = vertical_difference_law(pair, r / 300)
    np.testing.assert_allclose(ours, expected, atol=1e-14)


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_law_agrees_with_resampling(correlation):
    n, draws = 150, 20_000
    y, s1, s2 = _scores(n, correlation)
    rng = np.random.default_rng(5)
    for r in (1, 30, 120):
        law = vertical_difference_law(y, s1, s2, r / n)
        rows = rng.integers(n, 2 * n, (draws, n))
        t1, t2 = (np.sort(s[rows], axis=1)[:, [n - r]] for s in (s1, s2))
        rows = rng.integers(0, n, (draws, n))
        seen = (s1[rows] >= t1).sum(axis=1) - (s2[rows] >= t2).sum(axis=1)
        reached = np.cumsum(np.bincount(seen + n, minlength=2 * n + 1)) / draws
        # Dvoretzky, Kiefer and Wolfowitz at 1e-9.
        assert np.abs(reached - np.cumsum(law)).max() < sqrt(np.log(2e9) / (2 * draws))


@pytest.mark.parametrize("correlation", [0.5, 0.98])
def test_laws_add_up_and_agree_with_each_model_alone(correlation):
    n = 10_000
    y, s1, s2 = _scores(n, correlation)
    rates = [0.02, 0.5] if correlation < 0.9 else [0.02]
    ours = vertical_difference(y, s1, s2, rates)
    alone_1, alone_2 = (vertical_intervals(y, s, rates).tpr for s in (s1, s2))
    np.testing.assert_allclose(ours.dtpr, alone_1 - alone_2, atol=1e-12)
    law = vertical_difference_law(y, s1, s2, rates[-1])
    assert law.sum() == pytest.approx(1, abs=1e-10)
    assert law @ np.arange(-n, n + 1) / n == pytest.approx(ours.dtpr[-1], abs=1e-10)


@settings(deadline=None, max_examples=25)
@given(paired_samples(min_per_class=2).filter(differing), increasing_maps, st.data())
def test_laws(drawn, increasing, data):
    y, s1, s2 = drawn
    n_pos, n_neg = int(np.sum(y == 1)), int(np.sum(y == 0))
    rate = data.draw(st.integers(1, n_neg - 1)) / n_neg
    law = vertical_difference_law(y, s1, s2, rate)
    swapped = vertical_difference_law(y, s2, s1, rate)
    np.testing.assert_allclose(swapped[::-1], law, atol=1e-13)
    same = vertical_difference_law(y, s1, increasing(s1), rate)
    assert same[n_pos] == pytest.approx(1, abs=1e-14)
    assert np.count_nonzero(same > 1e-15) == 1
    mapped = vertical_difference_law(y[::-1], increasing(s1)[::-1], s2[::-1], rate)
    np.testing.assert_array_equal(mapped, law)
    smoothed = vertical_difference(y, s1, s1, [rate])
    assert smoothed.dtpr[0] == pytest.approx(0, abs=1e-15)
    assert smoothed.dtpr_low[0] < 0 < smoothed.dtpr_high[0]


@pytest.mark.parametrize("n", [4, 13, 30])
@pytest.mark.parametrize("alike", [False, True])
def test_rates_together_give_what_each_gives_alone(n, alike):
    """Laws of several rates run together; one at a single point (equal or opposite models) must not leak."""
    y, s1, s2 = _scores(n, 0.5, seed=n)
    s2 = np.where(np.arange(2 * n) % 3 == 0, s2, s1) if alike else s2
    rates = np.arange(1, n) / n
    for pair in ((s1, s2), (s1, -s1), (s1, s1)):
        together = vertical_difference(y, *pair, rates, method="wald")
        for at, rate in enumerate(rates):
            alone = vertical_difference(y, *pair, [rate], method="wald")
            assert together.dtpr[at] == pytest.approx(alone.dtpr[0], abs=1e-12)
            assert together.dtpr_se[at] == pytest.approx(alone.dtpr_se[0], abs=1e-12)


def test_a_model_against_itself_is_a_point_mass_at_scale():
    y, s1, _ = _scores(1_000, 0.5)
    law = vertical_difference_law(y, s1, s1, 0.3)
    assert law[1_000] == pytest.approx(1, abs=1e-12)
    wald = vertical_difference(y, s1, s1, [0.3], method="wald")
    assert wald.dtpr_low[0] == wald.dtpr_high[0] == 0
    assert "zero-length" in [caveat.code for caveat in wald.caveats]


def test_grouped_counts_equal_rows():
    rng = np.random.default_rng(5)
    y, s1, s2 = rng.integers(0, 2, 400), rng.integers(0, 6, 400) / 8, rng.integers(0, 5, 400) / 8
    cells, index = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    n_pos, n_neg = (np.bincount(index.ravel(), weights=y == label).astype(int) for label in (1, 0))
    grouped = PairedSample.from_counts(cells[:, 0], cells[:, 1], n_pos, n_neg)
    for method in ("agresti", "wald", "exact"):
        ours = vertical_difference(y, s1, s2, [0.1, 0.5], method=method)
        assert vertical_difference(grouped, [0.1, 0.5], method=method).to_dict() == ours.to_dict()


@pytest.mark.parametrize(("thresholds", "error"), [(40, 2e-2), (80, 1e-2), (120, 1e-2)])
def test_error_of_thinned_thresholds(thresholds, error):
    """Kolmogorov distance to the exact law, and ends of the interval against its length."""
    n, rates = 2_000, [0.05, 0.3, 0.5]  # 145 to 350 thresholds
    y, s1, s2 = _scores(n, 0.5, seed=2)
    exact = vertical_difference(y, s1, s2, rates)
    thinned = vertical_difference(y, s1, s2, rates, max_thresholds=thresholds)
    assert exact.method == "agresti"
    assert thinned.method == "agresti-thinned"
    said = Caveat("thinned", count=3, total=3, at=rates, kept=thresholds)
    assert said in thinned.caveats
    length = exact.dtpr_high - exact.dtpr_low
    for name in ("dtpr", "dtpr_low", "dtpr_high"):
        assert np.all(np.abs(getattr(thinned, name) - getattr(exact, name)) < error * length)
    laws = [vertical_difference_law(y, s1, s2, 0.3, max_thresholds=k) for k in (1_000, thresholds)]
    assert np.abs(np.cumsum(laws[0]) - np.cumsum(laws[1])).max() < error


def test_a_million_negatives_are_within_reach():
    # Every pair of scores once in each class: the models are exchangeable.
    k = np.arange(1_000)
    s1, s2 = (grid.ravel() for grid in np.meshgrid(k, k))
    pair = PairedSample.from_counts(s1, s2, np.ones(10**6, int), np.ones(10**6, int))
    ours = vertical_difference(pair, [0.25])
    assert ours.method == "agresti"  # few distinct scores: exact
    assert ours.dtpr[0] == pytest.approx(0, abs=1e-6)


def test_results_leave_as_plain_data():
    ours = vertical_difference(*TIED, [0.2, 0.3])
    json.dumps(ours.to_dict(), allow_nan=False)
    assert ours.to_frame().shape == (2, 5)
    assert Caveat("moved-rate", count=1, total=2, at=[0.3], used=[ours.fpr[1]], rows=5) in ours.caveats
    assert str(ours) == (
        "Differences at 2 false positive rates, 95 % intervals (agresti), 5 positives, 5 negatives"
    )


@pytest.mark.parametrize(
    ("rates", "arguments", "message"),
    [
        ([], {}, "at least one rate"),
        ([0.0, 0.5], {}, "within \\(0, 1\\): 1 of 2"),
        ([np.nan], {}, "within \\(0, 1\\): 1 of 1"),
        ([0.5], {"method": "agresti-min"}, "method must be one of agresti, wald, exact"),
        ([0.5], {"confidence_level": 0}, "confidence_level"),
        ([0.5], {"m_neg": 0}, "m_neg"),
        ([0.5], {"max_thresholds": 1}, "max_thresholds must be a whole number of at least 2, not 1"),
    ],
)
def test_refuses(rates, arguments, message):
    with pytest.raises(InputError, match=message):
        vertical_difference(*TIED, rates, **arguments)


def test_law_takes_one_rate():
    with pytest.raises(InputError, match="fpr must be one number; 2"):
        vertical_difference_law(*TIED, [0.2, 0.4])


@pytest.mark.parametrize("y", [[0, 0], [1, 1], [], [1, 0]])
def test_too_little_of_a_class_is_degenerate(y):
    s = [0.5, 0.2][: len(y)]
    for call in (lambda: vertical_difference(y, s, s, [0.5]), lambda: vertical_difference_law(y, s, s, 0.5)):
        with pytest.raises(DegenerateDataError, match="at least"):
            call()


def test_pairs_of_unequal_length_are_refused():
    with pytest.raises(InputError, match="equal length"):
        vertical_difference([0, 0, 1], [1, 2, 3], [1, 2], [0.5])
