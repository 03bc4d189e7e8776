"""A season in the reference: rule forecast compares each window with its time of year, and says so."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import ndtri

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Drop, Forecast
from rocmonitor.stats import AucSpread, Sample
from rocmonitor.stats.series import YEAR_DAYS
from rocmonitor.wording.format import signed
from rocmonitor.wording.verdicts import verdict as worded

MONTH = timedelta(days=28)
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
RULES = {"forecast": Forecast(), "drop": Drop(value=0.01)}
COUNTS = Counts(rows=1600, n_pos=800, n_neg=800)


def window(number: float) -> Window:
    return Window(FIRST + number * MONTH, FIRST + (number + 1) * MONTH)


def rows(at: Window, rng: np.random.Generator, drop: float = 0.0) -> Sample:
    area = 0.8 - drop + 0.06 * math.cos(2 * math.pi * day_of(at) / YEAR_DAYS)
    y = np.repeat([1, 0], 800)
    return Sample(y, rng.standard_normal(1600) + math.sqrt(2) * ndtri(area) * y)


@pytest.fixture(scope="module")
def reference() -> Reference:
    rng = np.random.default_rng(3)
    places = [window(number) for number in range(27)]
    return Reference.from_dict(freeze([(at, rows(at, rng)) for at in places], RULES).to_dict())


def scenario(reference: Reference) -> Scenario:
    spread = AucSpread.from_sample(reference.cells)
    return Scenario(rules=RULES, ranges=NormalRanges.of(reference), spread=spread, n_pos=800, n_neg=800)


def test_a_summer_as_good_as_a_year_is_only_then_an_improvement(reference):
    summer = window(33)  # middle of July
    sample = rows(summer, np.random.default_rng(8), drop=-0.06)
    rules = {"forecast": RULES["forecast"]}
    seasonal, plain = (
        judge(sample, None, COUNTS, ranges=NormalRanges.of(reference), rules=rules, min_per_class=20, day=day)
        for day in (day_of(summer), None)
    )
    assert (seasonal.outcome, plain.outcome) == (Status.IMPROVED, Status.OK)
    verdict = seasonal.verdicts[0]
    assert verdict.details["season"] == pytest.approx(-0.06, abs=0.02)
    moved = signed(verdict.details["season"], 3)
    assert f"(calibrated, 95 %; moved by {moved} for the season; from" in worded(verdict)
    assert seasonal.metrics["forecast/high"] < plain.metrics["forecast/high"]


def test_levels_of_a_budget_keep_the_season(reference):
    rules = {"forecast": Forecast(confidence_level=0.999)}
    day = day_of(window(33))
    strict = NormalRanges.of(reference, rules).range("forecast", day=day)
    usual = NormalRanges.of(reference).range("forecast", day=day)
    assert strict.low < usual.low
    assert strict.seasonal_auc == pytest.approx(usual.seasonal_auc)
    assert strict.achieved_level == 0.999


def test_a_reference_that_was_frozen_without_a_season_keeps_its_interval(reference):
    fit = replace(reference.fits["forecast"], season=(), window_rests=())
    old = NormalRanges.of(replace(reference, fits={"forecast": fit}))
    found = [old.range("forecast", day=day).to_dict() for day in (day_of(window(33)), None)]
    assert found[0] == found[1]


def test_what_check_expects_of_the_forecast_is_without_the_season(reference):
    drawn = simulation(scenario(reference), MONTH)
    assert drawn.rules["forecast"].coming.deviation.mean() < 0.8 * drawn.coming.deviation.mean()
    assert 0 < drawn.window_rate(["forecast"]) < 0.1
    assert drawn.window_rate() == max(drawn.window_rate([name]) for name in RULES)
    assert 0 < drawn.usual_rate() < 1
    assert drawn.single_window_drop()[0] == "forecast"
