"""A yearly wave in the windows of a forecast: taken off where they show one, left alone where they do not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from rocmonitor.errors import InputError
from rocmonitor.stats import ForecastInterval, Sample, auc, auc_bounds, forecast_interval
from rocmonitor.stats.forecast.interval import finished
from rocmonitor.stats.forecast.seasonal import with_season
from rocmonitor.stats.season import YEAR_DAYS, explained, wave_of

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
    level, cosine, _ = SEASONAL.season
    root = level + cosine * math.cos(0)
    assert WINTER.seasonal_root == pytest.approx(root, abs=0.02)
    reach = math.sqrt(2 * WINTER.distance)
    assert WINTER.seasonal_root > reach
    assert WINTER.low == pytest.approx(auc_bounds(REFERENCE, (WINTER.seasonal_root - reach) ** 2 / 2).high)
    assert WINTER.high == pytest.approx(auc_bounds(REFERENCE, (WINTER.seasonal_root + reach) ** 2 / 2).high)


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
    n, shifts = len(PAST), np.array(PLAIN.window_shifts)
    assert SEASONAL.inside
    values = shifts * (n - 1) / n
    angles = 2 * np.pi * DAYS / YEAR_DAYS
    design = np.column_stack([np.ones(n), np.cos(angles), np.sin(angles)])
    expected = []
    for place in range(n):
        others = np.arange(n) != place
        fitted, *_ = np.linalg.lstsq(design[others], values[others], rcond=None)
        expected.append(values[place] - design[place] @ fitted)
    assert SEASONAL.window_rests == pytest.approx(expected, abs=1e-9)
    assert SEASONAL.roots == SEASONAL.window_rests
    assert SEASONAL.season == pytest.approx(np.linalg.lstsq(design, values, rcond=None)[0], abs=1e-9)


def test_it_is_stored_and_follows_batch_and_day():
    again = ForecastInterval.from_dict(SEASONAL.to_dict())
    assert again.season == SEASONAL.season
    at = replace(again, day=2 * YEAR_DAYS).for_batch(REFERENCE, (20, 20))
    assert at.low < WINTER.low
    assert at.seasonal_auc == pytest.approx(WINTER.seasonal_auc)
    assert at.sampling_low < at.seasonal_auc < at.sampling_high
    assert finished(replace(again, day=WINTER.day), REFERENCE).low == WINTER.low
    less = forecast_interval(REFERENCE, windows=PAST, alternative="less", days=(DAYS, 0.0))
    assert less.high == 1
    assert less.low > SUMMER.low


def test_a_season_that_returns_is_no_correlation():
    wide, seasonal = (
        forecast_interval(REFERENCE, windows=PAST, correlation="estimated", days=days)
        for days in (None, (DAYS, None))
    )
    assert wide.widening > 1.1 > seasonal.widening


def test_a_wave_is_seldom_seen_where_there_is_none():
    """With two coefficients for 27 windows: the chance is some 0.15."""
    rng = np.random.default_rng(6)
    seen = [wave_of(rng.standard_normal(27), DAYS.tolist()) is not None for _ in range(200)]
    assert 0.02 < np.mean(seen) < 0.3


def test_less_than_what_a_wave_takes_explains_nothing():
    assert wave_of(np.arange(4.0), [0.0, 130.0, 260.0, 390.0]) is None
    assert wave_of(np.arange(9.0), [*(50.0 * n for n in range(8)), None]) is None
    line = explained(np.arange(9.0), np.arange(9.0)[:, None])
    assert line.coefficients == pytest.approx([1])
    assert line.gaps == pytest.approx(0, abs=1e-9)
    assert explained(np.arange(9.0), np.arange(9.0)[:, None], largest=0.0) is None
    assert with_season(SEASONAL, DAYS[:12].tolist() + [None] * 15).season == ()


@pytest.mark.parametrize(
    ("days", "options", "message"),
    [
        ((DAYS, 0.0), {"weights": np.ones(27)}, "days belongs to method 'calibrated' without weights"),
        ((DAYS, 0.0), {"method": "dual"}, "days belongs to method 'calibrated' without weights"),
        (DAYS, {}, "days must be two: one number for each window, and that of the coming window or None"),
        ((DAYS[:3], 0.0), {}, "a number for each of the 27 windows .* 3 numbers and 0.0"),
        ((DAYS, math.nan), {}, "27 numbers and nan"),
    ],
)
def test_impossible_days_are_refused(days, options, message):
    with pytest.raises(InputError, match=message):
        forecast_interval(REFERENCE, windows=PAST, days=days, **options)
