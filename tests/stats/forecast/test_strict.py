"""Levels beyond what past windows show: Student's law, simulated windows, and the interval that follows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rocmonitor.errors import InputError
from rocmonitor.stats import Sample, forecast_fit, forecast_interval
from rocmonitor.stats.series import coming_window, extreme_limit
from rocmonitor.wording.caveats import words_of


def weeks(number: int, seed: int = 1) -> list[Sample]:
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [60, 90])
    return [Sample(y, rng.normal(1.2, 0.1) * y + rng.normal(size=150)) for _ in range(number)]


@pytest.mark.parametrize("n", [8, 19, 39])
def test_independent_windows_leave_the_reach_as_often_as_stated(n: int) -> None:
    """The chance of a value beyond it, exact for a known law, on average over 150 references."""
    rng = np.random.default_rng(n)
    tails = np.array([0.01, 0.001])
    found = []
    for _ in range(150):
        values = rng.normal(size=n)
        coming = coming_window(values - values.mean(), np.full(n, 0.2), 0.2)
        reach = np.array([coming.reach(tail, two_sided=False) for tail in tails])
        found.append(stats.norm.cdf(values.mean() - reach))
    assert (np.mean(found, axis=0) < 1.4 * tails).all()
    assert (np.mean(found, axis=0) > 0.4 * tails).all()


def test_without_sampling_noise_it_is_nearly_the_law_of_student() -> None:
    values = np.random.default_rng(3).permutation(stats.norm.ppf((np.arange(30) + 0.5) / 30))
    coming = coming_window(values, np.zeros(30), 0.0)
    spread = values.std(ddof=1) * math.sqrt(1 + 1 / 30)
    for tail in (0.05, 0.01, 0.001):
        expected = -stats.t.ppf(tail, 29) * spread
        assert coming.reach(tail, two_sided=False) == pytest.approx(expected, rel=0.08)


def test_chances_and_reach_agree_and_gaps_count_nothing() -> None:
    values = [0.3, -0.2, 0.1, 0.0, 0.4, -0.1]
    coming = coming_window(values, [0.02] * 6, 0.03)
    one, two = (coming.reach(0.001, two_sided=both) for both in (False, True))
    assert coming.below(-one) == pytest.approx(0.001)
    assert coming.below(-two) + coming.above(two) == pytest.approx(0.002)
    gap = coming_window([*values, 5.0], [0.02] * 6 + [math.inf], 0.03)
    assert gap.below(-one) == pytest.approx(0.001, rel=1e-6)
    with pytest.raises(InputError, match="at least two windows"):
        coming_window([0.1, 0.2], [0.1, math.inf], 0.1)


def test_an_interval_is_extended_only_where_its_windows_are_too_few() -> None:
    past = weeks(12)
    whole = Sample.merge(past)
    known = forecast_fit(whole, windows=past, confidence_level=0.9, batch=(60, 90))
    assert known.interval(whole, full_level=True).to_dict() == known.interval(whole).to_dict()
    ends = []
    for level in (0.95, 0.999, 0.99999):
        few = forecast_fit(whole, windows=past, confidence_level=level, batch=(60, 90)).interval(whole)
        more = few.fit.interval(whole, full_level=True)
        assert more.achieved_level == level
        assert more.low <= few.low
        assert more.high >= few.high
        assert [each.code for each in more.caveats if each.code == "too-few-windows"] == []
        assert known.interval(whole, confidence_level=level, full_level=True).low == more.low
        ends.append(more.low)
    assert ends == sorted(ends, reverse=True)
    less = forecast_fit(whole, windows=past, confidence_level=0.999, batch=(60, 90), alternative="less")
    assert less.interval(whole, full_level=True).high == 1


def test_beside_too_few_windows_stands_an_interval_by_the_model() -> None:
    """The same as the one at a strict level; none where the windows are enough, weighed, or one alone."""
    past = weeks(8)
    whole = Sample.merge(past)
    found = forecast_interval(whole, windows=past, batch=(60, 90))
    strict = found.fit.interval(whole, full_level=True)
    assert (found.model_low, found.model_high) == (strict.low, strict.high)
    assert found.model_low < found.low < found.high < found.model_high
    assert strict.model_low is None
    (said,) = [words_of(each) for each in found.caveats if each.code == "model-beside"]
    assert said.startswith(f"if the true values of windows scatter normally, {strict.low:.3f} to ")
    smaller = found.for_batch(whole, (20, 30))
    assert smaller.model_low < found.model_low
    assert forecast_interval(whole, windows=past).model_low == pytest.approx(found.model_low, abs=0.005)
    for enough in (
        forecast_interval(whole, windows=past, confidence_level=0.8),
        forecast_interval(whole, windows=past, weights=np.ones(8)),
        forecast_interval(whole, windows=past[:1]),
        forecast_interval(whole, windows=past, method="dual"),
    ):
        assert enough.model_low is None
        assert "model-beside" not in [each.code for each in enough.caveats]
    less = forecast_interval(whole, windows=past, alternative="less")
    assert (less.model_high, less.high) == (1.0, 1.0)


def test_the_limit_of_one_more_value_is_that_of_student() -> None:
    values = [0.2, 0.5, 0.1, 0.9]
    expected = np.mean(values) + stats.t.ppf(0.99, 3) * np.std(values, ddof=1) * math.sqrt(1.25)
    assert extreme_limit(values, 0.01) == pytest.approx(expected)
