"""Every kind of rule against every question it answers, and a new kind, which is one file and a sentence."""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy.special import expit

import rocmonitor
from rocmonitor.policy.budget import Load, allot
from rocmonitor.policy.evaluation import Counts, Status, Verdict
from rocmonitor.policy.judge import foresee, judge
from rocmonitor.policy.measure import Wanted
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import CODES, Scenario, early, simulation, uncounted
from rocmonitor.policy.windows import Window
from rocmonitor.rules import (
    KINDS,
    Calibration,
    Challenger,
    Cost,
    Drop,
    Floor,
    Forecast,
    Lasting,
    Needs,
    OutlookRule,
    Rule,
    Scores,
    by_name,
    can_alarm,
    settings_of,
)
from rocmonitor.rules.base import STRICT, Level, TwoSided, beyond
from rocmonitor.rules.evidence import Evidence
from rocmonitor.rules.evidence import LearnedReference as RuleReference
from rocmonitor.stats import AucSpread, PairedSample, Sample
from rocmonitor.stats.lasting.windows import unscaled
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.stats.simulated import DEGRADED
from rocmonitor.wording import verdicts as wording

WEEK = timedelta(days=7)
START = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gini(TwoSided):
    """The Gini index, 2 AUROC - 1, is clearly below a value: a kind that nobody has heard of."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    kind: Literal["gini"] = "gini"
    value: float = 0.3
    confidence_level: Level = 0.95

    def _verdict(self, name: str, evidence: Evidence, reference: RuleReference) -> Verdict:
        """Compare the interval with the value."""
        assert evidence.law is not None
        low, high = (2 * end - 1 for end in evidence.law.ci(self.confidence_level))
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=beyond(high < self.value, False),
            estimate=2 * evidence.law.auc - 1,
            low=low,
            high=high,
            confidence_level=self.confidence_level,
            limit=(self.value, None),
            margin=high - self.value,
            details=dict(evidence.stated),
        )


EACH: dict[str, Rule] = {
    "forecast": Forecast(),
    "lasting": Lasting(),
    "floor": Floor(value=0.6),
    "drop": Drop(),
    "cost": Cost(w=0.2, margin=0.02),
    "calibration": Calibration(slope=(0.5, 2.0)),
    "challenger": Challenger(),
    "scores": Scores(),
    "outlook": OutlookRule(),
    "gini": Gini(),
}
ALL = pytest.mark.parametrize("kind", EACH)


def week(rng: np.random.Generator, *, n: int = 1500, slope: float = 1.0, shift: float = 0.0) -> Sample:
    """Calibrated probabilities; with a slope of 0 they tell nothing."""
    logit = rng.normal(-1 + shift, 1.3, n)
    return Sample(rng.random(n) < expit(-1 + slope * (logit + 1)), expit(logit).round(4))


@pytest.fixture(scope="module")
def reference() -> Reference:
    rng = np.random.default_rng(2)
    weeks = [Window(START + n * WEEK, START + (n + 1) * WEEK) for n in range(25)]
    return freeze([(each, week(rng)) for each in weeks], EACH, (0.2,), outlooks=True)


@pytest.fixture(scope="module")
def scenario(reference: Reference) -> Scenario:
    assert reference.auc is not None
    return Scenario(
        rules=EACH,
        ranges=NormalRanges.of(reference),
        spread=AucSpread.normal(reference.auc.auc),
        n_pos=450,
        n_neg=1050,
    )


def verdict_of(rule: Rule, sample: Sample, reference: Reference) -> Verdict:
    """What a rule says of a window: with its labels, or before them."""
    counts = Counts(rows=sample.n_pos + sample.n_neg, n_pos=sample.n_pos, n_neg=sample.n_neg)
    rules = {"mine": rule}
    known = replace(reference, **_renamed(reference, rule.kind))
    if not rule.needs.labels:
        scores = ScoreCounts(sample.score, sample.pos + sample.neg)
        found = foresee(scores, ranges=NormalRanges.of(known), rules=rules, min_rows=10)
    else:
        score = np.repeat(sample.score, sample.pos + sample.neg)
        label = np.concatenate([[1] * p + [0] * n for p, n in zip(sample.pos, sample.neg, strict=True)])
        pair = PairedSample(label, score, np.random.default_rng(1).random(len(score)))
        found = judge(
            sample,
            pair,
            counts,
            ranges=NormalRanges.of(known),
            rules=rules,
            min_per_class=10,
            wanted=Wanted(probability=True),
        )
    [verdict] = found.verdicts
    return verdict


def _renamed(reference: Reference, kind: str) -> dict[str, dict]:
    """What the reference keeps for the rule of a kind, under the name `mine`."""
    return {
        kept: {"mine": of[kind]} if kind in (of := getattr(reference, kept)) else {}
        for kept in ("fits", "charts")
    }


def test_every_kind_is_held_against_every_question():
    assert EACH.keys() == {*KINDS, "gini"}


@ALL
def test_its_settings_are_the_keys_of_the_configuration(kind):
    rule = EACH[kind]
    keys = {each.name for each in fields(rule)}
    assert settings_of(rule).keys() == keys
    read = TypeAdapter(type(rule)).validate_python(settings_of(rule))
    assert read == rule
    with pytest.raises(ValidationError):
        TypeAdapter(type(rule)).validate_python(settings_of(rule) | {"no_such_key": 1})
    assert by_name([rule, rule]).keys() == {kind, f"{kind}_2"}


@ALL
def test_it_says_what_it_needs_and_where_that_is_absent_it_is_never_ok(kind, reference):
    rule = EACH[kind]
    assert isinstance(rule.needs, Needs)
    nothing = Evidence(law=None, now=None, sample=None)
    bare = replace(reference, fits={}, charts={}, history=None, auc=None, cost_thresholds={}, windows=[])
    asks = replace(rule.needs, labels=True) != Needs()
    if asks and kind not in ("challenger", "calibration", "scores", "outlook"):
        found = rule.judge("mine", nothing, bare)
        assert found.outcome is Status.INSUFFICIENT
        assert found.lacks
        assert wording.verdict(found)


@ALL
def test_it_judges_a_good_and_a_useless_window_and_has_a_sentence(kind, reference, monkeypatch):
    rule, rng = EACH[kind], np.random.default_rng(12)
    monkeypatch.setitem(wording._SENTENCES, "gini", lambda found: f"Gini {found.estimate:.4f}")
    good = verdict_of(rule, week(rng), reference)
    bad = verdict_of(rule, week(rng, slope=0.0, shift=0.0 if rule.needs.labels else 1.5), reference)
    expected = Status.OK if kind == "challenger" else Status.DEGRADED if can_alarm(rule) else Status.AT_RISK
    if kind == "lasting":  # one window is none that lasts
        expected = Status.OK
    if kind != "outlook":  # scores that move up promise a higher AUROC: it warns of other scores
        assert bad.outcome is expected, bad
    assert good.outcome in (Status.OK, Status.IMPROVED)
    for each in (good, bad):
        assert (each.rule, each.kind) == ("mine", kind)
        assert each.estimate is not None or kind == "lasting"
        assert each.margin is not None or kind == "challenger"
        assert wording.verdict(each)
        assert Verdict.from_dict(each.to_dict()) == each
    if can_alarm(rule) and kind != "lasting":
        assert bad.margin < 0 < good.margin


@ALL
def test_its_chance_is_that_of_the_budget(kind):
    rule = EACH[kind]
    if rule.tail == 0:
        assert kind == "challenger"
        with pytest.raises(NotImplementedError):
            Rule.at_tail(rule, 0.01)
        return
    assert rule.at_tail(0.001).tail == pytest.approx(0.001)
    load = Load(monitor="a", windows_per_year=52, segmented=False, rules={kind: rule})
    found = allot(0.1, [load])
    assert found.levels["a"].rules[kind].tail == pytest.approx(min(0.1 / 52, rule.tail))


@ALL
def test_check_counts_it_by_what_it_judges(kind, scenario):
    """Each edge of its outcome parts windows that it judges differently."""
    rule, drawn = EACH[kind], simulation(scenario, WEEK)
    assert (kind in drawn.rules) == (can_alarm(rule) and kind not in uncounted(scenario))
    assert uncounted(scenario) == ["cost", "calibration"]  # nobody judged the reference windows by them
    if kind not in drawn.single:
        return
    steps = drawn.rules[kind].steps
    assert steps.codes[0] == DEGRADED
    assert 0 < drawn.window_rate([kind]) < 0.2 or unscaled(float(steps.edges[0][0])) < scenario.auc.auc - 0.05
    for edge, *codes in zip(steps.edges, steps.codes, steps.codes[1:], strict=False):
        for x, code in zip((edge[0] - 1e-6, edge[0] + 1e-6), codes, strict=True):
            verdict = rule.judge(kind, scenario.evidence(kind, unscaled(float(x))), scenario.reference)
            assert CODES.get(verdict.outcome, 0) == code, f"{kind}: {verdict}"


@ALL
def test_before_the_labels_it_says_how_often_it_warns(kind, scenario):
    if not EACH[kind].needs.labels:
        assert 0 < early(scenario, kind, WEEK).warnings_a_year < 10


@pytest.mark.slow
def test_nobody_outside_asks_of_which_kind_a_rule_is():
    """Of a class of rules, `isinstance` and `match` are found in rocmonitor/rules only."""
    classes = {type(rule).__name__ for rule in EACH.values()}
    package = Path(rocmonitor.__file__).parent
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "rules"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rocmonitor.rules")
            for alias in node.names
        }
        assert not imported & classes, f"{path} imports {sorted(imported & classes)}"


def test_a_rule_answers_six_questions():
    assert {name for name in vars(Rule) if not name.startswith("_")} == {
        "kind",
        "needs",
        "judge",
        "tail",
        "at_tail",
        "learn",
    }
