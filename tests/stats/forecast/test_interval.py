import itertools
import json
import math

import golden
import numpy as np
import oracle
import pytest
from caveats import codes
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import ForecastInterval, auc, condensed
from rocmonitor.stats.forecast.distance import binned_distance, resampled_distance
from rocmonitor.stats.forecast.forecasting import forecast_interval
from rocmonitor.stats.forecast.kld import area, auc_bounds, auc_distance
from rocmonitor.stats.sample import Sample
from rocmonitor.wording.caveats import words_of

ONE_CLASS = Sample([1, 1], [0.2, 0.4])
EMPTY = Sample([], [])
WEEK = 7 * 48  # half-hours


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
    assert (interval.distance, interval.n_windows, interval.fit.window_distances) == (0.05, 0, ())
    assert interval.achieved_level is None
    assert interval.caveats == (Caveat("no-confidence-level", method="fixed", batch=False),)


def test_dual_is_the_mean_distance_to_the_whole_reference(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows, method="dual")
    expected = [auc_distance(reference, own_auc(window)) for window in windows]
    assert interval.fit.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(np.mean(expected), abs=1e-12)
    assert interval.achieved_level is None


def test_binned_is_the_binned_distance(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows, method="binned")
    assert interval.distance == pytest.approx(binned_distance(reference, windows), rel=1e-14)
    assert len(interval.fit.window_distances) == 25
    assert interval.achieved_level is None


def test_calibrated_takes_parts_out_of_the_reference(windows):
    interval = forecast_interval(Sample.merge(windows), windows=windows)
    expected = []
    for left_out, window in enumerate(windows):
        rest = Sample.merge([other for number, other in enumerate(windows) if number != left_out])
        expected.append(auc_distance(rest, own_auc(window)))
    assert interval.fit.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(between(expected, 24.7), abs=1e-12)  # 26 x 0.95
    assert interval.achieved_level == 0.95
    assert interval.caveats == ()


def test_calibrated_compares_outside_windows_with_the_whole_reference(rng, windows):
    reference = binormal(rng, 300, 100)
    interval = forecast_interval(reference, windows=windows, confidence_level=0.8)
    expected = [auc_distance(reference, own_auc(window)) for window in windows]
    assert interval.fit.window_distances == pytest.approx(expected, abs=1e-12)
    assert interval.distance == pytest.approx(between(expected, 20.8), abs=1e-12)  # 26 x 0.8
    assert interval.achieved_level == 0.8


def between(distances, rank):
    """The distance whose root lies between those of the ranks around this one."""
    roots = sorted(math.sqrt(2 * each) for each in distances)
    below, part = int(rank), rank - int(rank)
    return (roots[below - 1] + part * (roots[below] - roots[below - 1])) ** 2 / 2


def test_windows_are_parts_only_when_all_of_them_fit_together():
    one = Sample([0, 1, 0, 1], [1, 2, 3, 4])
    two = Sample([0, 1, 1], [2, 3, 1])
    reference = Sample.merge([one, two])
    whole = [auc_distance(reference, own_auc(window)) for window in (one, one)]
    twice = forecast_interval(reference, windows=[one, one])  # each is contained, the two together are not
    assert twice.fit.window_distances == pytest.approx(whole, abs=1e-12)
    once = forecast_interval(reference, windows=[one, two])
    assert once.fit.window_distances == pytest.approx(
        [auc_distance(two, own_auc(one)), auc_distance(one, own_auc(two))], abs=1e-12
    )


@pytest.mark.slow
def test_an_auc_is_inside_exactly_when_its_distance_is_allowed(rng, windows):
    reference = binormal(rng, 200, 100)
    interval = forecast_interval(reference, windows=windows, confidence_level=0.8)
    for value in np.linspace(0.02, 0.98, 33) + 1e-6:  # never the AUC of a window itself
        assert interval.contains(value) == (auc_distance(reference, value) <= interval.distance)
        assert interval.margin(value) == min(value - interval.low, interval.high - value)
        assert (interval.margin(value) >= 0) == interval.contains(value)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_scatter_of_the_auc_itself_adds_its_square_to_the_reach(windows, alternative):
    reference = Sample.merge(windows)
    fit = forecast_interval(reference, windows=windows, alternative=alternative).fit
    alone, wider = fit.interval(reference, around=0.7), fit.interval(reference, around=0.7, scatter=0.03)
    assert 0.7 - wider.low == pytest.approx(math.hypot(0.7 - alone.low, 0.03), abs=1e-12)
    expected = math.hypot(alone.high - 0.7, 0.03) if alternative == "two-sided" else 0.3
    assert wider.high - 0.7 == pytest.approx(expected, abs=1e-12)
    moved = fit.interval(reference, around=0.7, scatter=0.03, error=0.01)  # a bound, which is added
    assert moved.low == pytest.approx(wider.low - 0.01, abs=1e-12)
    widest = fit.interval(reference, scatter=2.0)
    assert (widest.low, widest.high) == (0.0, 1.0)


def test_a_perfect_window_allows_complete_separation(rng):
    reference = binormal(rng, 30, 10)
    perfect = Sample([0, 0, 1, 1], [1, 2, 3, 4])
    interval = forecast_interval(reference, windows=[perfect], confidence_level=0.5)
    assert interval.distance == auc_distance(reference, 1.0)
    assert interval.high == 1.0
    assert interval.contains(1.0)
    assert Caveat("end-at-limit", end="high") in interval.caveats


# Level


@pytest.mark.parametrize(
    ("n", "confidence_level", "rank"),
    [(19, 0.95, 19), (39, 0.95, 38), (9, 0.9, 9), (9, 0.5, 5), (1, 0.5, 1)],
)
def test_the_rank_of_the_conformal_quantile(rng, n, confidence_level, rank):
    reference = binormal(rng, 60, 30)
    past = [binormal(rng, 15, 10) for _ in range(n)]
    interval = forecast_interval(reference, windows=past, confidence_level=confidence_level)
    assert interval.distance == sorted(interval.fit.window_distances)[rank - 1]
    assert interval.achieved_level == rank / (n + 1)
    assert interval.achieved_level >= confidence_level
    assert interval.caveats == ()


def test_too_few_windows_say_their_true_level(rng):
    reference = binormal(rng, 60, 30)
    past = [binormal(rng, 15, 10) for _ in range(18)]
    interval = forecast_interval(reference, windows=past)
    assert interval.distance == max(interval.fit.window_distances)
    assert interval.achieved_level == 18 / 19
    assert interval.confidence_level == 0.95
    caveat, beside = interval.caveats
    assert (caveat.code, beside.code) == ("too-few-windows", "model-beside")
    assert (beside.values["low"], beside.values["high"]) == (interval.model_low, interval.model_high)
    assert interval.model_low <= interval.low < interval.high <= interval.model_high
    assert (caveat.values["n_windows"], caveat.values["needed"]) == (18, 19)
    assert caveat.values["achieved_level"] == 18 / 19


@pytest.mark.slow
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
    assert ("windows-inside-reference" in codes(inside)) == told
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
        assert interval.fit.window_distances == alone.fit.window_distances
        assert interval.n_windows == 3
        assert interval.caveats[0].code == "windows-set-aside"
        assert interval.caveats[0].values == {"reason": "one-class", "numbers": [2, 4], "n_windows": 5}


def test_one_class_parts_stay_in_the_reference():
    one, two = Sample([0, 1, 0, 1], [1, 2, 3, 4]), Sample([0, 1, 1], [2, 3, 1])
    only = Sample([1, 1], [5, 0])
    interval = forecast_interval(Sample.merge([one, two, only]), windows=[one, two, only])
    expected = [auc_distance(Sample.merge([two, only]), own_auc(one))]
    expected.append(auc_distance(Sample.merge([one, only]), own_auc(two)))
    assert interval.fit.window_distances == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("windows", [[ONE_CLASS], [EMPTY], [EMPTY, ONE_CLASS]])
def test_without_a_usable_window(rng, windows):
    with pytest.raises(DegenerateDataError, match=r"windows can be used .* give more or longer windows"):
        forecast_interval(binormal(rng, 9, 9), windows=windows)


def test_a_single_window_that_is_the_reference(rng):
    reference = binormal(rng, 9, 9)
    with pytest.raises(DegenerateDataError, match="1 without which the reference lacks a class"):
        forecast_interval(reference, windows=[reference])
    same = forecast_interval(reference, windows=[reference], method="dual")
    assert (same.low, same.high, same.distance) == (same.auc, same.auc, 0.0)
    assert "zero-distance" in codes(same)


def test_a_single_window_outside_the_reference(rng):
    interval = forecast_interval(binormal(rng, 50, 30), windows=[binormal(rng, 9, 9)])
    assert (interval.n_windows, interval.achieved_level) == (1, 0.5)
    assert codes(interval)[0] == "too-few-windows"


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
    assert "auc-cannot-move" in codes(interval)


SOME = Sample([0, 1, 0, 1], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"windows": [SOME], "method": "bayes"},
            "method must be one of calibrated, binned, dual, bootstrap, fixed",
        ),
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
    assert plain["fit"]["window_distances"] == list(interval.fit.window_distances)
    assert plain["method"] == "calibrated"
    assert str(interval).startswith(f"AUC forecast {interval.low:.4f} to {interval.high:.4f} around")
    assert "(calibrated, level 0.950, distance" in str(interval)


# Batches of other sizes


def sized(rng, n, n_pos, n_neg, spread=0.0):
    return [binormal(rng, n_neg, n_pos, shift) for shift in rng.normal(1.0, spread, n)]


def test_a_batch_as_large_as_the_windows_changes_nothing(windows):
    reference = Sample.merge(windows)
    plain = forecast_interval(reference, windows=windows)
    same = forecast_interval(reference, windows=windows, batch=(20, 40))
    larger = forecast_interval(reference, windows=windows, batch=(200, 400))
    assert plain.low < larger.low < larger.high < plain.high
    assert (same.low, same.high, same.distance) == (plain.low, plain.high, plain.distance)
    assert (plain.batch, plain.sampling_distance, plain.drift_distance) == (None, None, None)
    assert same.caveats == ()
    assert larger.caveats[0] == Caveat("windows-smaller-than-batch", smaller=25, n_windows=25)


def test_a_smaller_batch_has_a_wider_interval_and_more_of_it_is_sampling(rng):
    past = sized(rng, 19, 100, 200, spread=0.3)
    reference = Sample.merge(past)
    whole = forecast_interval(reference, windows=past)
    intervals = [whole.for_batch(reference, (n, 2 * n)) for n in (100, 80, 50, 20, 5)]
    assert (intervals[0].low, intervals[0].high) == (whole.low, whole.high)
    for larger, smaller in itertools.pairwise(intervals):
        assert smaller.low <= larger.low < larger.high <= smaller.high
        assert smaller.sampling_distance > larger.sampling_distance
    for interval in intervals:
        assert interval.sampling_distance + interval.drift_distance == pytest.approx(interval.distance)
        assert 0 < interval.sampling_distance <= interval.distance
    assert intervals[-1].low < whole.low
    assert intervals[0].drift_distance > intervals[0].sampling_distance  # the drift is larger than the noise
    assert intervals[-1].drift_distance < intervals[-1].sampling_distance


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_the_ends_by_sampling_alone_are_the_bounds_at_its_distance(rng, alternative):
    past = sized(rng, 22, 100, 200, spread=0.3)
    reference = Sample.merge(past)
    whole = forecast_interval(reference, windows=past, alternative=alternative)
    assert (whole.sampling_low, whole.sampling_high) == (None, None)
    interval = whole.for_batch(reference, (100, 200))
    bounds = auc_bounds(reference, interval.sampling_distance)
    high = bounds.high if alternative == "two-sided" else 1.0
    assert (interval.sampling_low, interval.sampling_high) == pytest.approx((bounds.low, high), abs=1e-12)
    assert interval.low < interval.sampling_low < interval.auc < interval.sampling_high <= interval.high
    then = "to" if alternative == "two-sided" else "or more"
    assert f"; sampling alone: {interval.sampling_low:.4f} {then}" in str(interval)
    # A batch whose noise takes all of the distance leaves drift no width.
    fixed = forecast_interval(reference, distance=1e-5, method="fixed", batch=(5, 5), alternative=alternative)
    assert (fixed.sampling_low, fixed.sampling_high) == (fixed.low, fixed.high)


def test_without_drift_all_is_sampling(rng):
    # 300 positives in every window, 20 in the batch: 1.96 standard errors of the batch.
    past = sized(rng, 25, 300, 300)
    interval = forecast_interval(Sample.merge(past), windows=past, batch=(20, 20))
    error = auc(Sample.merge(past), method="exact-bootstrap", m_pos=20, m_neg=20).se
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert interval.drift_distance < 0.2 * interval.distance


def numbers(interval):
    """Return an interval without its fit, which was made for another batch."""
    return interval.to_dict() | {"fit": None}


def test_for_batch_is_the_interval_of_that_batch(rng):
    past = [*sized(rng, 22, 40, 80, spread=0.2), ONE_CLASS]
    reference = Sample.merge(past)
    for options in ({}, {"alternative": "less"}, {"weights": np.linspace(0.4, 1, 23)}, {"method": "dual"}):
        kept = forecast_interval(reference, windows=past, **options)
        stored = json.loads(json.dumps(kept.to_dict(), allow_nan=False))
        for batch in ((12, 24), (100, 300)):
            direct = forecast_interval(reference, windows=past, batch=batch, **options)
            rebuilt = ForecastInterval.from_dict(stored).for_batch(reference, batch)
            assert numbers(rebuilt) == numbers(direct)
            near = kept.for_batch(condensed(reference, cells=400), batch)
            assert (near.auc, near.distance, near.caveats) == (direct.auc, direct.distance, direct.caveats)
            assert (near.low, near.high) == pytest.approx((direct.low, direct.high), abs=1e-4)
            ends = (direct.sampling_low, direct.sampling_high)
            assert (near.sampling_low, near.sampling_high) == pytest.approx(ends, abs=1e-4)


def test_for_batch_needs_its_own_reference(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows)
    with pytest.raises(InputError, match="reference must be the same as before, with 500 positives"):
        interval.for_batch(windows[0], (5, 5))
    with pytest.raises(InputError, match="batch must be two whole numbers"):
        interval.for_batch(reference, (5, 0))


def test_with_too_few_windows_the_interval_is_no_narrower_than_sampling_makes_it(rng):
    past = sized(rng, 3, 50, 50)
    reference = binormal(rng, 2000, 2000)
    alone = forecast_interval(reference, windows=past)
    batch = forecast_interval(reference, windows=past, batch=(50, 50))
    error = auc(reference, method="exact-bootstrap", m_pos=50, m_neg=50).se
    assert batch.high - batch.low > 0.9 * 2 * 1.96 * error
    assert batch.distance >= alone.distance
    assert (batch.achieved_level, batch.n_windows) == (0.75, 3)
    assert batch.caveats[0].code == "too-few-windows"
    assert batch.caveats[0].values["batch"]


def test_what_a_batch_is_told(rng):
    past = sized(rng, 20, 30, 60)
    interval = forecast_interval(Sample.merge(past), windows=past, batch=(8, 60))
    assert interval.caveats == (Caveat("small-batch", rows=8, enough=10),)
    assert str(interval).endswith(
        "for a batch of 8 positives and 60 negatives; "
        f"sampling alone: {interval.sampling_low:.4f} to {interval.sampling_high:.4f}"
    )
    small = binormal(rng, 40, 20)
    assert codes(forecast_interval(small, windows=past))[0] == "reference-smaller-than-windows"


@pytest.mark.parametrize(
    ("method", "extra"),
    [("binned", {}), ("dual", {}), ("bootstrap", {"rng": 1}), ("fixed", {"distance": 0.1})],
)
def test_other_methods_only_tell_the_sampling_part(windows, method, extra):
    reference = Sample.merge(windows)
    past = None if method == "fixed" else windows
    plain = forecast_interval(reference, windows=past, method=method, **extra)
    batch = forecast_interval(reference, windows=past, method=method, batch=(20, 40), **extra)
    assert batch.distance == plain.distance
    assert (batch.low, batch.high) == (plain.low, plain.high)
    assert 0 < batch.sampling_distance <= batch.distance
    assert Caveat("no-confidence-level", method=method, batch=True) in batch.caveats


# Losses only, weights, resampling


def test_losses_only(rng):
    past = sized(rng, 39, 40, 60, spread=0.2)
    reference = binormal(rng, 500, 400)
    interval = forecast_interval(reference, windows=past, alternative="less")
    own = np.array([own_auc(window) for window in past])
    distances = [auc_distance(reference, a) * (1 if a < interval.auc else 0) for a in own]
    assert interval.distance == pytest.approx(sorted(distances)[37], abs=1e-12)  # 40 x 0.95 = 38 of 39
    assert interval.low == pytest.approx(auc_bounds(reference, interval.distance).low, abs=1e-12)
    assert interval.high == 1.0
    assert np.count_nonzero(own >= interval.low - 1e-9) == 38
    assert interval.contains(1.0)
    assert interval.margin(0.99) == pytest.approx(0.99 - interval.low)
    assert f"{interval.low:.4f} or more around" in str(interval)
    both = forecast_interval(reference, windows=past)
    assert interval.low >= both.low


@pytest.mark.slow
def test_weights_bring_the_recent_windows_to_the_fore(rng):
    calm, wild = sized(rng, 40, 20, 30), sized(rng, 40, 20, 30, spread=0.8)
    reference = binormal(rng, 150, 100)
    recent = forecast_interval(
        reference, windows=wild + calm, weights=np.repeat([0.02, 1.0], 40), confidence_level=0.9
    )
    even = forecast_interval(reference, windows=wild + calm, confidence_level=0.9)
    assert recent.distance < even.distance
    assert recent.achieved_level >= 0.9
    ones = forecast_interval(reference, windows=calm, weights=np.ones(40))
    assert ones.distance == forecast_interval(reference, windows=calm).distance
    short = forecast_interval(reference, windows=wild + calm, weights=0.5 ** (np.arange(79, -1, -1) / 5))
    assert short.achieved_level < 0.95
    assert short.caveats[0].code == "too-few-windows"
    assert short.caveats[0].values["weight"] == pytest.approx(7.72, abs=0.005)
    assert short.caveats[0].values["needed"] == 19
    mean = forecast_interval(reference, windows=calm[:2], weights=[1, 0.5], method="dual")
    assert mean.distance == pytest.approx(
        (2 * mean.fit.window_distances[0] + mean.fit.window_distances[1]) / 3
    )


def test_a_shortfall_that_does_not_show_is_not_told(rng):
    past, reference = sized(rng, 30, 20, 30), binormal(rng, 900, 700)

    def told(weight, level):
        weights = np.full(30, weight / 30)
        found = forecast_interval(reference, windows=past, weights=weights, confidence_level=level)
        assert found.achieved_level == pytest.approx(weight / (weight + 1), rel=1e-12)
        return "; ".join(map(words_of, found.caveats))

    assert told(18.98, 0.95) == ""
    assert "a total weight of 18; the level 0.95 needs a weight of 19" in told(18.0, 0.95)
    # To three decimals this level is the one that was asked for.
    assert "its level is 8.7/9.7 = 0.897" in told(8.7, 0.9)
    assert "the level 0.97 needs a weight of 33" in told(28.4, 0.97)
    assert "its level is 28.4/29.4 = 0.966" in told(28.4, 0.97)
    assert "its level is 29/30 = 0.9667" in told(29.0, 0.9674)


def test_weights_follow_their_windows(rng):
    past = sized(rng, 3, 20, 20, spread=0.3)
    reference = binormal(rng, 300, 200)
    mixed = forecast_interval(reference, windows=[past[0], EMPTY, *past[1:]], weights=[0.1, 0.2, 0.3, 0.4])
    assert mixed.fit.weights == (0.1, 0.3, 0.4)


def test_bootstrap_is_a_distance_of_resamples(windows):
    reference = Sample.merge(windows)
    of_mean = forecast_interval(reference, windows=windows, method="bootstrap", rng=3)
    of_batch = forecast_interval(reference, method="bootstrap", batch=(20, 40), rng=3)
    assert of_mean.distance == of_batch.distance
    assert of_mean.distance == resampled_distance(reference, (20, 40), n_resamples=999, rng=3)
    assert (of_mean.n_windows, of_mean.fit.window_distances, of_mean.achieved_level) == (25, (), None)
    large = forecast_interval(reference, method="bootstrap", batch=(2000, 4000), symmetric=True, rng=3)
    assert large.distance < of_batch.distance / 10


def test_symmetric_binned(windows):
    reference = Sample.merge(windows)
    interval = forecast_interval(reference, windows=windows, method="binned", symmetric=True)
    assert interval.distance == pytest.approx(binned_distance(reference, windows, symmetric=True), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"windows": [SOME], "batch": (1, 2, 3)}, "batch must be two whole numbers of at least 1"),
        ({"windows": [SOME], "batch": 5}, "batch must be two whole numbers of at least 1"),
        ({"windows": [SOME], "batch": (5, 2.5)}, "batch must be two whole numbers of at least 1"),
        ({"windows": [SOME], "batch": "ab"}, "batch must be two whole numbers of at least 1"),
        ({"windows": SOME}, "windows must be a list of Sample, not a Sample"),
        ({"windows": [SOME], "weights": ["x"]}, "weights must be numbers"),
        ({"windows": [SOME], "batch": (5, math.nan)}, "batch must be two whole numbers of at least 1"),
        ({"windows": [SOME], "alternative": "greater"}, "alternative must be one of two-sided, less"),
        ({"windows": [SOME], "weights": [1, 1]}, "weights must be one number for each of the 1 windows"),
        ({"windows": [SOME], "weights": [-0.1]}, r"weights must lie within \[0, 1\]"),
        ({"windows": [SOME], "weights": [math.nan]}, r"weights must lie within \[0, 1\]"),
        ({"windows": [SOME], "weights": [0.0]}, "weights are all 0"),
        ({"windows": [SOME, ONE_CLASS], "weights": [0.0, 1.0]}, "weights are all 0"),
        ({"windows": [SOME], "symmetric": True}, "does not support symmetric"),
        ({"distance": 0.1, "method": "fixed", "weights": [1]}, "does not weigh windows"),
        ({"windows": [SOME], "method": "bootstrap"}, "needs rng"),
        (
            {"method": "bootstrap", "rng": 1},
            "needs windows: past windows as a sequence of Sample, or a batch",
        ),
        ({"windows": [SOME], "method": "bootstrap", "rng": 1, "n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_batch_weights_and_resampling_that_do_not_fit(arguments, message):
    with pytest.raises(InputError, match=message):
        forecast_interval(binormal(np.random.default_rng(1), 9, 9), **arguments)


# Level and power with the real function


def graded(rng, auc, n_pos, n_neg):
    """Two normal laws on 80 score levels."""
    f, g = shares(auc)
    return Sample.from_counts(np.arange(80), rng.multinomial(n_pos, g), rng.multinomial(n_neg, f))


def shares(auc):
    edges = np.linspace(-2.8, 2.8 + 1.5, 79)
    at = ndtr(np.stack([edges, edges - ndtri(auc) * 2**0.5]))
    return np.diff(at, prepend=0, append=1)


def graded_aucs(rng, auc, n_pos, n_neg, size):
    f, g = shares(auc)
    u, v = rng.multinomial(n_neg, f, size=size) / n_neg, rng.multinomial(n_pos, g, size=size) / n_pos
    return np.vecdot(v, np.cumsum(u, axis=1) - u / 2)


@pytest.mark.parametrize(("times", "batch"), [(1, (500, 1500)), (10, (50, 150)), (0.1, (500, 1500))])
def test_level_and_power_without_drift(times, batch):
    # Alarms in 12 x 500 batches, a nominal rate of 5 %. Windows ten times smaller than the batch: never more.
    rng = np.random.default_rng(21)
    sizes = [round(times * rows) for rows in batch]
    alarms, caught = [], []
    for _ in range(12):
        past = [graded(rng, 0.8, *sizes) for _ in range(19)]
        interval = forecast_interval(Sample.merge(past), windows=past, batch=batch)
        calm = graded_aucs(rng, 0.8, *batch, size=500)
        alarms.append(np.mean((calm < interval.low) | (calm > interval.high)))
        caught.append(np.mean(graded_aucs(rng, 0.75, *batch, size=500) < interval.low))
    slack = 0.01 + 5 * np.std(alarms) / math.sqrt(12)
    assert np.mean(alarms) < 0.05 + slack
    if times >= 1:
        assert np.mean(alarms) > 0.05 - slack
        if batch == (500, 1500):  # a drop of 0.05 at 500 positives
            assert np.mean(caught) > 0.8


# Real data


def test_employment_years_are_no_alarm_but_two_odd_blocks_are():
    # Every year as a whole is as 2015. Of 13 blocks a year in the file's order two fall low, at 0.81 and
    # 0.82: the last of 2017 and the first of 2018, whose people differ (younger, mostly never married;
    # perhaps those in group quarters are listed there). So these rows are no random draw of their year.
    data = golden.read(golden.EMPLOYMENT)
    years = {
        year: (rows["employed"].to_numpy(), rows["predicted_probability"].to_numpy())
        for year, rows in data.groupby("year")
    }

    def blocks(year, n):
        return [
            Sample(*pair) for pair in zip(*(np.array_split(values, n) for values in years[year]), strict=True)
        ]

    past = blocks(2015, 100)
    reference = Sample.merge(past)
    interval = forecast_interval(reference, windows=past, confidence_level=0.99)
    assert interval.achieved_level >= 0.99
    few = condensed(reference)
    for year in (2016, 2017, 2018):
        whole = Sample(*years[year])
        assert interval.for_batch(few, (whole.n_pos, whole.n_neg)).contains(area(whole))
    low = [
        (year, number)
        for year in (2016, 2017, 2018)
        for number, block in enumerate(blocks(year, 13))
        if area(block) < interval.for_batch(few, (block.n_pos, block.n_neg)).low
    ]
    assert low == [(2017, 12), (2018, 0)]


@pytest.mark.slow
def test_electricity_alarms_after_the_market_change():
    # Trained on twelve weeks of 1996, weekly windows; on 5 May 1997 the market was joined to Victoria's. For
    # four weeks the model ranks better than before; then it is alarmed about, from week nine on and often.
    data = golden.read("electricity/elec2.csv.gz")
    x, y = data[["period", "nswprice", "nswdemand"]].to_numpy(), data["y"].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[: 12 * WEEK], y[: 12 * WEEK])
    score = model.decision_function(x)
    weeks = [Sample(y[k : k + WEEK], score[k : k + WEEK]) for k in range(12 * WEEK, len(y) - WEEK + 1, WEEK)]
    past, coming = weeks[:40], weeks[40:]
    assert data["timestamp"][52 * WEEK].startswith("1997-05-06")
    reference = Sample.merge(past)
    interval = forecast_interval(reference, windows=past, alternative="less")
    few = condensed(reference)
    low = [area(week) < interval.for_batch(few, (week.n_pos, week.n_neg)).low for week in coming]
    assert 5 <= low.index(True) <= 12
    assert np.mean(low) > 0.2
    assert np.mean([area(week) for week in coming[:4]]) > np.mean([area(week) for week in past])
    # The weeks before differed by far more than by sampling, which is why nothing is alarmed about sooner.
    spread = np.std([area(week) for week in past])
    assert spread > 2 * np.mean([auc(week).se for week in past])
