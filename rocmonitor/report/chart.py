"""The chart for the script: axes, panels and marks as plain JSON types, from the numbers of a view."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rocmonitor.wording import page as wording
from rocmonitor.wording.format import with_interval

Row = Mapping[str, Any]

_FORMATS = {"positives": "count", "distance": "number"}
THIN = tuple((title, name, _FORMATS.get(name, "percent")) for name, title in wording.ROWS.items())
"""The panels below: title, name in the view, and how its numbers are written."""


def monitor_chart(view: Mapping[str, Any]) -> dict[str, Any]:
    """AUROC inside its forecast, and below it, on the same time axis, what the windows are made of."""
    points: Sequence[Row] = view["points"]
    reference: Row | None = view["reference"]
    before: Sequence[Row] = (reference or {}).get("windows") or []
    spans = [*before, *points, *view["ahead"]]
    # A loss that is found again has one mark, where it began.
    changes = {
        (change["since"], change["after"]): {
            "x": seconds(change["since"]),
            "kind": change["after"],
            "text": wording.changed(change["after"], change["when"], change["reasons"]),
            "label": wording.CHANGES.get(change["after"], ""),
        }
        for change in view["changes"]
    }
    marks = list(changes.values())
    for earlier, later in itertools.pairwise(points):
        if later["version"] != earlier["version"]:
            text = wording.CHAMPION_CHANGED.format(earlier["version"], later["version"])
            label = f"version {later['version']}"[:24]
            marks.append({"x": seconds(later["start"]), "kind": "version", "text": text, "label": label})
    marks += [
        {"x": seconds(point["start"]), "kind": "revision", "text": wording.REVISED.format(point["revision"])}
        for point in points
        if point["revision"]
    ]
    compared = None
    if reference is not None:
        compared = {"start": seconds(reference["start"]), "end": seconds(reference["end"])}
        compared |= {name: reference[name] for name in ("auc", "low", "high")}
    panels = [_auroc(view, before)]
    for title, name, format in THIN:
        values = [row.get(name) for row in spans]
        if any(value is not None for value in values):
            panels.append({"title": title, "kind": "steps", "y": values, "format": format})
    return {
        "zone": view["zone"],
        "starts": [seconds(row["start"]) for row in spans],
        "ends": [seconds(row["end"]) for row in spans],
        "slugs": [row.get("slug", "") for row in spans],
        "names": [row["name"] for row in spans],
        "chosen": (view["chosen"] or {}).get("slug", ""),
        "reference": compared,
        "verticals": marks,
        "panels": panels,
    }


def _auroc(view: Mapping[str, Any], before: Sequence[Row]) -> dict[str, Any]:
    """Return the panel of the AUROC: windows of the reference, judged ones, those with an outlook only."""
    points, ahead = view["points"], view["ahead"]
    after = [None] * len(ahead)

    def column(name: str) -> list[Any]:
        return [*(row.get(name) for row in before), *(point[name] for point in points), *after]

    def outlook(name: str) -> list[Any]:
        judged = [point[f"outlook_{name}"] for point in points]
        return [*[None] * len(before), *judged, *(row[name] for row in ahead)]

    return {
        "title": "AUROC",
        "band": wording.NORMAL,
        "kind": "points",
        "y": column("auc"),
        "low": column("low"),
        "high": column("high"),
        "band_low": column("expected_low"),
        "band_high": column("expected_high"),
        "outlook": {name: outlook(name) for name in ("auc", "low", "high")},
        "hollow": [*[None] * len(before), *(not point["complete"] for point in points), *after],
        "marks": [*["reference"] * len(before), *(row["outcome"] for row in (*points, *ahead))],
        "steps": _steps(view),
        "lines": [] if view["floor"] is None else [{"y": view["floor"], "text": f"floor {view['floor']:g}"}],
        "format": "area",
    }


def _steps(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the newest loss of several windows: its mean and interval, from its start to its end.

    `sure` is the end of the last window that supports it: after that it is no longer certain.
    """
    lost: Row | None = view["episode"]
    if lost is None or lost["windows"] < 2 or lost["auc_low"] is None or not view["points"]:
        return []
    last = seconds(lost["end"] or view["points"][-1]["end"])
    ends = {"start": seconds(lost["start"]), "sure": last, "end": last}
    if lost["still"] is not None:
        within = [point["end"] for point in view["points"] if seconds(point["start"]) >= ends["start"]]
        ends["sure"] = seconds(within[min(lost["windows"], len(within)) - 1]) if within else ends["start"]
    values = {"auc": lost["auc"], "low": lost["auc_low"], "high": lost["auc_high"]}
    return [ends | values | {"text": f"mean {with_interval(*values.values())}"}]


def seconds(instant: str) -> float:
    """Return an instant as the script counts it."""
    return datetime.fromisoformat(instant).timestamp()
