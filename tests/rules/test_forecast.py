"""Rule `forecast`: each side of its range, and its level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast
from rocmonitor.stats import Sample, auc


@pytest.mark.parametrize(("alternative", "above"), [("two-sided", Status.IMPROVED), ("less", Status.OK)])
def test_forecast_finds_what_leaves_its_range(window, known, alternative, above):
    rule = Forecast(alternative=alternative)
    reference = replace(known, fits={"forecast": known.fits["forecast"]})
    interval = NormalRanges.of(reference).range("forecast")
    if alternative == "less":
        interval = replace(interval, high=1.0)
    for at, outcome in (
        (interval.low - 1e-6, Status.DEGRADED),
        (interval.low + 1e-6, Status.OK),
        (interval.auc, Status.OK),
        (interval.high - 1e-6, Status.OK),
        (0.99, above),
    ):
        seen = replace(window(at), forecasts={"forecast": interval})
        found = rule.judge("forecast", seen, reference)
        assert found.outcome is outcome, f"forecast, {alternative}, at {at}"
        assert found.limit == (interval.low, interval.high), "forecast"
        if outcome is Status.DEGRADED:
            assert found.margin < 0, "forecast"


@pytest.mark.slow
def test_forecast_alarms_with_the_chance_that_it_promises(window):
    """Seven windows and an eighth like them: a quarter leave the range, half of them below."""
    rule, rng = Forecast(confidence_level=0.75, correlation="none"), np.random.default_rng(3)
    start = Window.from_dict({"start": "2026-01-05T00:00:00+00:00", "end": "2026-01-12T00:00:00+00:00"})

    def drawn() -> Sample:
        label = np.repeat([1, 0], [60, 180])
        return Sample(label, rng.normal(size=240) + np.sqrt(2) * ndtri(0.8) * label)

    found = []
    for _ in range(150):
        known = freeze([(start, drawn()) for _ in range(7)], {"forecast": rule})
        interval = NormalRanges.of(known).range("forecast", (60, 180))
        seen = replace(window(auc(drawn()).auc), forecasts={"forecast": interval})
        found.append(rule.judge("forecast", seen, known).outcome)
    for outcome in (Status.DEGRADED, Status.IMPROVED):
        assert np.mean([each is outcome for each in found]) == pytest.approx(0.125, abs=0.08), "forecast"
