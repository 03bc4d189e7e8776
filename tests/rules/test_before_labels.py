"""Rules `outlook` and `scores`, judged before the labels: each side of their limits, and their levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.judge import forecast_of
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.rules import OutlookRule, Scores
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats.sample import ScoreCounts

ROWS = 1500


@pytest.fixture(scope="module")
def expected(known):
    cells = known.cells
    scores = ScoreCounts(cells.score, cells.pos + cells.neg)
    return replace(forecast_of(scores, NormalRanges.of(known), {}), n_rows=ROWS)


def judged(rule, known, expected, **more):
    return rule.judge(rule.kind, Evidence(law=None, now=None, sample=None, expected=expected, **more), known)


def test_outlook_warns_below_the_limit_of_the_reference_windows(known, expected):
    limit = known.history.expected_limit(ROWS).limit
    for auc, outcome in ((limit - 1e-6, Status.AT_RISK), (limit + 1e-6, Status.OK), (0.95, Status.OK)):
        found = judged(OutlookRule(), known, replace(expected, auc=auc))
        assert found.outcome is outcome, f"outlook at {auc}"
        assert (found.margin < 0) == (outcome is Status.AT_RISK), f"outlook's margin at {auc}"


def test_outlook_warns_when_the_whole_interval_is_below_a_floor(known, expected):
    for floor, outcome in ((expected.high + 1e-6, Status.AT_RISK), (expected.high - 1e-6, Status.OK)):
        found = judged(OutlookRule(), known, expected, limits={"floor": floor})
        assert found.outcome is outcome, f"outlook with a floor of {floor}"


def test_scores_warns_beyond_the_distance_of_the_reference_windows(known, expected):
    limit = known.history.distance_limit(ROWS).limit
    for distance, outcome in ((limit + 1e-6, Status.AT_RISK), (limit - 1e-6, Status.OK), (0.0, Status.OK)):
        found = judged(Scores(), known, replace(expected, score_distance=distance))
        assert found.outcome is outcome, f"scores at {distance}"
        assert (found.margin < 0) == (outcome is Status.AT_RISK), f"scores' margin at {distance}"


@pytest.mark.parametrize("rule", [OutlookRule(confidence_level=0.8), Scores(confidence_level=0.8)], ids=str)
def test_warnings_are_as_rare_as_promised(known, expected, rows, rule):
    """Of weeks like those of the reference; given 25 of these the share varies."""
    rng, warned = np.random.default_rng(8), []
    for _ in range(80):
        sample = rows(rng)
        found = known.history.forecast(known.cells, (sample.score, sample.pos + sample.neg))
        warned.append(judged(rule, known, found).outcome is Status.AT_RISK)
    assert 0.03 < np.mean(warned) < 0.42, rule.kind
