"""The references of a check as one HTML file: each window, the normal range, and the three answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.windows import Window
from rocmonitor.report.chart import monitor_chart
from rocmonitor.report.html import render
from rocmonitor.wording.format import instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The content of the page on one monitor: answers by topic; ranges unless its rows were not read."""

    monitor: str
    zone: ZoneInfo
    answers: Mapping[str, str]
    doubts: Sequence[str]
    ranges: NormalRanges | None


def page(watched: Sequence[Watched], *, made: datetime) -> str:
    """Return the page as one HTML file that needs no network."""
    shown = [
        {"name": entry.monitor, "answers": entry.answers, "doubts": entry.doubts, **_chart(entry)}
        for entry in watched
    ]
    zone = watched[0].zone if watched else ZoneInfo("UTC")
    return render("check.html.j2", monitors=shown, made=instant(made, zone), zone=str(zone))


def _chart(watched: Watched) -> dict[str, Any]:
    """Return the chart of the reference windows and the normal range, and its label; None without any."""
    ranges = watched.ranges
    windows = [] if ranges is None else ranges.reference.windows
    rows = [row for row in windows if row.get("auc") is not None]
    if ranges is None or not rows:
        return {"chart": None, "label": ""}
    interval = ranges.first()
    points = [
        dict.fromkeys(("outlook_auc", "outlook_low", "outlook_high"))
        | {
            "slug": "",
            "name": Window.from_dict(row).in_zone(watched.zone),
            "start": row["start"],
            "end": row["end"],
            "revision": 0,
            "version": "",
            "outcome": "ok",
            "complete": True,
            "auc": row["auc"],
            "low": row["auc_low"],
            "high": row["auc_high"],
            "expected_low": None if interval is None else interval.low,
            "expected_high": None if interval is None else interval.high,
            "positives": row["n_pos"],
            "prevalence": row["n_pos"] / (row["n_pos"] + row["n_neg"]),
        }
        for row in rows
    ]
    plain = dict.fromkeys(("reference", "chosen", "floor", "episode"))
    view = {**plain, "zone": str(watched.zone), "points": points, "ahead": [], "changes": []}
    label = f"AUROC of the {len(points)} reference windows of {watched.monitor} and the normal range"
    return {"chart": monitor_chart(view), "label": label}
