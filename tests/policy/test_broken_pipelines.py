"""What each rule says of a broken pipeline, and when: before the labels, or with them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import foresee, judge
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast, OutlookRule, Rule, Scores
from rocmonitor.stats import Sample
from rocmonitor.stats.sample import ScoreCounts

ROWS, WEEK = 2000, timedelta(days=7)
RULES: dict[str, Rule] = {
    "forecast": Forecast(alternative="less"),
    "outlook": OutlookRule(),
    "scores": Scores(confidence_level=0.97),
}
Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]
Rows = tuple[Labels, Floats]
Break = Callable[[np.random.Generator, Labels, Floats], Rows]


def rows(rng: np.random.Generator, prevalence: float) -> Rows:
    """Labels, and scores within (0, 1)."""
    label = rng.random(ROWS) < prevalence
    return label, 1 / (1 + np.exp(-(rng.normal(1.6 * label) - 1.5)))


@pytest.fixture(scope="module")
def reference() -> Reference:
    rng = np.random.default_rng(2)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    weeks = [Window(start + n * WEEK, start + (n + 1) * WEEK) for n in range(39)]
    samples = [Sample(*rows(rng, rng.uniform(0.17, 0.23))) for _ in weeks]
    return freeze(list(zip(weeks, samples, strict=True)), RULES)


def untouched(_: np.random.Generator, label: Labels, score: Floats) -> Rows:
    return label, score


def shuffled(rng: np.random.Generator, label: Labels, score: Floats) -> Rows:
    """Scores are joined to the wrong rows: their law is as it was."""
    return label, rng.permutation(score)


def halved(_: np.random.Generator, label: Labels, score: Floats) -> Rows:
    """A unit changed: the order of the cases is as it was."""
    return label, score / 2


def one_source_constant(rng: np.random.Generator, label: Labels, score: Floats) -> Rows:
    """A third of the rows get a default score."""
    return label, np.where(rng.random(len(score)) < 1 / 3, 0.25, score)


def tripled(rng: np.random.Generator, *_: NDArray[np.generic]) -> Rows:
    """Three times as many positives, each class scored as ever."""
    return rows(rng, 0.6)


@pytest.mark.parametrize(
    ("broken", "early", "late"),
    [
        # Warnings before the labels, and what is degraded with them.
        (untouched, set(), set()),
        (shuffled, set(), {"forecast"}),
        (halved, {"outlook", "scores"}, set()),
        (one_source_constant, {"outlook", "scores"}, {"forecast"}),
        (tripled, {"scores"}, set()),
    ],
)
def test_what_is_said_and_when(reference: Reference, broken: Break, early: set[str], late: set[str]) -> None:
    rng = np.random.default_rng(11)
    label, score = broken(rng, *rows(rng, 0.2))
    sample = Sample(label, score)
    scores = ScoreCounts(sample.score, sample.pos + sample.neg)
    outlook = foresee(scores, ranges=NormalRanges.of(reference), rules=RULES, min_rows=100)
    warned = {verdict.rule for verdict in outlook.verdicts if verdict.outcome is Status.AT_RISK}
    judged = judge(
        sample,
        None,
        Counts(rows=ROWS, n_pos=sample.n_pos, n_neg=sample.n_neg),
        ranges=NormalRanges.of(reference),
        rules=RULES,
        min_per_class=50,
    )
    degraded = {verdict.rule for verdict in judged.verdicts if verdict.outcome is Status.DEGRADED}
    assert (warned, degraded) == (early, late)
