"""Rule `floor`: each side of its limit, and its level."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Floor

NOTHING = Reference(auc=None)


def test_floor_is_degraded_only_when_the_whole_interval_is_below(window):
    rule = Floor(value=0.7)
    for auc, outcome in ((0.6, Status.DEGRADED), (0.68, Status.OK), (0.72, Status.OK), (0.9, Status.OK)):
        found = rule.judge("floor", window(auc), NOTHING)
        assert found.outcome is outcome, f"floor at {auc}"
        assert (found.margin < 0) == (outcome is Status.DEGRADED), f"floor's margin at {auc}"
        assert found.low < found.estimate < found.high, "floor"


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_floor_alarms_at_the_limit_with_the_chance_that_it_promises(window, level):
    rule, rng = Floor(value=0.75, confidence_level=level), np.random.default_rng(1)
    found = [
        rule.judge("floor", window(auc), NOTHING).outcome is Status.DEGRADED
        for auc in rng.normal(0.75, 0.02, 3000).tolist()
    ]
    assert np.mean(found) == pytest.approx(rule.tail, rel=0.3), "floor"
