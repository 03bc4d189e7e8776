import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from rocmonitor.stats import auc
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.forecast.calibration import (
    Noise,
    conformal_root,
    resized,
    sampling_root,
    windows_needed,
)
from rocmonitor.stats.sample import Sample

Z = -ndtri(0.025)


def root(shifts, missing=0.0, weights=1.0, confidence_level=0.95, alternative="two-sided"):
    shifts = np.asarray(shifts, dtype=float)
    return conformal_root(
        shifts,
        np.broadcast_to(np.asarray(missing, dtype=float), shifts.shape),
        np.broadcast_to(np.asarray(weights, dtype=float), shifts.shape),
        confidence_level,
        alternative,
    )


# Without missing noise


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=30),
    st.sampled_from([0.5, 0.8, 0.95]),
    st.sampled_from(["two-sided", "less"]),
)
def test_the_weighted_conformal_quantile(windows, level, alternative):
    windows.append((1, 1.0))
    total = sum(weight for _, weight in windows)
    values = [(abs(x) if alternative == "two-sided" else -x, weight) for x, weight in windows if weight]
    held = {q: sum(weight for value, weight in values if value <= q) for q, _ in values}
    enough = [q for q, weight in held.items() if weight >= level * (total + 1) - 1e-9]
    x, weights = zip(*windows, strict=True)
    found = root(x, weights=weights, confidence_level=level, alternative=alternative)
    above = min(enough, default=max(held))
    below = max((q for q in held if q < above), default=above)
    assert max(0, below) - 1e-9 <= found.root <= max(0, above)
    assert found.level == pytest.approx(min(level, total / (total + 1)))


@pytest.mark.parametrize("n", [20, 26, 38, 60])
@pytest.mark.parametrize("law", ["normal", "t3", "exponential", "uniform"])
def test_between_two_ranks_the_level_is_the_one_asked_for(n, law):
    # By the law of the values beyond each root. All but the uniform fall outwards: never less than the level.
    rng = np.random.default_rng([n, len(law)])
    draw, beyond = {
        "normal": (lambda size: rng.normal(size=size), lambda q: 2 * ndtr(-q)),
        "t3": (lambda size: rng.standard_t(3, size), lambda q: 2 * student(3).sf(q)),
        "exponential": (lambda size: rng.exponential(size=size), lambda q: np.exp(-q)),
        "uniform": (lambda size: rng.uniform(size=size), lambda q: 1 - q),
    }[law]
    outside = beyond(np.array([root(draw(n)).root for _ in range(4_000)]))
    error = 4 * outside.std() / math.sqrt(4_000)
    assert outside.mean() < 0.05 + error
    assert outside.mean() > 0.04 - error


def test_windows_without_weight_do_not_count():
    assert root([1, 2, 9, -3], weights=[1, 1, 0, 0.5]) == root([1, 2, -3], weights=[1, 1, 0.5])


# With missing noise


@pytest.mark.parametrize("n", [1, 3, 19, 40, 200])
@pytest.mark.parametrize(("alternative", "tail"), [("two-sided", 0.025), ("less", 0.05)])
def test_noise_alone_is_the_normal_quantile(n, alternative, tail):
    found = root(np.zeros(n), missing=0.25, alternative=alternative)
    whole = round(0.95 * (n + 1), 9) % 1 == 0 or n < 19  # else between two ranks, a little more
    assert found.root == pytest.approx(-ndtri(tail) / 2, abs=1e-7 if whole else 0.002)
    assert found.level == pytest.approx(min(0.95, n / (n + 1)))


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_next_to_no_noise_is_the_conformal_quantile(alternative):
    shifts = np.random.default_rng(2).normal(size=40)
    plain = root(shifts, alternative=alternative)
    noisy = root(shifts, missing=1e-12, alternative=alternative)
    assert noisy.root == pytest.approx(plain.root, abs=1e-4)
    mixed = root(shifts, missing=np.where(np.arange(40) % 2, 1e-12, 0.0), alternative=alternative)
    assert mixed.root == pytest.approx(plain.root, abs=1e-4)


@pytest.mark.parametrize("law", ["none", "normal", "two", "heavy"])
@pytest.mark.parametrize("missing", [0.02, 0.3, 0.9])
def test_it_stands_for_drawn_noise(law, missing):
    # What is interpolated: the level, on average over the noise, of the conformal quantile with drawn noise.
    # It may lie above it, by less than one window's share, and at the last rank, the usual one, hardly.
    rng = np.random.default_rng(8)
    drift = {
        "none": np.zeros(19),
        "normal": rng.normal(size=19),
        "two": 2.0 * rng.choice([-1, 1], size=19),
        "heavy": rng.standard_t(2, size=19),
    }[law]
    shifts = drift + rng.normal(size=19) * math.sqrt(1 - missing)
    deviation = math.sqrt(missing)

    def level(q):
        q = np.atleast_1d(q)[:, np.newaxis]
        return (ndtr((q - shifts) / deviation) - ndtr((-q - shifts) / deviation)).mean(axis=1)

    drawn = np.abs(shifts + deviation * rng.normal(size=(5_000, 19)))
    for confidence_level, rank, above in ((0.95, 19, 0.01), (0.75, 15, 1 / 19)):
        quantiles = np.partition(drawn, rank - 1, axis=1)[:, rank - 1]
        found = root(shifts, missing=missing, confidence_level=confidence_level)
        assert -0.01 < level(found.root)[0] - level(quantiles).mean() < above


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("ratio", [1, 3, 10])
@pytest.mark.parametrize("law", ["none", "normal", "two", "skew"])
def test_level_for_a_batch_that_is_smaller_than_its_windows(law, ratio, inside):
    # Root distances as normal noise around a drift, batches of variance 1. The bounds are five standard
    # errors beyond one point. Noise added in quadrature has 0.88 under the law "two" at ratio 10.
    rng = np.random.default_rng(9)
    sets, n, batches = 200, 40, 100

    def drift(*shape):
        if law == "skew":
            return -rng.exponential(2, size=shape)
        return {"none": 0.0, "normal": rng.normal(size=shape), "two": 2.0 * rng.choice([-1, 1], size=shape)}[
            law
        ]

    past = drift(sets, n) + rng.normal(size=(sets, n)) / math.sqrt(ratio)
    coming = drift(sets, batches) + rng.normal(size=(sets, batches))
    if inside:
        coming = coming - past.mean(axis=1, keepdims=True)
        past = (past - past.mean(axis=1, keepdims=True)) * n / (n - 1)
    roots = np.array([root(line, missing=1 - 1 / ratio).root for line in past])
    covered = (np.abs(coming) <= roots[:, np.newaxis]).mean(axis=1)
    slack = 0.01 + 5 * covered.std() / math.sqrt(sets)
    assert abs(covered.mean() - 0.95) < slack


@pytest.mark.parametrize("n", [19, pytest.param(26, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("scatter", "spread"), [(0.0, 0.6), (0.5, 0.3), (1.0, 0.6)])
def test_level_for_windows_of_any_size(n, scatter, spread):
    # Sampling variances are log-normal. Without `resized` 2 to 3 % are outside in place of 5.
    rng = np.random.default_rng([n, round(10 * scatter), round(10 * spread)])
    sets, batches = 100, 6
    noise = np.exp(spread * rng.normal(size=(sets, n + batches)))
    seen = scatter * rng.normal(size=noise.shape) + np.sqrt(noise) * rng.normal(size=noise.shape)
    past, coming = seen[:, :n], seen[:, n:]
    weights = 1 / noise[:, :n]
    mean = (weights * past).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
    others = (weights.sum(axis=1, keepdims=True) * mean - weights * past) / (
        weights.sum(axis=1, keepdims=True) - weights
    )
    outside = np.array(
        [
            [
                abs(coming[at, k] - mean[at, 0]) > root(*resized(past[at] - others[at], own, like)).root
                for k in range(batches)
                for own, like in [(noise[at, :n], np.full(n, noise[at, n + k]))]
            ]
            for at in range(sets)
        ]
    ).mean(axis=1)
    slack = 4 * outside.std() / math.sqrt(sets)
    assert 0.035 - slack < outside.mean() < 0.06 + slack


def test_windows_with_more_noise_are_brought_nearer_and_others_are_not():
    shifts, noise = np.array([-1.0, 1.0, 3.0, -3.0]), np.array([4.0, 4.0, 1.0, 1.0])
    found, missing = resized(shifts, noise, np.full(4, 2.0))
    assert (np.abs(found[:2]) < 1).all()
    assert found[2:] == pytest.approx(shifts[2:])
    assert missing.tolist() == [0, 0, 1, 1]
    for same in (resized(shifts, noise, noise), resized(shifts, 0 * noise, noise)):
        assert same[0] is shifts


def test_a_loss_that_no_window_had():
    assert root([0.5, 1.0, 2.0], alternative="less", confidence_level=0.6).root == 0.0
    assert root([5.0, 6.0, 7.0], missing=0.01, alternative="less", confidence_level=0.6).root < 1e-12


def test_far_windows_with_little_noise_and_too_few_of_them():
    found = root([100.0, -1.0], missing=1e-6)
    assert 100 <= found.root < 100.01
    assert found.level == 2 / 3


# Sampling noise


def test_noise_is_the_exact_bootstrap_variance_in_units_of_the_root():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [300, 100])
    sample = Sample(y, np.round(rng.normal(size=400) + y, 1))
    noise = Noise(*moments(sample)[2:])
    variance = auc(sample, method="exact-bootstrap").se ** 2
    assert noise.variance(100, 300) == pytest.approx(variance / (noise.zeta10 + noise.zeta01), rel=1e-12)
    assert noise.variance(100_000, 300_000) == pytest.approx(
        variance / 1000 / (noise.zeta10 + noise.zeta01), rel=0.01
    )


def test_no_noise_where_the_classes_are_separated():
    assert Noise(*moments(Sample([0, 0, 1, 1], [1, 2, 3, 4]))[2:]).variance(5, 5) == 0.0


def test_sampling_root():
    assert sampling_root(4.0, 0.95, "two-sided") == pytest.approx(2 * Z)
    assert sampling_root(4.0, 0.975, "less") == pytest.approx(2 * Z)
    assert sampling_root(4.0, 0.3, "less") == 0.0


@pytest.mark.parametrize(("level", "n"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_windows_needed(level, n):
    assert windows_needed(level) == n
    assert root(np.ones(n), confidence_level=level).level >= level - 1e-12
    assert n == 1 or root(np.ones(n - 1), confidence_level=level).level < level - 1e-12
