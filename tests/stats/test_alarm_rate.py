"""The range of a rate over processes that are possible, and the expectation below a fixed limit."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.stats.coming import expected_below_fixed, rate_range

RATES = np.arange(100.0)
NONE = np.zeros(100)


def test_the_range_is_what_all_but_a_tenth_on_each_side_have():
    assert rate_range(RATES, NONE) == pytest.approx((9.9, 89.1))
    assert rate_range(np.full(5, 2.0), np.zeros(5)) == (2.0, 2.0)


def test_processes_that_are_alike_count_by_themselves_and_can_only_widen_it():
    """The upper half correlates: 5 % of its fifty rates, 50 to 99, lie above 96.55."""
    low, high = rate_range(RATES, np.where(RATES >= 50, 0.9, 0.0))
    assert (low, high) == (pytest.approx(9.9), pytest.approx(96.55))
    low, high = rate_range(RATES, np.where(abs(RATES - 49.5) < 20, 0.3, 0.0))
    assert (low, high) == pytest.approx((9.9, 89.1))


def test_processes_that_the_windows_hardly_leave_possible_do_not_count():
    """Nine of a hundred are too few for a range of their own; ten are enough."""
    assert rate_range(RATES, np.where(RATES >= 91, 0.9, 0.0))[1] == pytest.approx(89.1)
    assert rate_range(RATES, np.where(RATES >= 90, 0.9, 0.0))[1] == pytest.approx(98.55)


def test_below_a_fixed_limit_the_mean_over_references_is_right_for_a_lognormal_law():
    """A log rate of -1; the reference's mean is off by 0.6, and what it leaves possible as much again."""
    rng = np.random.default_rng(1)
    told = []
    for middle in rng.normal(-1.0, 0.6, 4000):
        possible = np.exp(middle + 0.6 * rng.standard_normal(400))
        told.append(expected_below_fixed(possible, 0.0))
    # Rates are exp(m): their mean over possible means is up by exp(0.18), over references by that again.
    assert np.mean(told) == pytest.approx(np.exp(-1.0), rel=0.05)
    assert expected_below_fixed(np.zeros(3), 0.0) == 0
