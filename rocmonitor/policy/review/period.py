"""The whole period at once: areas, rates, curves, and the band of their difference. Challenger first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.measure import rows
from rocmonitor.policy.record import Row
from rocmonitor.policy.review.checks import THRESHOLDS, Progress, part_caveats
from rocmonitor.policy.review.document import Comparison
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.stats import (
    AucDifference,
    PairedSample,
    compare_auc_paired,
    roc_difference_band,
    vertical_difference,
    vertical_intervals,
)

EXACT_NEGATIVES = 20_000
"""Up to this many, rates are compared with `MAX_THRESHOLDS` thresholds per model: seconds per rate."""

MAX_THRESHOLDS = 1000

MOVED = 0.01
"""Share of a rate by which the rate that is used may differ without a caveat."""

_BETTER = {"first": "challenger", "second": "champion"}
_SHOWN_OTHERWISE = ("zero-length", "moved-rate")  # smoothed intervals, and a caveat of our own


def left_out(part: str, error: Exception) -> Caveat:
    """Return a part of the review that could not be computed, and why."""
    return Caveat("part-left-out", part=part, reason=str(error))


def areas(pair: PairedSample, confidence_level: float, caveats: list[Caveat]) -> list[Row]:
    """Return the AUROC difference with DeLong's standard error, and with that over all resamples."""
    rows = []
    for method in ("delong", "exact-bootstrap") if pair.clusters is None else ("delong",):
        part = f"AUROC difference ({method})"
        try:
            difference = compare_auc_paired(pair, method=method)
        except DegenerateDataError as error:
            caveats.append(left_out(part, error))
            continue
        rows.append({"method": method, **area_columns(difference, confidence_level)})
        caveats += part_caveats(difference, part)
    return rows


def area_columns(difference: AucDifference, confidence_level: float) -> Row:
    """Return the columns of one AUROC difference."""
    low, high = difference.ci(confidence_level)
    return {
        "champion": difference.auc_2,
        "challenger": difference.auc_1,
        "difference": difference.difference,
        "se": difference.se,
        "low": low,
        "high": high,
        "pvalue": difference.pvalue,
    }


def rates(
    pair: PairedSample, comparisons: Sequence[Comparison], confidence_level: float, caveats: list[Caveat]
) -> list[Row]:
    """TPR differences at the rule's rates: of the whole period, and over all checks."""
    by_rate = {comparison.fpr: comparison for comparison in comparisons if comparison.fpr is not None}
    if not by_rate:
        return []
    fprs = list(by_rate)
    most = MAX_THRESHOLDS if pair.n_neg <= EXACT_NEGATIVES else THRESHOLDS
    compared = partial(
        vertical_difference, pair, fprs, confidence_level=confidence_level, max_thresholds=most
    )
    # Intervals by the exact bootstrap law, and smoothed ones where these have zero length.
    difference = compared(method="exact")
    ends = list(zip(difference.dtpr_low.tolist(), difference.dtpr_high.tolist(), strict=True))
    methods = [difference.method] * len(ends)
    if points := [at for at, (low, high) in enumerate(ends) if low == high]:
        smoothed = compared()
        for at in points:
            ends[at] = (float(smoothed.dtpr_low[at]), float(smoothed.dtpr_high[at]))
            methods[at] = smoothed.method
    part = part_caveats(difference, "rates")
    caveats += [caveat for caveat in part if caveat.code not in _SHOWN_OTHERWISE]
    caveats += [
        Caveat("rate-moved", fpr=fpr, used=used, negatives=pair.n_neg).concerning("rates")
        for fpr, used in zip(fprs, difference.fpr.tolist(), strict=True)
        if abs(used - fpr) > MOVED * fpr
    ]
    columns = {
        "champion_tpr": vertical_intervals(pair.second, fprs).tpr,
        "challenger_tpr": vertical_intervals(pair.first, fprs).tpr,
        "difference": difference.dtpr,
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
        "method": methods,
    }
    return [
        {
            "fpr": fpr,
            **row,
            "running_mean": comparison.estimate,
            "anytime_low": comparison.low,
            "anytime_high": comparison.high,
            "better": comparison.better,
        }
        for (fpr, comparison), row in zip(by_rate.items(), rows(columns), strict=True)
    ]


def band(
    pair: PairedSample, settings: ReviewSettings, rng: int, caveats: list[Caveat], progress: Progress
) -> tuple[list[Row], list[Row]]:
    """Return the band of the difference of the curves, and the regions in which a model is better."""
    roc_band = roc_difference_band(
        pair,
        confidence_level=settings.rule.confidence_level,
        n_resamples=settings.n_resamples,
        rng=rng,
        progress=progress,
    )
    caveats += part_caveats(roc_band, "band")
    columns = {
        "fpr": roc_band.fpr,
        "difference": roc_band.difference,
        "low": roc_band.low,
        "high": roc_band.high,
    }
    regions = [
        {"from_fpr": region.low_fpr, "to_fpr": region.high_fpr, "better": _BETTER[region.better]}
        for region in roc_band.regions()
    ]
    return rows(columns), regions
