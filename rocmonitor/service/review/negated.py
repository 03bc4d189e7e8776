"""Thresholds where low scores are the positive ones: compared turned, shown as the models score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rocmonitor.config import Monitor
from rocmonitor.policy.review.settings import ReviewSettings

Tables = Mapping[str, Sequence[Mapping[str, Any]]]

_SCORES = ("champion_threshold", "challenger_threshold")


def settings(monitor: Monitor) -> ReviewSettings:
    """How the monitor's models are compared, with thresholds on the scores as they are read.

    Reading turns scores of which a low one is positive, so their thresholds must be turned with them: flagged
    is who scores at or below.
    """
    said = monitor.review_settings
    if monitor.positive.scores == "higher":
        return said
    return replace(said, thresholds=tuple(0.0 - threshold for threshold in said.thresholds))


def back(monitor: Monitor, tables: Tables) -> dict[str, list[dict[str, Any]]]:
    """The tables with their thresholds as the models score."""
    turn = monitor.positive.scores == "lower"
    return {
        name: [
            {
                column: 0.0 - value if turn and column in _SCORES and value is not None else value
                for column, value in row.items()
            }
            for row in rows
        ]
        for name, rows in tables.items()
    }


def caveats(monitor: Monitor) -> Iterator[str]:
    """What is to be known of such scores."""
    if monitor.positive.scores == "lower":
        yield (
            "low scores are the positive ones: a threshold flags the rows at or below it, and is no "
            "probability of a positive; where a caveat names a score or a threshold, it is with its sign "
            "turned"
        )
