"""ROC points at false positive rates: every law and moment equals full enumeration; laws; refusals."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import expand
from scipy import stats as reference
from stats import oracle_curves as oracle
from strategies import differing, grouped_counts, increasing_maps, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.vertical import vertical_intervals, vertical_law
from rocmonitor.stats.curve.vertical_difference import vertical_difference
from rocmonitor.stats.sample import Sample

METHODS = ["agresti", "wald", "exact"]
TIED = (np.array([1, 1, 1, 1, 1, 0, 0, 0, 0]), np.array([3.0, 3.0, 2.0, 1.0, 4.0, 3.0, 1.0, 1.0, 2.0]))
CONTINUOUS = (
    np.array([1, 0, 1, 0, 0, 1, 0, 1, 0]),
    np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35, 0.5, 0.4, 0.3]),
)
APART = (np.array([1, 1, 1, 0, 0, 0]), np.array([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
BLOCK = (np.array([1, 1, 0, 0, 0]), np.array([0.7, *[0.5] * 4]))
DATA = {"tied": TIED, "continuous": CONTINUOUS, "block": BLOCK, "apart": APART}
SIZES = [(None, None), (3, 5), (5, 2)]


def _sizes(y, sizes):
    return sizes[0] or int(np.sum(y == 1)), sizes[1] or int(np.sum(y == 0))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("data", DATA)
def test_law_equals_enumeration(data, sizes):
    y, s = DATA[data]
    m_pos, m_neg = _sizes(y, sizes)
    for r in range(1, m_neg):
        ours = vertical_law(y, s, r / m_neg, m_pos=sizes[0], m_neg=sizes[1])
        np.testing.assert_allclose(ours, oracle.vertical_law(y, s, r, m_pos, m_neg), atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("method", "added"), [("agresti", 2), ("wald", 0)])
def test_moment_intervals_equal_enumeration(data, sizes, method, added):
    y, s = DATA[data]
    m_pos, m_neg = _sizes(y, sizes)
    rates = np.arange(1, m_neg) / m_neg
    ours = vertical_intervals(
        y, s, rates, method=method, confidence_level=0.9, m_pos=sizes[0], m_neg=sizes[1]
    )
    z = reference.norm.ppf(0.95)
    np.testing.assert_array_equal(ours.fpr, rates)
    for line in range(m_neg - 1):
        unsmoothed, _ = oracle.vertical_moments(y, s, line + 1, 0, m_pos, m_neg)
        mean, variance = oracle.vertical_moments(y, s, line + 1, added, m_pos, m_neg)
        half = z * sqrt(max(variance, 0))
        assert ours.tpr[line] == pytest.approx(unsmoothed, abs=1e-12)
        # The oracle's variance is a difference: its root keeps 7 digits where it is 0.
        error = 1e-12 if variance > 1e-6 else 1e-7
        assert ours.tpr_low[line] == pytest.approx(max(mean - half, 0), abs=error)
        assert ours.tpr_high[line] == pytest.approx(min(mean + half, 1), abs=error)


@settings(deadline=None, max_examples=40)
@given(samples(min_per_class=2, max_per_class=4).filter(differing), st.data())
def test_law_and_quantiles_equal_enumeration_on_any_small_sample(drawn, data):
    y, s = drawn
    n_pos, n_neg = int(np.sum(y == 1)), int(np.sum(y == 0))
    r = data.draw(st.integers(1, n_neg - 1))
    expected = oracle.vertical_law(y, s, r, n_pos, n_neg)
    np.testing.assert_allclose(vertical_law(y, s, r / n_neg), expected, atol=1e-12)
    ours = vertical_intervals(y, s, [r / n_neg], method="exact", confidence_level=0.8)
    assert ours.tpr[0] == pytest.approx(expected @ np.arange(n_pos + 1) / n_pos, abs=1e-12)
    assert ours.tpr_low[0] == oracle.quantile(expected, 0.1) / n_pos
    assert ours.tpr_high[0] == oracle.quantile(expected, 0.9) / n_pos


@pytest.mark.parametrize("distinct", [25, 100_000])
def test_law_agrees_with_resampling(distinct):
    rng = np.random.default_rng(41)
    n_pos, n_neg, draws = 150, 240, 20_000
    y = np.repeat([1, 0], [n_pos, n_neg])
    s = np.round(np.clip(rng.normal(size=n_pos + n_neg) + y, -4, 5) * distinct / 9)
    for r in (1, 12, 120, 230):
        law = vertical_law(y, s, r / n_neg)
        negatives = np.sort(rng.choice(s[n_pos:], (draws, n_neg)), axis=1)
        seen = (rng.choice(s[:n_pos], (draws, n_pos)) >= negatives[:, [n_neg - r]]).sum(axis=1)
        reached = np.cumsum(np.bincount(seen, minlength=n_pos + 1)) / draws
        # Dvoretzky, Kiefer and Wolfowitz at 1e-9.
        assert np.abs(reached - np.cumsum(law)).max() < sqrt(np.log(2e9) / (2 * draws))


@pytest.mark.parametrize(("distinct", "n_neg"), [(40, 12_000), (10**9, 12_000), (10**9, 200_000)])
def test_large_samples_agree_with_every_threshold_of_the_paper(distinct, n_neg):
    # Equations 3, 4, 6 and 7 over all negatives, with scipy's binomial; no window, no quadrature, no joining.
    rng = np.random.default_rng(7)
    n_pos = 3_000
    y = np.repeat([1, 0], [n_pos, n_neg])
    s = np.round((rng.normal(size=n_pos + n_neg) + y) * distinct)
    score = np.unique(s[n_pos:])[::-1]
    share = np.array([0, *np.searchsorted(np.sort(-s[n_pos:]), -score, side="right")]) / n_neg
    p = (np.searchsorted(np.sort(-s[:n_pos]), -score, side="right") + 2) / (n_pos + 4)
    rates = np.array([1, 2, 37, 1_200, n_neg // 2, n_neg - 1_000, n_neg - 1]) / n_neg
    ours = vertical_intervals(y, s, rates)
    z = reference.norm.ppf(0.975)
    for line, rate in enumerate(rates):
        r = round(rate * n_neg)
        weight = np.diff(reference.binom.sf(r - 1, n_neg, share))
        mean = weight @ p
        half = z * sqrt(weight @ (p * (1 - p)) / (n_pos + 4) + weight @ (p - mean) ** 2)
        assert weight.sum() == pytest.approx(1, abs=1e-12)
        assert ours.tpr_low[line] == pytest.approx(max(mean - half, 0), abs=1e-12)
        assert ours.tpr_high[line] == pytest.approx(min(mean + half, 1), abs=1e-12)


@pytest.mark.parametrize("r", [1, 6, 20, 90, 400, 1_100, 1_500, 10_000, 18_800, 19_999])
def test_mass_on_either_side_of_a_gap(r):
    # All positives in one gap between negatives, k + 1 of these above: flagged when T_r lies below the gap.
    n_neg = 20_000
    spread = sqrt(r * (1 - r / n_neg)) + 1
    for k in {max(0, min(n_neg - 1, round(r + away * spread))) for away in (-3, -1, 0, 0.5, 2)}:
        sample = Sample.from_counts([-0.5 - k, *-np.arange(n_neg)], [3, *[0] * n_neg], [0, *[1] * n_neg])
        below = reference.binom.cdf(r - 1, n_neg, (k + 1) / n_neg)
        assert vertical_intervals(sample, [r / n_neg]).tpr[0] == pytest.approx(below, abs=1e-12)


@pytest.mark.parametrize("n", [100, 10_000])
def test_laws_add_up_and_give_the_intervals(n):
    rng = np.random.default_rng(n)
    y = np.repeat([1, 0], n)
    s = rng.normal(size=2 * n) + y
    rates = np.array([0.01, 0.2, 0.5, 0.99])
    exact, wald = (vertical_intervals(y, s, rates, method=method) for method in ("exact", "wald"))
    count = np.arange(n + 1) / n
    for line, rate in enumerate(rates):
        law = vertical_law(y, s, rate)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        mean = law @ count
        half = reference.norm.ppf(0.975) * sqrt(law @ (count - mean) ** 2)
        assert wald.tpr[line] == pytest.approx(mean, abs=1e-11)
        assert wald.tpr_low[line] == pytest.approx(max(mean - half, 0), abs=1e-11)
        assert wald.tpr_high[line] == pytest.approx(min(mean + half, 1), abs=1e-11)
        assert exact.tpr_low[line] == oracle.quantile(law, 0.025) / n
        assert exact.tpr_high[line] == oracle.quantile(law, 0.975) / n


@settings(deadline=None, max_examples=60)
@given(grouped_counts(min_per_class=2), increasing_maps, st.sampled_from(METHODS))
def test_laws_of_intervals(counts, increasing, method):
    score, n_pos, n_neg = counts
    y, s = expand(*counts)
    assume(len(np.unique(s)) > 1)
    rates = np.arange(1, n_neg.sum()) / n_neg.sum()
    ours = vertical_intervals(y, s, rates, method=method)
    assert np.all(ours.tpr_low >= 0)
    assert np.all(ours.tpr_high <= 1)
    assert np.all(np.diff(ours.tpr) >= -1e-12)
    assert np.all(ours.tpr_low <= ours.tpr_high)
    if method == "agresti":
        assert np.all(ours.tpr_low < ours.tpr_high)

    grouped = vertical_intervals(Sample.from_counts(score, n_pos, n_neg), rates, method=method)
    assert grouped.to_dict() == ours.to_dict()
    mapped = vertical_intervals(y[::-1], increasing(s)[::-1], rates, method=method)
    assert mapped.to_dict() == ours.to_dict()


def test_perfect_scores():
    perfect = vertical_intervals(*APART, [1 / 3, 2 / 3], method="wald")
    assert perfect.tpr.tolist() == perfect.tpr_low.tolist() == perfect.tpr_high.tolist() == [1, 1]
    assert perfect.caveats[0].code == "zero-length"
    assert perfect.caveats[0].values["at"] == perfect.fpr.tolist()


def test_a_tied_block_is_flagged_whole():
    y, s = [1, 1, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.1]
    assert vertical_law(y, s, 0.25).tolist() == [0, 0, 1]
    smoothed = vertical_intervals(y, s, [0.25])
    assert smoothed.tpr_low[0] < smoothed.tpr_high[0] == 1


def test_rates_off_the_grid_move_to_the_nearest_and_say_so():
    y, s = TIED
    ours = vertical_intervals(y, s, [1e-6, 0.25, 0.3, 0.999])
    assert ours.fpr.tolist() == [0.25, 0.25, 0.25, 0.75]
    assert ours.caveats[0] == Caveat(
        "moved-rate", count=3, total=4, at=[1e-6, 0.3, 0.999], used=[0.25, 0.25, 0.75], rows=4
    )
    assert ours.tpr_low[0] == ours.tpr_low[1] == ours.tpr_low[2]
    on_grid = vertical_intervals(y, s, [0.25, 0.5, 0.75])
    assert "moved-rate" not in [caveat.code for caveat in on_grid.caveats]
    np.testing.assert_array_equal(vertical_law(y, s, 0.3), vertical_law(y, s, 0.25))


def test_results_leave_as_plain_data():
    ours = vertical_intervals(*TIED, [0.25, 0.5])
    plain = json.loads(json.dumps(ours.to_dict(), allow_nan=False))
    assert plain["fpr"] == [0.25, 0.5]
    assert plain["method"] == "agresti"
    assert ours.to_frame().shape == (2, 4)
    assert str(ours) == (
        "2 ROC points by false positive rate, 95 % intervals (agresti), 5 positives, 4 negatives"
    )


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([], "at least one rate; its shape is \\(0,\\)"),
        ([0.0, 0.5, 1.0, 1.5, np.nan], "within \\(0, 1\\): 4 of 5"),
        ([[0.5]], "shape is \\(1, 1\\)"),
        (["low"], "fpr must be numbers"),
    ],
)
def test_refuses_rates(rates, message):
    with pytest.raises(InputError, match=message):
        vertical_intervals(*TIED, rates)


def test_law_takes_one_rate():
    with pytest.raises(InputError, match="fpr must be one number; 2"):
        vertical_law(*TIED, [0.25, 0.5])


@pytest.mark.parametrize("arguments", [{"method": "agresti-coull"}, {"confidence_level": 1.0}, {"m_pos": 0}])
def test_refuses_arguments(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        vertical_intervals(*TIED, [0.5], **arguments)


@pytest.mark.parametrize("y", [[0, 0], [1, 1], [], [1, 0]])
def test_too_little_of_a_class_is_degenerate(y):
    s = [0.5, 0.2][: len(y)]
    for call in (lambda: vertical_intervals(y, s, [0.5]), lambda: vertical_law(y, s, 0.5)):
        with pytest.raises(DegenerateDataError, match="at least"):
            call()


def test_exact_ends_at_scale_are_quantiles_of_the_whole_mixture():
    # Equation 5 with every threshold's binomial, by scipy; ours interpolates between few of them.
    rng = np.random.default_rng(3)
    n = 4_000
    y, s = np.repeat([1, 0], n), rng.normal(size=2 * n) + np.repeat([1, 0], n)
    rates = np.array([0.05, 0.4, 0.9])
    ours = vertical_intervals(y, s, rates, method="exact", confidence_level=0.9)
    score = np.sort(s[n:])[::-1]
    p = np.searchsorted(np.sort(-s[:n]), -score, side="right") / n
    for line, rate in enumerate(rates):
        weight = np.diff(reference.binom.sf(round(rate * n) - 1, n, np.arange(n + 1) / n))
        for end, level in ((ours.tpr_low[line], 0.05), (ours.tpr_high[line], 0.95)):
            count = round(end * n)
            below, reached = (weight @ reference.binom.cdf(at, n, p) for at in (count - 1, count))
            assert below < level <= reached


@pytest.mark.parametrize("shift", [-2.0, 0.0, 1.0, 4.0, 6.0])
@pytest.mark.parametrize("digits", [0, 6])
def test_law_at_scale_equals_the_sum_of_its_binomials(shift, digits):
    # By scipy, every threshold with its own binomial; ours is found by its characteristic function.
    rng = np.random.default_rng(9)
    n_pos, n_neg = 3_000, 2_000
    y = np.repeat([1, 0], [n_pos, n_neg])
    s = np.round(rng.normal(size=n_pos + n_neg) + shift * y, digits)
    threshold = np.unique(s[n_pos:])[::-1]
    share, p = (
        np.searchsorted(np.sort(-rows), -threshold, side="right") / len(rows)
        for rows in (s[n_pos:], s[:n_pos])
    )
    count = np.arange(n_pos + 1)
    for r in (1, 40, 900, 1_990):
        weight = np.diff(reference.binom.sf(r - 1, n_neg, np.concatenate([[0.0], share])))
        some = weight > 1e-17
        expected = weight[some] @ reference.binom.pmf(count, n_pos, p[some][:, np.newaxis])
        np.testing.assert_allclose(vertical_law(y, s, r / n_neg), expected, rtol=0, atol=1e-12)


def test_rates_that_ties_exceed_are_told():
    # 970 of the 1,000 negatives have one score: from 3 % on, flagging any of them flags them all.
    sample = Sample.from_counts([0.0, 1.0], [40, 10], [970, 30])
    points = vertical_intervals(sample, [0.03, 0.2])
    assert points.caveats[0] == Caveat("tied-threshold", count=1, total=2, at=[0.2], realised=[1.0])
    tied = vertical_difference([1, 1, 0, 0], [0.7, 0.5, 0.5, 0.5], [1, 2, 3, 4], [0.5])
    assert tied.caveats[0] == Caveat(
        "tied-threshold", count=1, total=1, at=[0.5], realised=[1.0], model="first"
    )
