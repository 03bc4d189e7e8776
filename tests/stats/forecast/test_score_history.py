"""Forecasts given the scores: against their definition, at their limits, and as stored data."""

import json

import numpy as np
import pytest
from caveats import codes
from scipy.stats import beta as beta_law
from scipy.stats import multinomial

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    Sample,
    ScoreForecast,
    ScoreHistory,
    auc,
    auc_bounds,
    auc_distance,
    condensed,
    expected_auc,
    forecast_interval,
    score_history,
    score_shift,
)
from rocmonitor.stats.forecast.blending import Laws, score_bias
from rocmonitor.stats.forecast.distance import mixture_distance
from rocmonitor.stats.forecast.foreseen import error_of
from rocmonitor.stats.forecast.given_scores import Noises, at_strength, learned
from rocmonitor.stats.forecast.projection import counted_in


def window(rng, rows=400, wide=1.0, shift=1.1, share=0.25, decimals=1):
    """Normal scores on a grid; `wide` makes cases easier at the same P(y | score) = logistic(score)."""
    score = np.round(wide * 1.4 * rng.normal(size=rows) - 1, decimals)
    return Sample((rng.random(rows) < 1 / (1 + np.exp(-shift * score))).astype(int), score)


def drifting(rng, n, rows=400, decimals=1):
    """Windows whose scores spread more or less, at the same P(y | score)."""
    return [window(rng, rows, np.exp(0.25 * rng.normal()), decimals=decimals) for _ in range(n)]


def scores_of(sample):
    return sample.score, sample.pos + sample.neg


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def windows(rng):
    return drifting(rng, 25)


@pytest.fixture
def reference(windows):
    return Sample.merge(windows)


@pytest.fixture
def history(reference, windows):
    return score_history(reference, windows)


# What is kept of each window


def test_each_window_is_foreseen_by_the_others(history, reference, windows):
    for place in (0, 11, 24):
        rest = Sample.merge([each for other, each in enumerate(windows) if other != place])
        own = scores_of(windows[place])
        held_out = expected_auc(rest, own)
        assert history.foreseen[-1][place] == pytest.approx(held_out.auc, abs=2e-3)
        assert history.foreseen[0][place] == pytest.approx(auc(rest).auc, abs=1e-12)
        assert history.window_aucs[place] == pytest.approx(auc(windows[place]).auc, abs=1e-14)
        assert history.window_expected[place] == pytest.approx(expected_auc(reference, own).auc, abs=1e-12)
        assert history.window_distances[place] == pytest.approx(
            score_shift(rest, own, ends=history.ends).score_distance, abs=1e-12
        )
    assert history.inside
    assert history.n_windows == 25


def test_the_roots_are_those_of_the_blends(history, reference, windows):
    place, of = 3, windows[3]
    pos, neg = (counted_in(reference.score[:-1], of.score, counts) for counts in (of.pos, of.neg))
    laws = Laws.of(reference.score, reference.pos - pos, reference.neg - neg, pos + neg)
    for number, strength in enumerate(history.strengths[1:], 1):
        law = laws.blended(strength)
        distance = auc_distance(law, auc(of).auc)
        assert abs(history.roots[number][place]) == pytest.approx((2 * distance) ** 0.5, abs=1e-9)
        assert np.sign(history.roots[number][place]) == np.sign(auc(of).auc - auc_bounds(law, 0).auc)


def test_strength_0_is_the_forecast_without_scores(history, reference, windows):
    plain = forecast_interval(reference, windows=windows)
    assert history.roots[0] == plain.fit.window_shifts


def test_outside_windows_are_compared_with_the_whole_reference(rng, windows):
    reference = Sample.merge(drifting(rng, 20))
    history = score_history(reference, windows)
    assert not history.inside
    expected = expected_auc(reference, scores_of(windows[2]))
    assert history.foreseen[-1][2] == pytest.approx(expected.auc, abs=1e-12)
    assert history.window_distances[2] == pytest.approx(expected.score_distance, abs=1e-12)


# The forecast


def test_the_front_door_and_the_history_agree(history, reference, windows, rng):
    scores = rng.normal(size=300) - 1
    found = forecast_interval(reference, windows=windows, given=scores, confidence_level=0.9)
    assert isinstance(found, ScoreForecast)
    assert found.to_dict() == history.forecast(reference, scores, confidence_level=0.9).to_dict()
    assert found.auc == pytest.approx(expected_auc(reference, scores).auc, abs=1e-12)
    assert found.score_distance == pytest.approx(expected_auc(reference, scores).score_distance, abs=1e-12)


def test_the_front_door_expects_what_all_scores_of_the_reference_do(rng):
    past = []
    for _ in range(10):
        y = rng.random(300) < 0.3
        past.append(Sample(y, rng.normal(size=300) + y))
    reference, scores = Sample.merge(past), rng.normal(size=200) + 0.5
    found, expected = (
        forecast_interval(reference, windows=past, given=scores),
        expected_auc(reference, scores),
    )
    joined = score_history(reference, past).forecast(reference, scores)
    for name in ("auc", "prevalence", "score_distance", "outside_share"):
        assert getattr(found, name) == getattr(expected, name)
    assert 0 < abs(joined.auc - expected.auc) < 5e-3
    assert (found.low, found.foreseen, found.high) == (joined.low, joined.foreseen, joined.high)


def test_the_text_names_the_auc_that_the_interval_lies_around(history, reference):
    found = history.forecast(reference, np.zeros(200))  # one score: 1/2 is expected, and not trusted
    assert found.auc == 0.5
    assert found.low < found.foreseen < found.high
    assert f"around {found.foreseen:.4f} (" in str(found)


def test_where_scores_tell_much_the_interval_is_much_narrower(rng):
    past = drifting(rng, 25, rows=2000)
    reference = Sample.merge(past)
    history = score_history(reference, past)
    plain_width, width, covered = [], [], []
    for _ in range(20):
        coming = drifting(rng, 1, rows=2000)[0]
        found = history.forecast(reference, scores_of(coming))
        plain = forecast_interval_of(history, reference, found)
        plain_width.append(plain[1] - plain[0])
        width.append(found.high - found.low)
        covered.append(found.contains(auc(coming).auc))
        assert found.low <= found.foreseen <= found.high
        assert found.strength > 0.5
    assert np.mean(width) < 0.8 * np.mean(plain_width)
    assert np.mean(covered) >= 0.75


def forecast_interval_of(history, reference, found):
    """The ends without the scores, for the same batch."""
    rows = np.ones(len(reference.score), dtype=np.int64)
    laws = Laws.of(reference.score, reference.pos, reference.neg, rows)
    noises = Noises.of(history, found.n_rows, None)
    return at_strength(history, laws, reference, noises, 0, 0.95, "two-sided").ends("two-sided")


@pytest.mark.slow
def test_where_scores_tell_nothing_it_is_at_most_5_percent_wider(rng):
    def useless():
        """P(y | score) drifts; the law of the scores does not."""
        return window(rng, 300, shift=1.1 + 0.4 * rng.normal())

    for _ in range(4):
        past = [useless() for _ in range(19)]
        reference = Sample.merge(past)
        history = score_history(reference, past)
        for _ in range(5):
            found = history.forecast(reference, scores_of(useless()))
            low, high = forecast_interval_of(history, reference, found)
            assert found.high - found.low <= 1.05 * (high - low) + 1e-12


def test_a_smaller_window_has_a_wider_interval(history, reference):
    scores = np.linspace(-3, 1, 400)
    large = history.forecast(reference, scores)
    small = history.forecast(reference, scores[::10])
    assert small.high - small.low > 1.5 * (large.high - large.low)
    given = history.forecast(reference, scores, batch=(8, 32))
    assert given.batch == (8, 32)
    assert given.high - given.low > 1.5 * (large.high - large.low)
    assert sum(large.batch) == 400


def test_losses_only(history, reference, rng):
    scores = scores_of(window(rng))
    both = history.forecast(reference, scores)
    less = history.forecast(reference, scores, alternative="less")
    assert less.high == 1
    assert both.low < less.low < both.high
    with pytest.raises(InputError, match="alternative must be one of two-sided, less"):
        history.forecast(reference, scores, alternative="greater")


def test_losses_that_the_scores_foresee_are_not_compared_with_an_interval_up_to_1(rng):
    past = drifting(rng, 25, rows=2000)
    reference = Sample.merge(past)
    history = score_history(reference, past)
    for coming in drifting(rng, 8, rows=2000):
        both, less = (
            history.forecast(reference, scores_of(coming), alternative=a) for a in ("two-sided", "less")
        )
        assert less.strength == both.strength > 0.5
        assert less.foreseen == both.foreseen


def test_weights_count_windows(reference, windows):
    kept = score_history(reference, windows, weights=[1.0] * 20 + [0.0] * 5)
    *_, second, largest = sorted(kept.window_distances[:20])
    assert kept.distance_limit(400).limit == pytest.approx(second + 0.95 * (largest - second))  # 21 x 0.95
    assert kept.distance_limit(400).achieved_level == 0.95
    lowest, second, *_ = sorted(kept.window_expected[:20])
    assert kept.expected_limit(400).limit == pytest.approx(second - 0.95 * (second - lowest))
    alone = score_history(reference, windows[:20])
    scores = np.linspace(-3, 1, 400)
    found, expected = (of.forecast(reference, scores) for of in (kept, alone))
    assert found.achieved_level == expected.achieved_level
    assert found.foreseen == expected.foreseen
    with pytest.raises(InputError, match="weights must be one number for each of the 25 windows"):
        score_history(reference, windows, weights=[1.0])


def test_equal_scores_have_the_auc_one_half(history, reference):
    found = history.forecast(reference, [0.5] * 80)
    assert found.auc == 0.5
    assert "scores-all-equal" in codes(found)
    assert 0 <= found.low <= found.foreseen <= found.high <= 1


def test_scores_outside_the_reference_are_named(history, reference):
    found = history.forecast(reference, [50.0, 60.0, 0.0, -1.0])
    assert found.outside_share == 0.5
    assert "scores-outside-reference" in codes(found)
    assert history.forecast(reference, np.linspace(40, 50, 30)).auc == 0.5


def test_a_pair_of_equal_histories_gives_equal_forecasts_for_rows_and_groups(history, reference, rng):
    coming = window(rng)
    rows = np.repeat(coming.score, coming.pos + coming.neg)
    assert (
        history.forecast(reference, rows).to_dict()
        == history.forecast(reference, scores_of(coming)).to_dict()
    )


# Stored


def test_a_history_survives_json_and_works_on_the_condensed_reference(rng):
    past = drifting(rng, 12, decimals=6)
    reference = Sample.merge(past)
    history = score_history(reference, past)
    cells = condensed(reference)
    assert len(cells.score) < len(reference.score)
    again = ScoreHistory.from_dict(json.loads(json.dumps(history.to_dict())))
    assert again.to_dict() == history.to_dict()
    scores = rng.normal(size=200) - 1
    assert again.forecast(cells, scores).to_dict() == history.forecast(reference, scores).to_dict()
    assert again.distance_limit(200).to_dict() == history.distance_limit(200).to_dict()
    assert again.expected(cells, scores).auc == history.forecast(reference, scores).auc
    found = history.forecast(cells, scores)
    assert ScoreForecast.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()


def test_the_lowest_scores_of_the_first_cell_are_not_outside(rng):
    past = drifting(rng, 10, decimals=6)
    reference = Sample.merge(past)
    cells, history = condensed(reference), score_history(reference, past)
    lowest = float(reference.score[0])
    assert cells.score[0] > lowest
    assert history.expected(cells, [lowest, -1.0, 0.0]).outside_share == 0
    assert history.expected(cells, [lowest - 1, -1.0, 0.0]).outside_share == pytest.approx(1 / 3)


def test_another_reference_is_refused(history, windows):
    with pytest.raises(InputError, match="reference must be the same as before"):
        history.forecast(windows[0], [1, 2])
    with pytest.raises(InputError, match="reference must be a Sample"):
        history.expected(None, [1, 2])


def test_the_split_and_the_shift_use_the_cells_of_the_history(history, reference, rng):
    coming = window(rng)
    split = history.split(reference, coming)
    assert split.foreseen + split.unforeseen == pytest.approx(auc(coming).auc - history.auc, abs=1e-14)
    assert split.score_distance == history.expected(reference, scores_of(coming)).score_distance
    assert history.shift(reference, scores_of(coming)).score_distance == split.score_distance
    with pytest.raises(DegenerateDataError, match="needs at least 1 of each class"):
        history.split(reference, Sample([1, 1], [0, 1]))


# Limits


def test_limits_of_windows_of_the_same_size_are_order_statistics(history):
    distance, expected = history.distance_limit(400), history.expected_limit(400)
    second, largest = sorted(history.window_distances)[23:]
    assert distance.limit == pytest.approx(second + 0.7 * (largest - second))  # 26 x 0.95 = 24.7
    lowest, second = sorted(history.window_expected)[:2]
    assert expected.limit == pytest.approx(second - 0.7 * (second - lowest))
    for limit in (distance, expected):
        assert limit.achieved_level == 0.95
        assert limit.beta == pytest.approx((1.3, 24.7))
        assert beta_law(*limit.beta).mean() == pytest.approx(0.05)
    assert history.distance_limit(400, confidence_level=0.5).limit == sorted(history.window_distances)[12]
    assert history.expected_limit(400, confidence_level=0.5).limit == sorted(history.window_expected)[12]


def test_too_few_windows_have_the_level_they_have(reference, windows):
    few = score_history(Sample.merge(windows[:9]), windows[:9])
    limit = few.distance_limit(400)
    assert (limit.limit, limit.achieved_level) == (max(few.window_distances), 0.9)
    found = few.forecast(Sample.merge(windows[:9]), [0, -1, 1, 0.5])
    assert found.achieved_level == 0.9
    assert "too-few-windows" in codes(found)


def test_a_smaller_window_may_be_further_away(history):
    limits = [history.distance_limit(rows).limit for rows in (4000, 400, 200, 100, 50)]
    assert limits[0] == limits[1]
    assert limits == sorted(limits)
    assert limits[-1] > 2 * limits[0]
    lower = [history.expected_limit(rows).limit for rows in (400, 200, 100, 50)]
    assert lower == sorted(lower, reverse=True)


@pytest.mark.slow
def test_windows_without_drift_leave_the_limits_as_often_as_stated(rng):
    distance, expected = [], []
    for _ in range(25):
        past = [window(rng, 1000) for _ in range(19)]
        reference = Sample.merge(past)
        history = score_history(reference, past)
        limits = history.distance_limit(200).limit, history.expected_limit(200).limit
        for _ in range(20):
            found = history.expected(reference, scores_of(window(rng, 200)))
            distance.append(found.score_distance > limits[0])
            expected.append(found.auc < limits[1])
    assert 0.01 < np.mean(distance) < 0.12
    assert 0.01 < np.mean(expected) < 0.12


@pytest.mark.parametrize("rows", [0, -3, 2.5, float("inf"), float("nan"), None, "many"])
def test_rows_are_a_whole_number(history, rows):
    for limit in (history.distance_limit, history.expected_limit):
        with pytest.raises(InputError, match="rows must be a whole number of at least 1"):
            limit(rows)


# Refused


def test_fewer_than_8_windows_are_refused(reference, windows):
    with pytest.raises(DegenerateDataError, match="at least 8 past windows with both classes; 7 of 7"):
        score_history(reference, windows[:7])
    with pytest.raises(DegenerateDataError, match="0 of 0 can be used"):
        score_history(reference, [])
    one_class = Sample([0, 0], [-1.0, 0.0])
    with pytest.raises(DegenerateDataError, match="7 of 8 can be used"):
        forecast_interval(reference, windows=[*windows[:7], one_class], given=[1, 2])
    kept = score_history(reference, [*windows[:8], one_class])
    assert (kept.n_windows, codes(kept)) == (8, ["windows-set-aside"])


def test_what_a_forecast_given_the_scores_cannot_use(reference, windows):
    with pytest.raises(DegenerateDataError, match="needs at least 1 of each class"):
        score_history(Sample([0, 0], [1, 2]), windows)
    with pytest.raises(InputError, match="method 'dual' does not use scores"):
        forecast_interval(reference, windows=windows, given=[1, 2], method="dual")
    with pytest.raises(InputError, match="needs windows"):
        forecast_interval(reference, given=[1, 2])
    with pytest.raises(InputError, match="scores must be finite"):
        forecast_interval(reference, windows=windows, given=[1, np.nan])
    with pytest.raises(InputError, match="batch must be two whole numbers"):
        forecast_interval(reference, windows=windows, given=[1, 2], batch=(0, 3))
    with pytest.raises(InputError, match="confidence_level"):
        score_history(reference, windows).forecast(reference, [1, 2], confidence_level=1)
    found = forecast_interval(reference, windows=windows, given=[0, 1, -1])
    with pytest.raises(InputError, match=r"ask ScoreHistory\.forecast with the batch"):
        found.for_batch(reference, (3, 4))


def test_scores_of_one_class_only_say_nothing(rng):
    score = np.concatenate([np.full(30, -5.0), np.round(rng.normal(size=200), 1)])
    past = []
    for _ in range(8):
        y = np.concatenate([np.zeros(30, int), (rng.random(200) < 0.5).astype(int)])
        past.append(Sample(y, score))
    reference = Sample.merge(past)
    history = score_history(reference, past)
    found = history.forecast(reference, [-5.0, -5.0])
    assert (found.auc, found.prevalence) == (0.5, 0)
    assert "scores-of-one-class" in codes(found)
    assert 0 <= found.low <= found.foreseen <= found.high <= 1


def test_perfectly_separated_windows_are_no_obstacle():
    past = [Sample([0, 0, 0, 1, 1], [1, 2, 3, 3 + k % 2, 5]) for k in range(8)]
    reference = Sample.merge(past)
    history = score_history(reference, past)
    found = history.forecast(reference, [1, 2, 3, 4, 5])
    assert 0 <= found.low <= found.foreseen <= found.high <= 1


# A broken pipeline


@pytest.fixture(scope="module")
def steady():
    """A history of windows that hardly drift, and one window more."""
    rng = np.random.default_rng(3)
    past = [window(rng, 1000, np.exp(0.03 * rng.normal()), decimals=6) for _ in range(20)]
    reference = Sample.merge(past)
    return score_history(reference, past), condensed(reference), window(rng, 1000, decimals=6), rng


def test_shuffled_scores_are_seen_with_the_labels_only(steady):
    history, cells, coming, rng = steady
    y = rng.permutation(np.repeat([0, 1], [coming.n_neg, coming.n_pos]))
    shuffled = Sample(y, np.repeat(coming.score, coming.pos + coming.neg))
    found = history.forecast(cells, scores_of(shuffled))
    assert found.to_dict() == history.forecast(cells, scores_of(coming)).to_dict()
    assert found.score_distance < history.distance_limit(1000).limit
    assert found.auc > history.expected_limit(1000).limit
    assert found.contains(auc(coming).auc)
    assert not found.contains(auc(shuffled).auc)
    split = history.split(cells, shuffled)
    assert split.unforeseen < -0.2
    assert split.label_distance > 5 * split.score_distance


@pytest.mark.parametrize(
    "broken",
    [
        lambda score: score / 2,
        lambda score: np.where(np.arange(len(score)) % 3 == 0, 0.25, score),
        lambda score: np.full(len(score), 0.25),
        lambda score: score + 1,
        lambda score: score + 100,
    ],
    ids=["halved", "a third constant", "all constant", "shifted", "far away"],
)
def test_broken_scores_are_seen_at_once(steady, broken):
    history, cells, coming, _ = steady
    found = history.expected(cells, broken(np.repeat(coming.score, coming.pos + coming.neg)))
    assert found.score_distance > history.distance_limit(found.n_rows).limit


def test_three_times_as_many_positives_are_seen_at_once(steady):
    history, cells, coming, _ = steady
    score = np.concatenate([np.repeat(coming.score, 3 * coming.pos), np.repeat(coming.score, coming.neg)])
    found = history.expected(cells, score)
    assert found.score_distance > history.distance_limit(found.n_rows).limit
    assert found.prevalence > history.expected(cells, scores_of(coming)).prevalence + 0.05


def test_the_bias_of_an_expected_auc_is_that_of_all_samples():
    reference = Sample.from_counts(np.array([1.0, 2.0, 3.0]), np.array([10, 30, 60]), np.array([200, 70, 30]))
    share, rows = (reference.pos + reference.neg) / 400, 40
    mean = 0.0
    for first in range(rows + 1):
        for second in range(rows + 1 - first):
            counts = np.array([first, second, rows - first - second])
            chance = multinomial.pmf(counts, rows, share)
            if chance > 1e-12:
                mean += chance * expected_auc(reference, (reference.score, counts)).auc
    bias = mean - expected_auc(reference, (reference.score, share * 400)).auc
    assert score_bias(reference) / rows == pytest.approx(bias, rel=0.05)
    assert bias < -0.002


@pytest.mark.slow
def test_the_limit_of_the_expected_auc_holds_for_windows_much_smaller_than_the_past_ones(rng):
    def drawn(rows):
        y = rng.random(rows) < 0.25
        return Sample(y, np.round(rng.normal(size=rows) + 1.1 * y, 1))

    below = []
    for _ in range(12):
        past = [drawn(2000) for _ in range(19)]
        reference = Sample.merge(past)
        history = score_history(reference, past)
        limit = history.expected_limit(50).limit
        coming = (history.expected(reference, scores_of(drawn(50))) for _ in range(160))
        below += [each.auc < limit for each in coming]
    assert np.mean(below) < 0.075  # 0.05 but for skewness; without the bias 0.09


# Scores that have left what past windows do


def alone(history, cells, scores, place, widening=1.0):
    """The interval at one strength, whatever the past windows say of it."""
    laws = Laws.of(cells.score, cells.pos, cells.neg, counted_in(cells.score[:-1], *scores))
    noises = Noises.of(history, int(scores[1].sum()), None)
    return at_strength(history, laws, cells, noises, place, 0.95, "two-sided", widening)


@pytest.mark.parametrize("wide", [0.6, 1.6])
def test_where_the_scores_have_moved_it_lies_around_what_they_lead_to(steady, wide):
    history, cells, _, rng = steady
    of = scores_of(window(rng, 1000, wide, decimals=6))
    found = history.forecast(cells, of)
    assert found.moved
    assert found.score_distance > history.distance_limit(1000).limit
    assert found.strength == 1
    assert found.foreseen == pytest.approx(found.auc, abs=1e-6)
    assert abs(found.foreseen - history.auc) > 0.05
    laws = Laws.of(cells.score, cells.pos, cells.neg, counted_in(cells.score[:-1], *of))
    taught, _ = learned(history, laws, cells, Noises.of(history, 1000, None), 0.95, "two-sided")
    full = alone(history, cells, of, -1)
    low, high = full._replace(root=max(full.root, taught.root)).ends("two-sided")
    error = error_of(cells, *of)
    assert found.foreseen - found.low == pytest.approx(
        np.hypot(found.foreseen - low, 1.959964 * error.se) + max(error.mean, 0), abs=1e-6
    )
    assert found.high - found.foreseen == pytest.approx(
        np.hypot(high - found.foreseen, 1.959964 * error.se) - min(error.mean, 0), abs=1e-6
    )


def test_scores_within_the_limit_have_not_moved(steady):
    history, cells, coming, _ = steady
    found = history.forecast(cells, scores_of(coming))
    assert not found.moved
    assert found.score_distance <= history.distance_limit(1000).limit


def test_where_prevalence_alone_explains_the_scores_the_auc_may_have_stayed(steady):
    history, cells, coming, _ = steady
    score, rows = coming.score, 3 * coming.pos + coming.neg
    more = score, rows
    found, without = history.forecast(cells, more), alone(history, cells, more, 0)
    assert found.moved
    assert history.forecast(cells, scores_of(coming)).strength < 1
    low, high = without.ends("two-sided")
    assert found.low <= low
    assert found.high >= high
    ends = np.array(history.ends)
    assert mixture_distance(cells, ends, counted_in(ends, *more)) < found.score_distance / 4


def test_the_nearest_mix_of_two_classes_is_that_of_a_fine_grid():
    reference = Sample.from_counts(np.array([1.0, 2.0, 3.0]), np.array([1, 3, 6]), np.array([8, 3, 1]))
    ends = np.array([1.0, 2.0])
    shares = np.linspace(0, 1, 200_001)[:, None]
    mixed = shares * reference.pos / 10 + (1 - shares) * reference.neg / 12
    for rows in ([5, 5, 5], [10, 0, 0], [0, 0, 7], [2, 9, 1], [0, 4, 4]):
        seen, share = np.array(rows) > 0, np.array(rows) / sum(rows)
        least = (share[seen] * np.log(share[seen] / mixed[:, seen])).sum(axis=1).min()
        assert mixture_distance(reference, ends, np.array(rows)) == pytest.approx(least, abs=1e-8)


def test_a_mix_of_the_classes_is_no_distance_from_itself():
    reference = Sample.from_counts(np.array([1.0, 2.0, 3.0]), np.array([1, 3, 6]), np.array([8, 3, 1]))
    rows = 6 * reference.neg + 30 * reference.pos
    assert mixture_distance(reference, np.array([1.0, 2.0]), rows) == pytest.approx(0, abs=1e-12)


def test_without_the_scores_it_is_widened_as_the_normal_range_is(rng):
    past = [window(rng, 300, decimals=2) for _ in range(20)]
    reference = Sample.merge(past)
    history, coming = score_history(reference, past), scores_of(window(rng, 300, decimals=2))
    plain, wider = (alone(history, reference, coming, 0, widening) for widening in (1.0, 1.5))
    assert wider.root >= 1.4 * plain.root  # 1.5 times what is seen, and the noise that is missing as before
    trusted = [alone(history, reference, coming, -1, widening).root for widening in (1.0, 1.5)]
    assert trusted[0] == trusted[1]
    found = [history.forecast(reference, coming, widening=widening) for widening in (1.0, 1.5)]
    assert found[1].high - found[1].low >= found[0].high - found[0].low


def test_a_window_of_one_class_only_is_foreseen_as_before(rng):
    score = np.concatenate([np.full(300, -5.0), np.round(rng.normal(size=200), 1)])
    past = [Sample(np.concatenate([np.zeros(300, int), rng.integers(0, 2, 200)]), score) for _ in range(8)]
    reference = Sample.merge(past)
    found = score_history(reference, past).forecast(reference, [-5.0] * 500)
    assert not found.moved  # nothing can be ranked
    assert 0 <= found.low <= found.foreseen <= found.high <= 1
