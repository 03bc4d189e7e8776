"""Drawings of a window and of segments as SVG paths; what they show stands in a table beside them, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from rocmonitor.policy.evaluation import Brief
from rocmonitor.policy.explanation import from_tables
from rocmonitor.report.drawing import SparkChart, area, polyline, scale, spark
from rocmonitor.report.waterfall import waterfall

Row = Mapping[str, Any]

SQUARE = 300
"""Side of the unit square of a ROC curve."""
BIN, TALL = 60, 120
"""Width of a bin of scores, and the height that the largest share has."""
WIDE = 240
"""Length of the axis of an interval."""
_SIGN = 6.5
"""Width of a digit below that axis."""


def still(points: Sequence[Row]) -> SparkChart:
    """Return the windows over time, for a reader without scripts."""
    names = ("auc", "low", "high", "expected_low", "expected_high", "labelled_share")
    return spark([Brief(point["outcome"], *(point[name] for name in names)) for point in points])


def roc(rows: Sequence[Row], model: str | None = None) -> dict[str, str]:
    """Return the curve as ``line`` and its vertical intervals as ``band``, in a square of 300 from (0, 0)."""
    chosen = [row for row in rows if model is None or row["model"] == model]
    if not chosen:
        return {"line": "", "band": ""}
    line = polyline([(0, SQUARE), *((_x(row["fpr"]), _y(row["tpr"])) for row in chosen), (SQUARE, 0)])
    bounded = [row for row in chosen if row.get("tpr_low") is not None]
    x, low, high = (
        [_x(row["fpr"]) for row in bounded],
        [_y(row["tpr_low"]) for row in bounded],
        [_y(row["tpr_high"]) for row in bounded],
    )
    return {"line": line, "band": area(x, low, high)}


def shares(rows: Sequence[Row], key: str) -> dict[str, str]:
    """Shares of a class (``pos``, ``neg``) by score bin: ``reference`` as bars, ``window`` as steps."""
    top = max((row[f"{key}_{when}"] for row in rows for when in ("reference", "window")), default=0) or 1
    heights = {
        when: [round(TALL * row[f"{key}_{when}"] / top) for row in rows] for when in ("reference", "window")
    }
    bars = "".join(
        f"M{BIN * at + 4} {TALL}v-{height}h{BIN - 8}v{height}z"
        for at, height in enumerate(heights["reference"])
        if height
    )
    steps = "".join(f"M{BIN * at} {TALL - height}h{BIN}" for at, height in enumerate(heights["window"]))
    return {"reference": bars, "window": steps, "width": str(BIN * len(rows))}


def groups(rows: Sequence[Row], metrics: Mapping[str, float]) -> Markup:
    """Return the waterfall of a window, from its table ``groups`` and its metrics."""
    return waterfall(from_tables([dict(row) for row in rows], metrics))


def bar(row: Row) -> dict[str, Any] | None:
    """Return a verdict on an axis: interval, estimate, limits, zero of differences; None without estimate."""
    values = {name: row[name] for name in ("estimate", "low", "high", "limit_low", "limit_high")}
    numbers = [value for value in values.values() if value is not None]
    if values["estimate"] is None or len(numbers) < 2:
        return None
    is_difference = row["is_difference"]
    numbers += [0.0] if is_difference else []
    low, high = min(numbers), max(numbers)
    room = 0.08 * (high - low) or 0.01
    x = scale(low - room, high + room, 0, WIDE)
    ends = None if values["low"] is None or values["high"] is None else (x(values["low"]), x(values["high"]))
    left = 0 if values["limit_low"] is None else x(values["limit_low"])
    right = WIDE if values["limit_high"] is None else x(values["limit_high"])
    limits = [values[name] for name in ("limit_low", "limit_high") if values[name] is not None]
    return {
        "at": x(values["estimate"]),
        "ends": ends,
        "allowed": (left, right - left),
        "limits": [x(value) for value in limits],
        "zero": x(0.0) if is_difference else None,
        "ticks": _ticks([*limits, *([0.0] if is_difference else [low, high])], x),
    }


def _ticks(values: Sequence[float], x: Any) -> list[tuple[int, str, str]]:
    """Return place, text and anchor of the numbers below an axis; none that would lie on another."""
    shown: list[tuple[int, str, str]] = []
    taken: list[tuple[float, float]] = []
    for value in values:
        at, text = x(value), f"{value:.3g}" if value else "0"
        wide = _SIGN * len(text)
        anchor = "start" if at < wide / 2 else "end" if at > WIDE - wide / 2 else "middle"
        left = at - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        if all(left > end + _SIGN or left + wide < start - _SIGN for start, end in taken):
            taken.append((left, left + wide))
            shown.append((at, text, anchor))
    return shown


def forest(rows: Sequence[Row]) -> dict[str, Any]:
    """Segments on one axis: its ends, where all rows are, and for each row its interval and forecast."""
    names = ("auc", "low", "high", "expected_low", "expected_high")
    numbers = [row[name] for row in rows for name in names if row[name] is not None]
    if not numbers:
        return {"low": None, "high": None, "all": None, "rows": [None for _ in rows]}
    low, high = min(numbers), min(max(numbers), 1.0)
    x = scale(low, high, 4, WIDE - 4)
    return {
        "low": low,
        "high": high,
        "all": None if rows[0]["auc"] is None else x(rows[0]["auc"]),
        "rows": [_forest_row(row, x) for row in rows],
    }


def _forest_row(row: Row, x: Any) -> dict[str, Any] | None:
    if row["auc"] is None:
        return None
    expected = (row["expected_low"], row["expected_high"])
    return {
        "at": x(row["auc"]),
        "ends": (x(row["low"]), x(row["high"])),
        "expected": None if None in expected else (x(expected[0]), x(expected[1]) - x(expected[0])),
    }


def _x(rate: float) -> int:
    return round(SQUARE * rate)


def _y(rate: float) -> int:
    return SQUARE - round(SQUARE * rate)


OF_WINDOWS: Mapping[str, Any] = {
    "roc": roc,
    "shares": shares,
    "waterfall": groups,
    "bar": bar,
}
"""The drawings that ``window.html.j2`` asks for."""
