"""False alarms of rules that do not judge the AUROC: from how far reference windows are from their limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from rocmonitor.policy.budget import Load, allot
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.scenario import Margins, Scenario, margins_of, simulation, uncounted
from rocmonitor.policy.status import Alarm
from rocmonitor.rules import Calibration, Cost, Drop, Floor, by_name
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats import AucResult, AucSpread, Sample, auc, calibration, cost_thresholds
from rocmonitor.stats.cost.conditions import errors_at
from rocmonitor.stats.simulated import TOGETHER

WEEK = timedelta(days=7)
ALONE = Alarm(recover_after=1)
YEAR = 365.25 / 7


def scenario(*rules, margins):
    return Scenario(
        rules=by_name(rules),
        ranges=NormalRanges.of(
            Reference(auc=AucResult(auc=0.8, se=0.01, n_pos=5000, n_neg=20_000, method="delong"))
        ),
        spread=AucSpread.normal(0.8),
        n_pos=150,
        n_neg=450,
        margins=margins,
    )


def series(mean: float, scatter: float, noise: float, windows: int = 400) -> Margins:
    """Margins with exactly this mean and variance in all."""
    quantiles = np.random.default_rng(1).permutation((np.arange(windows) + 0.5) / windows)
    values = mean + np.hypot(scatter, noise) * np.sqrt(12) * (quantiles - 0.5)
    return Margins(values, np.full(windows, noise**2), tuple(range(windows)))


@pytest.mark.parametrize(("mean", "scatter", "noise"), [(0.1, 0.0, 0.1), (0.2, 0.1, 0.05), (3.0, 1.0, 0.7)])
def test_after_many_windows_the_rate_is_that_of_a_normal_law(mean, scatter, noise):
    one = scenario(Cost(w=0.2, value=0.5), margins={"cost": series(mean, scatter, noise)})
    expected = ndtr(-mean / np.hypot(scatter, noise))
    drawn = simulation(one, WEEK)
    assert drawn.window_rate() == pytest.approx(expected, rel=0.15)
    # Some of the windows found degraded follow one another, and are one alarm.
    changes = drawn.false_alarms(ALONE).expected / YEAR
    assert changes == pytest.approx(expected * (1 - expected), rel=0.15)


def test_margins_come_from_the_intervals_of_reference_windows():
    def found(margin, reach=0.196):
        return Verdict(
            rule="cost",
            kind="cost",
            outcome=Status.OK,
            estimate=0.5,
            low=0.5 - reach,
            high=0.5 + reach,
            confidence_level=0.95,
            margin=margin,
        )

    margins = margins_of([None, found(0.3), None, found(0.2), found(0.1), Verdict.lacking("cost", "cost")])
    assert margins.places == (0, 2, 3)
    assert margins.values == (0.3, 0.2, 0.1)
    assert np.sqrt(margins.noise) == pytest.approx([0.1] * 3, rel=1e-3)
    assert margins_of([found(0.3), found(0.2), None]) is None
    assert margins_of([found(0.3, 0.0)] * 5) is None
    assert margins_of([found(0.3)] * 5).values == (0.3,) * 5


def test_such_rules_are_counted_and_find_no_drop_of_the_auroc():
    rules = (Floor(value=0.79), Drop(value=0.01), Cost(w=0.2, value=0.5))
    alone = scenario(*rules, margins={})
    assert uncounted(alone) == ["cost"]
    counted = replace(alone, margins={"cost": series(0.1, 0.05, 0.05)})
    assert uncounted(counted) == []
    with_cost, without = simulation(counted, WEEK), simulation(alone, WEEK)
    assert list(with_cost.rules) == ["floor", "drop", "cost"]
    each = [with_cost.false_alarms(ALONE, rules=[name]).expected for name in with_cost.rules]
    both = with_cost.false_alarms(ALONE).expected
    assert without.false_alarms(ALONE).expected < both <= sum(each)
    assert with_cost.single_window_drop() == without.single_window_drop()
    assert with_cost.detections(0.05, ALONE) == without.detections(0.05, ALONE)
    assert set(with_cost.detections(0.05, ALONE)) == {"floor", "drop", TOGETHER}


def week(rng: np.random.Generator, between: float) -> Sample:
    """600 rows with 150 positives on average; what the weeks differ by moves costs and calibration."""
    y = rng.random(600) < 0.25
    separation, bias = [1.2, 0.0] + between * rng.standard_normal(2)
    x = rng.normal(separation * y) + bias
    return Sample(y, 1 / (1 + np.exp(-(1.2 * x - 0.72 + np.log(1 / 3)))))


@pytest.mark.parametrize(
    ("rule", "between"),
    [
        (Cost(w=0.2, margin=0.0), 0.15),
        (Calibration(slope=(0.8, 1.25), intercept=(-0.3, 0.3)), 0.3),
    ],
)
@pytest.mark.parametrize("budget", [None, 6.0])
@pytest.mark.slow
def test_what_is_told_is_what_comes(rule, between, budget):
    """The real verdicts on windows made of rows, 20 references of 19 windows and a year after each."""

    if budget is not None:
        load = Load(monitor="a", windows_per_year=52, segmented=False, rules={rule.kind: rule})
        rule = allot(budget, [load]).levels["a"].rules[rule.kind]

    def verdict(sample: Sample) -> Verdict:
        evidence = Evidence(law=None, now=None, sample=sample, calibration=calibration(sample))
        reference = Reference(auc=auc(whole), cost_thresholds={0.2: threshold}, cost_errors={0.2: errors})
        return rule.judge(rule.kind, evidence, reference)

    told, came = [], []
    for seed in range(20):
        rng = np.random.default_rng([14, seed])
        past = [week(rng, between) for _ in range(19)]
        whole = Sample.merge(past)
        threshold = float(cost_thresholds(whole, [0.2]).threshold[0])
        errors = errors_at(whole, threshold)
        margins = margins_of([verdict(each) for each in past])
        seen = scenario(rule, margins={rule.kind: margins})
        seen = replace(
            seen, ranges=NormalRanges.of(Reference(auc=auc(whole))), spread=AucSpread.from_sample(whole)
        )
        told.append(simulation(seen, WEEK).false_alarms(ALONE).expected)
        degraded = [verdict(week(rng, between)).outcome is Status.DEGRADED for _ in range(52)]
        came.append(sum(now and not before for before, now in pairwise([False, *degraded])))
    error = float(np.hypot(np.std(told), np.std(came))) / np.sqrt(len(came))
    assert abs(np.mean(told) - np.mean(came)) < 0.2 * np.mean(came) + 3 * error
    assert np.mean(came) > (2 if budget is None else 0.5)
