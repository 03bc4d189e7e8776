"""The false discovery rate over segments."""

from __future__ import annotations

import numpy as np
import pytest
from policy.test_budget import EACH
from scipy.special import ndtr
from scipy.stats import false_discovery_control

from rocmonitor.policy.discoveries import allow_for_segments
from rocmonitor.policy.evaluation import Finding, Status, Verdict
from rocmonitor.rules import Drop
from rocmonitor.wording.caveats import words_of

RULES = {"drop": Drop(confidence_level=0.9)}  # a chance of 0.05 on each side


def test_among_quiet_segments_that_move_together_any_finding_is_as_rare_as_one_test():
    """8 segments with a correlation of 0.5, one-sided normal tests: 4,000 windows, error 0.003."""
    rng = np.random.default_rng(7)
    z = np.sqrt(0.5) * (rng.standard_normal((4000, 1)) + rng.standard_normal((4000, 8)))
    assert np.mean(false_discovery_control(ndtr(z), axis=1).min(axis=1) <= 0.05) < 0.05


def finding(outcome, rule="drop"):
    verdict = Verdict(rule=rule, kind="drop", outcome=outcome)
    tables = {"shift": [{"a": 1}], "roc": []}
    return Finding(outcome=outcome, verdicts=(verdict,), metrics={"shift/x": 1.0, "a": 2.0}, tables=tables)


def judged(pvalues, side=Status.DEGRADED):
    """A rule whose verdict on each segment follows from a p-value."""

    def outcome(segment, name, chance):
        assert name == "drop"
        return side if pvalues[segment] <= chance else Status.OK

    findings = {segment: finding(outcome(segment, "drop", 0.05)) for segment in pvalues}
    return allow_for_segments(findings, RULES, outcome)


@pytest.mark.parametrize("rule", EACH.values(), ids=EACH)
def test_every_kind_of_rule_is_asked_again_at_a_smaller_chance(rule):
    """One of 20 segments is degraded, by little: among so many that is no discovery."""
    asked = []

    def outcome(segment, name, chance):
        asked.append(chance)
        return Status.DEGRADED if chance > rule.tail / 4 else Status.OK

    findings = {str(number): finding(Status.OK, rule.kind) for number in range(20)}
    findings["7"] = finding(Status.DEGRADED, rule.kind)
    found = allow_for_segments(findings, {rule.kind: rule}, outcome)
    if not rule.tail:  # `challenger` never alarms
        assert asked == []
        return
    assert asked
    assert found["7"].outcome is Status.OK
    assert found["7"].caveats[0].code == "degraded-alone"


def test_p_values_are_found_and_decide_together():
    found = judged({"": 0.04, "a": 0.001, "b": 0.02, "c": 0.03, "d": 0.9})
    assert {name: each.outcome for name, each in found.items()} == {
        "": Status.DEGRADED,  # all rows are one test by themselves
        "a": Status.DEGRADED,
        "b": Status.DEGRADED,
        "c": Status.DEGRADED,  # 0.03 <= 3 / 4 of 0.05
        "d": Status.OK,
    }
    details = found["b"].verdicts[0].details
    assert details["pvalue"] == pytest.approx(0.02, rel=0.01)
    assert details["adjusted_pvalue"] == pytest.approx(0.04, rel=0.01)
    assert found[""].verdicts[0].details == {}


def test_what_does_not_stay_keeps_its_p_value_and_says_so():
    found = judged({"a": 0.02, "b": 0.5, "c": 0.6, "d": 0.9})["a"]
    [verdict] = found.verdicts
    assert (found.outcome, verdict.outcome) == (Status.OK, Status.OK)
    assert (verdict.details["alone"], verdict.details["segments"]) == ("degraded", 4)
    assert verdict.details["adjusted_pvalue"] == pytest.approx(0.08, rel=0.01)
    assert [each.code for each in found.caveats] == ["degraded-alone"]
    assert "not after allowing for the 4 segments" in words_of(found.caveats[0])
    assert (found.tables, found.metrics) == ({"roc": []}, {"a": 2.0})


def test_rises_are_counted_apart_from_losses():
    found = judged({"a": 0.02, "b": 0.02, "c": 0.9, "d": 0.9}, Status.IMPROVED)
    assert found["a"].outcome is Status.IMPROVED
    assert judged({"a": 0.02, "c": 0.9, "d": 0.9}, Status.IMPROVED)["a"].outcome is Status.OK


def test_segments_that_could_not_be_judged_do_not_count():
    lacking = {name: finding(Status.INSUFFICIENT) for name in "bcdef"}
    findings = {"a": finding(Status.DEGRADED), "z": finding(Status.OK), **lacking}
    found = allow_for_segments(
        findings, RULES, lambda _segment, _name, chance: Status.DEGRADED if chance >= 0.02 else Status.OK
    )
    assert found["a"].verdicts[0].details["segments"] == 2
    assert found["a"].outcome is Status.DEGRADED


def test_one_segment_is_judged_as_it_is():
    assert judged({"": 0.5, "a": 0.04})["a"].verdicts[0].details == {}
