"""Rule `drop`: each side of its two limits, and its level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Drop
from rocmonitor.stats import AucResult

PAST = Reference(auc=AucResult(auc=0.8, se=0.01, n_pos=5000, n_neg=20_000, method="delong"))


@pytest.mark.parametrize(
    ("auc", "outcome"),
    [
        (0.65, Status.DEGRADED),
        (0.76, Status.OK),
        (0.8, Status.OK),
        (0.84, Status.OK),
        (0.93, Status.IMPROVED),
    ],
)
def test_drop_finds_what_is_beyond_its_value_on_either_side(window, auc, outcome):
    found = Drop(value=0.05).judge("drop", window(auc), PAST)
    assert found.outcome is outcome, f"drop at {auc}"
    assert (found.margin < 0) == (outcome is Status.DEGRADED), f"drop's margin at {auc}"
    assert found.estimate == pytest.approx(auc - 0.8), "drop"
    assert found.low < found.estimate < found.high, "drop"


@pytest.mark.parametrize(("side", "outcome"), [(-1, Status.DEGRADED), (1, Status.IMPROVED)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_drop_alarms_at_its_value_with_the_chance_that_it_promises(window, level, side, outcome):
    """Both uncertainties counted: that of the window and that of the reference."""
    rule, rng = Drop(value=0.05, confidence_level=level), np.random.default_rng(2)
    found = []
    for past, now in rng.normal([0.8, 0.8 + side * 0.05], [0.01, 0.02], (3000, 2)).tolist():
        seen = replace(PAST, auc=replace(PAST.auc, auc=past))
        found.append(rule.judge("drop", window(now), seen).outcome is outcome)
    assert np.mean(found) == pytest.approx(rule.tail, rel=0.3), "drop"


def test_drop_by_a_budget_allows_for_windows_that_differ(window, known):
    """Reference windows scatter: at a level that a budget gives, the interval reaches as far as they do."""
    rule, at = Drop(confidence_level=0.999), known.auc.auc - 0.075
    alone = rule.judge("drop", window(at, 0.001), known)
    budgeted = rule.judge("drop", replace(window(at, 0.001), derived=("drop",)), known)
    assert alone.outcome is Status.DEGRADED, "drop"
    assert budgeted.high > alone.high, "drop"
    assert budgeted.low < alone.low, "drop"
