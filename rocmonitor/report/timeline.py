"""The AUROC of each window over time, inside its normal range: the picture of MLflow and of messages.

Statuses differ by marker and colour, so that the picture holds for the colour-blind and in print. Equal input
gives equal bytes. No global state of matplotlib is touched.
"""

from __future__ import annotations

import io
import math
import threading
import warnings
from collections.abc import Collection, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.wording.format import one_line

TOKENS = {
    "paper": "#ffffff",
    "ink": "#16181b",
    "soft": "#52585f",
    "degraded": "#b03a00",
    "at-risk": "#7d5a00",
    "ok": "#00694f",
    "error": "#a8003c",
    "champion": "#005ea6",
    "challenger": "#7a3d9e",
    "band": "#dce3ea",
    "grid": "#e3e6e9",
    "reference": "#6a7077",
}
"""Colours of the light theme of ``style.css`` by their name there; those of statuses mark statuses only."""

BLUE, PURPLE, GREY, LIGHT = TOKENS["champion"], TOKENS["challenger"], TOKENS["soft"], "#D9D9D9"
"""The champion, the challenger, what explains, and what lies behind."""

MARKERS = {
    Status.OK: ("o", BLUE),
    Status.DEGRADED: ("^", TOKENS["degraded"]),
    Status.AT_RISK: ("D", TOKENS["at-risk"]),
    Status.IMPROVED: ("P", TOKENS["ok"]),
}
"""Marker and colour of each outcome that a window with an AUROC can have."""

_MANY = 60
_DRAWING = threading.Lock()  # matplotlib's settings and Python's warnings are those of all threads


def panels(
    width: float, height: float, heights: Sequence[float] = (1,), *, dpi: int = 100, sharex: bool = True
) -> tuple[Figure, tuple[Axes, ...]]:
    """Return a figure in inches, and its axes from top to bottom, of these relative heights."""
    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    column = figure.subplots(len(heights), sharex=sharex, squeeze=False, height_ratios=heights)[:, 0]
    for axes in column:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, tuple(column)


def heading(axes: Axes, title: str, below_it: str) -> None:
    """Draw a bold line, and the text below it."""
    axes.set_title(title + "\n" * (1 + below_it.count("\n")), loc="left", fontweight="bold", parse_math=False)
    below = axes.annotate(
        below_it,
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 7),  # points: clear of a panel of any height
        textcoords="offset points",
        color=GREY,
        linespacing=1.3,
        parse_math=False,
        annotation_clip=False,
    )
    below.set_in_layout(False)  # a long line must not squeeze the axes


def png(figure: Figure) -> bytes:
    """Return the drawn figure as a file; equal figures give equal bytes."""
    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    with _DRAWING, warnings.catch_warnings():
        # A segment's name may have signs that the font lacks: they become boxes.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def timeline(
    title: str,
    points: Sequence[Point],
    *,
    floor: float | None = None,
    zone: ZoneInfo,
    waiting: Collection[Window] = (),
) -> bytes:
    """Return the AUROC of each window over time, with its interval, as a PNG of 800 by 360 pixels.

    Of the points, oldest window first, ``champion/auc``, ``_low`` and ``_high`` are drawn at the middle of
    the window, ``forecast/low`` and ``_high`` as a band over it; one without an AUROC is shown as missing.
    The outcome is the marker; a window without one looks ok, and one that may still get labels is hollow.
    """
    figure, (axes,) = panels(8, 3.6)
    heading(axes, one_line(title, 56), _summary(points, zone))
    axes.set_ylabel(f"AUROC, {100 * LEVEL:g} % interval")
    axes.grid(axis="y", color=TOKENS["grid"], linewidth=0.6)
    measured = [point for point in points if "champion/auc" in point.metrics]
    if not measured:
        axes.set(yticks=[])
    if not points:
        axes.set(xticks=[])
        return png(figure)
    x = [_days(instant) for point in points for instant in (point.window.start, point.window.end)]
    names = ("forecast/low", "forecast/high", "reference/auc")
    low, high, reference = [
        [point.metrics.get(name, math.nan) for point in points for _ in range(2)] for name in names
    ]
    if not all(map(math.isnan, low)):
        axes.fill_between(x, low, high, color=TOKENS["band"], linewidth=0, label="normal range")
    if not all(map(math.isnan, reference)):
        axes.plot(x, reference, color=TOKENS["reference"], linewidth=1, linestyle=":", label="reference")
    if floor is not None:
        axes.axhline(floor, color="black", linewidth=1.2, linestyle="--", label=f"floor {floor:g}")
    _realised(axes, measured, waiting)
    missing = [_middle(point.window) for point in points if "champion/auc" not in point.metrics]
    if missing:
        foot = axes.get_xaxis_transform()
        height = [0.03] * len(missing)
        axes.plot(missing, height, "x", color=TOKENS["ink"], transform=foot, label="too little data")
    dates(axes, points[0].window.start, points[-1].window.end, zone)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower left", ncols=6, columnspacing=1.5, frameon=False)
    return png(figure)


def _summary(points: Sequence[Point], zone: ZoneInfo) -> str:
    if not points:
        return "no windows yet"
    whole = Window(points[0].window.start, points[-1].window.end)
    span = f"{len(points)} window{'s' if len(points) > 1 else ''}, {whole.in_zone(zone)} ({zone})"
    numbers = {
        "degraded": sum(point.outcome is Status.DEGRADED for point in points),
        "improved": sum(point.outcome is Status.IMPROVED for point in points),
        "with too little data": sum("champion/auc" not in point.metrics for point in points),
        "revised by late labels": sum(point.revision > 0 for point in points),
    }
    text = "; ".join(f"{number} {what}" for what, number in numbers.items() if number)
    return f"{span}\n{text}" if text else span


def _realised(axes: Axes, points: Sequence[Point], waiting: Collection[Window]) -> None:
    """Draw the AUROC of each window with its interval; hollow where labels may still come."""
    few = len(points) <= _MANY
    x, y = [_middle(point.window) for point in points], [point.metrics["champion/auc"] for point in points]
    axes.plot(x, y, color=BLUE, linewidth=0.8, alpha=0.5)
    for (status, (marker, colour)), hollow in ((kind, side) for kind in MARKERS.items() for side in (0, 1)):
        shown = [
            point
            for point in points
            if (point.outcome or Status.OK) is status and (point.window in waiting) == hollow
        ]
        auc, low, high = (  # a point that lacks its interval has no bar
            [point.metrics.get(f"champion/auc{end}", point.metrics["champion/auc"]) for point in shown]
            for end in ("", "_low", "_high")
        )
        if shown:
            axes.errorbar(
                [_middle(point.window) for point in shown],
                auc,
                yerr=[
                    [max(value - end, 0) for value, end in zip(auc, low, strict=True)],
                    [max(end - value, 0) for value, end in zip(auc, high, strict=True)],
                ],
                fmt=marker,
                color=colour,
                markerfacecolor=TOKENS["paper"] if hollow else colour,
                label=f"{status}, waits for labels" if hollow else str(status),
                markersize=6 if few else 3,
                capsize=2 if few else 0,
                linewidth=1.2,
            )


def dates(axes: Axes, start: datetime, end: datetime, zone: ZoneInfo) -> None:
    """Draw the axis of time, with at most ten dates."""
    # With more than half of the most as the least, no step fits some lengths, such as 32 months.
    locator = AutoDateLocator(tz=zone, minticks=4, maxticks=10)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    margin = 0.02 * (_days(end) - _days(start))
    axes.set_xlim(_days(start) - margin, _days(end) + margin)


def _days(instant: datetime) -> float:
    return float(date2num(instant))  # type: ignore[no-untyped-call]


def _middle(window: Window) -> float:
    return (_days(window.start) + _days(window.end)) / 2
