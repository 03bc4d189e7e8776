"""Forecasts of a difference: no optimiser goes further, one model has its own forecast, laws, level."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from stats import oracle_kld
from strategies import increasing_maps, paired_samples, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast import difference as module
from rocmonitor.stats.forecast.climbing import climb, closest, reference
from rocmonitor.stats.forecast.difference import PairedRows, forecast_difference, furthest, past_differences
from rocmonitor.stats.forecast.kld import auc_bounds, auc_distance
from rocmonitor.stats.sample import PairedSample

LABELS = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
FIRST, SECOND = list(range(1, 11)), [1, 2, 6, 5, 3, 4, 9, 10, 8, 7]
distances = st.sampled_from([0.01, 0.1, 0.4, 1.0])


def kernel_of(y, s1, s2):
    """psi_1 - psi_2 of the negative rows (down) and the positive rows (across)."""
    first, second = (oracle_kld.kernel(s[y == 0], s[y == 1]) for s in (s1, s2))
    return first - second


def optimised(psi, distance, starts):
    """The best feasible u' psi v that SLSQP finds, for rows of equal shares."""
    m, n = psi.shape
    old = np.concatenate([np.full(m, 1 / m), np.full(n, 1 / n)])
    sums = np.array([np.arange(m + n) < m, np.arange(m + n) >= m], dtype=float)

    def kl(z):
        return float(np.sum(np.maximum(z, 0) * np.log(np.maximum(z, 1e-300) / old)))

    def slope(z):
        return np.log(np.maximum(z, 1e-12) / old) + 1

    constraints = [
        {"type": "eq", "fun": lambda z: sums @ z - 1, "jac": lambda z: sums},
        {"type": "ineq", "fun": lambda z: distance - kl(z), "jac": lambda z: -slope(z)},
    ]
    rng, best = np.random.default_rng(0), -1.0
    for start in range(starts):
        z0 = np.concatenate([rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))]) if start else old
        z = minimize(
            lambda z: -z[:m] @ psi @ z[m:],
            z0,
            jac=lambda z: -np.concatenate([psi @ z[m:], z[:m] @ psi]),
            bounds=[(0, 1)] * (m + n),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-14},
        ).x
        if np.abs(sums @ z - 1).max() < 1e-9 and kl(z) <= distance + 1e-9:
            best = max(best, float(z[:m] @ psi @ z[m:]))
    return best


def tied_rows(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 7, 2)
    y = np.repeat([0, 1], [m, n])
    s1, s2 = (rng.integers(0, rng.integers(2, 7), m + n) + rng.integers(0, 3) * y for _ in "12")
    return y, s1, s2


def drawn(n, rng, *, better=0.0, correlation=0.5):
    y = (np.arange(n) < 0.4 * n).astype(int)
    common = rng.normal(size=n)
    scores = [
        gain * y + math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=n)
        for gain in (1.0 + better, 1.0)
    ]
    return PairedSample(y, *scores)


@pytest.mark.parametrize("distance", [0.2, 0.8, 2.5])
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 19])
def test_no_general_optimiser_goes_further(seed, distance):
    y, s1, s2 = tied_rows(seed)
    psi, found = kernel_of(y, s1, s2), forecast_difference(y, s1, s2, distance=distance)
    assert found.high == pytest.approx(optimised(psi, distance, 3), abs=1e-7)
    assert found.low == pytest.approx(-optimised(-psi, distance, 3), abs=1e-7)


def test_a_corner_is_no_end_of_the_search():
    # From the rows themselves the climb ends on one pair, at 1/6, with distance to spare.
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    s1, s2 = np.array([0, 1, 0, 2, 3, 4, 4, 1, 3]), np.array([0, 1, 0, 3, 1, 3, 3, 2, 3])
    found = forecast_difference(y, s1, s2, distance=2.5)
    assert found.high == pytest.approx(optimised(kernel_of(y, s1, s2), 2.5, 3), abs=1e-7)
    assert found.high > 0.46


def test_a_corner_is_within_its_own_distance():
    # At 0.875 another branch has the difference asked for, and a corner at ln 2 a larger one.
    y, s1, s2 = tied_rows(89)
    kernel = PairedRows.of(PairedSample(y, s1, s2)).kernel(10**9)
    psi = kernel_of(y, s1, s2)
    target = 0.02 * psi.mean()
    found = closest(kernel, target)
    assert found.distance == pytest.approx(oracle_kld.level_distance(psi - target, starts=3), abs=1e-6)
    assert found.distance < math.log(2)


@pytest.mark.parametrize("seed", [4, 5])
def test_no_climb_uses_more_than_its_distance(seed):
    kernel = PairedRows.of(PairedSample(*tied_rows(seed))).kernel(10**9)
    for distance in (0.1, 0.5, 1.6):
        for start in (kernel.placement(kernel.shares), *kernel.starts()):
            point = climb(kernel, distance, start, 1.0, 1e-4)
            new, old = point.tilt * kernel.shares, np.where(kernel.shares > 0, kernel.shares, 1)
            kl = sum(map(oracle_kld.divergence, new, old))
            assert kl <= distance + 1e-8
            if kl < distance * (1 - 1e-5):  # a corner: nothing of it is proven
                assert point.multiplier > kernel.unique or point.value == reference(kernel).value


@pytest.mark.parametrize("seed", range(12))
def test_the_weights_are_within_the_distance_and_have_the_difference(seed):
    y, s1, s2 = tied_rows(seed)
    rows = PairedRows.of(PairedSample(y, s1, s2))
    for distance in (0.1, 1.0, 3.0):
        end = furthest(rows.kernel(10**9), distance)
        shares = rows.kernel(10**9).shares
        weights = shares * end.tilt
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-9)
        kl = sum(
            oracle_kld.divergence(new, old + (old == 0)) for new, old in zip(weights, shares, strict=True)
        )
        assert kl <= distance + 1e-8
        psi = oracle_kld.kernel(rows.first, rows.first) - oracle_kld.kernel(rows.second, rows.second)
        assert weights[0] @ psi @ weights[1] == pytest.approx(end.value, abs=1e-9)


@settings(max_examples=8)
@given(samples(), distances)
def test_beside_a_constant_model_it_is_the_forecast_of_one(data, distance):
    y, s = data
    bounds = auc_bounds(y, s, distance)
    for found, sign in (
        (forecast_difference(y, s, np.zeros(len(y)), distance=distance), 1),
        (forecast_difference(y, np.ones(len(y)), s, distance=distance), -1),
    ):
        ends = sorted([sign * (bounds.low - 0.5), sign * (bounds.high - 0.5)])
        assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-9)


def test_all_is_affordable_from_the_cheapest_turn_on():
    y, s1, s2 = [0, 0, 1, 1], [1, 3, 2, 4], [4, 2, 3, 1]
    # Negatives and positives that the second model turns round: one pair, or one and both; ln 2 at least.
    found = forecast_difference(y, s1, s2, distance=math.log(2))
    assert found.high == 1
    assert found.high_aucs == (1, 0)
    assert forecast_difference(y, s1, s2, distance=math.log(2) - 1e-3).high < 1
    assert Caveat("end-at-limit", end="high") in found.caveats


@settings(max_examples=8)
@given(paired_samples(max_per_class=5), distances, increasing_maps)
def test_laws(data, distance, increasing):
    y, s1, s2 = data
    found, swapped = (
        forecast_difference(y, a, b, distance=distance) for a, b in ((s1, s2), (s2, increasing(s1)))
    )
    assert (found.low, found.high) == pytest.approx((-swapped.high, -swapped.low), abs=1e-9)
    assert -1 <= found.low <= found.difference <= found.high <= 1
    further = forecast_difference(y, s1, s2, distance=1.5 * distance)
    assert further.low <= found.low + 1e-9
    assert further.high >= found.high - 1e-9
    nowhere = forecast_difference(y, s1, s2, distance=0)
    assert (nowhere.low, nowhere.high) == pytest.approx((found.difference,) * 2, abs=1e-12)
    itself = forecast_difference(y, s1, increasing(s1), distance=distance)
    assert (itself.low, itself.difference, itself.high) == (0, 0, 0)
    assert "same-ranking" in codes(itself)


def test_grouped_counts_equal_the_rows():
    counts = PairedSample.from_counts([1, 2, 3, 4], [2, 1, 4, 3], [1, 3, 2, 9], [8, 4, 3, 2])
    score = np.array([[1, 2], [2, 1], [3, 4], [4, 3]], dtype=float)
    rows = np.concatenate([np.repeat(score, counts.pos, axis=0), np.repeat(score, counts.neg, axis=0)])
    y = np.repeat([1, 0], [counts.n_pos, counts.n_neg])
    grouped, single = (
        forecast_difference(*data, distance=0.2) for data in ((counts,), (y, rows[:, 0], rows[:, 1]))
    )
    assert (grouped.low, grouped.high) == pytest.approx((single.low, single.high), abs=1e-12)


def test_joined_cells_are_near_all_of_them(monkeypatch):
    pair = drawn(22_000, np.random.default_rng(2), better=0.1)
    exact = forecast_difference(pair, distance=0.02)
    monkeypatch.setattr(module, "EXACT_CELLS", 1_000)
    joined = forecast_difference(pair, distance=0.02)
    assert (joined.low, joined.high) == pytest.approx((exact.low, exact.high), abs=2e-5)
    assert exact.high - exact.low > 0.1
    assert joined.difference == exact.difference


def test_the_distance_of_a_window_is_where_the_end_meets_its_difference():
    rng = np.random.default_rng(5)
    pair, windows = drawn(300, rng), [drawn(90, rng, better=better) for better in (-0.8, 0.0, 0.8)]
    past = past_differences(pair, windows)
    assert not past.inside
    for window, distance, shift in zip(windows, past.distances, past.shifts, strict=True):
        own = forecast_difference(window, distance=0).difference
        found = forecast_difference(pair, distance=distance)
        assert (found.high if shift > 0 else found.low) == pytest.approx(own, abs=1e-7)
        assert abs(shift) == pytest.approx(math.sqrt(2 * distance), rel=1e-12)


def test_windows_beside_a_constant_model_are_as_far_as_those_of_one():
    rng = np.random.default_rng(6)
    pair, window = drawn(200, rng), drawn(80, rng, better=-0.5)
    flat, other = (
        PairedSample.from_counts(p.first.score, np.zeros(len(p.first.score)), p.first.pos, p.first.neg)
        for p in (pair, window)
    )
    target = auc_bounds(window.first, 0.0).auc
    [distance] = past_differences(flat, [other]).distances
    assert distance == pytest.approx(auc_distance(pair.first, target), rel=1e-7)


def test_parts_of_the_reference_are_taken_out_of_it():
    rng = np.random.default_rng(7)
    y, s1, s2 = rng.integers(0, 2, 240), rng.integers(0, 30, 240), rng.integers(0, 30, 240)
    parts = [PairedSample(y[k::4], s1[k::4], s2[k::4]) for k in range(4)]
    rests = [PairedSample(*(np.delete(of, np.s_[k::4]) for of in (y, s1, s2))) for k in range(4)]
    inside = forecast_difference(y, s1, s2, windows=parts, confidence_level=0.6)
    assert inside.inside
    alone = [past_differences(rest, [part]) for rest, part in zip(rests, parts, strict=True)]
    assert inside.window_distances == pytest.approx([each.distances[0] for each in alone], rel=1e-7)
    assert "windows-inside-reference" in codes(inside)


def test_the_level_is_that_of_the_rank_of_a_window():
    """Four windows at 0.8: the coming one is outside when its distance is the largest of five."""
    rng = np.random.default_rng(8)
    sample, runs = drawn(60, rng), 30
    roots = past_differences(
        sample, [drawn(40, rng, better=rng.normal(0, 0.2)) for _ in range(5 * runs)]
    ).distances
    outside = 0
    for run in range(runs):
        *before, coming = roots[5 * run : 5 * run + 5]
        outside += coming > max(before)
    # 20 % of 30 runs: none or more than 14 have a chance of 1e-3.
    assert 1 <= outside <= 14
    windows = [drawn(100, rng, better=better) for better in (-0.3, 0.1, 0.4, 0.2)]
    found = forecast_difference(sample, windows=windows, confidence_level=0.8)
    assert found.achieved_level == pytest.approx(0.8)
    assert found.distance == max(found.window_distances)
    assert "too-few-windows" not in codes(found)
    for window in windows:
        assert found.low - 1e-7 <= forecast_difference(window, distance=0).difference <= found.high + 1e-7


def test_too_few_windows_are_told():
    rng = np.random.default_rng(9)
    found = forecast_difference(drawn(200, rng), windows=[drawn(60, rng), drawn(60, rng)])
    assert found.achieved_level == pytest.approx(2 / 3)
    assert found.distance == max(found.window_distances)
    assert found.caveats[0].code == "too-few-windows"
    assert found.caveats[0].values == {
        "n_windows": 2,
        "weight": None,
        "confidence_level": 0.95,
        "achieved_level": pytest.approx(2 / 3),
        "needed": 19,
        "batch": False,
    }


def test_results_are_plain_data_and_words():
    found = forecast_difference(LABELS, FIRST, SECOND, distance=0.05)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["optimum"] == "proven"
    assert Caveat("no-confidence-level", method="fixed", batch=False) in found.caveats
    assert found.contains(found.difference)
    assert not found.contains(0.5)
    assert found.high_aucs[0] - found.high_aucs[1] == pytest.approx(found.high, abs=1e-12)
    assert found.low_aucs[0] - found.low_aucs[1] == pytest.approx(found.low, abs=1e-12)


def test_bad_arguments():
    pair = PairedSample(LABELS, FIRST, SECOND)
    with pytest.raises(InputError, match="distance or windows, one of them; none was given"):
        forecast_difference(pair)
    with pytest.raises(InputError, match="one of them; both were given"):
        forecast_difference(pair, distance=0.1, windows=[pair])
    for distance in (-0.1, math.inf, math.nan, "x", True):
        with pytest.raises(InputError, match="distance must be a finite number >= 0"):
            forecast_difference(pair, distance=distance)
    with pytest.raises(InputError, match="windows must be a list of PairedSample, not a int"):
        forecast_difference(pair, windows=3)
    with pytest.raises(InputError, match="windows is empty"):
        forecast_difference(pair, windows=[])
    with pytest.raises(InputError, match="window 2 must be a PairedSample, not a Sample"):
        forecast_difference(pair, windows=[pair, pair.first])
    with pytest.raises(InputError, match="confidence_level"):
        forecast_difference(pair, distance=0.1, confidence_level=1.0)
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        forecast_difference([0, 0], [1, 2], [2, 1], distance=0.1)
    with pytest.raises(DegenerateDataError, match="none of the 1 windows can be used"):
        forecast_difference(pair, windows=[PairedSample([1], [1], [2])])
    ahead = PairedSample([0, 0, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4])
    behind = PairedSample([0, 1], [2, 1], [1, 2])
    with pytest.raises(DegenerateDataError, match="window 1: no reweighting of the reference moves its diff"):
        forecast_difference(ahead, windows=[behind])
