import json
import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import oracle_kld
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.interval import binned_distance, forecast_interval
from rocmonitor.stats.forecast.kld import auc_bounds, auc_distance
from rocmonitor.stats.sample import Sample

ONE_CLASS = Sample([1, 1], [0.2, 0.4])
EMPTY = Sample([], [])


def binormal(rng, n_neg, n_pos, shift=1.0):
    y = np.repeat([0, 1], [n_neg, n_pos])
    return Sample(y, rng.normal(size=len(y)) + shift * y)


def rows(sample):
    return oracle.expand(sample.score, sample.pos, sample.neg)


def own_auc(sample):
    return oracle.auc(*rows(sample))


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def windows(rng):
    """25 windows whose AUC varies."""
    return [binormal(rng, 40, 20, shift) for shift in rng.normal(1.0, 0.2, 25)]


# Methods


def test_fixed_is_the_bounds_at_the_distance(rng):
    reference = binormal(rng, 60, 40)
    interval = forecast_interval(reference, distance=0.05, method="fixed")
    bounds = auc_bounds(reference, 0.05)
    assert (interval.low, interval.auc, interval.high) == (bounds.low, bounds.auc, bounds.high)
    assert (interval.distance, interval.n_windows, interval.window_distances) == (0.05, 0, ())
    assert interval.achieved_level is None
    assert interval.caveats == ("a fixed distance has no confidence level",)


def test_dual_is_the_mean_distance_to_the_whole_reference(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows, method="dual")
    expected = [auc_distance(reference, own_auc(window)) for window in windows]
    assert interval.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(np.mean(expected), abs=1e-12)
    assert interval.achieved_level is None


def test_binned_is_the_binned_distance(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows, method="binned")
    assert interval.distance == pytest.approx(binned_distance(reference, windows), rel=1e-14)
    assert len(interval.window_distances) == 25
    assert interval.achieved_level is None


def test_calibrated_takes_parts_out_of_the_reference(windows):
    interval = forecast_interval(Sample.merge(windows), windows=windows)
    expected = []
    for left_out, window in enumerate(windows):
        rest = Sample.merge([other for number, other in enumerate(windows) if number != left_out])
        expected.append(auc_distance(rest, own_auc(window)))
    assert interval.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(sorted(expected)[24], abs=1e-12)  # ceil(26 x 0.95) = 25
    assert interval.achieved_level == 25 / 26
    assert interval.caveats == ()


def test_calibrated_compares_outside_windows_with_the_whole_reference(rng, windows):
    reference = binormal(rng, 300, 100)
    interval = forecast_interval(reference, windows=windows, confidence_level=0.8)
    expected = [auc_distance(reference, own_auc(window)) for window in windows]
    assert interval.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(sorted(expected)[20], abs=1e-12)  # ceil(26 x 0.8) = 21
    assert interval.achieved_level == 21 / 26


def test_windows_are_parts_only_when_all_of_them_fit_together():
    one = Sample([0, 1, 0, 1], [1, 2, 3, 4])
    two = Sample([0, 1, 1], [2, 3, 1])
    reference = Sample.merge([one, two])
    whole = [auc_distance(reference, own_auc(window)) for window in (one, one)]
    twice = forecast_interval(reference, windows=[one, one])  # each is contained, the two together are not
    assert twice.window_distances == pytest.approx(whole, abs=1e-12)
    once = forecast_interval(reference, windows=[one, two])
    assert once.window_distances == pytest.approx(
        [auc_distance(two, own_auc(one)), auc_distance(one, own_auc(two))], abs=1e-12
    )


def test_an_auc_is_inside_exactly_when_its_distance_is_allowed(rng, windows):
    reference = binormal(rng, 200, 100)
    interval = forecast_interval(reference, windows=windows, confidence_level=0.8)
    for auc in np.linspace(0.02, 0.98, 33) + 1e-6:  # never the AUC of a window itself
        assert interval.contains(auc) == (auc_distance(reference, auc) <= interval.distance)
        assert interval.margin(auc) == min(auc - interval.low, interval.high - auc)
        assert (interval.margin(auc) >= 0) == interval.contains(auc)


def test_a_perfect_window_allows_complete_separation(rng):
    reference = binormal(rng, 30, 10)
    perfect = Sample([0, 0, 1, 1], [1, 2, 3, 4])
    interval = forecast_interval(reference, windows=[perfect], confidence_level=0.5)
    assert interval.distance == auc_distance(reference, 1.0)
    assert interval.high == 1.0
    assert interval.contains(1.0)
    assert any("the high bound is the limit" in caveat for caveat in interval.caveats)


# Level


@pytest.mark.parametrize(
    ("n", "confidence_level", "rank"),
    [(19, 0.95, 19), (20, 0.95, 20), (38, 0.95, 38), (39, 0.95, 38), (9, 0.9, 9), (9, 0.5, 5), (1, 0.5, 1)],
)
def test_the_rank_of_the_conformal_quantile(rng, n, confidence_level, rank):
    reference = binormal(rng, 60, 30)
    past = [binormal(rng, 15, 10) for _ in range(n)]
    interval = forecast_interval(reference, windows=past, confidence_level=confidence_level)
    assert interval.distance == sorted(interval.window_distances)[rank - 1]
    assert interval.achieved_level == rank / (n + 1)
    assert interval.achieved_level >= confidence_level
    assert interval.caveats == ()


def test_too_few_windows_say_their_true_level(rng):
    reference = binormal(rng, 60, 30)
    past = [binormal(rng, 15, 10) for _ in range(18)]
    interval = forecast_interval(reference, windows=past)
    assert interval.distance == max(interval.window_distances)
    assert interval.achieved_level == 18 / 19
    assert interval.confidence_level == 0.95
    assert interval.caveats == (
        "18 past windows cannot give the level 0.95: the widest observed distance is used, "
        "whose level is 18/19 = 0.947; 19 windows are needed",
    )


def test_coverage_of_exchangeable_windows(rng):
    # Windows of ever other populations, from the same distribution of populations: the level is exactly
    # 0.7 but for ties. The bounds are more than 5 standard deviations away: any seed passes.
    def window():
        return binormal(rng, 30, 20, rng.normal(1.0, 0.3))

    reference = binormal(rng, 100, 60)
    covered = 0
    for _ in range(100):
        interval = forecast_interval(reference, windows=[window() for _ in range(9)], confidence_level=0.7)
        assert interval.achieved_level == 0.7
        covered += interval.contains(own_auc(window()))
    assert 46 <= covered <= 94


@pytest.mark.parametrize(("n", "told"), [(8, True), (9, False)])
def test_few_parts_of_the_reference_say_that_the_level_is_lower(rng, n, told):
    parts = [binormal(rng, 15, 10) for _ in range(n)]
    inside = forecast_interval(Sample.merge(parts), windows=parts, confidence_level=0.5)
    assert any("parts of the reference" in caveat for caveat in inside.caveats) == told
    outside = forecast_interval(binormal(rng, 60, 30), windows=parts, confidence_level=0.5)
    assert outside.caveats == ()


# Caveats and bad input


def test_windows_of_one_class_are_set_aside_and_counted(rng):
    reference = binormal(rng, 60, 30)
    good = [binormal(rng, 15, 10) for _ in range(3)]
    mixed = [good[0], ONE_CLASS, good[1], EMPTY, good[2]]
    for method in ("calibrated", "dual", "binned"):
        interval = forecast_interval(reference, windows=mixed, method=method, confidence_level=0.5)
        alone = forecast_interval(reference, windows=good, method=method, confidence_level=0.5)
        assert interval.window_distances == alone.window_distances
        assert interval.n_windows == 3
        assert interval.caveats[0] == "2 of 5 windows set aside, without rows of both classes: number 2, 4"


def test_one_class_parts_stay_in_the_reference():
    one, two = Sample([0, 1, 0, 1], [1, 2, 3, 4]), Sample([0, 1, 1], [2, 3, 1])
    only = Sample([1, 1], [5, 0])
    interval = forecast_interval(Sample.merge([one, two, only]), windows=[one, two, only])
    expected = [auc_distance(Sample.merge([two, only]), own_auc(one))]
    expected.append(auc_distance(Sample.merge([one, only]), own_auc(two)))
    assert interval.window_distances == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("windows", [[ONE_CLASS], [EMPTY], [EMPTY, ONE_CLASS]])
def test_without_a_usable_window(rng, windows):
    with pytest.raises(DegenerateDataError, match=r"windows can be used .* give more or longer windows"):
        forecast_interval(binormal(rng, 9, 9), windows=windows)


def test_a_single_window_that_is_the_reference(rng):
    reference = binormal(rng, 9, 9)
    with pytest.raises(DegenerateDataError, match="without which the reference lacks a class: number 1"):
        forecast_interval(reference, windows=[reference])
    same = forecast_interval(reference, windows=[reference], method="dual")
    assert (same.low, same.high, same.distance) == (same.auc, same.auc, 0.0)
    assert "the distance is 0, which leaves no room for any change" in same.caveats


def test_a_single_window_outside_the_reference(rng):
    interval = forecast_interval(binormal(rng, 50, 30), windows=[binormal(rng, 9, 9)])
    assert (interval.n_windows, interval.achieved_level) == (1, 0.5)
    assert "1 past windows cannot give the level 0.95" in interval.caveats[0]


@pytest.mark.parametrize("reference", [ONE_CLASS, EMPTY])
def test_a_reference_of_one_class(rng, reference):
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        forecast_interval(reference, windows=[binormal(rng, 9, 9)])


def test_a_window_whose_auc_the_reference_cannot_reach():
    separated = Sample([0, 0, 1, 1], [1, 2, 3, 4])
    overlapping = Sample([0, 1, 0, 1], [1, 2, 3, 4])
    with pytest.raises(DegenerateDataError, match="window 1: no reweighting"):
        forecast_interval(separated, windows=[overlapping])
    constant = Sample([0, 0, 1, 1], [1, 1, 1, 1])
    interval = forecast_interval(constant, windows=[constant, constant, constant], confidence_level=0.6)
    assert (interval.low, interval.auc, interval.high) == (0.5, 0.5, 0.5)
    assert any("no reweighting changes the AUC" in caveat for caveat in interval.caveats)


SOME = Sample([0, 1, 0, 1], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"windows": [SOME], "method": "bayes"}, "method must be one of calibrated, binned, dual, fixed"),
        ({"windows": [SOME], "confidence_level": 1.0}, "confidence_level must lie within"),
        ({"windows": [SOME], "confidence_level": math.nan}, "confidence_level must lie within"),
        ({}, "method 'calibrated' needs windows"),
        ({"windows": []}, "method 'calibrated' needs windows"),
        ({"windows": [SOME], "distance": 0.1}, "leave it out, or use method='fixed'"),
        ({"method": "fixed"}, "method 'fixed' needs distance"),
        ({"method": "fixed", "distance": 0.1, "windows": [SOME]}, "method 'fixed' does not use windows"),
        ({"method": "fixed", "distance": -0.1}, "distance must be a finite number >= 0"),
        ({"method": "fixed", "distance": math.nan}, "distance must be a finite number >= 0"),
        ({"windows": [SOME, ([0, 1], [1, 2])]}, "window 2 must be a Sample, not a tuple"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(InputError, match=message):
        forecast_interval(SOME, **arguments)


def test_the_reference_must_be_a_sample():
    with pytest.raises(InputError, match="reference must be a Sample, not a tuple"):
        forecast_interval(([0, 1], [1, 2]), windows=[SOME])


def test_results_are_plain_data(windows):
    interval = forecast_interval(Sample.merge(windows), windows=windows)
    plain = json.loads(json.dumps(interval.to_dict(), allow_nan=False))
    assert plain["window_distances"] == list(interval.window_distances)
    assert plain["method"] == "calibrated"
    assert str(interval).startswith(f"AUC forecast {interval.low:.4f} to {interval.high:.4f} around")
    assert "(calibrated, level 0.962, distance" in str(interval)


# Binned distance


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_binned_equals_the_plain_definition_without_ties(rng, bins):
    reference = binormal(rng, 100, 50)
    past = [binormal(rng, 17, 13) for _ in range(3)]
    y, s = rows(reference)
    total = 0.0
    for window in past:
        wy, ws = rows(window)
        for label in (0, 1):
            edges = np.quantile(s[y == label], np.arange(1, bins) / bins)
            new = np.histogram(ws[wy == label], bins=[-np.inf, *edges, np.inf])[0]
            total += oracle_kld.divergence(new / new.sum(), np.full(bins, 1 / bins))
    # Between a quantile's neighbours no window score may lie, or the two definitions of it differ.
    assert binned_distance(reference, past, bins=bins) == pytest.approx(total / 3, abs=0.05)
    parts = [Sample(y[k::3], s[k::3]) for k in range(3)]
    expected = 0.0
    for k in range(3):
        for label in (0, 1):
            edges = np.quantile(s[y == label], np.arange(1, bins) / bins)
            new = np.histogram(s[k::3][y[k::3] == label], bins=[-np.inf, *edges, np.inf])[0]
            expected += oracle_kld.divergence(new / new.sum(), np.full(bins, 1 / bins)) / 3
    assert binned_distance(y, s, parts, bins=bins) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60)
@given(samples(), samples(), st.integers(2, 12))
def test_binned_with_ties_is_finite_and_zero_for_the_sample_itself(one, two, bins):
    sample, window = Sample(*one), Sample(*two)
    assert binned_distance(sample, [sample], bins=bins) == 0.0
    distance = binned_distance(sample, [window], bins=bins)
    assert 0 <= distance < math.inf
    grouped = Sample.from_counts(window.score, 7 * window.pos, 7 * window.neg)
    assert binned_distance(sample, [grouped], bins=bins) == pytest.approx(distance, abs=1e-12)


def test_binned_never_splits_a_tie():
    # Negatives 1 1 1 1 2, five bins: 1 reaches the first four shares at once, which leaves {1} and {2}.
    sample = Sample([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 2, 5])
    window = Sample([0, 0, 1], [1, 2, 5])
    expected = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert binned_distance(sample, [window], bins=5) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("windows", "bins", "message"),
    [
        ([SOME], 1, "bins must be at least 2"),
        ([], 10, "windows is empty"),
        ([3], 10, "window 1 must be a Sample"),
    ],
)
def test_binned_arguments(windows, bins, message):
    with pytest.raises(InputError, match=message):
        binned_distance(SOME, windows, bins=bins)


def test_binned_with_one_class():
    with pytest.raises(DegenerateDataError, match="window 2 has one class only"):
        binned_distance(SOME, [SOME, ONE_CLASS])
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        binned_distance(ONE_CLASS, [SOME])
