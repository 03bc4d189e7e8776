"""Lessons for a new outlook from windows that had one and were judged since the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Point, Status, known
from rocmonitor.stats import ScoreForecast
from rocmonitor.stats.forecast.learning import JudgedOutlook, tracked_margin

_LEAST_STEP = 1e-4

MANY_WARNINGS = 3
"""Withdrawn warnings from which on they are said to be mostly withdrawn."""


LESSONS = 104
"""Judged windows that an outlook learns from."""


def judged_outlook(of: Point) -> JudgedOutlook | None:
    """Return what came of the outlook of a judged window; None where either is not known."""
    metrics, outcome = of.metrics, of.outcome
    names = ("outlook/expected_auc", "outlook/scored", "outlook/low", "outlook/high", "champion/auc")
    found = known(metrics, *names)
    if found is None or outcome not in (Status.OK, Status.IMPROVED, Status.DEGRADED):
        return None
    expected, scored, low, high, auc = found
    return JudgedOutlook(
        expected=expected,
        rows=round(scored),
        low=low + metrics.get("outlook/learned_low", 0.0),
        high=high - metrics.get("outlook/learned_high", 0.0),
        auc=auc,
        good=outcome is not Status.DEGRADED,
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
            ([each.low - each.auc for each in since], expected.foreseen - expected.low),
            ([each.auc - each.high for each in since], expected.high - expected.foreseen),
        )
    )
    wider = replace(expected, low=max(expected.low - low, 0.0), high=min(expected.high + high, 1.0))
    moved = {
        "outlook/learned_low": expected.low - wider.low,
        "outlook/learned_high": wider.high - expected.high,
    }
    return wider, {name: by for name, by in moved.items() if by}


def withdrawn(since: Sequence[JudgedOutlook]) -> tuple[Caveat, ...]:
    """Return a caveat where most warnings since the reference were withdrawn by the labels."""
    warned = [each for each in since if each.warned]
    fine = sum(each.good for each in warned)
    if fine < MANY_WARNINGS or 2 * fine <= len(warned):
        return ()
    return (Caveat("warnings-withdrawn", warnings=len(warned), withdrawn=fine),)
