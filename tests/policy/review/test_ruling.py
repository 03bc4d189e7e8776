"""The written rule on sequences made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.review.checks import Track, rule_on
from rocmonitor.policy.review.document import Comparison, Decision
from rocmonitor.stats import ConfidenceSequence

UNKNOWN = (-1, 1)


def track(fpr, *ends, numbers=None):
    """A comparison that after each of its checks lies within these ends."""
    low, high = np.array(ends, dtype=float).T
    zero = np.zeros(len(ends))
    sequence = ConfidenceSequence(
        estimate=(low + high) / 2,
        low=low,
        high=high,
        between=zero,
        information=zero,
        elapsed=zero,
        pvalue=zero,
        serial=zero,
        unseen_low=zero,
        unseen_high=zero,
        confidence_level=0.95,
        tuned_for=12.0,
        correlation="none",
        caveats=(),
    )
    return Track(fpr=fpr, numbers=tuple(numbers or range(len(ends))), sequence=sequence)


@pytest.mark.parametrize(
    ("ends", "margin", "decision", "since"),
    [
        ([UNKNOWN, (-0.1, 0.2), (0.01, 0.2), (0.02, 0.1)], 0.0, Decision.CHALLENGER, 2),
        ([UNKNOWN, (-0.2, -0.01), (-0.2, -0.01), (-0.1, -0.03)], 0.0, Decision.CHAMPION, 1),
        ([UNKNOWN, (-0.1, 0.2), (0.01, 0.2), (0.02, 0.1)], 0.015, Decision.CHALLENGER, 3),
        ([UNKNOWN, (-0.1, 0.2), (0.01, 0.2), (0.02, 0.1)], 0.02, Decision.NOT_WORSE, 2),
        ([UNKNOWN, (-0.01, 0.01), (-0.01, 0.01)], 0.02, Decision.NOT_WORSE, 1),
        ([UNKNOWN, (-0.02, 0.01), (-0.02, 0.3)], 0.02, Decision.UNDECIDED, None),
        ([UNKNOWN, (-0.1, -0.02), (-0.1, -0.02), (-0.1, -0.02)], 0.02, Decision.UNDECIDED, None),
        ([UNKNOWN, (-0.1, 0.1), (0.0, 0.1), (0.0, 0.1)], 0.0, Decision.UNDECIDED, None),
        ([(0.1, 0.2)], 0.0, Decision.CHALLENGER, 0),
    ],
)
def test_the_area_decides_when_it_is_beyond_the_margin(ends, margin, decision, since):
    found = rule_on([track(None, *ends)], margin, len(ends))
    assert (found.decision, found.number) == (decision, since)


def test_a_rate_alone_decides_nothing():
    area, rate = track(None, UNKNOWN, (-0.1, 0.1)), track(0.05, UNKNOWN, (0.1, 0.3))
    assert rule_on([area, rate], 0.0, 2).decision is Decision.UNDECIDED
    assert [each.result.better for each in (area, rate)] == ["", "challenger"]


def test_a_trade_off_shown_later_takes_a_decision_over():
    area = track(None, (0.01, 0.2), (0.01, 0.2), (0.01, 0.2), (0.01, 0.2))
    rate = track(0.01, UNKNOWN, UNKNOWN, (-0.3, -0.01), (-0.3, -0.01))
    found = rule_on([area, rate], 0.0, 4)
    assert (found.decision, found.number) == (Decision.TRADE_OFF, 2)
    assert [each.result.better for each in (area, rate)] == ["challenger", "champion"]
    assert rule_on([area, rate], 0.0, 2).decision is Decision.CHALLENGER


def test_a_trade_off_asks_for_no_margin():
    area, rate = track(None, (0.001, 0.004)), track(0.01, (-0.3, -0.01))
    assert rule_on([area], 0.01, 1).decision is Decision.NOT_WORSE
    assert rule_on([area, rate], 0.01, 1).decision is Decision.TRADE_OFF


def test_two_rates_make_a_trade_off_whatever_the_area():
    found = rule_on([track(None, UNKNOWN), track(0.01, (0.1, 0.2)), track(0.2, (-0.2, -0.1))], 0.0, 1)
    assert (found.decision, found.number) == (Decision.TRADE_OFF, 0)


def test_windows_that_are_not_checked_leave_things_as_they_are():
    area = track(None, UNKNOWN, (0.1, 0.3), numbers=(1, 3))
    assert [area.bounds(number) for number in range(5)] == [
        (-np.inf, np.inf),
        UNKNOWN,
        UNKNOWN,
        (0.1, 0.3),
        (0.1, 0.3),
    ]
    assert rule_on([area], 0.0, 3).decision is Decision.UNDECIDED
    found = rule_on([area], 0.0, 6)
    assert (found.decision, found.number) == (Decision.CHALLENGER, 3)


def test_a_decision_stands_while_the_interval_supports_it():
    shown, wide = (0.1, 0.2), (-0.1, 0.3)
    area = track(None, shown, shown, wide, shown, shown)
    rulings = [rule_on([area], 0.0, windows) for windows in range(1, 6)]
    assert [(found.decision, found.number) for found in rulings] == [
        (Decision.CHALLENGER, 0),
        (Decision.CHALLENGER, 0),
        (Decision.UNDECIDED, None),
        (Decision.CHALLENGER, 3),
        (Decision.CHALLENGER, 3),
    ]
    assert track(None, shown, wide).result == Comparison(
        fpr=None, estimate=pytest.approx(0.1), low=-0.1, high=0.3, checks=2, better=""
    )


def test_a_comparison_without_checks_shows_nothing():
    nothing = Track(fpr=None, numbers=(), sequence=None)
    assert rule_on([nothing], 0.0, 3).decision is Decision.UNDECIDED
    assert nothing.result == Comparison(fpr=None, estimate=None, low=None, high=None, checks=0, better="")
