"""Rule `cost`: each side of its limits, and its level."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Cost
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats import AucResult, Sample
from rocmonitor.stats.cost.conditions import WrongDecisions

W, N_POS, N_NEG = 0.5, 300, 900
WHOLE = AucResult(auc=0.8, se=0.005, n_pos=6000, n_neg=18_000, method="delong")


def past(missed: float, false_alarms: float) -> Reference:
    """A reference with these rates of wrong decisions at a threshold of 0.5."""
    errors = WrongDecisions(round(6000 * missed), round(18_000 * false_alarms))
    return Reference(auc=WHOLE, cost_thresholds={W: 0.5}, cost_errors={W: errors})


def decided(missed: int, false_alarms: int) -> Evidence:
    counts = [[missed, N_POS - missed], [N_NEG - false_alarms, false_alarms]]
    return Evidence(law=None, now=None, sample=Sample.from_counts([0.2, 0.8], *counts))


@pytest.mark.parametrize(
    ("rule", "rate", "outcome"),
    [
        (Cost(w=W, value=0.3), 0.4, Status.DEGRADED),
        (Cost(w=W, value=0.3), 0.3, Status.OK),
        (Cost(w=W, value=0.3), 0.1, Status.OK),
        (Cost(w=W, margin=0.05), 0.4, Status.DEGRADED),
        (Cost(w=W, margin=0.05), 0.25, Status.OK),
        (Cost(w=W, margin=0.05), 0.1, Status.IMPROVED),
    ],
    ids=str,
)
def test_cost_finds_what_is_beyond_its_limit(rule, rate, outcome):
    """Both kinds of errors have the same rate, so that the cost is that rate; 0.25 in the reference."""
    evidence = decided(round(rate * N_POS), round(rate * N_NEG))
    found = rule.judge("cost", evidence, past(0.25, 0.25))
    assert found.outcome is outcome, f"cost at {rate}"
    assert found.estimate == pytest.approx(rate if rule.margin is None else rate - 0.25, abs=1e-3), "cost"
    assert (found.margin < 0) == (outcome is Status.DEGRADED), f"cost's margin at {rate}"


@pytest.mark.parametrize(
    "rule",
    [Cost(w=W, value=0.3, confidence_level=0.8), Cost(w=W, margin=0.05, confidence_level=0.8)],
    ids=str,
)
def test_cost_alarms_at_its_limit_with_the_chance_that_it_promises(rule):
    """10 % of the windows whose errors are drawn at the limit, 0.3."""
    rng = np.random.default_rng(5)
    found = [
        rule.judge("cost", decided(missed, false), past(0.25, 0.25)).outcome is Status.DEGRADED
        for missed, false in rng.binomial([N_POS, N_NEG], 0.3, (1000, 2)).tolist()
    ]
    assert np.mean(found) == pytest.approx(rule.tail, abs=0.04), "cost"
