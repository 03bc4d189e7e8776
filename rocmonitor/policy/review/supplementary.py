"""Shown besides the decision: segments, and a forecast of the difference. Challenger first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.record import Row
from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW, part_caveats, too_few
from rocmonitor.policy.review.period import area_columns, left_out
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.stats import AucDifference, PairedSample, auc, compare_auc_paired, forecast_difference
from rocmonitor.stats.forecast.calibration import windows_needed


def segments_table(parts: Mapping[str, PairedSample], settings: ReviewSettings) -> list[Row]:
    """Return the AUROC difference in each segment; the intervals hold together with the rule's confidence
    level.

    Of k segments that can be compared, each has the level 1 - (1 - confidence_level) / k (Bonferroni), also
    where segments overlap. Each p-value is for its segment alone.
    """
    notes = {name: TOO_FEW if too_few(pair, settings.min_per_class) else "" for name, pair in parts.items()}
    differences: dict[str, AucDifference] = {}
    for name, pair in parts.items():
        if not notes[name]:
            try:
                differences[name] = compare_auc_paired(pair)
            except DegenerateDataError:  # the same difference in every row
                notes[name] = NO_SCATTER
    level = 1 - (1 - settings.rule.confidence_level) / max(len(differences), 1)
    table = []
    for name, pair in parts.items():
        row: Row = {
            "segment": name,
            "rows": pair.n_pos + pair.n_neg,
            "n_pos": pair.n_pos,
            "n_neg": pair.n_neg,
            **dict.fromkeys(
                ("champion_auc", "challenger_auc", "difference", "low", "high", "level", "pvalue")
            ),
            "note": notes[name],
        }
        if name in differences:
            columns = area_columns(differences[name], level)
            row |= {"champion_auc": columns.pop("champion"), "challenger_auc": columns.pop("challenger")}
            row |= columns | {"level": level}
            del row["se"]
        elif min(pair.n_pos, pair.n_neg) > 1:
            row |= {"champion_auc": auc(pair.second).auc, "challenger_auc": auc(pair.first).auc}
        table.append(row)
    return table


def forecast(
    past: Sequence[PairedSample],
    windows: Sequence[PairedSample],
    settings: ReviewSettings,
    caveats: list[Caveat],
) -> list[Row]:
    """Return the AUROC difference that a coming window may have, if windows keep drifting as they have.

    From the windows of the reference, or from the review's own if only these are enough.
    """
    level, part = settings.rule.confidence_level, "forecast of the difference"
    needed = windows_needed(level)
    usable = {
        name: [pair for pair in pairs if not too_few(pair, settings.min_per_class)]
        for name, pairs in (("reference", past), ("review", windows))
    }
    basis = next((name for name, pairs in usable.items() if len(pairs) >= needed), None)
    if basis is None:
        counts = {name: len(pairs) for name, pairs in usable.items()}
        asked = {"confidence_level": level, "needed": needed, "min_per_class": settings.min_per_class}
        caveats.append(Caveat("too-few-windows-for-forecast", **asked, **counts))
        return []
    chosen = usable[basis]
    try:
        interval = forecast_difference(
            PairedSample.merge(chosen), windows=chosen, inside=True, confidence_level=level
        )
    except DegenerateDataError as error:
        caveats.append(left_out(part, error))
        return []
    caveats += part_caveats(interval, part)
    return [
        {
            "method": interval.method,
            "windows": len(chosen),
            "basis": basis,
            "confidence_level": level,
            "distance": interval.distance,
            "difference": interval.difference,
            "low": interval.low,
            "high": interval.high,
        }
    ]
