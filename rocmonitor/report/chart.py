"""The windows of a period over time, for a page: the AUROC with all that is marked, and rows below it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation, Transform

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.report.canvas import BLUE, GREY, TOKENS, panels, svg
from rocmonitor.report.timeline import (
    MARKERS,
    Outcomes,
    dates,
    days,
    expected,
    middle,
    missing,
    realised,
    seen,
)
from rocmonitor.wording.format import percent
from rocmonitor.wording.page import ROWS

METRICS = {
    "positives": "data/positives",
    "prevalence": "data/prevalence",
    "labelled_share": "data/labelled_share",
    "distance": "outlook/score_distance",
}
"""The metric of each row below the AUROC."""

_NARROW = 24
_SHARES = ("prevalence", "labelled_share")
_BESIDE = {"wide": 6.0, "narrow": 3.0}  # points from what came of a window to what was foreseen of it
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line and its label.

    Attributes
    ----------
    at : datetime
    kind : str
        The new status, or ``version``.
    text : str
    """

    at: datetime
    kind: str
    text: str


def drawing(
    points: Sequence[Point],
    *,
    label: str,
    narrow: bool,
    outcomes: Outcomes,
    zone: ZoneInfo,
    floor: float | None = None,
    ahead: Sequence[Point] = (),
    waiting: Collection[Window] = (),
    marks: Sequence[Mark] = (),
    reference: Sequence[Row] = (),
) -> str:
    """Return the AUROC of each window inside its forecast, the reference left of a line, and rows below.

    Parameters
    ----------
    points : sequence of Point
        Of the judged windows, oldest first; at least one.
    label : str
        What a screen reader reads.
    narrow : bool
        For a telephone: taller than wide, with the last 24 windows and 12 of the reference.
    outcomes : dict of Window to Status
        Of the judged windows, and of those ahead that warn.
    zone : ZoneInfo
        Of the dates.
    floor : float, optional
        A line.
    ahead : sequence of Point
        Outlooks of the windows that have no labels yet, oldest first: the dashed, hollow end of the line.
        What was foreseen of a judged window (its ``outlook/auc``) is a small square beside it.
    waiting : collection of Window
        Judged windows that still wait for labels: hollow.
    marks : sequence of Mark
        Vertical lines, numbered from 1, with their text as title.
    reference : sequence of dict
        ``start`` and ``end`` (ISO 8601) of the reference windows; drawn where they have an ``auc``.

    Returns
    -------
    str
        An ``<svg>`` in the colours of the page. Equal input gives equal text.
    """
    shape = "narrow" if narrow else "wide"
    frozen = [row for row in reference if row.get("auc") is not None]
    if narrow:
        frozen, points = frozen[-_NARROW // 2 :], points[-_NARROW:]
    rows = _rows(points, ahead, frozen)
    figure, (above, *below) = panels(
        4.0 if narrow else 10.0, (3.4 if narrow else 3.3) + 0.68 * len(rows), (5, *[1] * len(rows))
    )
    for axes in (above, *below):
        _in_theme(axes)
    above.set_ylabel(f"AUROC, {percent(LEVEL)} interval")
    above.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    _frozen(above, frozen)
    expected(above, points)
    if floor is not None:
        above.axhline(floor, color=TOKENS["ink"], linewidth=1, linestyle="--")
    realised(above, seen(points), outcomes, waiting)
    _outlooks(above, points, ahead, outcomes, beside=_BESIDE[shape])
    missing(above, [point for point in points if "champion/auc" not in point.metrics])
    for axes, (name, steps) in zip(below, rows.items(), strict=True):
        _row(axes, name, steps)
    first, last = _first(points, frozen), [*points, *ahead][-1].window.end
    dates((above, *below)[-1], first, last, zone, most=5 if narrow else 10)
    _marks(above, marks, (first, last), narrow=narrow)
    name = f"timeline-{shape}"
    return _titled(svg(figure, name, label), name, marks)


def _titled(drawn: str, name: str, marks: Sequence[Mark]) -> str:
    """With the text of each mark where a browser shows it."""
    for number, mark in enumerate(marks, 1):
        group = f'<g id="{name}-mark-{number}">'
        drawn = drawn.replace(group, f"{group}<title>{escape(mark.text)}</title>", 1)
    return drawn


def _in_theme(axes: Axes) -> None:
    """Colours that a page's theme can replace, also of what matplotlib draws by itself."""
    axes.tick_params(color=TOKENS["reference"], labelcolor=GREY)
    axes.spines[:].set_color(TOKENS["reference"])
    axes.yaxis.label.set_color(GREY)
    axes.xaxis.get_offset_text().set_color(GREY)


def _frozen(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the reference windows, lighter, and the line at their end."""
    if not rows:
        return
    x = [(days(_instant(row, "start")) + days(_instant(row, "end"))) / 2 for row in rows]
    auc = [row["auc"] for row in rows]
    around = [
        [max(row["auc"] - row["auc_low"], 0) for row in rows],
        [max(row["auc_high"] - row["auc"], 0) for row in rows],
    ]
    axes.errorbar(x, auc, yerr=around, fmt="o", color=TOKENS["reference"], markersize=4, linewidth=0.8)
    axes.axvline(days(_instant(rows[-1], "end")), color=TOKENS["reference"], linewidth=1, linestyle="--")


def _outlooks(
    axes: Axes, points: Sequence[Point], ahead: Sequence[Point], outcomes: Outcomes, *, beside: float
) -> None:
    """Draw outlooks beside realised values; end the line with outlooks that still wait for labels."""
    figure = axes.get_figure()
    assert figure is not None
    moved = axes.transData + ScaledTranslation(beside / 72, 0, figure.dpi_scale_trans)
    for point in points:
        aside = moved if "champion/auc" in point.metrics else None
        _foreseen(axes, point, "s", TOKENS["reference"], 3.5, aside)
    known = [point for point in ahead if "outlook/auc" in point.metrics]
    if not known:
        return
    line = [(middle(each.window), each.metrics["champion/auc"]) for each in seen(points)[-1:]]
    line += [(middle(each.window), each.metrics["outlook/auc"]) for each in known]
    axes.plot(*zip(*line, strict=True), color=BLUE, linewidth=1, linestyle=(0, (4, 3)))
    for point in known:
        warns = outcomes.get(point.window) is Status.AT_RISK
        _foreseen(axes, point, "D" if warns else "o", TOKENS["at-risk"] if warns else BLUE, 7)


def _foreseen(
    axes: Axes, point: Point, marker: str, colour: str, size: float, moved: Transform | None = None
) -> None:
    auc, low, high = (point.metrics.get(f"outlook/{name}") for name in ("auc", "low", "high"))
    if auc is None:
        return
    at, place = middle(point.window), moved or axes.transData
    if low is not None and high is not None:
        style = "-" if moved is not None else (0, (2, 2))
        axes.plot([at, at], [low, high], color=colour, linewidth=0.9, linestyle=style, transform=place)
    face = TOKENS["paper"]
    axes.plot(
        [at],
        [auc],
        marker=marker,
        color=colour,
        markersize=size,
        markerfacecolor=face,
        zorder=4,
        transform=place,
    )


def _marks(axes: Axes, marks: Sequence[Mark], ends: tuple[datetime, datetime], *, narrow: bool) -> None:
    """Numbered lines; a number that would lie on another stands above it."""
    room = (0.06 if narrow else 0.025) * (ends[1] - ends[0])
    taken: list[datetime] = []  # the last number of each level
    for number, mark in enumerate(marks, 1):
        if not ends[0] <= mark.at <= ends[1]:
            continue
        version = mark.kind == "version"
        colour = BLUE if version else TOKENS.get(mark.kind, MARKERS.get(mark.kind, ("", GREY))[1])
        axes.axvline(days(mark.at), color=colour, linewidth=1, linestyle=":" if version else "-", zorder=1)
        free = (level for level, last in enumerate(taken) if mark.at - last >= room)
        level = next(free, len(taken))
        taken[level : level + 1] = [mark.at]
        axes.annotate(
            str(number),
            (days(mark.at), 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 3 + 11 * level),
            textcoords="offset points",
            ha="center",
            color=colour,
            annotation_clip=False,
            gid=f"mark-{number}",
        )


def _rows(
    points: Sequence[Point], ahead: Sequence[Point], frozen: Sequence[Row]
) -> dict[str, list[tuple[Window, float, str]]]:
    """Window, value and colour of each step, by the name of the row; rows without any value are left out."""
    before = [
        (
            Window(_instant(row, "start"), _instant(row, "end")),
            {"positives": row["n_pos"], "prevalence": row["n_pos"] / max(row["n_pos"] + row["n_neg"], 1)},
        )
        for row in frozen
    ]
    rows = {}
    for name, metric in METRICS.items():
        steps = [(window, values.get(name, math.nan), TOKENS["reference"]) for window, values in before]
        steps += [(each.window, each.metrics.get(metric, math.nan), BLUE) for each in (*points, *ahead)]
        known = [step for step in steps if not math.isnan(step[1])]
        if known:
            rows[name] = known
    return rows


def _row(axes: Axes, name: str, steps: Sequence[tuple[Window, float, str]]) -> None:
    """Draw a step for each window, as wide as it is."""
    for window, value, colour in steps:
        ends = [days(window.start), days(window.end)]
        axes.plot(ends, [value] * 2, color=colour, linewidth=2, solid_capstyle="butt")
    axes.set_title(ROWS[name], loc="left", fontsize=9.5, color=GREY, pad=2)
    axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
    axes.locator_params(axis="y", nbins=2)
    if name in _SHARES:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")


def _first(points: Sequence[Point], frozen: Sequence[Row]) -> datetime:
    return _instant(frozen[0], "start") if frozen else points[0].window.start


def _instant(row: Row, end: str) -> datetime:
    return datetime.fromisoformat(row[end])
