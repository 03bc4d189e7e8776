"""The AUROC of each window over time, inside its forecast: for MLflow, for messages, and for reports.

Statuses differ by marker and colour, so that the figures hold for the colour-blind and in print. Equal input
gives equal output. No global state of matplotlib is touched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from rocmonitor.policy.evaluation import Point, Status, Transition
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.report.canvas import BLUE, GREY, TOKENS, heading, panels, png, short, svg
from rocmonitor.wording.format import percent

MARKERS: dict[str, tuple[str, str]] = {
    "ok": ("o", BLUE),
    "degraded": ("^", TOKENS["degraded"]),
    "at-risk": ("D", TOKENS["at-risk"]),
    "improved": ("P", TOKENS["ok"]),
}
"""Marker and colour of each outcome that a window with an AUROC can have."""

_MANY, _LARGE = 60, 7
_LAST, _NARROW = 26, 24
_WHOLE = 0.995  # of the labels: drawn filled
_UTC = ZoneInfo("UTC")
Outcomes = Mapping[Window, Status]


def history(
    title: str,
    points: Sequence[Point],
    *,
    outcomes: Outcomes | None = None,
    floor: float | None = None,
    zone: ZoneInfo | None = None,
) -> bytes:
    """The AUROC of each window over time, with its interval.

    Parameters
    ----------
    title : str
    points : sequence of Point
        Oldest window first. Metrics ``champion/auc``, ``_low`` and ``_high`` are drawn at the middle of the
        window, ``forecast/low`` and ``_high`` as a band over it; one without an AUROC is shown as missing.
    outcomes : dict of Window to Status, optional
        Marks the windows; without it all look the same.
    floor : float, optional
        A line.
    zone : ZoneInfo, optional
        Of the dates; default UTC.

    Returns
    -------
    bytes
        A PNG of 1000 by 500 pixels.
    """
    zone = zone or _UTC
    outcomes = outcomes or {}
    seen = _seen(points)
    figure, (axes,) = panels(10, 5)
    heading(axes, short(title, 72), _summary(points, outcomes, zone))
    axes.set_ylabel(f"AUROC, {100 * LEVEL:g} % interval")
    axes.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    if not seen:
        axes.set(yticks=[])
    if not points:
        axes.set(xticks=[])
        return png(figure)
    _expected(axes, points)
    if floor is not None:
        axes.axhline(floor, color="black", linewidth=1.2, linestyle="--", label=f"floor {floor:g}")
    _realised(axes, seen, outcomes)
    _missing(axes, [point for point in points if "champion/auc" not in point.metrics])
    _dates(axes, points[0].window.start, points[-1].window.end, zone)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower left", ncols=7, columnspacing=1.5, frameon=False)
    return png(figure)


def small(
    title: str,
    points: Sequence[Point],
    *,
    outcomes: Outcomes | None = None,
    floor: float | None = None,
    zone: ZoneInfo | None = None,
) -> bytes:
    """The last 26 windows in little space: for a mail, a chat, and the description of an experiment.

    Parameters
    ----------
    title, points, outcomes, floor, zone
        As of `history`.

    Returns
    -------
    bytes
        A PNG of 600 by 260 pixels.
    """
    zone, points = zone or _UTC, points[-_LAST:]
    figure, (axes,) = panels(6, 2.6)
    axes.set_title(short(title, 76), loc="left", fontsize=10, parse_math=False)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    if not points:
        axes.set(xticks=[], yticks=[])
        return png(figure)
    _expected(axes, points)
    if floor is not None:
        axes.axhline(floor, color="black", linewidth=1, linestyle="--")
    _realised(axes, _seen(points), outcomes or {})
    _missing(axes, [point for point in points if "champion/auc" not in point.metrics])
    _dates(axes, points[0].window.start, points[-1].window.end, zone)
    return png(figure)


def drawing(
    points: Sequence[Point],
    *,
    label: str,
    narrow: bool,
    outcomes: Outcomes,
    zone: ZoneInfo,
    floor: float | None = None,
    changes: Sequence[Transition] = (),
    reference: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The same for a page: the reference windows left of a line, changes of status, rows below.

    Parameters
    ----------
    points, outcomes, floor, zone
        As of `history`; at least one point.
    label : str
        What a screen reader reads.
    narrow : bool
        For a telephone: taller than wide, with the last 24 windows and 12 of the reference.
    changes : sequence of Transition
        Vertical lines where the new status begins.
    reference : sequence of dict
        ``start`` and ``end`` (ISO 8601) of the reference windows; drawn where they have an ``auc``.

    Returns
    -------
    str
        An ``<svg>`` in the colours of the page. Positives and prevalence have panels of their own below.
    """
    width, height = (4.0, 5.0) if narrow else (10.0, 4.6)
    figure, (above, middle, below) = panels(width, height, (5, 1, 1))
    for axes in (above, middle, below):
        _in_theme(axes)
    above.set_ylabel(f"AUROC, {percent(LEVEL)} interval")
    above.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    frozen = [row for row in reference if row.get("auc") is not None]
    if narrow:
        frozen, points = frozen[-_NARROW // 2 :], points[-_NARROW:]
    _frozen(above, frozen)
    _expected(above, points)
    if floor is not None:
        above.axhline(floor, color=TOKENS["ink"], linewidth=1, linestyle="--")
    first = _first(points, frozen)
    for change in changes:
        if change.since < first:
            continue
        colour = MARKERS.get(str(change.after), ("", GREY))[1]
        above.axvline(_days(change.since), color=colour, linewidth=1, linestyle=":")
    _realised(above, _seen(points), outcomes)
    _missing(above, [point for point in points if "champion/auc" not in point.metrics])
    _rows(middle, below, points, frozen)
    _dates(below, first, points[-1].window.end, zone, most=5 if narrow else 10)
    return svg(figure, f"timeline-{'narrow' if narrow else 'wide'}", label)


def _in_theme(axes: Axes) -> None:
    """Colours that a page's theme can replace, also of what matplotlib draws by itself."""
    axes.tick_params(color=TOKENS["reference"], labelcolor=GREY)
    axes.spines[:].set_color(TOKENS["reference"])
    axes.yaxis.label.set_color(GREY)
    axes.xaxis.get_offset_text().set_color(GREY)


def _seen(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if "champion/auc" in point.metrics]


def _summary(points: Sequence[Point], outcomes: Outcomes, zone: ZoneInfo) -> str:
    """How many windows, from when to when, and how many of which kind."""
    if not points:
        return "no windows yet"
    whole = Window(points[0].window.start, points[-1].window.end)
    span = f"{len(points)} window{'s' if len(points) > 1 else ''}, {whole.in_zone(zone)} ({zone})"
    numbers = {
        "degraded": sum(outcomes.get(point.window) is Status.DEGRADED for point in points),
        "improved": sum(outcomes.get(point.window) is Status.IMPROVED for point in points),
        "with too little data": sum("champion/auc" not in point.metrics for point in points),
        "revised by late labels (r)": sum(point.revision > 0 for point in points),
    }
    text = "; ".join(f"{number} {what}" for what, number in numbers.items() if number)
    return f"{span}\n{text}" if text else span


def _expected(axes: Axes, points: Sequence[Point]) -> None:
    """The forecast interval and the reference's AUROC, over the length of each window."""
    x = [_days(instant) for point in points for instant in (point.window.start, point.window.end)]
    names = ("forecast/low", "forecast/high", "reference/auc")
    low, high, reference = [
        [point.metrics.get(name, math.nan) for point in points for _ in range(2)] for name in names
    ]
    if not all(map(math.isnan, low)):
        axes.fill_between(x, low, high, color=TOKENS["band"], linewidth=0, label="forecast interval")
    if not all(map(math.isnan, reference)):
        axes.plot(x, reference, color=TOKENS["reference"], linewidth=1, linestyle=":", label="reference")


def _frozen(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """The reference windows, lighter, and the line at their end."""
    if not rows:
        return
    x = [(_days(_instant(row, "start")) + _days(_instant(row, "end"))) / 2 for row in rows]
    auc = [row["auc"] for row in rows]
    around = [
        [max(row["auc"] - row["auc_low"], 0) for row in rows],
        [max(row["auc_high"] - row["auc"], 0) for row in rows],
    ]
    axes.errorbar(x, auc, yerr=around, fmt="o", color=TOKENS["reference"], markersize=4, linewidth=0.8)
    axes.axvline(_days(_instant(rows[-1], "end")), color=TOKENS["reference"], linewidth=1)


def _realised(axes: Axes, points: Sequence[Point], outcomes: Outcomes) -> None:
    size = _LARGE if len(points) <= _MANY else 4
    axes.plot(
        [_middle(point.window) for point in points],
        [point.metrics["champion/auc"] for point in points],
        color=BLUE,
        linewidth=0.8,
        alpha=0.5,
    )
    for status, (marker, colour) in MARKERS.items():
        found = [point for point in points if str(outcomes.get(point.window, Status.OK)) == status]
        for whole in (True, False):
            name = (status if outcomes else "window") + ("" if whole else ", labels missing")
            face = colour if whole else TOKENS["paper"]
            style = {"fmt": marker, "color": colour, "markerfacecolor": face, "label": name}
            _with_intervals(axes, [point for point in found if _is_whole(point) is whole], style, size)
    for point in points if len(points) <= _MANY else ():
        if point.revision:
            top = (_middle(point.window), point.metrics["champion/auc_high"])
            axes.annotate(
                f"r{point.revision}", top, (0, 3), textcoords="offset points", ha="center", color=GREY
            )


def _with_intervals(axes: Axes, points: Sequence[Point], style: Mapping[str, Any], size: int) -> None:
    if not points:
        return
    auc, low, high = (
        [point.metrics[f"champion/auc{end}"] for point in points] for end in ("", "_low", "_high")
    )
    bars = [
        [max(value - end, 0) for value, end in zip(auc, low, strict=True)],
        [max(end - value, 0) for value, end in zip(auc, high, strict=True)],
    ]
    x = [_middle(point.window) for point in points]
    capsize = 2 if size == _LARGE else 0
    axes.errorbar(x, auc, yerr=bars, markersize=size, capsize=capsize, linewidth=1.2, **style)


def _is_whole(point: Point) -> bool:
    """Whether (nearly) all labels are there."""
    return point.metrics.get("data/labelled_share", 1) >= _WHOLE


def _missing(axes: Axes, points: Sequence[Point]) -> None:
    """Windows without an AUROC, at the foot."""
    if points:
        axes.plot(
            [_middle(point.window) for point in points],
            [0.03] * len(points),
            "x",
            color=TOKENS["ink"],
            transform=axes.get_xaxis_transform(),
            label="too little data",
        )


def _rows(
    positives: Axes, prevalence: Axes, points: Sequence[Point], frozen: Sequence[Mapping[str, Any]]
) -> None:
    """Number of positives and prevalence of each window; of the reference windows, lighter."""
    windows = [Window(_instant(row, "start"), _instant(row, "end")) for row in frozen]
    counted: list[tuple[Window, float, float, str]] = [
        (window, row["n_pos"], row["n_pos"] / max(row["n_pos"] + row["n_neg"], 1), TOKENS["reference"])
        for window, row in zip(windows, frozen, strict=True)
    ] + [
        (
            point.window,
            point.metrics.get("data/positives", 0),
            point.metrics.get("data/prevalence", math.nan),
            BLUE,
        )
        for point in points
    ]
    for axes, name, number in ((positives, "positives", 1), (prevalence, "share", 2)):
        for window, *values, colour in counted:
            ends = [_days(window.start), _days(window.end)]
            axes.plot(ends, [values[number - 1]] * 2, color=str(colour), linewidth=2, solid_capstyle="butt")
        axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
        axes.set_ylabel(name, rotation=0, ha="right", va="center")
        axes.locator_params(axis="y", nbins=2)
    prevalence.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")


def _dates(axes: Axes, start: datetime, end: datetime, zone: ZoneInfo, *, most: int = 10) -> None:
    locator = AutoDateLocator(tz=zone, minticks=min(4, most - 1), maxticks=most)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    margin = 0.02 * (_days(end) - _days(start))
    axes.set_xlim(_days(start) - margin, _days(end) + margin)


def _first(points: Sequence[Point], frozen: Sequence[Mapping[str, Any]]) -> datetime:
    return _instant(frozen[0], "start") if frozen else points[0].window.start


def _instant(row: Mapping[str, Any], end: str) -> datetime:
    return datetime.fromisoformat(row[end])


def _days(instant: datetime) -> float:
    """The instant as matplotlib places it."""
    return float(date2num(instant))  # type: ignore[no-untyped-call]


def _middle(window: Window) -> float:
    return (_days(window.start) + _days(window.end)) / 2
