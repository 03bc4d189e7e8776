"""The chart of a lasting change at other probabilities than its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from studies.weekly import AREA, PAIRS, Weeks

from rocmonitor.errors import InputError
from rocmonitor.stats import lasting_chart
from rocmonitor.stats.lasting.chart import DRAWN, at_probability
from rocmonitor.stats.lasting.windows import running

WEEKS = Weeks(reference=19)


def chart(seed: int = 1, **options):
    return lasting_chart(WEEKS.draw(1, np.random.default_rng(seed))[:19], PAIRS, **options)


@pytest.mark.parametrize("alternative", ["less", "two-sided"])
def test_a_drawn_probability_gives_the_limit_of_a_chart_that_was_set_up_for_it(alternative):
    other = chart(false_alarm_probability=0.01, alternative=alternative)
    found = at_probability(chart(alternative=alternative), 0.01)
    assert found.limit == pytest.approx(other.limit)
    assert replace(found, limit=0.0, false_alarm_probability=0.0).to_dict() == (
        replace(other, limit=0.0, false_alarm_probability=0.0).to_dict()
    )


def test_its_own_probability_changes_nothing_and_none_is_refused():
    own = chart()
    assert at_probability(own, 0.05) is own
    for impossible in (0.0, 1.0):
        with pytest.raises(InputError, match="must lie within"):
            at_probability(own, impossible)


def test_limits_grow_without_a_step_where_they_are_extrapolated():
    own = chart()
    chances = [0.02, DRAWN, DRAWN * 0.99, 0.001, 1e-4, 1e-6]
    limits = [at_probability(own, each).limit for each in chances]
    assert limits == sorted(limits)
    assert limits[2] - limits[1] < 0.01


def test_quiet_years_pass_an_extrapolated_limit_at_most_as_often_as_stated():
    """20 references and 2,000 years each: 0.001, with a Monte Carlo error of a seventh of it."""
    rng = np.random.default_rng(4)
    deviation = np.hypot(WEEKS.between, WEEKS.noise(300, 2700))
    passed = []
    for seed in range(20):
        found = at_probability(chart(seed), 0.001)
        x = 2 * np.arcsin(np.sqrt(AREA + deviation * rng.standard_normal((52, 2000))))
        standardised = (found.mean - x) / np.sqrt(found.between**2 + found.noise)
        highest = running(standardised, np.ones(52), found.mean_share).statistic.max(axis=0)
        passed.append(np.mean(highest > found.limit))
    assert np.mean(passed) < 0.0015
