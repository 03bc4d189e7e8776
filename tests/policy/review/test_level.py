"""The error of the whole rule over a year of weekly checks, and its power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from paired import weeks

from rocmonitor.policy.review.checks import Check, check_windows, rule_on, track_comparisons
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings

SETTINGS = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)))
YEARS = 300
MOST = 24  # of 300 at 5 %: more have a chance of 1 in 100


def decided(checks):
    return rule_on(track_comparisons(checks, SETTINGS), 0.0, len(checks)).decision


def shown(checks):
    """Whether anything is shown to differ, the area or a rate, ever."""
    tracks = track_comparisons(checks, SETTINGS)
    return any(
        low > 0 or high < 0
        for track in tracks
        for low, high in [track.bounds(number) for number in range(len(checks))]
    )


@pytest.fixture(scope="module")
def year() -> list[Check]:
    """A year of windows of two models of one quality, with just as many positives as a check needs."""
    return check_windows(weeks(52, 1, 50, 60), SETTINGS, lambda _: None)


def exchanged(year: list[Check]) -> Iterator[list[Check]]:
    """Years in which the models have changed places in half of the windows, at random.

    That is what exchangeable models are: the null hypothesis holds exactly, whatever the windows.
    """
    rng = np.random.default_rng(2)
    for _ in range(YEARS):
        drawn = rng.integers(len(year), size=52)
        yield [
            _exchanged(year[i]) if exchange else year[i]
            for i, exchange in zip(drawn, rng.random(52) < 0.5, strict=True)
        ]


def _exchanged(check: Check) -> Check:
    """The check of the same rows with the models in each other's place."""
    return replace(
        check,
        areas=check.areas[::-1],
        difference=replace(check.difference, difference=-check.difference.difference),
        rates={fpr: (-difference, se) for fpr, (difference, se) in check.rates.items()},
    )


@pytest.mark.slow
def test_a_year_of_checks_of_equal_models_seldom_shows_anything(year):
    false = sum(shown(checks) for checks in exchanged(year))
    assert false <= MOST


def test_naive_weekly_intervals_would_fail_that(year):
    """Pooled 95 % intervals of the area, made anew and read each week."""
    false = 0
    for checks in exchanged(year):
        d, s = np.array([(check.difference.difference, check.difference.se) for check in checks]).T
        pooled = np.abs(np.cumsum(d)) / np.sqrt(np.cumsum(s**2))
        false += bool((pooled > 1.96).any())
    assert false > 2 * MOST


def test_a_real_difference_is_found_for_the_right_model():
    for challenger, decision in ((1.9, Decision.CHALLENGER), (0.6, Decision.CHAMPION)):
        windows = weeks(12, 3, 60, 80, challenger=challenger)
        checks = check_windows(windows, SETTINGS, lambda _: None)
        assert decided(checks) is decision


@pytest.mark.slow
def test_the_rule_that_decides_about_the_future_keeps_its_level_and_finds_a_difference(year):
    estimating = replace(SETTINGS, rule=ReviewRule(decides="future"))
    false = 0
    for _, checks in zip(range(40), exchanged(year), strict=False):
        [track] = track_comparisons(checks, estimating)
        false += any(low > 0 or high < 0 for low, high in map(track.bounds, range(52)))
    assert false <= 6  # of 40 at 5 %: more have a chance of 1 in 100
    checks = check_windows(weeks(20, 3, 60, 80, challenger=1.9), estimating, lambda _: None)
    assert rule_on(track_comparisons(checks, estimating), 0.0, 20).decision is Decision.CHALLENGER
