"""A budget of false alarms: the levels that keep to it, by counting and by simulated windows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.policy.budget import (
    LEAST_SHARE,
    AlarmBudget,
    GroupBudget,
    Levels,
    Load,
    allot,
    allotments,
)
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.status import Alarm
from rocmonitor.rules import (
    KINDS,
    Calibration,
    Challenger,
    Cost,
    Drop,
    Floor,
    Forecast,
    Lasting,
    OutlookRule,
    Scores,
)
from rocmonitor.stats import AucResult, AucSpread

RULES = {"forecast": Forecast(), "drop": Drop(), "challenger": Challenger(), "old": Forecast(method="dual")}
LOAD = Load(monitor="credit", windows_per_year=52, segmented=True, rules=RULES)


@pytest.mark.parametrize(
    ("rule", "tail"),
    [
        (Forecast(confidence_level=0.98), 0.01),
        (Forecast(confidence_level=0.98, alternative="less"), 0.02),
        (Floor(value=0.7, confidence_level=0.98), 0.01),
        (Drop(confidence_level=0.98), 0.01),
        (Cost(w=0.2, value=0.3, confidence_level=0.98), 0.01),
        (Cost(w=0.2, margin=0.1, confidence_level=0.98), 0.01),
        (Calibration(slope=(0.8, 1.25), confidence_level=0.98), 0.02),  # both ends may alarm
        (Calibration(slope=(0.8, 1.25), intercept=(-0.2, 0.2), confidence_level=0.98), 0.04),
        (Scores(confidence_level=0.98), 0.02),
        (OutlookRule(confidence_level=0.98), 0.02),
        (Lasting(false_alarm_probability=1 - 0.99**52), 0.01),
        (Lasting(false_alarm_probability=1 - 0.99**52, alternative="two-sided"), 0.005),
    ],
)
def test_the_chance_of_a_false_alarm_is_on_the_side_that_alarms(rule, tail):
    assert rule.tail == pytest.approx(tail)
    stricter = rule.at_tail(1e-6)
    assert stricter.tail == pytest.approx(1e-6)
    assert stricter.at_tail(rule.tail).kind == rule.kind


EACH = {
    "forecast": Forecast(),
    "lasting": Lasting(),
    "floor": Floor(value=0.7),
    "drop": Drop(),
    "cost": Cost(w=0.2, value=0.3),
    "calibration": Calibration(slope=(0.8, 1.25)),
    "challenger": Challenger(),
    "scores": Scores(),
    "outlook": OutlookRule(),
}


def test_no_kind_of_rule_that_may_alarm_is_forgotten_by_the_budget():
    assert EACH.keys() == set(KINDS)
    for kind, rule in EACH.items():
        found = allot(0.26, [Load(monitor="a", windows_per_year=52, segmented=False, rules={kind: rule})])
        if kind == "challenger":  # reports, and never alarms
            assert (found.expected, found.verdicts) == (0, 0)
            continue
        assert found.verdicts == 52, kind
        assert found.expected == pytest.approx(min(0.26, 52 * rule.tail)), kind
        assert found.levels["a"].rules[kind].tail == pytest.approx(min(0.005, rule.tail)), kind


@pytest.mark.parametrize("rule", [Challenger(), Forecast(method="dual"), Forecast(method="binned")])
def test_rules_without_a_level_have_no_chance(rule):
    assert rule.tail == 0


def test_every_verdict_of_a_rule_with_a_level_shares_the_budget():
    """Two rules, 52 windows, all rows and the segments together: 208 verdicts."""
    found = allot(0.52, [LOAD])
    assert found.tail == pytest.approx(0.52 / 208)
    assert (found.verdicts, found.written) == (208, 0)
    assert found.expected == pytest.approx(0.52)
    levels = found.levels["credit"]
    assert set(levels.derived) == {"forecast", "drop"}
    assert levels.rules["drop"].confidence_level == pytest.approx(1 - 2 * 0.0025)
    assert levels.rules["old"] == RULES["old"]
    assert allot(0.52, [replace(LOAD, segmented=False)]).tail == pytest.approx(0.005)


def test_no_level_is_weaker_than_its_default_and_what_one_does_not_use_is_for_the_others():
    rules = {"forecast": Forecast(), "lasting": Lasting()}
    load = replace(LOAD, segmented=False, rules=rules)
    most = -np.expm1(np.log(0.95) / 52)
    found = allot(0.5, [load])
    assert found.levels["credit"].rules["lasting"].false_alarm_probability == pytest.approx(0.05)
    assert found.tail == pytest.approx(0.5 / 52 - most)
    assert found.expected == pytest.approx(0.5)
    generous = allot(100.0, [load])
    assert [rule.tail for rule in generous.levels["credit"].rules.values()] == pytest.approx([0.025, most])
    assert generous.expected == pytest.approx(52 * (0.025 + most))


def test_written_levels_stay_and_count():
    found = allot(1.0, [replace(LOAD, segmented=False, written=frozenset({"drop"}), rules=RULES)])
    assert found.levels["credit"].rules["drop"] == RULES["drop"]
    assert found.written == pytest.approx(52 * 0.025)
    assert found.tail == pytest.approx(LEAST_SHARE / 52)  # the written one uses more than all
    assert found.expected == pytest.approx(1.3 + LEAST_SHARE)


def test_a_group_has_a_budget_of_its_own():
    budget = AlarmBudget(
        false_alarms_per_year=0.4,
        groups={"cards": GroupBudget(false_alarms_per_year=0.1, monitors=("visa",))},
    )
    loads = [LOAD, replace(LOAD, monitor="visa"), replace(LOAD, monitor="loans")]
    rest, cards = allotments(budget, loads)
    assert (rest.group, sorted(rest.levels), rest.tail) == ("", ["credit", "loans"], pytest.approx(0.4 / 416))
    assert (cards.group, sorted(cards.levels), cards.tail) == ("cards", ["visa"], pytest.approx(0.1 / 208))
    assert [each.group for each in allotments(budget, loads[1:2])] == ["cards"]


def test_a_monitor_in_two_groups_is_refused():
    group = GroupBudget(false_alarms_per_year=0.1, monitors=("visa",))
    with pytest.raises(InputError, match="visa is in a and in b"):
        AlarmBudget(false_alarms_per_year=1, groups={"a": group, "b": group})


def test_the_segments_of_an_outlook_share_a_chance():
    rules = {"outlook": OutlookRule(), "forecast": Forecast()}
    levels = Levels(rules=rules, budgeted=True)
    assert levels.for_outlook(10).rules["outlook"].tail == pytest.approx(0.005)
    assert levels.for_outlook(10).rules["forecast"] == rules["forecast"]
    assert replace(levels, budgeted=False).for_outlook(10).rules == rules


def test_derived_levels_use_about_the_budget_by_the_prediction_of_check():
    """A drop counts the error of a window and of the reference, so that its level is its rate."""
    whole = AucResult(auc=0.8, se=0.002, n_pos=30_000, n_neg=120_000, method="delong")
    load = replace(LOAD, segmented=False, rules={"drop": Drop()})
    scenario = Scenario(
        rules=allot(0.5, [load]).levels["credit"].rules,
        ranges=NormalRanges.of(Reference(auc=whole)),
        spread=AucSpread.normal(0.8),
        n_pos=300,
        n_neg=1200,
    )
    week = timedelta(days=365.25 / 52)
    expected = simulation(scenario, week).false_alarms(Alarm()).expected
    assert 0.5 * 0.5 < expected <= 0.5 * 1.05
