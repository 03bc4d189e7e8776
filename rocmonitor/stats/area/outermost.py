"""Intervals of an AUC that is known up to a guaranteed error, as that of a condensed sample is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmonitor.stats.area.auc import AucResult, Transform


def outermost(result: AucResult, confidence_level: float, transform: Transform) -> tuple[float, float]:
    """The interval around those of all areas and standard errors that the guarantee leaves open.

    Each end is monotone in the standard error and has no turn inwards between two areas, so the corners
    suffice. A standard error that may be 0 counts too: its interval is another one.
    """
    assert result.error is not None
    off, of_se = result.error
    areas = {max(result.auc - off, 0.0), result.auc, min(result.auc + off, 1.0)}
    errors = [result.se + of_se, *([0.0] if result.se <= of_se else [])]
    found = [
        replace(result, auc=auc, se=se, error=None).ci(confidence_level, transform)
        for auc in areas
        for se in errors
    ]
    return min(each.low for each in found), max(each.high for each in found)
