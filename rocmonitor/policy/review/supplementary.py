"""What is shown beside the verdict: segments, and how far the difference may drift. Challenger first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.review.checks import Row
from rocmonitor.policy.review.period import area_columns
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.stats import AucDifference, PairedSample, auc, compare_auc_paired, forecast_difference
from rocmonitor.stats.forecast.calibration import windows_needed


def segments_table(parts: Mapping[str, PairedSample], settings: ReviewSettings) -> list[Row]:
    """The AUROC difference in each segment; all intervals hold together with the rule's confidence level.

    Of k segments that can be compared, each has the level 1 - (1 - confidence_level) / k (Bonferroni), also
    where segments overlap. The p-values are each by itself.
    """
    notes = {name: _too_small(pair, settings.min_per_class) for name, pair in parts.items()}
    found: dict[str, AucDifference] = {}
    for name, pair in parts.items():
        if not notes[name]:
            try:
                found[name] = compare_auc_paired(pair)
            except DegenerateDataError as error:  # the same difference in every row
                notes[name] = str(error)
    level = 1 - (1 - settings.rule.confidence_level) / max(len(found), 1)
    return [
        {"segment": name, **_segment(pair, found.get(name), level), "note": notes[name]}
        for name, pair in parts.items()
    ]


def forecast(
    past: Sequence[PairedSample],
    windows: Sequence[PairedSample],
    settings: ReviewSettings,
    caveats: list[str],
) -> list[Row]:
    """How far the AUROC difference of a coming window may be, if windows keep drifting as they have.

    From the windows of the reference, or the review's own where only these are enough.
    """
    level = settings.rule.confidence_level
    least = windows_needed(level)
    large = [
        [pair for pair in some if not _too_small(pair, settings.min_per_class)] for some in (past, windows)
    ]
    known = next((some for some in large if len(some) >= least), None)
    if known is None:
        caveats.append(
            f"no forecast of the difference: at {level:.4g} it needs {least} windows with "
            f"{settings.min_per_class:,} rows of each class; the reference has {len(large[0])}, the review "
            f"{len(large[1])}"
        )
        return []
    found = forecast_difference(PairedSample.merge(known), windows=known, confidence_level=level)
    caveats += [f"forecast of the difference: {caveat}" for caveat in found.caveats]
    whose = "reference" if known is large[0] else "review"
    return [
        {
            "method": f"{found.method}, {len(known)} windows of the {whose}",
            "confidence_level": level,
            "distance": found.distance,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
        }
    ]


def _segment(pair: PairedSample, found: AucDifference | None, level: float) -> Row:
    row: Row = {
        "rows": pair.n_pos + pair.n_neg,
        "n_pos": pair.n_pos,
        "n_neg": pair.n_neg,
        **dict.fromkeys(("champion_auc", "challenger_auc", "difference", "low", "high", "level", "pvalue")),
    }
    if found is not None:
        columns = area_columns(found, level)
        row |= {"champion_auc": columns.pop("champion"), "challenger_auc": columns.pop("challenger")}
        row |= columns | {"level": level}
        del row["se"]
    elif min(pair.n_pos, pair.n_neg) > 1:
        row |= {"champion_auc": auc(pair.second).auc, "challenger_auc": auc(pair.first).auc}
    return row


def _too_small(pair: PairedSample, min_per_class: int) -> str:
    least = max(min_per_class, 2)
    if min(pair.n_pos, pair.n_neg) >= least:
        return ""
    return f"{pair.n_pos:,} positives and {pair.n_neg:,} negatives: fewer than {least:,} of a class"
