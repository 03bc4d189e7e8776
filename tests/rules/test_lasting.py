"""Rule `lasting`: each side of its limit, and its chance of a false alarm within the horizon."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Lasting
from rocmonitor.stats import WindowAuc

WEEK = timedelta(days=7)
FIRST = Window.from_dict({"start": "2026-06-29T00:00:00+00:00", "end": "2026-07-06T00:00:00+00:00"})


@pytest.mark.parametrize(
    ("alternative", "change", "outcome"),
    [
        ("less", -0.06, Status.DEGRADED),
        ("less", 0.0, Status.OK),
        ("less", 0.06, Status.OK),
        ("two-sided", -0.06, Status.DEGRADED),
        ("two-sided", 0.0, Status.OK),
        ("two-sided", 0.06, Status.IMPROVED),
    ],
)
def test_lasting_finds_what_has_changed_and_stays(window, known, alternative, change, outcome):
    rule = Lasting(alternative=alternative)
    chart = replace(known.charts["lasting"], alternative=alternative)
    at = known.auc.auc + change
    weeks = tuple(Window(FIRST.start + n * WEEK, FIRST.end + n * WEEK) for n in range(9))
    past = Course(windows=weeks, numbers=(WindowAuc(at, 300, 900),) * 8, zone=ZoneInfo("UTC"))
    found = rule.judge("lasting", replace(window(at), charts={"lasting": chart}, past=past), known)
    assert found.outcome is outcome, f"lasting, {alternative}, after a change of {change}"
    if change and outcome is not Status.OK:
        assert found.estimate == pytest.approx(change, abs=0.02), "lasting"
        assert found.margin < 0, "lasting"
    else:
        assert found.margin > 0, "lasting"


def test_lasting_alarms_within_its_horizon_with_the_chance_that_it_promises(known):
    """Windows about the chart's mean, which itself is off as the reference leaves it."""
    chart, rng = known.charts["lasting"], np.random.default_rng(4)
    deviation = np.hypot(chart.between, np.sqrt(chart.noise))
    mean = chart.mean + deviation * np.sqrt(chart.mean_share) * rng.standard_normal(4000)
    values = mean + deviation * rng.standard_normal((chart.horizon, 4000))
    alarms = (chart.alarms(values) < 0).any(axis=0).mean()
    assert 0.4 * 0.05 < alarms < 1.3 * 0.05, "lasting"  # the limit allows for more scatter and correlation
