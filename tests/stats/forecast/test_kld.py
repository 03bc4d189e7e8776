import json
import math

import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import oracle_kld
from strategies import grouped_counts, increasing_maps, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast import climbing
from rocmonitor.stats.forecast.kld import area, auc_bounds, auc_distance, nearest
from rocmonitor.stats.forecast.tilting import cell_shares
from rocmonitor.stats.sample import Sample

distances = st.sampled_from([1e-6, 1e-3, 0.02, 0.1, 0.3, 0.7, 1.5, 4.0])

LN2, LN3 = math.log(2), math.log(3)
TWO_POINTS = ([0, 0, 1, 1], [1, 2, 1, 2])
THREE_SOLUTIONS = Sample.from_counts([1, 2, 3], n_pos=[0, 1, 1], n_neg=[1, 1, 0])


def random_counts(seed):
    """Positives and negatives, up to 5 of each, at up to 7 scores; both bounds have something to do."""
    rng = np.random.default_rng(seed)
    while True:
        k = rng.integers(2, 8)
        pos = rng.multinomial(rng.integers(1, 6), np.ones(k) / k)
        neg = rng.multinomial(rng.integers(1, 6), np.ones(k) / k)
        sample = Sample.from_counts(np.arange(k), pos, neg)
        if separation(sample) > 0:
            return sample


def separation(sample):
    """min over t of -ln f(x < t) - ln g(y >= t), or 0 when the classes cannot be separated upwards."""
    f, g = sample.neg / sample.n_neg, sample.pos / sample.n_pos
    costs = [
        -math.log(f[:t].sum()) - math.log(g[t:].sum())
        for t in range(1, len(f))
        if f[:t].any() and g[t:].any()
    ]
    return min(costs, default=0.0)


def mirrored(sample):
    return Sample.from_counts(-sample.score, sample.pos, sample.neg)


# By hand


def test_two_points_by_hand():
    # u = (a, 1 - a), v = (1 - a, a): the AUC is a, the distance 2 (ln 2 - H(a)); a = 3/4.
    distance = 1.5 * LN3 - 2 * LN2
    bounds = auc_bounds(*TWO_POINTS, distance)
    assert bounds.low == pytest.approx(0.25, abs=1e-13)
    assert bounds.high == pytest.approx(0.75, abs=1e-13)
    assert bounds.high_weights == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]), abs=1e-10)
    assert bounds.low_weights == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]), abs=1e-10)
    assert bounds.high_multiplier == pytest.approx(2 * LN3, abs=1e-9)  # ln(u1/u2) = lambda / 2
    assert bounds.optimum == "proven"
    assert auc_distance(*TWO_POINTS, 0.75) == pytest.approx(distance, abs=1e-13)
    assert auc_distance(*TWO_POINTS, 0.25) == pytest.approx(distance, abs=1e-13)


@pytest.mark.parametrize("multiplier", [0.5, 3.0, 12.0])
def test_equal_classes_have_a_logistic_solution(multiplier):
    # f = g continuous: with t = F(s), v = 2 / (1 + exp(-2 lambda (t - 1/2))) and u = 2 - v satisfy
    # u ~ exp(-lambda V), v ~ exp(lambda U): they are the solution. Cells of 1/4,000 come close to it.
    t = (np.arange(4000) + 0.5) / 4000
    v = 2 / (1 + np.exp(-2 * multiplier * (t - 0.5)))
    u = 2 - v
    distance = float(np.mean(u * np.log(u) + v * np.log(v)))
    auc = float(np.mean(v * (np.cumsum(u) - u / 2))) / 4000
    bounds = auc_bounds(Sample.from_counts(t, np.ones(4000), np.ones(4000)), distance)
    assert bounds.high == pytest.approx(auc, abs=1e-5)
    assert bounds.high_multiplier == pytest.approx(multiplier, rel=1e-3)
    assert bounds.high_weights[1] * 4000 == pytest.approx(v, abs=1e-2)


# Global optimum


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("seed", range(10))
def test_no_general_optimiser_does_better(seed, share):
    sample = random_counts(seed)
    distance = share * separation(sample)
    found = oracle_kld.highest_auc(sample.neg, sample.pos, distance, starts=8)
    bounds = auc_bounds(sample, distance)
    assert bounds.high >= found - 1e-8
    assert bounds.high == pytest.approx(found, abs=1e-5)
    low = auc_bounds(mirrored(sample), distance).low
    assert low == pytest.approx(1 - bounds.high, abs=1e-12)


@pytest.mark.parametrize("share", [0.6, 0.9, 0.98])
def test_the_best_of_several_solutions_is_found(share):
    distance = share * LN2
    found = oracle_kld.highest_auc([1, 1, 0], [0, 1, 1], distance, starts=12)
    bounds = auc_bounds(THREE_SOLUTIONS, distance)
    assert bounds.high >= found - 1e-8
    assert bounds.high == pytest.approx(found, abs=1e-5)
    assert bounds.optimum == "searched"
    # The conditions also have a solution that is symmetric (v the reverse of u), and it is worse.
    symmetric = max(
        oracle_kld.weighted_auc([1 - a, a, 0], [0, a, 1 - a])
        for a in np.linspace(0, 0.5, 2001)
        if 2 * oracle_kld.divergence([1 - a, a], [0.5, 0.5]) <= distance
    )
    assert bounds.high > symmetric + 1e-4


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_beyond_the_thinned_cells_the_bound_still_reaches_the_best_cut(seed):
    # 3,000 scores, so that the branches are searched on thinned cells; within 1e-4 of separation the AUC
    # is 1 less about the distance missing over lambda, which only the cheapest cut offers.
    rng = np.random.default_rng(seed)
    y = rng.random(3000) < 0.4
    sample = Sample(y, rng.normal(size=3000) + y)
    bounds = auc_bounds(sample, (1 - 1e-4) * separation(sample))
    assert 1 - 1e-6 < bounds.high < 1
    assert auc_distance(sample, bounds.high) == pytest.approx(bounds.distance, rel=1e-8)


# The certificate


@given(samples(), distances)
def test_the_weights_are_feasible_and_have_the_auc_that_is_claimed(data, distance):
    sample = Sample(*data)
    bounds = auc_bounds(sample, distance)
    f, g = sample.neg / sample.n_neg, sample.pos / sample.n_pos
    for (u, v), auc, used in (
        (bounds.low_weights, bounds.low, bounds.low_distance),
        (bounds.high_weights, bounds.high, bounds.high_distance),
    ):
        assert u.sum() == pytest.approx(1, abs=1e-12)
        assert v.sum() == pytest.approx(1, abs=1e-12)
        assert oracle_kld.weighted_auc(u, v) == pytest.approx(auc, abs=1e-12)
        assert oracle_kld.divergence(u, f) + oracle_kld.divergence(v, g) == pytest.approx(used, abs=1e-12)
        assert used <= distance * (1 + 1e-12) + 1e-14


@given(samples(), distances)
def test_the_weights_satisfy_the_first_order_conditions(data, distance):
    sample = Sample(*data)
    bounds = auc_bounds(sample, distance)
    lam = bounds.high_multiplier
    if math.isinf(lam):
        return
    u, v = bounds.high_weights
    f, g = sample.neg / sample.n_neg, sample.pos / sample.n_pos
    psi = np.tri(len(f), k=-1).T + np.eye(len(f)) / 2
    for new, old, placed in ((u, f, psi @ v), (v, g, psi.T @ u)):
        seen = old > 0
        tilted = old[seen] * np.exp(lam * (placed[seen] - placed[seen].max()))
        assert new[seen] == pytest.approx(tilted / tilted.sum(), abs=1e-8 * max(1, lam))
    assert bounds.residual <= 1e-10 * max(1, lam, bounds.low_multiplier)


# Laws


@given(samples())
def test_distance_zero_gives_the_auc(data):
    bounds = auc_bounds(*data, 0.0)
    assert bounds.low == pytest.approx(oracle.auc(*data), abs=1e-14)
    assert bounds.high == pytest.approx(oracle.auc(*data), abs=1e-14)
    assert bounds.auc == pytest.approx(oracle.auc(*data), abs=1e-14)


@given(samples(), distances, distances)
def test_the_interval_grows_with_the_distance(data, first, second):
    near, far = (auc_bounds(*data, d) for d in sorted((first, second)))
    assert 0 <= far.low <= near.low + 1e-12 <= near.auc + 2e-12
    assert near.auc <= near.high <= far.high + 1e-12 <= 1 + 1e-12


@given(samples(), distances)
def test_negated_scores_mirror_the_bounds(data, distance):
    y, s = data
    bounds, mirror = auc_bounds(y, s, distance), auc_bounds(y, -s, distance)
    assert mirror.low == pytest.approx(1 - bounds.high, abs=1e-12)
    assert mirror.high == pytest.approx(1 - bounds.low, abs=1e-12)


@given(samples(), distances, increasing_maps)
def test_increasing_maps_of_the_score_change_nothing(data, distance, increasing):
    y, s = data
    bounds, mapped = auc_bounds(y, s, distance), auc_bounds(y, increasing(s), distance)
    assert (mapped.low, mapped.high) == (bounds.low, bounds.high)


@given(grouped_counts(), distances)
def test_grouped_counts_equal_the_rows(cells, distance):
    grouped = auc_bounds(Sample.from_counts(*cells), distance)
    rows = auc_bounds(*oracle.expand(*cells), distance)
    assert (grouped.low, grouped.high) == (rows.low, rows.high)


@given(grouped_counts(), distances, st.integers(2, 1000))
def test_only_the_shares_matter(cells, distance, factor):
    score, pos, neg = cells
    one = auc_bounds(Sample.from_counts(score, pos, neg), distance)
    many = auc_bounds(Sample.from_counts(score, factor * pos, factor * neg), distance)
    assert many.low == pytest.approx(one.low, abs=1e-11)
    assert many.high == pytest.approx(one.high, abs=1e-11)


# Primal and dual


@settings(max_examples=150)
@given(samples(), distances)
def test_the_distance_of_a_bound_is_the_distance_it_was_asked_for(data, distance):
    bounds = auc_bounds(*data, distance)
    for target, multiplier, used in (
        (bounds.low, bounds.low_multiplier, bounds.low_distance),
        (bounds.high, bounds.high_multiplier, bounds.high_distance),
    ):
        rounding = 1e-15 * multiplier if math.isfinite(multiplier) else 0.0  # of 1e-15 in the AUC
        assert auc_distance(*data, target) == pytest.approx(used, abs=1e-10 + 10 * rounding)


@pytest.mark.parametrize("share", [0.001, 0.05, 0.4, 0.9, 0.999, 1.2])
@pytest.mark.parametrize(
    ("rows", "ties"),
    [(60, True), (400, False), pytest.param(6000, False, marks=pytest.mark.slow), (20000, True)],
)
def test_primal_and_dual_agree_to_1e_10_up_to_complete_separation_and_beyond(rows, ties, share):
    rng = np.random.default_rng(rows)
    y = rng.random(rows) < 0.3
    score = rng.normal(size=rows) + y
    sample = Sample(y, np.round(score, 1) if ties else score)
    distance = share * separation(sample)
    bounds = auc_bounds(sample, distance)
    for target, used in ((bounds.low, bounds.low_distance), (bounds.high, bounds.high_distance)):
        assert auc_distance(sample, target) == pytest.approx(used, abs=1e-10)
    assert bounds.high_distance == pytest.approx(min(distance, separation(sample)), abs=1e-12)
    assert bounds.residual <= 1e-10 * max(1, bounds.low_multiplier, bounds.high_multiplier)


@given(samples(), samples())
def test_a_distance_is_never_negative(first, second):
    one, other = Sample(*first), Sample(*second)
    try:
        distance = auc_distance(one, oracle.auc(*second))
    except DegenerateDataError:
        return
    assert distance >= 0
    assert auc_bounds(other, distance).low <= auc_bounds(other, distance).high


@pytest.mark.parametrize("target", [0.1, 0.69, 0.7013, 0.72, 0.95, 0.9999])
def test_the_bound_at_the_distance_of_a_target_is_the_target(target):
    rng = np.random.default_rng(5)
    y = rng.random(2000) < 0.3
    sample = Sample(y, np.round(rng.normal(size=2000) + 0.75 * y, 2))
    bounds = auc_bounds(sample, auc_distance(sample, target))
    assert (bounds.high if target > bounds.auc else bounds.low) == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("ties", [1, 6])
@pytest.mark.parametrize("rows", [40, 5_000])
@pytest.mark.parametrize("gap", [-0.3, -0.05, 1e-4, 0.05, 0.16])
def test_both_ways_to_a_distance_end_in_the_same_place(gap, rows, ties, monkeypatch):
    rng = np.random.default_rng(5)
    y = np.arange(rows) % 2
    sample = Sample(y, np.round(rng.normal(1.1 * y), ties))
    shares, own = cell_shares(sample.pos, sample.neg), area(sample)
    straight = nearest(shares, own, own + gap)
    monkeypatch.setattr(climbing, "_STRAIGHT_SWEEPS", 0)
    followed = nearest(shares, own, own + gap)
    assert straight.distance == pytest.approx(followed.distance, rel=1e-9)
    assert straight.multiplier == pytest.approx(followed.multiplier, rel=1e-5)
    assert straight.tilt == pytest.approx(followed.tilt, rel=1e-5)


@pytest.mark.parametrize("ties", [1, 6])
@pytest.mark.parametrize("rows", [40, 5_000])
@pytest.mark.parametrize("distance", [1e-9, 1e-4, 0.01, 0.1])
def test_both_ways_to_a_bound_end_in_the_same_place(distance, rows, ties, monkeypatch):
    rng = np.random.default_rng(6)
    y = np.arange(rows) % 2
    sample = Sample(y, np.round(rng.normal(1.1 * y), ties))
    straight = auc_bounds(sample, distance)
    monkeypatch.setattr(climbing, "_STRAIGHT_SWEEPS", 0)
    followed = auc_bounds(sample, distance)
    for end in ("low", "high", "low_distance", "high_distance"):
        assert getattr(straight, end) == pytest.approx(getattr(followed, end), rel=1e-12)
    for end in ("low_multiplier", "high_multiplier", "low_weights", "high_weights"):
        assert getattr(straight, end) == pytest.approx(getattr(followed, end), rel=1e-5)


def test_the_distance_to_the_own_auc_is_zero():
    assert auc_distance([0, 1, 0, 1], [1, 2, 2, 3], oracle.auc([0, 1, 0, 1], [1, 2, 2, 3])) == 0.0


# Complete separation


@pytest.mark.parametrize("seed", range(20))
def test_complete_separation_is_affordable_from_its_own_distance_on(seed):
    sample = random_counts(seed)
    needed = separation(sample)
    assert auc_distance(sample, 1.0) == pytest.approx(needed, abs=1e-14)
    beyond = auc_bounds(sample, needed * (1 + 1e-12))
    assert beyond.high == 1.0
    assert beyond.high_distance == pytest.approx(needed, abs=1e-14)
    assert Caveat("end-at-limit", end="high") in beyond.caveats
    u, v = beyond.high_weights
    assert np.flatnonzero(u).max() < np.flatnonzero(v).min()
    assert auc_bounds(sample, needed * (1 - 1e-6)).high < 1.0
    assert auc_distance(mirrored(sample), 0.0) == pytest.approx(needed, abs=1e-14)


def test_without_a_negative_below_a_positive_the_tie_is_the_limit():
    # Scores 2 | 1 2: all weight at the tie costs ln 3 + ln 2 and gives 1/2; the low end can be separated.
    sample = Sample([1, 1, 0, 0, 0], [1, 2, 2, 3, 3])
    bounds = auc_bounds(sample, 5.0)
    assert (bounds.low, bounds.high) == (0.0, 0.5)
    assert bounds.high_distance == pytest.approx(LN2 + LN3, abs=1e-14)
    assert auc_distance(sample, 0.5) == pytest.approx(LN2 + LN3, abs=1e-14)
    with pytest.raises(DegenerateDataError, match="no negative is below any positive"):
        auc_distance(sample, 0.51)


@pytest.mark.parametrize(
    ("y", "s", "auc"), [([0, 1, 0], [3, 3, 3], 0.5), ([0, 0, 1], [1, 2, 3], 1.0), ([1, 1, 0], [1, 2, 3], 0.0)]
)
def test_scores_that_no_reweighting_changes_say_so(y, s, auc):
    bounds = auc_bounds(y, s, 0.3)
    assert (bounds.low, bounds.auc, bounds.high) == (auc, auc, auc)
    assert codes(bounds) == ["auc-cannot-move"]
    assert auc_distance(y, s, auc) == 0.0
    with pytest.raises(DegenerateDataError, match="no reweighting of the sample moves its AUC"):
        auc_distance(y, s, 0.7)


# Bad input


@pytest.mark.parametrize("distance", [-0.1, math.nan, math.inf])
def test_distances_that_are_none(distance):
    with pytest.raises(InputError, match="distance must be a finite number >= 0"):
        auc_bounds(*TWO_POINTS, distance)


@pytest.mark.parametrize("target", [-0.1, 1.1, math.nan])
def test_targets_that_are_no_auc(target):
    with pytest.raises(InputError, match="target must be an AUC within"):
        auc_distance(*TWO_POINTS, target)


def test_a_poor_branch_does_not_lead_away_from_the_nearest_population():
    # SLSQP from many starts; 0.7316, found once, is beyond complete separation at 0.6931.
    found = auc_distance([0, 0, 1, 0, 1, 0], [3, 3, 4, 0, 2, 1], 0.99)
    assert found == pytest.approx(0.59156097, abs=1e-6)


def test_a_target_a_rounding_away_from_the_own_auc_takes_no_negative_distance():
    before = Sample([1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, -0.125])
    now = Sample([1, 1, 1, 0, 0, 1, 0], [0.125] * 4 + [0, -0.125, -0.125])
    for sample, other in ((before, now), (now, before)):
        assert 0 <= auc_distance(sample, area(other)) < 1e-20


@pytest.mark.parametrize("y", [[1, 1], [0, 0], []])
def test_one_class(y):
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        auc_bounds(y, np.arange(len(y)), 0.1)
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        auc_distance(y, np.arange(len(y)), 0.6)


def test_results_are_plain_data():
    bounds = auc_bounds(*TWO_POINTS, 3.0)
    plain = json.loads(json.dumps(bounds.to_dict(), allow_nan=False))
    assert (plain["low"], plain["high"], plain["high_multiplier"]) == (0.0, 1.0, "inf")
    assert str(bounds) == "AUC 0.5000, from 0.0000 to 1.0000 within distance 3"
    with pytest.raises(ValueError, match="read-only"):
        bounds.high_weights[0, 0] = 1.0
