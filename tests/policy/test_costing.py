"""The rule `cost`: against a value and against the reference, by the law of its decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.policy.costing import errors_at
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.rules import Cost
from rocmonitor.policy.windows import Window
from rocmonitor.stats import Sample, cost_curve
from rocmonitor.wording.verdicts import verdict as words

START = datetime(2026, 1, 5, tzinfo=UTC)


def drawn(seed: int, shift: float, n: int = 1500) -> Sample:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return Sample(y, np.round(rng.normal(shift * y), 2))


def reference() -> Reference:
    week = timedelta(days=7)
    windows = [(Window(START + k * week, START + (k + 1) * week), drawn(k, 1.5)) for k in range(6)]
    return freeze(windows, {}, [0.2])


def judged(sample: Sample, rule: Cost, of: Reference):
    counts = Counts(rows=sample.n_pos + sample.n_neg, n_pos=sample.n_pos, n_neg=sample.n_neg)
    found = judge(sample, None, counts, reference=of, rules={"cost": rule}, min_per_class=10)
    return found.verdicts[0]


def test_errors_are_what_a_threshold_gets_wrong():
    sample = Sample([1, 1, 0, 0, 1], [0.2, 0.5, 0.5, 0.1, 0.9])
    assert errors_at(sample, 0.5) == (1, 1)
    assert errors_at(sample, np.inf) == (3, 0)


def test_against_a_value_the_interval_decides():
    of, worse = reference(), drawn(99, 0.4)
    found = judged(worse, Cost(w=0.2, value=0.1), of)
    expected = cost_curve(worse, [0.2], [of.cost_thresholds[0.2]], method="mover")
    assert found.low == pytest.approx(float(expected.low[0]))
    assert found.outcome is Status.DEGRADED
    assert judged(worse, Cost(w=0.2, value=round(found.low + 0.001, 4)), of).outcome is Status.OK
    assert "is shown to be above 0.1" in words(found)


def test_against_the_reference_a_worse_window_is_degraded_and_a_like_one_is_not():
    of = Reference.from_dict(reference().to_dict())  # as it is stored
    worse, alike = (judged(drawn(99, shift), Cost(w=0.2, margin=0.0), of) for shift in (0.4, 1.5))
    assert (worse.outcome, alike.outcome) == (Status.DEGRADED, Status.OK)
    assert worse.estimate == pytest.approx(worse.details["cost"] - worse.details["reference_cost"])
    assert worse.low < worse.estimate < worse.high
    assert judged(drawn(99, 3.0), Cost(w=0.2, margin=0.0), of).outcome is Status.IMPROVED
    assert judged(drawn(99, 0.4), Cost(w=0.2, margin=0.5), of).outcome is Status.OK
    assert "in the reference: +" in words(worse)
    assert "a rise is shown" in words(worse)


def test_equal_windows_are_rarely_degraded():
    """An interval of 95 % by limits put together: at most 2.5 % and an error on this side."""
    of = reference()
    outcomes = [judged(drawn(1000 + k, 1.5), Cost(w=0.2, margin=0.0), of).outcome for k in range(150)]
    assert outcomes.count(Status.DEGRADED) <= 8  # P(more) < 1 % at 2.5 %


def test_an_operating_condition_that_the_reference_lacks_is_insufficient():
    assert judged(drawn(1, 1.5), Cost(w=0.7, value=0.1), reference()).outcome is Status.INSUFFICIENT


@pytest.mark.parametrize("given", [{}, {"value": 0.2, "margin": 0.1}])
def test_value_or_margin_is_needed(given):
    with pytest.raises(InputError, match="cost needs value"):
        Cost(w=0.2, **given)
