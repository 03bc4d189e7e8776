"""Rule `calibration`: each end of its ranges, and its level."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Calibration
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats import calibration

NOTHING = Reference(auc=None)


def shown(sample) -> Evidence:
    return Evidence(law=None, now=None, sample=sample, calibration=calibration(sample))


@pytest.mark.parametrize(
    ("slope", "outcome"), [(0.3, Status.DEGRADED), (1.0, Status.OK), (2.5, Status.DEGRADED)]
)
def test_calibration_finds_a_slope_beyond_either_end(rows, slope, outcome):
    evidence = shown(rows(np.random.default_rng(6), slope=slope))
    found = Calibration(slope=(0.7, 1.5)).judge("calibration", evidence, NOTHING)
    assert found.outcome is outcome, f"calibration at a slope of {slope}"
    assert (found.margin < 0) == (outcome is Status.DEGRADED), f"calibration's margin at {slope}"
    assert found.estimate == pytest.approx(slope, abs=0.3), "calibration"


def test_calibration_takes_the_measure_that_is_further_outside(rows):
    evidence = shown(rows(np.random.default_rng(6), slope=0.3))
    found = Calibration(slope=(0.7, 1.5), intercept=(-3.0, 3.0)).judge("calibration", evidence, NOTHING)
    assert (found.outcome, found.details["what"]) == (Status.DEGRADED, "slope"), "calibration"
    wide = Calibration(slope=(0.01, 9.0), intercept=(-0.1, 0.1)).judge("calibration", evidence, NOTHING)
    assert wide.details["what"] == "intercept", "calibration"


@pytest.mark.parametrize("ends", [(0.999, 99.0), (0.001, 1.001)])
def test_calibration_alarms_at_an_end_with_the_chance_that_it_promises(rows, ends):
    """Half of the misses at each end, where `tail` counts both."""
    rule, rng = Calibration(slope=ends, confidence_level=0.8), np.random.default_rng(7)
    found = [
        rule.judge("calibration", shown(rows(rng, rows=600)), NOTHING).outcome is Status.DEGRADED
        for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(rule.tail / 2, abs=0.06), "calibration"
