"""What is said of warnings before the labels agrees with what the rules then do on simulated windows."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.policy.budget import Load, allot
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.judge import foresee
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import Early, Scenario, early
from rocmonitor.policy.windows import Window
from rocmonitor.rules import OutlookRule, Rule, Scores
from rocmonitor.stats import AucSpread, Sample
from rocmonitor.stats.sample import ScoreCounts

WEEK, ROWS = timedelta(days=7), 1000


def scores(rng: np.random.Generator, *, lost: float = 0.0, prevalence: float = 0.3) -> Sample:
    """Rows of a window; a share of the positives scores as negatives do."""
    label = rng.random(ROWS) < prevalence
    seen = label & (rng.random(ROWS) >= lost)
    return Sample(label, rng.normal(1.5 * seen).round(2))


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Thirty-nine weeks whose prevalence wanders."""
    rng = np.random.default_rng(5)
    samples = [scores(rng, prevalence=float(rng.uniform(0.28, 0.32))) for _ in range(39)]
    return freeze(list(zip(weeks(39), samples, strict=True)), {})


def weeks(number: int) -> list[Window]:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    return [Window(start + week * WEEK, start + (week + 1) * WEEK) for week in range(number)]


def told(reference: Reference, rule: Rule, rows: int = ROWS, **derived: Rule) -> Early:
    assert reference.auc is not None
    scenario = Scenario(
        rules={rule.kind: rule},
        ranges=NormalRanges.of(reference, derived),
        spread=AucSpread.normal(reference.auc.auc),
        n_pos=0.3 * rows,
        n_neg=0.7 * rows,
    )
    return early(scenario, rule.kind, WEEK)


def warned(reference: Reference, rule: Rule, *, windows: int, lost: float = 0.0, **derived: Rule) -> float:
    """Share of simulated windows on which a rule warns."""
    rng = np.random.default_rng(7)
    count = 0
    for _ in range(windows):
        sample = scores(rng, lost=lost, prevalence=float(rng.uniform(0.28, 0.32)))
        found = foresee(
            ScoreCounts(sample.score, sample.pos + sample.neg),
            ranges=NormalRanges.of(reference, derived),
            rules={rule.kind: rule},
            min_rows=100,
        )
        count += found.outcome is Status.AT_RISK
    return count / windows


@pytest.mark.parametrize("budget", [None, 1.0, 4.0])
@pytest.mark.parametrize("rule", [Scores(), OutlookRule(), Scores(confidence_level=0.8)])
@pytest.mark.slow
def test_warnings_in_vain_are_as_rare_as_is_said(
    reference: Reference, rule: Rule, budget: float | None
) -> None:
    derived: dict[str, Rule] = {}
    if budget is not None:
        load = Load(monitor="a", windows_per_year=52, segmented=False, rules={rule.kind: rule})
        derived = dict(allot(budget, [load]).levels["a"].derived)
        rule = derived[rule.kind]
    said = told(reference, rule, **derived)
    assert said.warnings_a_year < said.unlucky_warnings_a_year
    a_year = 365.25 / 7 * warned(reference, rule, windows=150, **derived)
    assert said.warnings_a_year == pytest.approx(a_year, rel=0.6, abs=1.5)
    assert a_year < said.unlucky_warnings_a_year * 1.6 + 1


@pytest.mark.slow
def test_the_loss_that_scores_show_is_found_with_the_power_that_is_said(reference: Reference) -> None:
    said = told(reference, Scores())
    assert reference.history is not None
    assert said.lost is not None
    share = said.lost / (reference.history.auc - 0.5)
    assert 0 < share < 1
    assert warned(reference, Scores(), windows=150, lost=share) == pytest.approx(0.8, abs=0.12)
    assert warned(reference, Scores(), windows=100, lost=share / 3) < 0.5


@pytest.mark.slow
def test_windows_that_differ_are_allowed_for() -> None:
    """Windows whose classes drift: with sampling alone a loss was said that 65 % of the windows showed."""
    rng = np.random.default_rng(2)

    def drifting(lost: float = 0.0) -> Sample:
        label = rng.random(2 * ROWS) < 0.2
        seen = label & (rng.random(2 * ROWS) >= lost)
        low, high = 0.08 * rng.normal(size=2)
        return Sample(label, np.where(seen, 1.1 + high, low) + rng.normal(size=2 * ROWS))

    found = []
    for _ in range(6):
        known = freeze(list(zip(weeks(19), [drifting() for _ in range(19)], strict=True)), {})
        history, cells = known.history, known.cells
        said = told(known, Scores(confidence_level=0.9), rows=2 * ROWS)
        assert said.lost is not None
        limit = history.distance_limit(2 * ROWS, confidence_level=0.9).limit
        for _ in range(20):
            sample = drifting(said.lost / (history.auc - 0.5))
            counts = ScoreCounts(sample.score, sample.pos + sample.neg)
            found.append(history.shift(cells, counts).score_distance > limit)
    assert np.mean(found) == pytest.approx(0.8, abs=0.16)


def test_a_loss_that_no_scores_can_show_is_not_promised(reference: Reference) -> None:
    """Half of the rows are positive, and there is no signal to lose."""
    rng = np.random.default_rng(1)
    samples = [Sample(rng.random(60) < 0.5, rng.normal(size=60)) for _ in range(9)]
    poor = freeze(list(zip(weeks(9), samples, strict=True)), {})
    assert told(poor, Scores(), rows=60).lost is None


def test_an_outlook_finds_what_its_reference_windows_allow(reference: Reference) -> None:
    history, found = reference.history, told(reference, OutlookRule())
    assert history is not None
    assert found.foretold is not None
    assert found.lost is None
    limit = history.expected_limit(ROWS).limit
    mean, spread = np.mean(history.window_expected), np.std(history.window_expected, ddof=1)
    drawn = np.random.default_rng(3).normal(mean - found.foretold, spread, 20_000)
    assert np.mean(drawn < limit) == pytest.approx(0.8, abs=0.05)
