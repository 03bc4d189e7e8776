"""Drawings of a window and of segments as SVG paths; what they show stands in a table beside them, too.

Numbers in, the text of a ``d`` attribute out. Whole numbers and relative steps keep them short: the overview
has one for each monitor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from rocmonitor.policy.evaluation import Brief
from rocmonitor.policy.explanation import Explanation, from_tables
from rocmonitor.report.html import render
from rocmonitor.wording import explanation as words
from rocmonitor.wording.format import percent, signed

Row = Mapping[str, Any]

SQUARE = 300
"""Side of the unit square of a ROC curve."""
BIN, TALL = 60, 120
"""Width of a bin of scores, and the height that the largest share has."""
WIDE = 240
"""Length of the axis of an interval."""
LONG = 120
"""Length of the axis of a waterfall."""
_MOST_GROUPS = 8
_SMALLEST_REST = 0.0005  # that is shown: cells of scores alone make one of 0.0001
_ROOM = 0.04  # of the axis of a waterfall, on either side
_SIGN = 6.5
"""Width of a digit below that axis."""

STEP, HEIGHT = 8, 48
"""Width of a window and height of the small chart, in its own units: half a pixel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkChart:
    """The small chart of the overview, as paths."""

    band: str = ""  # the forecast
    line: str = ""  # the AUROC, with the interval of the last
    alarms: str = ""  # a mark for each degraded window
    standing: str = ""  # below the windows since the alarm that stands
    outlook: str = ""  # the hollow end of the line: windows without labels
    end: str = ""  # without these, of no length where the last AUROC is: a round cap makes it a point


def spark(briefs: Sequence[Brief], ahead: Sequence[float] = (), standing: int = 0) -> SparkChart:
    """Return the newest windows, oldest first, and the expected AUROC of those without labels after them.

    `standing` is the number of the newest windows since the alarm that stands; 0 without one.
    """
    seen = [value for brief in briefs for value in brief[1:6] if value is not None] + list(ahead)
    if not seen:
        return SparkChart()
    y = scale(min(seen), min(max(seen), 1.0), HEIGHT - 4, 4)
    x = [STEP * number + STEP // 2 for number in range(len(briefs) + len(ahead))]
    points = [(at, y(brief.auc)) for at, brief in zip(x, briefs, strict=False) if brief.auc is not None]
    last = next((brief for brief in reversed(briefs) if brief.auc is not None), None)
    whisker = ""
    if last is not None and last.low is not None and last.high is not None:
        whisker = f"M{points[-1][0]} {y(last.high)}V{y(last.low)}"
    marks = [
        (at, y(brief.auc))
        for at, brief in zip(x, briefs, strict=False)
        if brief.outcome == "degraded" and brief.auc is not None
    ]
    hollow = [(at, y(value)) for at, value in zip(x[len(briefs) :], ahead, strict=True)]

    # The forecast as steps over the windows; neighbours with equal ends share one.
    pairs = [(brief.expected_high, brief.expected_low) for brief in briefs]
    drawn = [None if high is None or low is None else (y(high), y(low)) for high, low in pairs]
    band, first = "", 0
    for ends, run in groupby(drawn):
        count = len(list(run))
        if ends is not None:
            band += f"M{STEP * first} {ends[0]}h{STEP * count}V{ends[1]}h-{STEP * count}z"
        first += count

    return SparkChart(
        band=band,
        line=polyline(points) + whisker,
        alarms="".join(f"M{at} {top - 5}l5 9h-10z" for at, top in marks),
        standing=f"M{STEP * (len(briefs) - standing)} {HEIGHT - 1}h{STEP * standing}" if standing else "",
        outlook=polyline([*points[-1:], *hollow]) + "m0-5l5 5-5 5-5-5z" if hollow else "",
        end="" if hollow else "".join(f"M{at} {top}h0" for at, top in points[-1:] if (at, top) not in marks),
    )


def scale(low: float, high: float, bottom: int, top: int) -> Callable[[float], int]:
    """From values to whole coordinates; `low` comes to `bottom`."""
    span = (high - low) or 1.0

    def place(value: float) -> int:
        inside = low if value < low else high if value > high else value  # quicker than min and max
        return round(bottom + (inside - low) / span * (top - bottom))

    return place


def polyline(points: Sequence[tuple[int, int]]) -> str:
    """Return a path through some points, as short as it can be written.

    Examples
    --------
    >>> polyline([(0, 10), (4, 10), (8, 7)])
    'M0 10l4 0 4-3'
    """
    if not points:
        return ""
    x, y = points[0]
    steps = [f"{to[0] - at[0]}{to[1] - at[1]: d}" for at, to in pairwise(points)]
    return f"M{x} {y}" + ("l" + " ".join(steps) if steps else "")


def area(x: Sequence[int], low: Sequence[int], high: Sequence[int]) -> str:
    """Return a closed path between two lines."""
    if not x:
        return ""
    back = list(zip(x, low, strict=True))[::-1]
    return polyline([*zip(x, high, strict=True), *back]) + "z"


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


class WaterfallLine(NamedTuple):
    """One line: its name, where its bar begins and how long it is, and its cells."""

    name: str
    at: float
    length: float
    cells: tuple[str, ...]
    is_total: bool = False


def steps(explanation: Explanation) -> list[WaterfallLine]:
    """Return the lines of the leading column, from the reference to the window; none if no group explains."""
    leading = explanation.leading
    if leading is None:
        return []
    groups = sorted(
        (group for group in explanation.parts if group.column == leading.column),
        key=lambda group: -abs(group.part),
    )[:_MOST_GROUPS]
    rest = explanation.change - sum(group.part for group in groups)
    moves = [
        (
            group.group,
            group.part,
            (signed(group.ranking, 3), percent(group.share, 2), percent(group.reference_share, 2)),
        )
        for group in groups
    ]
    if abs(rest) >= _SMALLEST_REST:
        moves.append((words.REST, rest, ("", "", "")))
    levels = list(accumulate((part for _, part, _ in moves), initial=explanation.reference_auc))
    low, high = min(*levels, explanation.auc), max(*levels, explanation.auc)
    room = _ROOM * (high - low) or 0.01

    def x(value: float) -> float:
        return round(LONG * (value - low + room) / (high - low + 2 * room), 1)

    def total(name: str, value: float) -> WaterfallLine:
        return WaterfallLine(name, x(value) - 1.5, 3.0, (f"{value:.3f}", "", "", ""), is_total=True)

    lines = [total(words.REFERENCE, explanation.reference_auc)]
    for (name, part, cells), before, after in zip(moves, levels, levels[1:], strict=False):
        ends = sorted((x(before), x(after)))
        length = max(round(ends[1] - ends[0], 1), 1.0)
        lines.append(WaterfallLine(name, ends[0], length, (signed(part, 3), *cells)))
    return [*lines, total(words.WINDOW, explanation.auc)]


def waterfall(rows: Sequence[Row], metrics: Mapping[str, float]) -> Markup:
    """Return how the groups of one column lead from the reference to the window, as bars in a table.

    It is made of a window's table ``groups`` and its metrics; empty where no group explains the change.
    """
    explanation = from_tables([dict(row) for row in rows], metrics)
    lines = [] if explanation is None else steps(explanation)
    if explanation is None or not lines:
        return Markup()
    values: dict[str, Any] = {"steps": lines, "wide": LONG, "caption": words.caption(explanation)}
    return Markup(render("waterfall.html.j2", **values))  # which escapes all of it


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
    drawn: list[dict[str, Any] | None] = []
    for row in rows:
        if row["auc"] is None:
            drawn.append(None)
            continue
        expected = (row["expected_low"], row["expected_high"])
        drawn.append(
            {
                "at": x(row["auc"]),
                "ends": (x(row["low"]), x(row["high"])),
                "expected": None if None in expected else (x(expected[0]), x(expected[1]) - x(expected[0])),
            }
        )
    all_rows = None if rows[0]["auc"] is None else x(rows[0]["auc"])
    return {"low": low, "high": high, "all": all_rows, "rows": drawn}


def _x(rate: float) -> int:
    return round(SQUARE * rate)


def _y(rate: float) -> int:
    return SQUARE - round(SQUARE * rate)


OF_WINDOWS: Mapping[str, Any] = {
    "roc": roc,
    "shares": shares,
    "waterfall": waterfall,
    "bar": bar,
}
"""The drawings that ``window.html.j2`` asks for."""
