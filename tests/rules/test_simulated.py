"""A rule is counted by what it judges: with a budget and without, known to nobody, by AUROC or by counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from rocmonitor.policy import measure
from rocmonitor.policy.budget import Load, allot
from rocmonitor.policy.evaluation import Counts, Status, Verdict
from rocmonitor.policy.judge import judge
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.scenario import CODES, Scenario, simulation, uncounted
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Drop, Floor, Forecast, Lasting, Needs, Rule
from rocmonitor.rules.evidence import Evidence
from rocmonitor.rules.evidence import LearnedReference as RuleReference
from rocmonitor.stats import AucSpread, Sample, WindowAuc
from rocmonitor.stats.lasting.windows import scaled, unscaled
from rocmonitor.wording.report import yearly

WEEK, START = timedelta(days=7), datetime(2026, 1, 5, tzinfo=UTC)
AUC, SCATTER, N_POS, N_NEG = 0.76, 0.035, 400, 1200


def week(rng: np.random.Generator, auc: float, n_pos: int = N_POS, n_neg: int = N_NEG) -> Sample:
    label = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(label, (rng.normal(size=n_pos + n_neg) + np.sqrt(2) * ndtri(auc) * label).round(3))


def reference_weeks(rng: np.random.Generator, number: int = 30) -> list[Sample]:
    """Weeks that differ by more than sampling: normal quantiles of the AUROC, in no order."""
    quantiles = ndtri((np.arange(number) + 0.5) / number)
    return [week(rng, AUC + SCATTER * at) for at in rng.permutation(quantiles).tolist()]


def scenario_of(samples: list[Sample], rules: dict[str, Rule], **derived: Rule) -> Scenario:
    weeks = [Window(START + at * WEEK, START + (at + 1) * WEEK) for at in range(len(samples))]
    reference = freeze(list(zip(weeks, samples, strict=True)), rules)
    n_pos, n_neg = (float(np.median([getattr(each, n) for each in samples])) for n in ("n_pos", "n_neg"))
    return Scenario(
        rules=rules | derived,
        ranges=NormalRanges.of(reference, derived),
        spread=AucSpread.from_sample(Sample.merge(samples)),
        n_pos=n_pos,
        n_neg=n_neg,
    )


@pytest.mark.slow
@pytest.mark.parametrize("budget", [None, 0.5, 3.0])
@pytest.mark.parametrize("rule", [Drop(), Drop(value=0.05), Floor(value=0.72), Forecast()], ids=str)
def test_check_says_of_resampled_windows_what_the_judge_says(rule, budget, monkeypatch):
    """The rate of alarms, and where they begin, budgeted or not: no `drop` told 12 times its budget."""
    monkeypatch.setattr(measure, "CURVE_POINTS", 1)
    rng, name = np.random.default_rng(3), rule.kind
    samples, derived = reference_weeks(rng), {}
    if budget is not None:
        load = Load(monitor="a", windows_per_year=52, segmented=False, rules={name: rule})
        derived = allot(budget, [load]).levels["a"].derived
    scenario = scenario_of(samples, {name: rule}, **derived)
    drawn = simulation(scenario, WEEK)
    edge = unscaled(float(drawn.rules[name].steps.edges[0][0]))
    for seen in [week(rng, AUC - shift) for shift in np.linspace(-0.05, 0.2, 24)]:
        counts = Counts(rows=N_POS + N_NEG, n_pos=N_POS, n_neg=N_NEG)
        finding = judge(seen, None, counts, ranges=scenario.ranges, rules=scenario.rules, min_per_class=20)
        apart = finding.metrics["champion/auc"] - edge
        if abs(apart) > 0.004:  # windows differ in how far scores tie and spread
            assert (finding.outcome is Status.DEGRADED) == (apart < 0), (name, apart)
    yearly = drawn.false_alarms(Alarm())
    if budget is not None and name != "floor":
        assert yearly.low < budget
        assert yearly.expected < 4 * budget + 0.5


@pytest.mark.parametrize("budget", [None, 0.5, 3.0])
@pytest.mark.parametrize("alternative", ["less", "two-sided"])
def test_check_says_of_a_series_of_windows_what_lasting_says(alternative, budget):
    """Series that go on as the reference, and with a change that stays, judged window by window."""
    samples, rule = reference_weeks(np.random.default_rng(3)), Lasting(alternative=alternative)
    derived: dict[str, Rule] = {}
    if budget is not None:
        load = Load(monitor="a", windows_per_year=52, segmented=False, rules={"lasting": rule})
        derived = dict(allot(budget, [load]).levels["a"].derived)
    scenario = scenario_of(samples, {"lasting": rule}, **derived)
    drawn = simulation(scenario, WEEK).rules["lasting"]
    weeks = [Window(START + at * WEEK, START + (at + 1) * WEEK) for at in range(40, 70)]
    shift = np.repeat([0.0, -0.6, 0.6], 3)
    told = drawn.chart.alarms(drawn.coming.seen[: len(weeks), : len(shift)] + shift)
    found = np.zeros_like(told)
    for series, by in enumerate(shift):
        aucs = [unscaled(float(x)) for x in drawn.coming.seen[: len(weeks), series] + by]
        numbers = [WindowAuc(auc, N_POS, N_NEG) for auc in aucs]
        for at, auc in enumerate(aucs):
            past = Course(windows=tuple(weeks[: at + 1]), numbers=tuple(numbers[:at]), zone=ZoneInfo("UTC"))
            evidence = replace(scenario.evidence("lasting", auc), past=past)
            outcome = scenario.rules["lasting"].judge("lasting", evidence, scenario.reference).outcome
            found[at, series] = CODES.get(outcome, 0)
    assert np.mean(found == told) > 0.99, "lasting"  # each window's noise depends on its own AUROC
    assert np.mean(found[:, 3:6] < 0) > 0.5, "lasting"
    assert np.any(found[:, 6:] > 0) == (alternative == "two-sided"), "lasting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Rule):
    """A rule that nobody has seen, which has `judge` only: it alarms as it is told to."""

    kind: Literal["toy"] = "toy"
    alarms_at: str = "always"
    has_rows: bool = False

    @property
    def needs(self) -> Needs:
        """Rows, if it is told so."""
        return Needs(rows=self.has_rows)

    def judge(self, name: str, evidence: Evidence, reference: RuleReference) -> Verdict:
        """Alarm always, at an AUROC below 0.7, or with fewer than 20 positives."""
        assert evidence.now is not None
        bad = {"always": True, "low": evidence.now.auc < 0.7, "few": evidence.now.n_pos < 20}
        bad |= {"few and low": bad["few"] and bad["low"]}
        outcome = Status.DEGRADED if bad[self.alarms_at] else Status.OK
        return Verdict(rule=name, kind=self.kind, outcome=outcome)


def told(toy: Toy, samples: list[Sample]) -> tuple[float, float]:
    """Share of windows with an alarm, and alarms a year with a window each day it begins."""
    drawn = simulation(scenario_of(samples, {"toy": toy}), WEEK)
    return drawn.window_rate(), drawn.false_alarms(Alarm(recover_after=1)).expected


def test_a_rule_that_always_alarms_is_counted_as_an_alarm_a_window():
    samples = reference_weeks(np.random.default_rng(1))
    rate, yearly = told(Toy(), samples)
    assert rate == 1
    assert yearly == pytest.approx(365.25 / 7)


def test_a_budget_names_the_rules_whose_false_alarms_only_check_can_count():
    rules = {"toy": Toy(), "forecast": Forecast()}
    shared = allot(1.0, [Load(monitor="credit", windows_per_year=52, segmented=False, rules=rules)])
    assert shared.uncounted == ("toy of credit",)
    said = yearly(shared, sent=0, acknowledged=0, not_sent=0)
    assert "at most 1 expected, besides toy of credit (`rocmonitor check` counts them)" in said


def test_a_rule_on_the_auroc_is_counted_by_its_limit():
    """Below 0.7: by a normal law of the reference windows, and a little more, as they are few."""
    samples = reference_weeks(np.random.default_rng(1))
    rate, yearly = told(Toy(alarms_at="low"), samples)
    aucs = scenario_of(samples, {}).numbers()[0]
    below = float(ndtr((scaled(0.7) - np.mean(aucs)) / np.std(aucs, ddof=1)))
    assert below < rate < 1.5 * below
    assert yearly == pytest.approx(365.25 / 7 * rate * (1 - rate), rel=0.3)


def test_a_rule_on_counts_is_counted_by_the_sizes_of_the_reference_windows():
    """Each fifth window has 15 positives."""
    rng = np.random.default_rng(1)
    samples = [week(rng, AUC, 15 if at % 5 == 0 else 60, 300) for at in range(30)]
    rate, yearly = told(Toy(alarms_at="few"), samples)
    assert rate == pytest.approx(0.2)
    assert yearly == pytest.approx(365.25 / 7 / 5, rel=0.1)
    assert told(Toy(alarms_at="few"), samples[1:5])[0] == 0


def test_a_rule_on_rows_is_counted_by_what_it_says_of_the_reference_windows():
    samples = reference_weeks(np.random.default_rng(1))
    scenario = scenario_of(samples, {"toy": Toy(has_rows=True)})
    assert uncounted(scenario) == ["toy"]
    drawn = simulation(replace(scenario, outcomes={"toy": (-1, 0, 0, 0, 0)}), WEEK)
    assert drawn.window_rate() == pytest.approx(0.2)
