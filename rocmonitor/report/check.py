"""The references of a check as one HTML file: each window, the normal range, and the three answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.errors import escape_controls
from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.windows import Window
from rocmonitor.report.html import environment
from rocmonitor.wording.format import instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The content of the page on one monitor.

    Attributes
    ----------
    monitor : str
    zone : ZoneInfo
    answers : dict of str to str
        By topic.
    doubts : sequence of str
    reference : Reference or None
        None where its rows were not read.
    """

    monitor: str
    zone: ZoneInfo
    answers: Mapping[str, str]
    doubts: Sequence[str]
    reference: Reference | None


def page(watched: Sequence[Watched], *, made: datetime) -> str:
    """Return the page as one HTML file that needs no network and no script."""
    shown = [
        {
            "name": each.monitor,
            "answers": each.answers,
            "doubts": each.doubts,
            "charts": {size: _chart(each, narrow=size == "narrow") for size in ("wide", "narrow")},
        }
        for each in watched
    ]
    template = environment().get_template("check.html.j2")
    zone = watched[0].zone if watched else ZoneInfo("UTC")
    return escape_controls(template.render(monitors=shown, made=instant(made, zone), zone=str(zone)))


def _chart(watched: Watched, *, narrow: bool) -> str:
    """Return the reference windows inside the range; empty where there are none to be drawn."""
    reference = watched.reference
    rows = [] if reference is None else [row for row in reference.windows if row.get("auc") is not None]
    if reference is None or not rows:
        return ""
    interval = next(iter(reference.forecasts.values()), None)
    range_ = {} if interval is None else {"forecast/low": interval.low, "forecast/high": interval.high}
    points = [_point(row, range_) for row in rows]
    from rocmonitor.report import chart  # brings matplotlib, and most checks draw nothing

    return chart.drawing(
        points,
        label=f"AUROC of the {len(points)} reference windows of {watched.monitor}, inside the normal range",
        narrow=narrow,
        outcomes={each.window: Status.OK for each in points},
        zone=watched.zone,
    )


def _point(row: Mapping[str, Any], range_: dict[str, float]) -> Point:
    start, end = (datetime.fromisoformat(row[name]) for name in ("start", "end"))
    rows = row["n_pos"] + row["n_neg"]
    metrics = {
        "champion/auc": row["auc"],
        "champion/auc_low": row["auc_low"],
        "champion/auc_high": row["auc_high"],
        "data/positives": float(row["n_pos"]),
        "data/prevalence": row["n_pos"] / rows,
    }
    return Point(window=Window(start, end), revision=0, at=end, metrics=metrics | range_)
