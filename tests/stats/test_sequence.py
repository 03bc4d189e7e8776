"""Confidence sequences against the mixtures they invert, a published boundary, and their promise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from caveats import codes
from scipy import integrate, optimize, stats

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import (
    PairedSample,
    compare_auc_paired,
    confidence_sequence,
    vertical_difference,
    vertical_difference_law,
    windows_to_decide,
)

LOOKS = 52


AHEAD = 4
"""Degrees of freedom of the variance before the first window."""


def boundary(v, rho, level):
    """Where the normal mixture is 1 / level: by integration over the slopes, no formula."""

    def excess(s):
        return log_mixture(s, v, rho) + math.log(level)

    return optimize.brentq(excess, 0.0, 40 * math.sqrt(v + 1 / rho))


def log_mixture(s, v, rho):
    """Of exp(b s - b² v / 2) over b ~ N(0, rho)."""
    peak, spread = s / (v + 1 / rho), (v + 1 / rho) ** -0.5
    top = peak * s - peak**2 * v / 2
    b = np.linspace(peak - 12 * spread, peak + 12 * spread, 401)
    part = np.exp(b * s - b * b * v / 2 - top) * stats.norm.pdf(b, scale=math.sqrt(rho))
    return top + math.log(integrate.trapezoid(part, b))


def bayes_factor(t, k, age):
    """Of a mean that is N(0, age v / k) against 0, seen t standard errors from 0: by integration over v.

    1 / v is gamma, with 4 degrees of freedom before the windows and k more after them.
    """
    degrees = k + AHEAD
    scatter = degrees - 1  # what makes the estimate of v 1: the mean has taken one

    def density(log_v, mean_variance):
        v = math.exp(log_v)
        log = -degrees / 2 * log_v - scatter / (2 * v) - t * t / (2 * v * mean_variance)
        return math.exp(log) / math.sqrt(mean_variance)

    over = [integrate.quad(density, -12, 12, args=(1 + a,), epsabs=0, limit=400)[0] for a in (age, 0.0)]
    return over[0] / over[1]


def reach(k, age, level):
    """How many standard errors the interval reaches: where the factor is 1 / level, by search."""
    return optimize.brentq(lambda t: math.log(bayes_factor(t, k, age) * level), 0.0, 1e3)


def narrowest_at(level):
    """The age at which the normal mixture's interval is narrowest: by search."""
    return tuned(1.0, level)


def tuned(v, level):
    """The rho with the nearest boundary at v: by search."""
    found = optimize.minimize_scalar(
        lambda log_rho: boundary(v, math.exp(log_rho), level) / math.sqrt(v),
        bounds=(math.log(0.1 / v), math.log(100 / v)),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return math.exp(found.x)


def pooled_noise(s, w):
    """The windows' variances, with the floor, as their definition has them."""
    pooled = sum(a * a * b * b for a, b in zip(w, s, strict=True)) / sum(w)
    return [max(b**2, pooled / a) for a, b in zip(w, s, strict=True)]


def variance_between(d, s, w):
    """tau² by all pairs: sum w_i w_j (d_i - d_j)² expects sum w_i w_j (v_i + v_j + 2 tau²)."""
    v = pooled_noise(s, w)
    pairs = [(i, j) for i in range(len(d)) for j in range(i)]
    seen = sum(w[i] * w[j] * ((d[i] - d[j]) ** 2 - v[i] - v[j]) for i, j in pairs)
    return max(0.0, seen / sum(2 * w[i] * w[j] for i, j in pairs)) if pairs else 0.0


def variance(d, s, w):
    """Of the weighted sum."""
    tau = variance_between(d, s, w)
    return sum(a * a * (b + tau) for a, b in zip(w, pooled_noise(s, w), strict=True))


def windows(rng, runs, looks=LOOKS, se=0.02):
    return rng.normal(scale=se, size=(runs, looks)), np.full(looks, se)


def decided(sequence):
    """Whether any look finds a difference."""
    return bool(np.any((sequence.low > 0) | (sequence.high < 0)))


# The formula


@pytest.mark.parametrize("level", [0.005, 0.05, 0.3])
@pytest.mark.parametrize("tuned_for", [1, 12])
def test_ends_and_pvalue_are_those_of_the_integrated_mixture(level, tuned_for):
    d = [0.05, 0.02, 0.06, 0.03, 0.2, 0.01, -0.02, 0.04]
    s, w = [0.02, 0.03, 0.01, 0.04, 0.02, 0.02, 0.03, 0.02], [2.0, 1.0, 4.0, 0.5, 1.0, 1.0, 2.0, 1.0]
    ours = confidence_sequence(d, s, weights=w, tuned_for=tuned_for, confidence_level=1 - level)
    bounded = 0
    for k in range(1, 9):
        own = sum(a * a * v for a, v in zip(w, pooled_noise(s[:k], w[:k]), strict=False))
        age = narrowest_at(level) / tuned_for * own / (w[0] * s[0]) ** 2
        se = math.sqrt(variance(d[:k], s[:k], w[:k])) / sum(w[:k])
        mean = np.average(d[:k], weights=w[:k])
        assert ours.elapsed[k - 1] == pytest.approx(own / (w[0] * s[0]) ** 2, rel=1e-12)
        assert ours.information[k - 1] == pytest.approx(se**-2, rel=1e-10)
        # The age of a search is right to half of its digits.
        assert ours.pvalue[k - 1] == pytest.approx(min(1, 1 / bayes_factor(mean / se, k, age)), rel=1e-4)
        if bayes_factor(1e3, k, age) * level < 1:  # no distance is unlikely enough
            assert (ours.low[k - 1], ours.high[k - 1]) == (-1, 1)
        elif se * reach(k, age, level) < 0.9:
            half = se * reach(k, age, level)
            assert (ours.low[k - 1], ours.high[k - 1]) == pytest.approx((mean - half, mean + half), rel=1e-4)
            bounded += 1
    assert bounded >= 4


def test_the_first_windows_cannot_bound_the_difference():
    ours = confidence_sequence([0.1, 0.1, 0.1], [0.001] * 3)
    assert ours.low.tolist()[:2] == [-1, -1]
    assert ours.high.tolist()[:2] == [1, 1]
    assert ours.low[2] > 0.09
    assert ours.estimate[0] == 0.1
    assert ours.elapsed[0] == 1
    assert ours.between[0] == 0
    assert ours.information[0] == pytest.approx(1e6)
    for k in (1, 2):
        few = confidence_sequence([0.1] * k, [0.001] * k)
        assert few.caveats == (Caveat("too-few-windows-to-compare", n_windows=k),)


def test_many_windows_have_the_boundary_that_is_published():
    """ConfSeq (Howard, Waudby-Smith & Ramdas): two-sided, v = 100, level 0.05, its rho 12.60056."""
    se, theirs, windows_ = 0.01, 30.35209, 2000
    # As many windows as make the estimated variance nearly known, as old as theirs after 100.
    tuned_for = windows_ / 100 * 12.60056 * tuned(1.0, 0.05)
    ours = confidence_sequence(np.zeros(windows_), np.full(windows_, se), tuned_for=tuned_for)
    reached = ours.high[-1] * math.sqrt(windows_) / se
    assert reached == pytest.approx(theirs / 10, rel=3e-3)
    assert reached > theirs / 10
    assert ours.low[-1] == -ours.high[-1]


def test_narrowest_where_it_is_tuned():
    """A little later: the estimated variance is worth a few windows."""
    se = np.full(60, 0.02)
    for tuned_for in (6, 12, 30):
        ours = confidence_sequence(np.zeros(60), se, tuned_for=tuned_for)
        others = [confidence_sequence(np.zeros(60), se, tuned_for=f * tuned_for) for f in (0.25, 3)]
        assert all(ours.high[tuned_for - 1] < other.high[tuned_for - 1] for other in others)


def test_pvalue_and_interval_agree_at_every_look():
    rng = np.random.default_rng(1)
    seen = 0
    for drift in (0.0, 0.005, -0.02):
        for level in (0.9, 0.95, 0.995):
            d = rng.normal(drift, 0.03, 40)
            ours = confidence_sequence(d, rng.uniform(0.01, 0.03, 40), confidence_level=level)
            outside = (ours.low > 0) | (ours.high < 0)
            assert np.array_equal(ours.pvalue <= 1 - level, outside)
            seen += outside.any()
    assert seen


def test_what_was_shown_may_be_taken_back():
    d = np.repeat([0.05, -0.05], [20, 60])
    ours = confidence_sequence(d, np.full(80, 0.01))
    assert ours.low[19] > 0
    assert ours.pvalue[19] < 0.001
    assert ours.low[39] < 0 < ours.high[39]
    assert ours.pvalue[39] > 0.5
    np.testing.assert_allclose((ours.low + ours.high)[2:], 2 * ours.estimate[2:], atol=1e-15, rtol=0)


# Windows that differ


def test_what_windows_differ_by_beyond_their_sampling_error():
    rng = np.random.default_rng(2)
    d, s, w = rng.normal(0.02, 0.03, 12), rng.uniform(0.005, 0.03, 12), rng.uniform(1, 5, 12)
    ours = confidence_sequence(d, s, weights=w)
    defined = [math.sqrt(variance_between(d[:k], s[:k], w[:k])) for k in range(1, 13)]
    np.testing.assert_allclose(ours.between, defined, rtol=1e-9, atol=1e-12)
    assert max(defined) > 0
    alike = confidence_sequence([0.02] * 12, s, weights=w)
    assert alike.between.tolist() == [0] * 12
    assert alike.high[-1] - alike.low[-1] < ours.high[-1] - ours.low[-1]


@pytest.mark.parametrize("tau", [0.0, 0.03])
def test_their_scatter_is_found(tau):
    rng = np.random.default_rng(3)
    n = rng.integers(100, 400, 3000)
    s = 0.4 / np.sqrt(n)
    every = confidence_sequence(rng.normal(0.01, np.hypot(s, tau)), s, weights=n)
    assert every.between[-1] == pytest.approx(tau, abs=0.006)
    assert every.estimate[-1] == pytest.approx(0.01, abs=0.003)


def test_windows_that_differ_by_more_than_their_error_are_said_to():
    ours = confidence_sequence([0.04, -0.03, 0.05, 0.01], [0.01] * 4)
    assert ours.between[-1] == pytest.approx(math.sqrt(np.var([0.04, -0.03, 0.05, 0.01], ddof=1) - 1e-4))
    assert codes(ours) == ["windows-differ"]
    assert ours.caveats[0].values == {
        "between": float(ours.between[-1]),
        "standard_error": pytest.approx(0.01),
    }
    more, fewer = ([0.01 + apart * sign for sign in (1, -1, 1, -1)] for apart in (0.0125, 0.0120))
    assert len(confidence_sequence(more, [0.01] * 4).caveats) == 1  # 1.08 times the sampling variance
    assert confidence_sequence(fewer, [0.01] * 4).caveats == ()  # 0.92 times
    [caveat] = confidence_sequence(
        [0.06, -0.06, 0.05, -0.06], [0.02, 0.02, 0.01, 0.01], weights=[1, 1, 4, 4]
    ).caveats
    assert caveat.values["standard_error"] == pytest.approx(0.02 * math.sqrt(10 / 34))


def test_windows_that_resemble_their_neighbours_are_said_to():
    """Serial correlation by its definition, of the weighted windows; told in one of twenty without any."""
    rng = np.random.default_rng(21)
    drift = 0.02 * np.sin(np.arange(16) / 3)
    w = rng.uniform(1, 3, 16)
    ours = confidence_sequence(drift, [0.005] * 16, weights=w)
    apart = np.sqrt(w) * (drift - np.average(drift, weights=w))
    serial = sum(a * b for a, b in zip(apart[1:], apart[:-1], strict=True)) / sum(a * a for a in apart)
    assert ours.caveats[-1].code == "windows-correlated"
    assert ours.caveats[-1].values["correlation"] == pytest.approx(serial)
    assert "windows-correlated" not in codes(confidence_sequence(drift[:7], [0.005] * 7))
    mixed = drift[rng.permutation(16)]
    assert "windows-correlated" not in codes(confidence_sequence(mixed, [0.005] * 16))
    told = [
        "windows-correlated" in codes(confidence_sequence(line, [0.02] * 20))
        for line in rng.normal(scale=0.02, size=(400, 20))
    ]
    assert 0.02 <= np.mean(told) <= 0.08


# Laws


def test_order_of_windows_means_nothing_at_the_end():
    rng = np.random.default_rng(3)
    d, s, w = rng.normal(0, 0.02, 20), rng.uniform(0, 0.04, 20), rng.uniform(1, 5, 20)
    s[7] = 0.0
    order = np.concatenate([[0], 1 + rng.permutation(19)])  # the first is the unit
    first, second = (confidence_sequence(d[at], s[at], weights=w[at]) for at in (np.arange(20), order))
    for name in ("estimate", "between", "information", "elapsed"):
        assert getattr(first, name)[-1] == pytest.approx(getattr(second, name)[-1], rel=1e-12)


def test_sign_and_weights_have_no_scale():
    rng = np.random.default_rng(4)
    d, s, w = rng.normal(0.01, 0.02, 20), rng.uniform(0.01, 0.04, 20), rng.uniform(1, 5, 20)
    ours, heavy, mirror = (
        confidence_sequence(sign * d, s, weights=scale * w) for sign, scale in ((1, 1), (1, 1e6), (-1, 1))
    )
    for name in ("estimate", "low", "high", "between", "information", "elapsed", "pvalue"):
        np.testing.assert_allclose(getattr(ours, name), getattr(heavy, name), rtol=1e-12)
    np.testing.assert_allclose(ours.low, -mirror.high, rtol=1e-12)
    np.testing.assert_array_equal(
        confidence_sequence(d, s).low, confidence_sequence(d, s, weights=np.full(20, 7)).low
    )


def test_the_first_looks_do_not_depend_on_the_later():
    rng = np.random.default_rng(5)
    d, s = rng.normal(0, 0.02, 30), rng.uniform(0, 0.04, 30)
    all_, part = confidence_sequence(d, s), confidence_sequence(d[:11], s[:11])
    for name in ("estimate", "low", "high", "between", "information", "elapsed", "pvalue"):
        np.testing.assert_allclose(getattr(all_, name)[:11], getattr(part, name), rtol=1e-12)


# Windows that show no scatter


def test_without_any_scatter_nothing_is_known():
    for d in ([0.0, 0.0, 0.0], [0.2, 0.2, 0.2]):
        ours = confidence_sequence(d, [0.0, 0.0, 0.0])
        assert (ours.low.tolist(), ours.high.tolist(), ours.pvalue.tolist()) == ([-1] * 3, [1] * 3, [1] * 3)
        assert ours.information.tolist() == ours.elapsed.tolist() == [0, 0, 0]
        assert ours.between.tolist() == [0, 0, 0]
        assert codes(ours) == ["no-window-scatters"]
        assert windows_to_decide(ours) is None


def test_a_small_standard_error_does_not_decide_alone():
    d, s = np.array([0.05, 0.0, 0.0, 0.01]), np.array([0.0, 0.02, 0.03, 0.02])
    ours = confidence_sequence(d, s)
    assert ours.pvalue[0] == 1
    assert ours.pvalue[-1] > 0.3
    assert ours.information[-1] == pytest.approx(16 / variance(d, s, np.ones(4)), rel=1e-12)
    assert ours.caveats == (Caveat("zero-standard-errors", zero=1, n_windows=4),)
    late = confidence_sequence(d[[1, 2, 3, 0]], s[[1, 2, 3, 0]])
    assert late.pvalue[-1] > 0.3
    tiny = confidence_sequence(d[[1, 2, 3, 0]], [0.02, 0.03, 0.02, 1e-9])
    assert tiny.high[-1] == pytest.approx(late.high[-1], rel=1e-6)


# The promise


def false_rate(rng, runs, rule, tau=0.0):
    """Of years whose true differences vary about 0, by tau standard errors."""
    d, s = windows(rng, runs)
    d += rng.normal(scale=tau * s[0], size=d.shape) if tau else 0
    return np.mean([rule(line, s) for line in d])


def fixed(d, s):
    """Whether the mixture decides that takes the sampling error for all there is."""
    w, v = np.arange(1, len(d) + 1), s[0] ** 2
    age = 8.2 * w / 12
    square = v / w * (1 + age) / age * (np.log1p(age) - 2 * math.log(0.05))
    return bool(np.any(np.cumsum(d) ** 2 / w**2 > square))


def naive(d, s):
    z = np.cumsum(d) / np.sqrt(np.cumsum(s**2))
    return bool(np.any(abs(z) > 1.96))


def holds(rate, runs, level=0.05):
    return rate <= level + 3 * math.sqrt(level * (1 - level) / runs)


@pytest.mark.parametrize("tau", [0.0, 1.0, 3.0])
def test_false_decisions_over_a_year_of_looks(tau):
    runs = 500
    rate = false_rate(
        np.random.default_rng(6), runs, lambda d, s: decided(confidence_sequence(d, s)), tau=tau
    )
    assert holds(rate, runs)
    assert rate > 0.001  # not so by never deciding
    weekly = false_rate(np.random.default_rng(6), runs, naive, tau=tau)
    assert not holds(weekly, runs)
    assert weekly > 0.2
    if tau >= 1:
        assert not holds(false_rate(np.random.default_rng(6), runs, fixed, tau=tau), runs)


def test_small_windows_of_rows():
    """20 positives, 20 negatives: the real standard errors, and a decision where there is a difference."""
    rng, runs, looks = np.random.default_rng(7), 60, 26
    y = np.repeat([1, 0], 20)

    def year(gap):
        found = []
        for _ in range(looks):
            shared, own = rng.normal(size=40) + 1.2 * y, rng.normal(size=(2, 40))
            pair = PairedSample(y, shared + own[0] + gap * y, shared + own[1])
            result = compare_auc_paired(pair)
            found.append((result.difference, result.se))
        return decided(confidence_sequence(*np.array(found).T))

    assert holds(np.mean([year(0.0) for _ in range(runs)]), runs)
    assert np.mean([year(1.0) for _ in range(10)]) > 0.7


@pytest.mark.parametrize("tau", [0.0, 0.03])
def test_coverage_of_a_true_difference_with_unequal_windows(tau):
    rng, runs = np.random.default_rng(8), 500
    missed = 0
    for _ in range(runs):
        n = rng.integers(100, 400, LOOKS)
        s = 0.5 / np.sqrt(n)
        ours = confidence_sequence(np.clip(rng.normal(0.03, np.hypot(s, tau)), -1, 1), s, weights=n)
        missed += bool(np.any((ours.low > 0.03) | (ours.high < 0.03)))
    assert holds(missed / runs, runs)


# Advice# Advice


@pytest.mark.parametrize("margin", [0.0, 0.005])
@pytest.mark.parametrize("difference", [None, 0.012, -0.02])
def test_so_many_more_windows_decide_and_one_fewer_does_not(margin, difference):
    d, s = [0.01, 0.0, 0.02], [0.02, 0.02, 0.02]
    sequence = confidence_sequence(d, s)
    more = windows_to_decide(sequence, margin=margin, difference=difference)
    assert more is not None
    assert more > 1
    supposed = 0.01 if difference is None else difference
    for count, done in ((more, True), (more - 1, False)):
        later = confidence_sequence([*d, *[supposed] * count], [*s, *[0.02] * count])
        assert bool(later.low[-1] > margin or later.high[-1] < -margin) is done


def test_most_are_decided_by_the_expected_number_of_windows():
    rng = np.random.default_rng(9)
    plan = windows_to_decide(confidence_sequence([0.01], [0.02]), difference=0.01)
    d = rng.normal(0.01, 0.02, size=(300, 1 + plan))
    found = [decided(confidence_sequence(line, np.full(1 + plan, 0.02))) for line in d]
    assert 0.5 < np.mean(found) < 0.75


def test_decided_is_no_further_window_and_never_is_none():
    shown = confidence_sequence([0.05] * 10, [0.01] * 10)
    assert windows_to_decide(shown) == 0
    assert windows_to_decide(confidence_sequence([-0.05] * 10, [0.01] * 10)) == 0
    assert windows_to_decide(shown, margin=0.06) is None
    assert windows_to_decide(confidence_sequence([0.0], [0.01])) is None
    slow = confidence_sequence([0.001], [0.01])
    assert windows_to_decide(slow) is None
    assert windows_to_decide(slow, largest=5000) > 520


# Wrong input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimates": []}, "estimates is empty"),
        (
            {"estimates": [0.1]},
            "must have equal length: estimates has 1, standard_errors has 2",
        ),
        ({"weights": [1, 2, 3]}, "weights has 3"),
        ({"estimates": [0.1, math.nan]}, "estimates must be finite: 1 of 2 are not"),
        ({"standard_errors": [0.1, math.inf]}, "standard_errors must be finite: 1 of 2"),
        ({"standard_errors": [0.1, -0.1]}, r"standard_errors must lie within \[0, 2\].*: 1 of 2"),
        ({"standard_errors": [0.1, 3]}, "standard_errors"),
        ({"estimates": [0.1, 1.1]}, r"estimates must lie within \[-1, 1\]"),
        ({"estimates": [[0.1, 0.1]]}, "estimates must be one-dimensional.*2 axes"),
        ({"estimates": 0.1}, "estimates must be one-dimensional.*0 axes"),
        ({"estimates": ["a", "b"]}, "estimates must be numbers"),
        ({"weights": [1, 0]}, "weights must be above 0.*1 of 2"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"tuned_for": 0.5}, "tuned_for must be a number of windows, 1 to 1,000,000, not 0.5"),
        ({"tuned_for": math.nan}, "tuned_for"),
        ({"tuned_for": math.inf}, "tuned_for"),
        ({"tuned_for": "12"}, "tuned_for"),
        ({"tuned_for": True}, "tuned_for"),
    ],
)
def test_wrong_arguments(change, message):
    arguments = {"estimates": [0.1, 0.1], "standard_errors": [0.1, 0.1]} | change
    with pytest.raises(InputError, match=message):
        confidence_sequence(arguments.pop("estimates"), arguments.pop("standard_errors"), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margin": -0.1}, "margin"),
        ({"margin": math.nan}, "margin"),
        ({"difference": 2}, "difference"),
        ({"difference": "x"}, "difference"),
        ({"largest": 0}, "largest"),
        ({"largest": 1.5}, "largest"),
    ],
)
def test_wrong_plans(change, message):
    with pytest.raises(InputError, match=message):
        windows_to_decide(confidence_sequence([0.1], [0.1]), **change)
    with pytest.raises(InputError, match=r"sequence must be a ConfidenceSequence.*not list"):
        windows_to_decide([0.1])


def test_what_is_no_number_is_refused():
    for wrong in (["0.1"], [1j], np.array([1], dtype="m8[D]"), np.array(["0.1", "x"], dtype=object), {}):
        with pytest.raises(InputError, match="estimates must be numbers, one for each window"):
            confidence_sequence(wrong, [0.1])
    whole = confidence_sequence(np.array([0, 0.01], dtype=object), np.float32([0.1, 0.1]))
    assert str(whole).startswith("Difference after 2 windows +0.01")
    assert str(confidence_sequence([0], [1])).startswith("Difference after 1 window +0.00")


@pytest.mark.parametrize("level", [1e-300, 1e-9, 0.5, 1 - 1e-15])
def test_no_level_gives_nan(level):
    for s in ([1e-200, 0.5, 1e-3], [1e-99, 1.0, 1e-160], [2.0, 1e-160, 1e-99]):
        for w in (None, [1e-30, 1, 1e30], [5e-324, 1e300, 1], [1e308, 5e-324, 1e308]):
            ours = confidence_sequence([0.1, 0.2, 0.9], s, weights=w, confidence_level=level)
            for name in ("estimate", "low", "high", "between", "information", "elapsed", "pvalue"):
                assert np.all(np.isfinite(getattr(ours, name))), name
            assert np.all(ours.low <= ours.high)


def test_leaves_as_plain_data():
    ours = confidence_sequence([0.01, 0.02], [0.01, 0.01])
    plain = json.loads(json.dumps(ours.to_dict(), allow_nan=False))
    assert plain["between"] == [0, 0]
    assert plain["tuned_for"] == 12
    assert ours.to_frame().columns.tolist() == [
        "estimate",
        "low",
        "high",
        "between",
        "information",
        "elapsed",
        "pvalue",
        "serial",
        "unseen_low",
        "unseen_high",
    ]
    assert str(ours).startswith("Difference after 2 windows +0.01, from -1.00 to +1.00 ")
    assert "(95 % for all checks together, p = " in str(ours)
    with pytest.raises(ValueError, match="read-only"):
        ours.low[0] = 0.0


# What a sequence of TPR differences takes


@pytest.mark.parametrize("method", ["exact", "wald", "agresti"])
def test_standard_error_of_a_tpr_difference_is_that_of_its_law(method):
    rng = np.random.default_rng(10)
    y = np.repeat([1, 0], [12, 9])
    pair = PairedSample(y, *(rng.integers(0, 8, 21) + 3 * y for _ in range(2)))
    ours = vertical_difference(pair, [1 / 3], method=method, confidence_level=0.5)
    if method == "agresti":
        width = ours.dtpr_high[0] - ours.dtpr_low[0]
        assert ours.dtpr_se[0] == pytest.approx(width / (2 * stats.norm.ppf(0.75)), rel=1e-12)
        return
    values, law = np.arange(-12, 13) / 12, vertical_difference_law(pair, 1 / 3)
    assert ours.dtpr_se[0] == pytest.approx(math.sqrt(law @ (values - law @ values) ** 2), rel=1e-10)


class TestPeriod:
    """The average of the true differences over the windows so far."""

    D, S, W = (
        np.array([0.03, 0.01, -0.02, 0.02]),
        np.array([0.01, 0.02, 0.008, 0.01]),
        np.array([3, 1, 2, 5.0]),
    )

    @staticmethod
    def by_definition(d, s, w, level, tuned_for):
        """The formula of Robbins' mixture, look by look, with its parameter found by search."""
        two = -2 * math.log(level)
        u = optimize.brentq(lambda u: u - math.log1p(u) - two, 1e-6, 1e3)
        r = tuned_for * (w[0] * s[0]) ** 2 / u
        ends = []
        for k in range(1, len(d) + 1):
            total = sum(w[:k])
            centre = sum(w[i] * d[i] for i in range(k)) / total
            v = sum((w[i] * s[i]) ** 2 for i in range(k))
            half = math.sqrt((v + r) * math.log((v + r) / (r * level**2))) / total
            ends.append((centre, max(centre - half, -1), min(centre + half, 1)))
        return np.array(ends).T

    @pytest.mark.parametrize("level", [0.05, 0.025, 0.3])
    @pytest.mark.parametrize("weighted", [True, False])
    @pytest.mark.parametrize("tuned_for", [None, 1, 50])
    def test_it_is_the_formula(self, level, weighted, tuned_for):
        w = self.W if weighted else np.ones(4)
        expected = self.by_definition(self.D, self.S, w, level, tuned_for or 8)
        found = confidence_sequence(
            self.D,
            self.S,
            estimand="period",
            confidence_level=1 - level,
            weights=self.W if weighted else None,
            tuned_for=tuned_for,
        )
        assert [found.mean, found.low, found.high] == pytest.approx(expected, rel=1e-9)
        assert found.mean is found.estimate

    def test_its_ends_are_where_the_integrated_mixture_is_one_over_the_level(self):
        found = confidence_sequence(self.D, self.S, estimand="period", tuned_for=8)
        v = np.cumsum(self.S**2)
        rho = narrowest_at(0.05) / (8 * v[0])
        for k in range(4):
            half = boundary(v[k], rho, 0.05) / (k + 1)
            assert found.high[k] - found.mean[k] == pytest.approx(half, rel=1e-6)
            against_zero = log_mixture((k + 1) * found.mean[k], v[k], rho)
            assert found.pvalue[k] == pytest.approx(min(math.exp(-against_zero), 1), rel=1e-6)

    def test_scatter_between_windows_does_not_widen_it(self):
        s = np.full(12, 0.01)
        widths = [
            found.high - found.low
            for found in (
                confidence_sequence(scale * np.array([0.1, -0.1] * 6), s, estimand="period")
                for scale in (0.0, 1.0, 5.0)
            )
        ]
        assert widths[0] == pytest.approx(widths[1])
        assert widths[0] == pytest.approx(widths[2])
        assert (np.diff(widths[0]) < 0).all()

    def test_it_is_for_each_window_alone_at_first(self):
        found = confidence_sequence([0.3], [0.01], estimand="period")
        assert found.low[0] > 0.26
        assert codes(found) == []

    def test_an_error_of_zero_counts_as_the_pooled_one(self):
        known = confidence_sequence([0.1, 0.1, 0.1], [0.02, 0.02, 0.02], estimand="period")
        zero = confidence_sequence([0.1, 0.1, 0.1], [0.02, 0.0, 0.02], estimand="period")
        assert codes(zero) == ["zero-standard-errors"]
        assert zero.low[-1] >= known.low[-1]
        assert zero.low[-1] == pytest.approx(known.low[-1], abs=0.01)
        late = confidence_sequence([0.1, 0.1], [0.0, 0.02], estimand="period")
        assert (late.low[0], late.high[0]) == (-1, 1)
        nothing = confidence_sequence([0.0, 0.0], [0.0, 0.0], estimand="period")
        assert codes(nothing) == ["no-window-scatters"]
        assert (nothing.low[-1], nothing.high[-1], nothing.pvalue[-1]) == (-1, 1, 1)

    def test_so_many_more_windows_decide_and_one_fewer_does_not(self):
        d, s = np.full(5, 0.004), np.full(5, 0.005)
        more = windows_to_decide(confidence_sequence(d, s, estimand="period"))
        assert more > 1
        for extra, shown in ((more, True), (more - 1, False)):
            longer = confidence_sequence(
                np.full(5 + extra, 0.004), np.full(5 + extra, 0.005), estimand="period"
            )
            assert (longer.low[-1] > 0) == shown

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"estimand": "past"}, "estimand must be one of period, future; it is 'past'"),
            ({"estimand": None}, "estimand must be one of period, future; it is None"),
            ({"correlation": "estimated"}, "leave correlation out, or take estimand='future'"),
            ({"tuned_for": 0}, "tuned_for must be a number of windows"),
        ],
    )
    def test_wrong_arguments(self, change, message):
        with pytest.raises(InputError, match=message):
            confidence_sequence(self.D, self.S, **{"estimand": "period"} | change)

    @staticmethod
    def false(runs, serial, between, drift, sizes, seed):
        """The share of courses of 104 looks in which any interval misses the true average so far."""
        rng = np.random.default_rng(seed)
        missed = 0
        for _ in range(runs):
            x = np.empty(104)
            x[0] = rng.standard_normal()
            for j in range(1, 104):
                x[j] = serial * x[j - 1] + math.sqrt(1 - serial**2) * rng.standard_normal()
            w = np.exp(sizes * rng.standard_normal(104))
            s = 0.005 / np.sqrt(w)
            true = 0.005 * (between * x + drift)
            found = confidence_sequence(rng.normal(true, s), s, weights=w, estimand="period")
            average = np.cumsum(w * true) / np.cumsum(w)
            missed += bool(np.any((average < found.low) | (average > found.high)))
        return missed / runs

    REVERSING = np.repeat([2.0, -2.0], 52)

    def test_its_level_holds_while_windows_are_alike_and_turn_round(self):
        assert self.false(200, 0.9, 2.0, self.REVERSING, 0.7, 1) <= 0.09  # more has a chance of 1 in 100

    @pytest.mark.slow
    @pytest.mark.parametrize("serial", [0.0, 0.5, 0.9])
    @pytest.mark.parametrize(
        "drift", [0.0, np.linspace(-2, 2, 104), REVERSING], ids=["none", "drift", "turn"]
    )
    @pytest.mark.parametrize("sizes", [0.0, 0.7])
    def test_its_level_holds_whatever_the_windows_do(self, serial, drift, sizes):
        assert self.false(1000, serial, 2.0, drift, sizes, 2) <= 0.05
