"""Small drawings as SVG paths: numbers in, the text of a ``d`` attribute out.

Whole numbers and relative steps keep them short: the overview has one for each monitor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocmonitor.policy.evaluation import Brief

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
    return SparkChart(
        band=_band(briefs, y),
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
    steps = [f"{to[0] - at[0]}{_signed(to[1] - at[1])}" for at, to in itertools.pairwise(points)]
    return f"M{x} {y}" + ("l" + " ".join(steps) if steps else "")


def area(x: Sequence[int], low: Sequence[int], high: Sequence[int]) -> str:
    """Return a closed path between two lines."""
    if not x:
        return ""
    back = list(zip(x, low, strict=True))[::-1]
    return polyline([*zip(x, high, strict=True), *back]) + "z"


def _signed(value: int) -> str:
    return f" {value}" if value >= 0 else str(value)


def _band(briefs: Sequence[Brief], y: Callable[[float], int]) -> str:
    """Return the forecast as steps over the windows; neighbours with equal ends share one."""
    pairs = [(brief.expected_high, brief.expected_low) for brief in briefs]
    drawn = [None if high is None or low is None else (y(high), y(low)) for high, low in pairs]
    path, first = "", 0
    for ends, run in itertools.groupby(drawn):
        count = len(list(run))
        if ends is not None:
            path += f"M{STEP * first} {ends[0]}h{STEP * count}V{ends[1]}h-{STEP * count}z"
        first += count
    return path
