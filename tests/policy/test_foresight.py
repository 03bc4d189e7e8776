"""What the scores of a window foretell of its AUROC, before its labels and with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import foresee, judge
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Floor, Forecast, OutlookRule, Rule
from rocmonitor.stats import Sample
from rocmonitor.stats.sample import ScoreCounts

WEEK = timedelta(days=7)
RULES: dict[str, Rule] = {"forecast": Forecast()}


def mixed(rng: np.random.Generator, hard: float, n: int = 4000) -> Sample:
    """A calibrated score: easy cases have chances far from one half, hard ones near it."""
    width = np.where(rng.random(n) < hard, 0.15, 0.5)
    chance = rng.uniform(0.5 - width, 0.5 + width)
    return Sample(rng.random(n) < chance, chance.round(3))


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Weeks with a share of hard cases that varies."""
    rng = np.random.default_rng(4)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    weeks = [Window(start + n * WEEK, start + (n + 1) * WEEK) for n in range(39)]
    samples = [mixed(rng, rng.uniform(0.2, 0.6)) for _ in weeks]
    return freeze(list(zip(weeks, samples, strict=True)), RULES)


def test_a_loss_that_the_scores_explain_is_nearly_all_foreseen(reference: Reference) -> None:
    window = mixed(np.random.default_rng(8), hard=0.85)
    counts = Counts(rows=4000, n_pos=window.n_pos, n_neg=window.n_neg)
    found = judge(window, None, counts, ranges=NormalRanges.of(reference), rules=RULES, min_per_class=50)
    assert found.outcome is Status.DEGRADED
    metrics = found.metrics
    change = metrics["champion/auc"] - metrics["reference/auc"]
    assert metrics["shift/foreseen"] == pytest.approx(change, rel=0.15)
    assert metrics["shift/foreseen"] + metrics["shift/unforeseen"] == pytest.approx(change, abs=1e-4)
    assert metrics["shift/label_distance"] < metrics["shift/score_distance"]


def test_a_loss_that_the_scores_do_not_explain_is_not_foreseen(reference: Reference) -> None:
    rng = np.random.default_rng(9)
    sample = mixed(rng, hard=0.4)
    score = np.repeat(sample.score, sample.pos + sample.neg)
    label = rng.random(len(score)) < 0.5 + 0.5 * (score - 0.5)  # half as steep as it was
    window = Sample(label, score)
    counts = Counts(rows=4000, n_pos=window.n_pos, n_neg=window.n_neg)
    found = judge(window, None, counts, ranges=NormalRanges.of(reference), rules=RULES, min_per_class=50)
    assert found.outcome is Status.DEGRADED
    assert abs(found.metrics["shift/foreseen"]) < 0.2 * abs(found.metrics["shift/unforeseen"])


@pytest.mark.parametrize(
    ("rules", "against"),
    [
        ({"outlook": OutlookRule(confidence_level=0.999), "floor": Floor(value=0.72)}, "floor"),
        ({"outlook": OutlookRule(confidence_level=0.999), "forecast": Forecast()}, "forecast"),
    ],
)
def test_an_outlook_wholly_below_a_floor_or_the_forecast_warns(
    reference: Reference, rules: dict[str, Rule], against: str
) -> None:
    window = mixed(np.random.default_rng(8), hard=0.97)
    scores = ScoreCounts(window.score, window.pos + window.neg)
    found = foresee(scores, ranges=NormalRanges.of(reference), rules=rules, min_rows=100)
    [verdict] = found.verdicts
    assert found.outcome is Status.AT_RISK
    assert verdict.details["against"] in (against, "windows")
    assert verdict.margin is not None
    assert verdict.margin < 0
