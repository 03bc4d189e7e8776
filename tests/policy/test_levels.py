"""Which interval the rule forecast judges by, where its reference windows are few."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import ndtri

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast
from rocmonitor.stats import AucSpread, Sample
from rocmonitor.wording.verdicts import verdict as worded

WEEK = timedelta(days=7)
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
PLAIN = {"forecast": Forecast()}


def rows(area: float, rng: np.random.Generator, size: int = 300) -> Sample:
    y = np.repeat([1, 0], size)
    return Sample(y, rng.standard_normal(2 * size) + np.sqrt(2) * ndtri(area) * y)


def frozen(windows: int, rules: dict[str, Forecast] = PLAIN) -> Reference:
    """As it comes from the store: weeks with an AUROC of 0.8 and one standard deviation of 0.02."""
    rng = np.random.default_rng(4)
    past = [
        (Window(FIRST + at * WEEK, FIRST + (at + 1) * WEEK), rows(0.8 + 0.02 * rng.standard_normal(), rng))
        for at in range(windows)
    ]
    return Reference.from_dict(freeze(past, rules).to_dict())


def judged(reference: Reference, sample: Sample, rules: dict[str, Forecast] = PLAIN):
    counts = Counts(rows=sample.n_pos + sample.n_neg, n_pos=sample.n_pos, n_neg=sample.n_neg)
    return judge(sample, None, counts, ranges=NormalRanges.of(reference), rules=rules, min_per_class=20)


@pytest.mark.parametrize(("level", "enough"), [(0.8, 4), (0.9, 9), (0.95, 19)])
def test_the_model_is_used_where_windows_are_too_few_for_the_level_and_nowhere_else(level, enough):
    rules = {"forecast": Forecast(confidence_level=level)}
    sample = rows(0.8, np.random.default_rng(1), size=200)
    for windows in (2, enough - 1, enough):
        reference = frozen(windows, rules)
        conformal = reference.fits["forecast"].interval(reference.cells, (200, 200))
        finding = judged(reference, sample, rules)
        [verdict] = finding.verdicts
        codes = {each.code for each in finding.caveats}
        low, high = verdict.limit
        if windows == enough:
            assert (low, high) == (conformal.low, conformal.high)
            assert verdict.confidence_level == conformal.achieved_level >= level
            assert "known_level" not in verdict.details
            assert "level-by-model" not in codes
        else:
            assert (low, high) == (conformal.model_low, conformal.model_high)
            assert low < conformal.low < conformal.high < high
            assert verdict.confidence_level == level
            assert verdict.details["known_level"] == pytest.approx(windows / (windows + 1))
            assert "level-by-model" in codes
            assert not codes & {"too-few-windows", "model-beside", "windows-inside-reference"}


def test_a_window_that_eight_others_cannot_exclude_is_ok_and_the_verdict_says_why():
    reference = frozen(8)
    conformal = reference.fits["forecast"].interval(reference.cells)
    sample = rows(0.735, np.random.default_rng(9))
    finding = judged(reference, sample)
    [verdict] = finding.verdicts
    assert conformal.model_low < verdict.estimate < conformal.low
    assert finding.outcome is Status.OK
    assert "(calibrated, 95 % by a model: 8 windows alone show 88.9 %; from" in worded(verdict)


def test_with_a_half_life_the_level_is_that_of_the_weights():
    rules = {"forecast": Forecast(half_life=6)}
    reference = frozen(12, rules)
    [verdict] = judged(reference, rows(0.8, np.random.default_rng(1)), rules).verdicts
    assert (
        verdict.confidence_level == reference.fits["forecast"].interval(reference.cells).achieved_level < 0.95
    )
    assert "known_level" not in verdict.details


def test_false_alarms_are_counted_with_the_interval_that_judges():
    """Weekly, alpha / 2 below: 1.3 a year of the level promised; half that is asked for gives many more."""
    reference = frozen(6)
    spread = AucSpread.from_sample(reference.cells)
    a_year = []
    for derived in ({}, {"forecast": Forecast(confidence_level=6 / 7)}):
        ranges = NormalRanges.of(reference, derived)
        scenario = Scenario(rules=PLAIN, ranges=ranges, spread=spread, n_pos=300, n_neg=300)
        a_year.append(simulation(scenario, WEEK).false_alarms(Alarm()).expected)
    assert 0.3 < a_year[0] < 2
    assert a_year[1] > 2 * a_year[0]
