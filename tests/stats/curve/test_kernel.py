"""The kernel interval equals its definition by direct sums, and its variance that of simulated samples."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import expand
from scipy import optimize
from scipy import stats as reference
from strategies import grouped_counts

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.kernel import bandwidths, class_scores, kernel_ends
from rocmonitor.stats.curve.vertical import vertical_intervals
from rocmonitor.stats.sample import Sample

Z = reference.norm.ppf(0.95)


def _binormal(n_pos, n_neg, seed, digits=12):
    """The scores of Dugas and Gadoury's simulations with theta = 1.5, scaled to deviations near 1."""
    rng = np.random.default_rng(seed)
    s = np.concatenate([0.5 + 1.25 * rng.normal(size=n_pos), -0.5 + rng.normal(size=n_neg)])
    return np.repeat([1, 0], [n_pos, n_neg]), np.round(s, digits)


def _by_definition(y, s, p, h_pos, h_neg, density_pos, density_neg):
    """[R - z se, R + z se] at false positive rate `p`, every sum over all rows."""
    pos, neg = s[y == 1], s[y == 0]
    at = optimize.brentq(
        lambda t: reference.norm.sf(t, neg, h_neg).mean() - p,
        s.min() - 99 * h_neg,
        s.max() + 99 * h_neg,
        xtol=1e-14,
    )
    r = reference.norm.sf(at, pos, h_pos).mean()
    slope = reference.norm.pdf(at, pos, density_pos).mean() / reference.norm.pdf(at, neg, density_neg).mean()
    half = Z * sqrt(r * (1 - r) / len(pos) + slope**2 * p * (1 - p) / len(neg))
    return r - half, r + half


@pytest.mark.parametrize("digits", [12, 1, 0])
@pytest.mark.parametrize("bandwidth", [0.4, (0.15, 0.6)])
def test_equals_its_definition(digits, bandwidth):
    y, s = _binormal(50, 80, 1, digits)
    rates = np.array([1, 8, 40, 75]) / 80
    ours = vertical_intervals(y, s, rates, method="kernel", bandwidth=bandwidth, confidence_level=0.9)
    h_pos, h_neg = np.broadcast_to(bandwidth, 2)
    for line, p in enumerate(rates):
        low, high = _by_definition(y, s, p, h_pos, h_neg, h_pos, h_neg)
        assert ours.tpr_low[line] == pytest.approx(max(low, 0), abs=1e-11)
        assert ours.tpr_high[line] == pytest.approx(min(high, 1), abs=1e-11)


def _derivative(x, at, h, order):
    u = (np.asarray(at)[:, None] - x) / h
    hermite = np.polynomial.hermite_e.hermeval(u, [0] * order + [1])
    return (hermite * np.exp(-(u**2) / 2)).mean(axis=1) / sqrt(2 * pi) / h ** (order + 1)


def _spread(x):
    quartiles = np.subtract(*np.quantile(x, [0.75, 0.25], method="inverted_cdf")) / 1.349
    return min(quartiles, x.std(ddof=1))


def _plug_in(x):
    n = len(x)
    h4 = (-6 / (-0.5289 / _spread(x) ** 7) / n) ** (1 / 7)
    h2 = (0.7978845608 / _derivative(x, x, h4, 4).mean() / n) ** (1 / 5)
    return (-0.5641895835 / _derivative(x, x, h2, 2).mean() / n) ** (1 / 3)


def _rule(pos, neg, z):
    """Bandwidths of the curve and of the densities for continuous scores, every sum over all rows."""
    h_pos, h_neg = _plug_in(pos), _plug_in(neg)
    f = _derivative(neg, neg, 1.06 * _spread(neg) * len(neg) ** -0.2, 0)
    g = _derivative(pos, neg, 1.06 * _spread(pos) * len(pos) ** -0.2, 0)
    r, p = (reference.norm.sf(neg[:, None], x, h).mean(axis=1) for x, h in ((pos, h_pos), (neg, h_neg)))
    part = len(pos) / len(neg) * (g / f) ** 2 * p * (1 - p)
    a = part / (r * (1 - r) + part)
    q_neg = (3 - a - a * z**2) / sqrt(pi) + 2 * (a + a * z**2 - 1) / sqrt(2 * pi)
    q_pos = (a - 1 - a * z**2) / sqrt(pi)
    found = [h_pos / 2, h_neg / 2]
    for x, q in ((pos, q_pos), (neg, q_neg)):
        ratio = q.mean() / _derivative(x, neg, x.std(ddof=1) * (4 / 7 / len(x)) ** (1 / 9), 2).mean()
        found.append(min((abs(ratio) / (2 if ratio < 0 else 1) / len(x)) ** (1 / 3), 2 * _spread(x)))
    return found


# Above 400 rows a class, groups of neighbours stand for its rows.
@pytest.mark.parametrize(("sizes", "error"), [((90, 300), 1e-6), ((900, 600), 2e-3)])
def test_the_rule_by_direct_sums(sizes, error):
    y, s = _binormal(*sizes, 3)
    pos, neg, unit = class_scores(Sample(y, s))
    np.testing.assert_allclose(
        np.array(bandwidths(pos, neg, 0.05)) * unit, _rule(s[y == 1], s[y == 0], Z), rtol=error
    )
    rates = np.array([0.1, 0.5, 0.9])
    low, high = kernel_ends(Sample(y, s), rates, 0.05)
    for line, p in enumerate(rates):
        expected = _by_definition(y, s, p, *_rule(s[y == 1], s[y == 0], Z))
        np.testing.assert_allclose((low[line], high[line]), expected, atol=error)


def test_variance_is_that_of_simulated_samples():
    # In the middle of the curve; the standard error of a ratio of variances is sqrt(2 / 1,500) = 0.037.
    n, p = 300, np.array([0.3, 0.5])
    centre, square = [], []
    for seed in range(1_500):
        low, high = kernel_ends(Sample(*_binormal(n, n, seed)), p, 0.05, 0.2)
        centre.append((low + high) / 2)
        square.append(((high - low) / 2 / Z) ** 2)
    at = -0.5 + reference.norm.isf(p)
    r, g, f = (
        reference.norm.sf(at, 0.5, 1.25),
        reference.norm.pdf(at, 0.5, 1.25),
        reference.norm.pdf(at, -0.5),
    )
    asymptotic = r * (1 - r) / n + (g / f) ** 2 * p * (1 - p) / n
    np.testing.assert_allclose(np.var(centre, axis=0) / asymptotic, 1, atol=0.25)
    np.testing.assert_allclose(np.mean(square, axis=0) / asymptotic, 1, atol=0.1)


@settings(deadline=None, max_examples=40)
@given(grouped_counts(min_per_class=2), st.sampled_from([1e-6, 0.5, 30.0, (0.01, 2.0)]))
def test_ties_and_counts(counts, bandwidth):
    score, n_pos, n_neg = counts
    y, s = expand(*counts)
    assume(len(np.unique(s)) > 1)
    rates = np.arange(1, n_neg.sum()) / n_neg.sum()
    rows, grouped = (
        vertical_intervals(*data, rates, method="kernel", bandwidth=bandwidth)
        for data in ((y, s), (Sample.from_counts(score, n_pos, n_neg),))
    )
    assert rows.to_dict() == grouped.to_dict()
    assert np.all((rows.tpr_low >= 0) & (rows.tpr_low <= rows.tpr_high) & (rows.tpr_high <= 1))


@pytest.mark.parametrize("digits", [12, 1])
def test_other_units_change_nothing(digits):
    y, s = _binormal(120, 90, 5, digits)
    rates = [0.1, 0.5, 0.9]
    ours = vertical_intervals(y, s, rates, method="kernel")
    for moved in (1e-200 * s, 1e200 * s, 40 + 8 * s):
        other = vertical_intervals(y, moved, rates, method="kernel")
        np.testing.assert_allclose(other.tpr_low, ours.tpr_low, atol=1e-8)
        np.testing.assert_allclose(other.tpr_high, ours.tpr_high, atol=1e-8)
    given = vertical_intervals(y, s, rates, method="kernel", bandwidth=0.3)
    mapped = vertical_intervals(y, 8 * s, rates, method="kernel", bandwidth=2.4)
    np.testing.assert_allclose(mapped.tpr_low, given.tpr_low, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "s"),
    [
        ([1, 1, 0, 0], [1e300, -1e300, 1.7e308, -1.7e308]),
        ([1, 1, 1, 0, 0, 0], [4, 5, 6, 1, 2, 3]),
        ([1, 1, 1, 0, 0, 0], [1, 2, 3, 4, 5, 1e12]),
        ([1, 1, 0, 0], [0, 1, 0, 1]),
        ([1] * 50 + [0] * 50, [1] * 49 + [0] * 50 + [1]),
    ],
)
def test_rough_scores_give_numbers_and_say_what_was_cut(y, s):
    ours = vertical_intervals(y, s, [0.3, 0.5, 0.9], method="kernel")
    assert np.all((ours.tpr_low >= 0) & (ours.tpr_low <= ours.tpr_high) & (ours.tpr_high <= 1))
    cut = np.isin(ours.tpr_low, (0, 1)) | np.isin(ours.tpr_high, (0, 1))
    assert not cut.any() or {"clipped", "zero-length"} & {caveat.code for caveat in ours.caveats}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be above 0 and finite.*it is 0"),
        ({"bandwidth": (1, np.nan)}, "bandwidth must be above 0"),
        ({"bandwidth": (1, 2, 3)}, "bandwidth must be one number or"),
        ({"bandwidth": "wide"}, "bandwidth must be one number or"),
        ({"m_pos": 3}, "'kernel' does not support m_pos and m_neg"),
        ({"method": "wald", "bandwidth": 1}, "bandwidth belongs to method 'kernel', not 'wald'"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        vertical_intervals([1, 1, 0, 0], [1, 2, 3, 4], [0.5], **{"method": "kernel", **arguments})


@pytest.mark.parametrize(("s", "name"), [([1, 1, 2, 3], "2 positives"), ([1, 2, 3, 3], "2 negatives")])
def test_a_class_of_one_score_has_no_bandwidth(s, name):
    with pytest.raises(DegenerateDataError, match=f"the scores of the {name} do not spread; give bandwidth"):
        vertical_intervals([1, 1, 0, 0], s, [0.5], method="kernel")
    ours = vertical_intervals([1, 1, 0, 0], s, [0.5], method="kernel", bandwidth=1)
    assert ours.tpr_low[0] < ours.tpr_high[0]
