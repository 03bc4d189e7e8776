"""A budget of false alarms: the levels that keep to it, by counting and by the real judge's rates."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.policy.budget import AlarmBudget, Load, level_for, shortfalls, tail_probability
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.false_alarms import Scenario, false_alarms_a_year
from rocmonitor.policy.judge import judge
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Challenger, Drop, Floor, Forecast
from rocmonitor.policy.status import Alarm
from rocmonitor.stats import AucResult, AucSpread, Sample, auc

BUDGET = AlarmBudget(false_alarms_per_year=4)
LOAD = Load(
    monitor="credit",
    windows_per_year=52,
    streams=5,
    rules={
        "forecast": Forecast(),
        "drop": Drop(),
        "challenger": Challenger(),
        "old": Forecast(method="dual"),
    },
    reference_windows=19,
)


def test_every_verdict_of_a_rule_with_a_level_is_counted() -> None:
    daily = replace(LOAD, monitor="churn", windows_per_year=365, streams=1, rules={"floor": Floor(value=0.7)})
    assert list(LOAD.counted) == ["forecast", "drop"]
    assert tail_probability(BUDGET, [LOAD, daily]) == pytest.approx(4 / (52 * 5 * 2 + 365))
    assert tail_probability(replace(BUDGET, false_alarms_per_year=1e9), [LOAD]) == 1


def test_the_level_leaves_the_tail_on_the_side_that_alarms() -> None:
    assert level_for(Drop(), 0.01) == level_for(Floor(value=0.7), 0.01) == level_for(Forecast(), 0.01) == 0.98
    assert level_for(Forecast(alternative="less"), 0.01) == 0.99
    assert level_for(Drop(), 1.0) == 0.5


def test_rules_that_do_not_keep_to_the_budget_are_named_with_the_windows_that_they_need() -> None:
    forecast, drop = shortfalls(BUDGET, [LOAD])
    tail = 4 / 520
    assert forecast.needed_level == pytest.approx(1 - 2 * tail)
    assert forecast.needed_windows == 64  # 64 of 65 is the first level of at least 1 - 8 / 520
    assert (drop.rule, drop.needed_windows, drop.confidence_level) == ("drop", None, 0.95)
    rules = {"forecast": Forecast(confidence_level=0.985), "drop": Drop(confidence_level=0.99)}
    assert list(shortfalls(BUDGET, [replace(LOAD, rules=rules, reference_windows=64)])) == []
    [short] = shortfalls(BUDGET, [replace(LOAD, rules=rules, reference_windows=63)])
    assert (short.rule, short.needed_windows) == ("forecast", 64)


def test_without_any_level_nothing_can_be_derived() -> None:
    with pytest.raises(InputError, match="no monitor has a rule with a confidence level"):
        tail_probability(BUDGET, [replace(LOAD, rules={"challenger": Challenger()})])


def test_derived_levels_use_about_the_budget_by_the_prediction_of_check() -> None:
    """A drop counts the error of a window and of the reference, so that its level is its rate."""
    whole = AucResult(auc=0.8, se=0.002, n_pos=30_000, n_neg=120_000, method="delong")
    load = replace(LOAD, streams=1, rules={"drop": Drop()})
    level = level_for(Drop(), tail_probability(BUDGET, [load]))
    scenario = Scenario(
        rules={"drop": Drop(confidence_level=level)},
        reference=Reference(auc=whole),
        spread=AucSpread.normal(0.8),
        n_pos=300,
        n_neg=1200,
    )
    expected = false_alarms_a_year(scenario, Alarm(), timedelta(days=365.25 / 52))
    assert 0.7 * 4 < expected <= 4 * 1.05


def test_a_year_of_quiet_monitors_keeps_to_the_budget() -> None:
    """The real judge, rule drop, weeks of 60 + 90 rows: 30 monitors and 52 weeks at 60 alarms in all."""
    rng = np.random.default_rng(3)
    load = replace(LOAD, windows_per_year=52 * 30, streams=1, rules={"drop": Drop()})
    tail = tail_probability(AlarmBudget(false_alarms_per_year=60), [load])
    rules = {"drop": Drop(confidence_level=level_for(Drop(), tail))}
    y = np.repeat([1, 0], [60, 90])
    found = 0
    for _ in range(30):
        labels = np.repeat(y, 40)
        reference = Reference(auc=auc(labels, 1.2 * labels + rng.normal(size=len(labels))))
        for _ in range(52):
            week = Sample(y, 1.2 * y + rng.normal(size=len(y)))
            outcome = judge(
                week,
                None,
                Counts(rows=150, n_pos=60, n_neg=90),
                reference=reference,
                rules=rules,
                min_per_class=10,
            ).outcome
            found += outcome is Status.DEGRADED
    # A window with a low AUROC has a large standard error: fewer than 60, and never many more.
    assert 15 <= found <= 85
