"""Shown besides the decision: segments, a forecast, and the difference around a loss. Challenger first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import fmean

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import NORMAL_95
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.record import Row
from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW, part_caveats, too_few
from rocmonitor.policy.review.period import area_columns, left_out
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.policy.windows import Window
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


def difference_by_episode(windows: Sequence[Row], period: Window, episodes: Sequence[Decline]) -> list[Row]:
    """Return the mean difference before, in and after the last episode in a period; empty without one.

    `windows` are as `rocmonitor.policy.review.checks.windows_table` gives them, and `episodes` of the same
    rows, oldest first. Checked windows are weighted by their rows, as in the average of the period, which so
    lies between its parts. The intervals (95 %) are for a look at this one table.
    """
    overlapping = [
        episode
        for episode in episodes
        if episode.start < period.end and (episode.end or period.end) > period.start
    ]
    if not overlapping:
        return []
    episode, parts = overlapping[-1], dict[str, list[Row]]()
    for row in windows:
        start = datetime.fromisoformat(row["start"])
        part = "before" if start < episode.start else "in"
        if episode.end is not None and start >= episode.end:
            part = "after"
        if row["checked"]:
            parts.setdefault(part, []).append(row)
    table = []
    for part in ("before", "in", "after"):
        if rows := parts.get(part):
            n_rows = [row["rows"] for row in rows]
            mean = fmean([row["difference"] for row in rows], n_rows)
            error = math.sqrt(sum((row["rows"] * row["se"]) ** 2 for row in rows)) / sum(n_rows)
            reach = NORMAL_95 * error
            table.append(
                {
                    "part": part,
                    "start": rows[0]["start"],
                    "end": rows[-1]["end"],
                    "windows": len(rows),
                    "difference": mean,
                    "low": mean - reach,
                    "high": mean + reach,
                }
            )
    return table
