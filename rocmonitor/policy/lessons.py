"""Lessons for a new outlook from windows that had one and were judged since the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Verdict, known
from rocmonitor.stats import ScoreForecast
from rocmonitor.stats.forecast.learning import Answer, JudgedOutlook, answer, tracked_margin

_LEAST_STEP = 1e-4

MANY_WARNINGS = 3
"""Wrong warnings from which on they are said to be mostly wrong."""


_DRAWS = [NormalDist().inv_cdf((place + 0.5) / 20) for place in range(20)]
_REACH = NormalDist().inv_cdf(0.975)

LESSONS = 104
"""Judged windows that an outlook learns from."""


def judged_outlook(window: Point | Evaluation) -> JudgedOutlook | None:
    """Return what came of the outlook of a judged window; None where either is not known."""
    metrics, outcome = window.metrics, window.outcome
    names = ("expected_auc", "scored", "low", "high", "score_distance")
    foreseen = known(metrics, *(f"outlook/{name}" for name in names))
    came = known(metrics, "reference/auc", "champion/auc", "champion/auc_low", "champion/auc_high")
    judged = outcome in (Status.OK, Status.IMPROVED, Status.DEGRADED)
    if foreseen is None or came is None or not judged:
        return None
    expected, scored, low, high, distance = foreseen
    reference, auc, *interval = came
    return JudgedOutlook(
        expected=expected,
        foretold=metrics.get("outlook/foretold", reference),
        distance=distance,
        rows=round(scored),
        low=low + metrics.get("outlook/learned_low", 0.0),
        high=high - metrics.get("outlook/learned_high", 0.0),
        reference=reference,
        auc=auc,
        interval=(interval[0], interval[1]),
        degraded=outcome is Status.DEGRADED,
        warned=bool(metrics.get("outlook/warned")),
    )


def learned(
    expected: ScoreForecast, since: Sequence[JudgedOutlook]
) -> tuple[ScoreForecast, dict[str, float]]:
    """Return an outlook that allows for what came of earlier ones, and by how much its ends lie further out.

    Each end keeps to its part of the level in the long run (`tracked_margin`), in steps of a quarter of the
    way to it.
    """
    tail = (1 - expected.confidence_level) / 2
    low, high = (
        tracked_margin(beyond, tail, max(reach / 4, _LEAST_STEP))
        for beyond, reach in (
            ([outlook.low - outlook.auc for outlook in since], expected.foreseen - expected.low),
            ([outlook.auc - outlook.high for outlook in since], expected.high - expected.foreseen),
        )
    )
    wider = replace(expected, low=max(expected.low - low, 0.0), high=min(expected.high + high, 1.0))
    moved = {
        "outlook/learned_low": expected.low - wider.low,
        "outlook/learned_high": wider.high - expected.high,
    }
    return wider, {name: by for name, by in moved.items() if by}


def foretold(expected: ScoreForecast, verdicts: Sequence[Verdict], usual: float) -> dict[str, float]:
    """Return the AUROC that a warning foretells, as a metric; nothing where the scores lead to no loss.

    That of a rule ``outlook`` that warns, or else the expected AUROC if reference windows stay above it
    (`usual`, their limit).
    """
    warned = [
        verdict.estimate
        for verdict in verdicts
        if verdict.kind == "outlook" and verdict.outcome is Status.AT_RISK and verdict.estimate is not None
    ]
    lower = warned or ([expected.auc] if expected.auc < usual else [])
    return {"outlook/foretold": min(lower)} if lower else {}


def withdrawn(since: Sequence[JudgedOutlook]) -> tuple[Caveat, ...]:
    """Return a caveat where most warnings since the reference were wrong, of those that labels decided."""
    answers = [outlook.answer() for outlook in since if outlook.warned]
    decided = [answer for answer in answers if answer is not Answer.UNDECIDED]
    wrong = decided.count(Answer.WRONG)
    if wrong < MANY_WARNINGS or 2 * wrong <= len(decided):
        return ()
    return (Caveat("warnings-withdrawn", warnings=len(decided), withdrawn=wrong),)


def wrong_share(foretold: float, reference: float, *, mean: float, se: float) -> float:
    """Return the probability that labels find a warning wrong, of windows whose AUROC has this normal law.

    `foretold` and `reference` are as for `rocmonitor.stats.forecast.learning.answer`.
    """
    answers = [
        answer(foretold, reference, auc, (auc - _REACH * se, auc + _REACH * se))
        for auc in (mean + se * draw for draw in _DRAWS)
    ]
    return answers.count(Answer.WRONG) / len(answers)
