"""The AUROC of each window over time, inside its forecast: for MLflow, and for messages.

Statuses differ by marker and colour, so that the figures hold for the colour-blind and in print. Equal input
gives equal output. No global state of matplotlib is touched.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.report.canvas import BLUE, GREY, TOKENS, heading, panels, png, short

MARKERS: dict[str, tuple[str, str]] = {
    "ok": ("o", BLUE),
    "degraded": ("^", TOKENS["degraded"]),
    "at-risk": ("D", TOKENS["at-risk"]),
    "improved": ("P", TOKENS["ok"]),
}
"""Marker and colour of each outcome that a window with an AUROC can have."""

_MANY, _LARGE = 60, 7
_LAST = 26
_UTC = ZoneInfo("UTC")
Outcomes = Mapping[Window, Status]


def history(
    title: str,
    points: Sequence[Point],
    *,
    outcomes: Outcomes | None = None,
    floor: float | None = None,
    zone: ZoneInfo | None = None,
    waiting: Collection[Window] = (),
) -> bytes:
    """Return the AUROC of each window over time, with its interval.

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
    waiting : collection of Window, optional
        Windows whose labels may still come: hollow.

    Returns
    -------
    bytes
        A PNG of 1000 by 500 pixels.
    """
    zone = zone or _UTC
    outcomes = outcomes or {}
    measured = seen(points)
    figure, (axes,) = panels(10, 5)
    heading(axes, short(title, 72), _summary(points, outcomes, zone))
    axes.set_ylabel(f"AUROC, {100 * LEVEL:g} % interval")
    axes.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    if not measured:
        axes.set(yticks=[])
    if not points:
        axes.set(xticks=[])
        return png(figure)
    expected(axes, points)
    if floor is not None:
        axes.axhline(floor, color="black", linewidth=1.2, linestyle="--", label=f"floor {floor:g}")
    realised(axes, measured, outcomes, waiting)
    missing(axes, [point for point in points if "champion/auc" not in point.metrics])
    dates(axes, points[0].window.start, points[-1].window.end, zone)
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
    waiting: Collection[Window] = (),
) -> bytes:
    """Return the last 26 windows in little space: for a mail, a chat, and the description of an experiment.

    Parameters
    ----------
    title, points, outcomes, floor, zone, waiting
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
    expected(axes, points)
    if floor is not None:
        axes.axhline(floor, color="black", linewidth=1, linestyle="--")
    realised(axes, seen(points), outcomes or {}, waiting)
    missing(axes, [point for point in points if "champion/auc" not in point.metrics])
    dates(axes, points[0].window.start, points[-1].window.end, zone)
    return png(figure)


def seen(points: Sequence[Point]) -> list[Point]:
    """Return those that have an AUROC."""
    return [point for point in points if "champion/auc" in point.metrics]


def _summary(points: Sequence[Point], outcomes: Outcomes, zone: ZoneInfo) -> str:
    """Return how many windows, from when to when, and how many of which kind."""
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


def expected(axes: Axes, points: Sequence[Point]) -> None:
    """Draw the normal range and the reference's AUROC over the length of each window."""
    x = [days(instant) for point in points for instant in (point.window.start, point.window.end)]
    names = ("forecast/low", "forecast/high", "reference/auc")
    low, high, reference = [
        [point.metrics.get(name, math.nan) for point in points for _ in range(2)] for name in names
    ]
    if not all(map(math.isnan, low)):
        axes.fill_between(x, low, high, color=TOKENS["band"], linewidth=0, label="normal range")
    if not all(map(math.isnan, reference)):
        axes.plot(x, reference, color=TOKENS["reference"], linewidth=1, linestyle=":", label="reference")


def realised(
    axes: Axes,
    points: Sequence[Point],
    outcomes: Outcomes,
    waiting: Collection[Window] = (),
) -> None:
    """Draw the AUROC of each window with its interval; hollow where labels may still come."""
    size = _LARGE if len(points) <= _MANY else 4
    axes.plot(
        [middle(point.window) for point in points],
        [point.metrics["champion/auc"] for point in points],
        color=BLUE,
        linewidth=0.8,
        alpha=0.5,
    )
    for status, (marker, colour) in MARKERS.items():
        found = [point for point in points if str(outcomes.get(point.window, Status.OK)) == status]
        for hollow in (False, True):
            name = (status if outcomes else "window") + (", waits for labels" if hollow else "")
            face = TOKENS["paper"] if hollow else colour
            style = {"fmt": marker, "color": colour, "markerfacecolor": face, "label": name}
            _with_intervals(
                axes, [point for point in found if (point.window in waiting) is hollow], style, size
            )
    for point in points if len(points) <= _MANY else ():
        if point.revision:
            top = (
                middle(point.window),
                point.metrics.get("champion/auc_high", point.metrics["champion/auc"]),
            )
            axes.annotate(
                f"r{point.revision}", top, (0, 3), textcoords="offset points", ha="center", color=GREY
            )


def _with_intervals(axes: Axes, points: Sequence[Point], style: Mapping[str, Any], size: int) -> None:
    if not points:
        return
    auc, low, high = (  # a point that lacks its interval has no bar
        [point.metrics.get(f"champion/auc{end}", point.metrics["champion/auc"]) for point in points]
        for end in ("", "_low", "_high")
    )
    bars = [
        [max(value - end, 0) for value, end in zip(auc, low, strict=True)],
        [max(end - value, 0) for value, end in zip(auc, high, strict=True)],
    ]
    x = [middle(point.window) for point in points]
    capsize = 2 if size == _LARGE else 0
    axes.errorbar(x, auc, yerr=bars, markersize=size, capsize=capsize, linewidth=1.2, **style)


def missing(axes: Axes, points: Sequence[Point]) -> None:
    """Windows without an AUROC, at the foot."""
    if points:
        axes.plot(
            [middle(point.window) for point in points],
            [0.03] * len(points),
            "x",
            color=TOKENS["ink"],
            transform=axes.get_xaxis_transform(),
            label="too little data",
        )


def dates(axes: Axes, start: datetime, end: datetime, zone: ZoneInfo, *, most: int = 10) -> None:
    """Draw the axis of time, with at most so many dates."""
    # With more than half of the most as the least, no step fits some lengths, such as 32 months.
    least = min(4, most // 2)
    locator = AutoDateLocator(tz=zone, minticks=least, maxticks=most)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    margin = 0.02 * (days(end) - days(start))
    axes.set_xlim(days(start) - margin, days(end) + margin)


def days(instant: datetime) -> float:
    """Return the instant as matplotlib places it."""
    return float(date2num(instant))  # type: ignore[no-untyped-call]


def middle(window: Window) -> float:
    """Return the middle of a window as matplotlib places it."""
    return (days(window.start) + days(window.end)) / 2
