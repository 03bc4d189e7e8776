"""The error of the whole rule over a year of weekly looks, and its power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from paired import weeks

from rocmonitor.policy.review.checks import Look, follow, take_looks
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.ruling import rule_on
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings

SETTINGS = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)))
YEARS = 300
MOST = 24  # of 300 at 5 %: more have a chance of 1 in 100


def decided(looks):
    return rule_on(follow(looks, SETTINGS), 0.0, len(looks)).decision


def shown(looks):
    """Whether anything is shown to differ, the area or a rate, ever."""
    tracks = follow(looks, SETTINGS)
    return any(
        low > 0 or high < 0
        for track in tracks
        for low, high in [track.bounds(number) for number in range(len(looks))]
    )


@pytest.fixture(scope="module")
def year() -> list[Look]:
    """A year of windows of two models of one quality, just as many positives as a look needs."""
    return take_looks([(w, both.swapped()) for w, both in weeks(52, 1, 50, 60)], SETTINGS, lambda _: None)


def exchanged(year: list[Look]) -> Iterator[list[Look]]:
    """Years in which the models have changed places in half of the windows, at random.

    That is what exchangeable models are: the null hypothesis holds exactly, whatever the windows.
    """
    rng = np.random.default_rng(2)
    for _ in range(YEARS):
        drawn = rng.integers(len(year), size=52)
        yield [
            _turned(year[i]) if turn else year[i] for i, turn in zip(drawn, rng.random(52) < 0.5, strict=True)
        ]


def _turned(look: Look) -> Look:
    """The look at the same rows with the models in each other's place."""
    return replace(
        look,
        areas=look.areas[::-1],
        difference=replace(look.difference, difference=-look.difference.difference),
        rates={fpr: (-difference, se) for fpr, (difference, se) in look.rates.items()},
    )


def test_a_year_of_looks_at_equal_models_seldom_shows_anything(year):
    false = sum(shown(looks) for looks in exchanged(year))
    assert false <= MOST


def test_naive_weekly_intervals_would_fail_that(year):
    """Pooled 95 % intervals of the area, made anew and read each week."""
    false = 0
    for looks in exchanged(year):
        d, s = np.array([(look.difference.difference, look.difference.se) for look in looks]).T
        pooled = np.abs(np.cumsum(d)) / np.sqrt(np.cumsum(s**2))
        false += bool((pooled > 1.96).any())
    assert false > 2 * MOST


def test_a_real_difference_is_found_for_the_right_model():
    for challenger, decision in ((1.9, Decision.CHALLENGER), (0.6, Decision.CHAMPION)):
        windows = weeks(12, 3, 60, 80, challenger=challenger)
        looks = take_looks([(w, both.swapped()) for w, both in windows], SETTINGS, lambda _: None)
        assert decided(looks) is decision
