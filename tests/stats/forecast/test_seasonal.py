"""A yearly wave in the windows of a forecast: taken off where they show one, left alone where they do not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import f

from rocmonitor.errors import InputError
from rocmonitor.stats import ForecastInterval, Sample, auc, auc_bounds, forecast_interval
from rocmonitor.stats.forecast.interval import season_of
from rocmonitor.stats.series import YEAR_DAYS, _explained, wave_of, wave_pvalue

DAYS = 28.0 * np.arange(27)  # two years
HEIGHT = 0.06


def month(day: float, rng: np.random.Generator, height: float = HEIGHT, drop: float = 0.0) -> Sample:
    """800 rows of each class about an AUC of 0.8, which is highest at the turn of the year."""
    area = 0.8 - drop + height * math.cos(2 * math.pi * day / YEAR_DAYS)
    y = np.repeat([1, 0], 800)
    return Sample(y, rng.standard_normal(1600) + math.sqrt(2) * ndtri(area) * y)


def months(height: float, seed: int = 3) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [month(day, rng, height) for day in DAYS.tolist()]


PAST = months(HEIGHT)
REFERENCE = Sample.merge(PAST)
PLAIN = forecast_interval(REFERENCE, windows=PAST)
SEASONAL = forecast_interval(REFERENCE, windows=PAST, days=(DAYS, None))
WINTER, SUMMER = (
    forecast_interval(REFERENCE, windows=PAST, days=(DAYS, day)) for day in (2 * YEAR_DAYS, 2.5 * YEAR_DAYS)
)


def test_the_interval_lies_around_the_season_and_is_narrower():
    assert WINTER.seasonal_auc == pytest.approx(0.8 + HEIGHT, abs=0.02)
    assert SUMMER.seasonal_auc == pytest.approx(0.8 - HEIGHT, abs=0.02)
    assert SEASONAL.seasonal_auc == pytest.approx(PLAIN.auc, abs=0.005)
    for found in (WINTER, SUMMER):
        assert found.high - found.low < 0.75 * (PLAIN.high - PLAIN.low)
        assert found.achieved_level == PLAIN.achieved_level
        assert found.auc == PLAIN.auc
    assert WINTER.low > 0.8 > SUMMER.seasonal_auc
    assert f"around {WINTER.seasonal_auc:.4f}" in str(WINTER)


def test_the_ends_are_those_of_the_roots_to_either_side_of_the_season():
    """The low end is as far from the season's AUC, in the root of the distance, as the high end."""
    level, cosine, _ = SEASONAL.fit.season
    root = level + cosine * math.cos(0)
    winter, reach = WINTER.fit.seasonal_root(WINTER.day), math.sqrt(2 * WINTER.distance)
    assert winter == pytest.approx(root, abs=0.02)
    assert winter > reach
    assert WINTER.low == pytest.approx(auc_bounds(REFERENCE, (winter - reach) ** 2 / 2).high)
    assert WINTER.high == pytest.approx(auc_bounds(REFERENCE, (winter + reach) ** 2 / 2).high)


def test_a_usual_summer_is_inside_and_a_poor_winter_is_not():
    rng = np.random.default_rng(5)
    summer, poor = month(2.5 * YEAR_DAYS, rng), month(2 * YEAR_DAYS, rng, drop=0.08)
    assert SUMMER.contains(auc(summer).auc)
    assert PLAIN.contains(auc(poor).auc)
    assert not WINTER.contains(auc(poor).auc)


def test_windows_without_a_season_and_less_than_a_year_change_nothing():
    flat = months(0.0, seed=4)
    whole = Sample.merge(flat)
    plain, dated = (forecast_interval(whole, windows=flat, days=days) for days in (None, (DAYS, 800.0)))
    assert replace(dated, day=None).to_dict() == plain.to_dict()
    few, merged = PAST[:12], Sample.merge(PAST[:12])
    plain, dated = (forecast_interval(merged, windows=few, days=of) for of in (None, (DAYS[:12], 400.0)))
    assert replace(dated, day=None).to_dict() == plain.to_dict()
    assert dated.seasonal_auc is None


def test_each_root_is_compared_with_the_season_that_the_others_say():
    """By least squares without it; windows inside the reference were measured from the others already."""
    n, shifts = len(PAST), np.array(PLAIN.fit.window_shifts)
    assert SEASONAL.fit.inside
    values = shifts * (n - 1) / n
    angles = 2 * np.pi * DAYS / YEAR_DAYS
    design = np.column_stack([np.ones(n), np.cos(angles), np.sin(angles)])
    expected = []
    for place in range(n):
        others = np.arange(n) != place
        fitted, *_ = np.linalg.lstsq(design[others], values[others], rcond=None)
        expected.append(values[place] - design[place] @ fitted)
    assert SEASONAL.fit.window_rests == pytest.approx(expected, abs=1e-9)
    assert SEASONAL.fit.roots == SEASONAL.fit.window_rests
    assert SEASONAL.fit.season == pytest.approx(np.linalg.lstsq(design, values, rcond=None)[0], abs=1e-9)


def test_it_is_stored_and_follows_batch_and_day():
    again = ForecastInterval.from_dict(SEASONAL.to_dict())
    assert again.fit.season == SEASONAL.fit.season
    at = again.fit.interval(REFERENCE, (20, 20), day=2 * YEAR_DAYS)
    assert at.low < WINTER.low
    assert at.seasonal_auc == pytest.approx(WINTER.seasonal_auc)
    assert at.sampling_low < at.seasonal_auc < at.sampling_high
    assert again.fit.interval(REFERENCE, day=WINTER.day).low == WINTER.low
    less = forecast_interval(REFERENCE, windows=PAST, alternative="less", days=(DAYS, 0.0))
    assert less.high == 1
    assert less.low > SUMMER.low


def test_a_season_that_returns_is_no_correlation():
    wide, seasonal = (
        forecast_interval(REFERENCE, windows=PAST, correlation="estimated", days=days)
        for days in (None, (DAYS, None))
    )
    assert wide.fit.widening > 1.1 > seasonal.fit.widening


WEEKS, MONTHS = 7.0, 30.44


@pytest.mark.parametrize(
    ("length", "count"), [(WEEKS, 52), (WEEKS, 60), (WEEKS, 104), (MONTHS, 14), (MONTHS, 24), (MONTHS, 36)]
)
@pytest.mark.parametrize("law", ["normal", "heavy"])
def test_a_wave_is_seldom_seen_where_there_is_none(length, count, law):
    """At most 3 % of 400 references; 6 % is five errors above that."""
    rng = np.random.default_rng(6)
    draw = rng.standard_normal if law == "normal" else lambda shape: rng.standard_t(3, shape)
    days = (length * np.arange(count)).tolist()
    seen = [wave_of(each, days) is not None for each in draw((400, count))]
    assert np.mean(seen) < 0.06


@pytest.mark.parametrize("count", [52, 104])
def test_a_wave_of_a_standard_deviation_is_found(count):
    rng = np.random.default_rng(7)
    days = WEEKS * np.arange(count)
    waves = np.cos(2 * np.pi * days / YEAR_DAYS - rng.uniform(0, 2 * np.pi, (200, 1)))
    seen = [wave_of(each, days.tolist()) is not None for each in waves + rng.standard_normal((200, count))]
    assert np.mean(seen) > 0.7  # 0.85 and 1


@pytest.mark.parametrize("count", [52, 60, 104])
def test_a_steady_loss_is_no_wave(count):
    rng = np.random.default_rng(8)
    loss = np.linspace(2, -2, count) + rng.standard_normal((200, count))
    seen = [wave_of(each, (WEEKS * np.arange(count)).tolist()) is not None for each in loss]
    assert np.mean(seen) < 0.1


def test_noise_that_returns_slowly_is_seldom_a_wave():
    """At a correlation of 0.3; 6 % with 52 windows, where the test for independent ones sees 19 %."""
    rng = np.random.default_rng(9)
    steps = rng.standard_normal((400, 60))
    noise = np.empty((400, 60))
    noise[:, 0] = steps[:, 0] / math.sqrt(1 - 0.3**2)
    for place in range(1, 60):
        noise[:, place] = 0.3 * noise[:, place - 1] + steps[:, place]
    days = (WEEKS * np.arange(60)).tolist()
    assert np.mean([wave_of(each, days) is not None for each in noise]) < 0.1


@pytest.mark.parametrize("length", [365.0, 365.25, 366.0, 364.0, 182.6, 121.75])
def test_windows_of_a_few_parts_of_the_year_show_no_season(length):
    """Six of them fall by a tenth of a standard deviation a window: a wave fits that as well as a line."""
    values = -np.arange(8.0) + 0.01 * np.random.default_rng(3).standard_normal(8)
    assert wave_of(values, (length * np.arange(8)).tolist()) is None


def test_the_forecast_of_years_takes_a_steady_loss_as_it_comes():
    """Six years, each a little worse: the interval came out as 1.0000 to 1.0000."""
    rng = np.random.default_rng(11)
    past = [month(0.0, rng, 0.0, drop=0.01 * year) for year in range(6)]
    days = 365.0 * np.arange(6)
    found = forecast_interval(Sample.merge(past), windows=past, days=(days, 6 * 365.0))
    assert found.fit.season == ()
    assert 0.6 < found.low < 0.75 < found.high < 0.9


def test_the_chance_of_a_wave_is_that_of_an_f_test():
    rng = np.random.default_rng(5)
    days = WEEKS * np.arange(60)
    values = rng.standard_normal(60)
    values -= 0.4 * np.roll(values, 1)  # neighbours differ: nothing is taken off
    plain = np.column_stack([np.ones(60), days])
    angle = 2 * np.pi * days / YEAR_DAYS
    terms = np.column_stack([plain, np.cos(angle), np.sin(angle)])
    sums = [float(np.linalg.lstsq(of, values, rcond=None)[1][0]) for of in (plain, terms)]
    expected = f.sf((sums[0] - sums[1]) / 2 / (sums[1] / 56), 2, 56)
    assert wave_pvalue(values, days) == pytest.approx(expected)
    shuffled = rng.permutation(60)
    assert wave_pvalue(values[shuffled], days[shuffled]) == pytest.approx(expected)


def test_less_than_what_a_wave_takes_explains_nothing():
    assert wave_of(np.arange(4.0), [0.0, 130.0, 260.0, 390.0]) is None
    assert wave_of(np.arange(9.0), [*(50.0 * n for n in range(8)), None]) is None
    line = _explained(np.arange(9.0), np.arange(9.0)[:, None])
    assert line.coefficients == pytest.approx([1])
    assert line.gaps == pytest.approx(0, abs=1e-9)
    fit, days = SEASONAL.fit, DAYS[:12].tolist() + [None] * 15
    assert season_of(fit.window_shifts, days, inside=fit.inside) == ((), ())


@pytest.mark.parametrize(
    ("days", "options", "message"),
    [
        ((DAYS, 0.0), {"weights": np.ones(27)}, "days belongs to method 'calibrated' without weights"),
        ((DAYS, 0.0), {"method": "dual"}, "days belongs to method 'calibrated' without weights"),
        (DAYS, {}, "days must be two: one number for each window, and that of the coming window or None"),
        ((DAYS[:3], 0.0), {}, "a number for each of the 27 windows; they have 3"),
        ((DAYS, math.nan), {}, "a finite number, or None, for the coming window; it is nan"),
    ],
)
def test_impossible_days_are_refused(days, options, message):
    with pytest.raises(InputError, match=message):
        forecast_interval(REFERENCE, windows=PAST, days=days, **options)
