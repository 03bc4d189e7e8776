"""The period in one: areas, rates, curves, and the band of their difference. Challenger first in the pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.review.checks import THRESHOLDS, Progress, Row, Track, so_far
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.stats import (
    AucDifference,
    PairedSample,
    VerticalDifference,
    compare_auc_paired,
    roc_difference_band,
    vertical_difference,
    vertical_intervals,
)

EXACT_NEGATIVES = 20_000
"""Up to so many, rates are compared by a law of `MAX_THRESHOLDS` thresholds a model: seconds a rate."""

MAX_THRESHOLDS = 1000

MOVED = 0.01
"""Share of a rate by which the one that is shown may differ without a word."""

_BETTER = {"first": "challenger", "second": "champion"}


def named(caveat: str) -> str:
    """A caveat of a paired statistic, with the models called what they are."""
    return caveat.replace("first model", "challenger").replace("second model", "champion")


def areas(pair: PairedSample, confidence_level: float, caveats: list[str]) -> list[Row]:
    """The AUROC difference with DeLong's standard error, and with that over all resamples."""
    rows = []
    for method in ("delong", "exact-bootstrap"):
        try:
            found = compare_auc_paired(pair, method=method)
        except DegenerateDataError as error:
            caveats.append(f"AUROC difference ({method}) left out: {error}")
            continue
        rows.append({"method": method, **area_columns(found, confidence_level)})
        caveats += [f"AUROC difference ({method}): {caveat}" for caveat in found.caveats]
    return rows


def area_columns(found: AucDifference, confidence_level: float) -> Row:
    """What a table says of one AUROC difference."""
    low, high = found.ci(confidence_level)
    return {
        "champion": found.auc_2,
        "challenger": found.auc_1,
        "difference": found.difference,
        "se": found.se,
        "low": low,
        "high": high,
        "pvalue": found.pvalue,
    }


def rates(
    pair: PairedSample, tracks: Sequence[Track], confidence_level: float, caveats: list[str]
) -> list[Row]:
    """TPR differences at the rule's rates: of the period in one, and over all looks."""
    by_rate = {track.fpr: track for track in tracks if track.fpr is not None}
    if not by_rate:
        return []
    fprs = list(by_rate)
    found, intervals = _exactly(pair, fprs, confidence_level)
    told_here = ("zero length", "not multiples")
    caveats += [
        f"rates: {named(caveat)}" for caveat in found.caveats if not any(said in caveat for said in told_here)
    ]
    caveats += [
        f"rates: {fpr:g} is shown at {used:.4g}, the nearest rate that {pair.n_neg:,} negatives have"
        for fpr, used in zip(fprs, found.fpr.tolist(), strict=True)
        if abs(used - fpr) > MOVED * fpr
    ]
    columns = {
        "champion_tpr": vertical_intervals(pair.second, fprs).tpr,
        "challenger_tpr": vertical_intervals(pair.first, fprs).tpr,
        "difference": found.dtpr,
        **intervals,
    }
    return [
        {"fpr": fpr, **row, **so_far(track)}
        for (fpr, track), row in zip(by_rate.items(), lines(columns), strict=True)
    ]


def band(
    pair: PairedSample, settings: ReviewSettings, rng: int, caveats: list[str], progress: Progress
) -> tuple[list[Row], list[Row]]:
    """The simultaneous band of the difference of the curves, and whose which region is; this look alone."""
    found = roc_difference_band(
        pair,
        confidence_level=settings.rule.confidence_level,
        n_resamples=settings.n_resamples,
        rng=rng,
        progress=progress,
    )
    caveats += [f"band: {named(caveat)}" for caveat in found.caveats]
    columns = {"fpr": found.fpr, "difference": found.difference, "low": found.low, "high": found.high}
    regions = [
        {"from_fpr": region.low_fpr, "to_fpr": region.high_fpr, "better": _BETTER[region.better]}
        for region in found.regions()
    ]
    return lines(columns), regions


def _exactly(
    pair: PairedSample, fprs: Sequence[float], level: float
) -> tuple[VerticalDifference, dict[str, Any]]:
    """Intervals by the exact bootstrap law, and smoothed ones where these have zero length."""
    most = MAX_THRESHOLDS if pair.n_neg <= EXACT_NEGATIVES else THRESHOLDS
    found = vertical_difference(pair, fprs, method="exact", confidence_level=level, max_thresholds=most)
    low, high, methods = found.dtpr_low, found.dtpr_high, np.full(len(fprs), found.method, dtype=object)
    point = low == high
    if point.any():
        smoothed = vertical_difference(pair, fprs, confidence_level=level, max_thresholds=most)
        low, high = np.where(point, smoothed.dtpr_low, low), np.where(point, smoothed.dtpr_high, high)
        methods[point] = smoothed.method
    return found, {"low": low, "high": high, "method": methods}


def lines(columns: dict[str, Any]) -> list[Row]:
    """Arrays of one length as rows."""
    plain = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*plain, strict=True)]
