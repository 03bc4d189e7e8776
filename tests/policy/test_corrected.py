"""What corrected numbers of old windows change in what a chart said of later ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from studies.weekly import PAIRS, Weeks

from rocmonitor.policy.corrected import Corrected, outdated
from rocmonitor.policy.evaluation import Point
from rocmonitor.policy.lasting import numbers_of
from rocmonitor.policy.windows import Window
from rocmonitor.stats import LastingChart, lasting_chart

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)


def week(number: int) -> Window:
    return Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK)


@pytest.fixture(scope="module")
def chart() -> LastingChart:
    return lasting_chart(Weeks().draw(0, np.random.default_rng(3)), PAIRS)


def stored(chart: LastingChart, aucs: list[float], version: str = "7", start: int = 0) -> list[Point]:
    """The windows as they were judged one after another."""
    points: list[Point] = []
    for number, auc in enumerate(aucs, start):
        metrics = {"champion/auc": auc, "data/positives": 300.0, "data/negatives": 2700.0}
        point = Point(window=week(number), revision=0, at=FIRST, metrics=metrics, champion_version=version)
        found = chart.apply([numbers_of(each) for each in [*points, point]])
        metrics |= {"lasting/statistic": float(found.statistic[-1]), "lasting/limit": chart.limit}
        metrics["lasting/margin"] = -1.0 if found.active else 1.0
        if found.active:
            low, high = found.ci()
            metrics |= {"lasting/change_low": low, "lasting/change_high": high}
        points.append(point)
    return points


def corrected(points: list[Point], number: int, auc: float) -> list[Point]:
    """With other numbers of one window, as its own revision stores them."""
    old = points[number]
    new = replace(old, revision=1, metrics=old.metrics | {"champion/auc": auc, "lasting/limit": -1.0})
    return [*points[:number], new, *points[number + 1 :]]


def of(points: list[Point], chart: LastingChart, after: datetime = FIRST) -> list[Corrected]:
    return outdated(points, "lasting", chart, after=after)


def test_what_was_judged_on_the_same_numbers_holds(chart):
    assert of(stored(chart, [0.8, 0.72, 0.72, 0.72, 0.72, 0.8, 0.8]), chart) == []
    assert of([], chart) == []


def test_alarms_are_withdrawn_and_raised(chart):
    quiet = [0.79, 0.81, 0.795, 0.8]
    low, calm = (stored(chart, [0.8, *[auc] * 3, *quiet]) for auc in (0.68, 0.8))
    alarms = [place for place, each in enumerate(low) if each.metrics["lasting/margin"] < 0]
    assert {3, 4} <= set(alarms)
    assert all(each.metrics["lasting/margin"] > 0 for each in calm)
    for number in (1, 2, 3):
        low, calm = corrected(low, number, 0.8), corrected(calm, number, 0.68)
    later = [week(place) for place in alarms if place > 3]
    assert of(low, chart) == [Corrected(window, "withdrawn") for window in later]
    assert of(calm, chart) == [Corrected(window, "raised") for window in later]


def test_an_alarm_that_stays_counts_when_its_size_is_another_one(chart):
    low = stored(chart, [0.74] * 8)
    assert of(corrected(low, 2, 0.735), chart) == []
    much = low
    for number in range(7):
        much = corrected(much, number, 0.69)
    assert of(much, chart) == [Corrected(week(7), "confirmed")]
    early = low
    for number in range(3):
        early = corrected(early, number, 0.6)
    confirmed = [week(place) for place in range(3, 8)]
    assert of(early, chart) == [Corrected(window, "confirmed") for window in confirmed]


def test_what_another_chart_or_champion_said_is_left_as_it_is(chart):
    low = corrected(stored(chart, [0.72] * 5), 1, 0.9)
    other = [
        replace(each, metrics=each.metrics | {"lasting/limit": 9.0, "lasting/margin": 1.0}) for each in low
    ]
    assert of(other, chart) == []
    before = stored(chart, [0.7] * 3, version="6")
    after = stored(chart, [0.8] * 3, start=3)
    assert of([*corrected(before, 1, 0.75), *after], chart) == []
    inside = stored(chart, [0.72] * 5)
    assert of(corrected(inside, 0, 0.99), chart, after=week(5).start) == []
