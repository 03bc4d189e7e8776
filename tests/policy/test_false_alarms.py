"""False alarms a year: the exact rate against a simulation of the status machine."""

from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.false_alarms import YEAR, false_alarms_a_year, window_rate
from rocmonitor.policy.rules import Challenger, Drop, Floor, Forecast
from rocmonitor.policy.status import Alarm, Health


def test_one_of_one_is_the_rate_of_going_from_good_to_bad():
    rate = window_rate([Forecast(confidence_level=0.95)])
    assert rate == pytest.approx(0.025)
    yearly = false_alarms_a_year([Forecast(confidence_level=0.95)], Alarm(), timedelta(days=1))
    assert yearly == pytest.approx(rate * (1 - rate) * (YEAR / timedelta(days=1)))


@pytest.mark.parametrize(
    "alarm", [Alarm(), Alarm(after=2, of=3), Alarm(after=2, of=4, recover_after=3), Alarm(recover_after=5)]
)
def test_the_rate_agrees_with_a_simulation(alarm: Alarm):
    chance, windows = 0.25, 40_000
    rules = [Drop(confidence_level=1 - 2 * chance + 1e-12)]
    expected = false_alarms_a_year(rules, alarm, YEAR / windows)
    health, alarms = Health(), 0
    for bad in np.random.default_rng(8).random(windows) < chance:
        before, health = health, health.after(Status.DEGRADED if bad else Status.OK, alarm)
        alarms += health.status is Status.DEGRADED and before.status is not Status.DEGRADED
    # Alarms exclude one another, so their number varies less than a Poisson number would.
    assert abs(alarms - expected) < 5 * expected**0.5


def test_rules_that_never_alarm_by_chance_count_nothing():
    assert false_alarms_a_year([Floor(value=0.7), Challenger()], Alarm(), timedelta(days=7)) == 0


def test_two_rules_alarm_more_often_than_one():
    both = window_rate([Forecast(confidence_level=0.9), Drop(confidence_level=0.9)])
    assert both == pytest.approx(1 - 0.95**2)
