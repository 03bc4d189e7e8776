"""What is said of warnings before the labels agrees with what the rules then do on simulated windows."""

from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.false_alarms import early
from rocmonitor.policy.judge import foresee
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Outlook, Rule, Scores
from rocmonitor.stats import Sample, condensed, score_history
from rocmonitor.stats.unlabelled import ScoreCounts

WEEK, ROWS = timedelta(days=7), 1000


def scores(rng: np.random.Generator, *, lost: float = 0.0, prevalence: float = 0.3) -> Sample:
    """Rows of a window; a share of the positives scores as negatives do."""
    label = rng.random(ROWS) < prevalence
    seen = label & (rng.random(ROWS) >= lost)
    return Sample(label, rng.normal(1.5 * seen).round(2))


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Thirty-nine weeks whose prevalence wanders."""
    from datetime import UTC, datetime

    rng = np.random.default_rng(5)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    weeks = [Window(start + number * WEEK, start + (number + 1) * WEEK) for number in range(39)]
    samples = [scores(rng, prevalence=float(rng.uniform(0.28, 0.32))) for _ in weeks]
    return freeze(list(zip(weeks, samples, strict=True)), {})


def warned(reference: Reference, rule: Rule, *, windows: int, lost: float = 0.0) -> float:
    """Share of simulated windows on which a rule warns."""
    rng = np.random.default_rng(7)
    count = 0
    for _ in range(windows):
        sample = scores(rng, lost=lost, prevalence=float(rng.uniform(0.28, 0.32)))
        found = foresee(
            ScoreCounts(sample.score, sample.pos + sample.neg),
            ranges=NormalRanges.of(reference),
            rules={rule.kind: rule},
            min_rows=100,
        )
        count += found.outcome is Status.AT_RISK
    return count / windows


@pytest.mark.parametrize("rule", [Scores(), Outlook(), Scores(confidence_level=0.8)])
@pytest.mark.slow
def test_warnings_in_vain_are_as_rare_as_is_said(reference: Reference, rule: Rule) -> None:
    assert reference.history is not None
    assert reference.cells is not None
    said = early(rule, reference.history, reference.cells, rows=ROWS, every=WEEK)
    assert said.warnings_a_year == pytest.approx(365.25 / 7 * (1 - rule.confidence_level), rel=0.03)  # type: ignore[union-attr]
    assert said.warnings_a_year < said.unlucky_warnings_a_year
    a_year = 365.25 / 7 * warned(reference, rule, windows=150)
    # One reference; its share of warnings is a Beta variable about the mean.
    assert a_year < said.unlucky_warnings_a_year * 1.6 + 1


@pytest.mark.slow
def test_the_loss_that_scores_show_is_found_with_the_power_that_is_said(reference: Reference) -> None:
    assert reference.history is not None
    assert reference.cells is not None
    said = early(Scores(), reference.history, reference.cells, rows=ROWS, every=WEEK)
    assert said.loss is not None
    share = said.loss / (reference.history.auc - 0.5)
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
        past = [drifting() for _ in range(19)]
        whole = Sample.merge(past)
        history, cells = score_history(whole, past), condensed(whole)
        said = early(Scores(confidence_level=0.9), history, cells, rows=2 * ROWS, every=WEEK)
        assert said.loss is not None
        limit = history.distance_limit(2 * ROWS, confidence_level=0.9).limit
        for _ in range(20):
            sample = drifting(said.loss / (history.auc - 0.5))
            counts = ScoreCounts(sample.score, sample.pos + sample.neg)
            found.append(history.shift(cells, counts).score_distance > limit)
    assert np.mean(found) == pytest.approx(0.8, abs=0.16)


def test_a_loss_that_no_scores_can_show_is_not_promised(reference: Reference) -> None:
    """Half of the rows are positive, and there is no signal to lose."""
    rng = np.random.default_rng(1)
    from datetime import UTC, datetime

    start = datetime(2026, 1, 5, tzinfo=UTC)
    weeks = [
        (Window(start + n * WEEK, start + (n + 1) * WEEK), Sample(rng.random(60) < 0.5, rng.normal(size=60)))
        for n in range(9)
    ]
    poor = freeze(weeks, {})
    assert poor.history is not None
    assert poor.cells is not None
    assert early(Scores(), poor.history, poor.cells, rows=60, every=WEEK).loss is None


def test_an_outlook_finds_what_its_reference_windows_allow(reference: Reference) -> None:
    history, cells = reference.history, reference.cells
    assert history is not None
    assert cells is not None
    found = early(Outlook(), history, cells, rows=ROWS, every=WEEK)
    assert found.loss is not None
    limit = history.expected_limit(ROWS).limit
    mean, spread = np.mean(history.window_expected), np.std(history.window_expected, ddof=1)
    drawn = np.random.default_rng(3).normal(mean - found.loss, spread, 20_000)
    assert np.mean(drawn < limit) == pytest.approx(0.8, abs=0.02)
