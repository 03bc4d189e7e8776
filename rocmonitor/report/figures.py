"""Figures, as PNG: equal input gives equal bytes.

Colours are two of Okabe and Ito's, and lines and markers differ too, so that the figures hold for the
colour-blind and in print. No global state of matplotlib is touched.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.report.canvas import BLUE, GREY, LIGHT, ORANGE, heading, panels, png, short
from rocmonitor.wording.verdicts import verdict

_MODELS = {"champion": (BLUE, "-", "o"), "challenger": (ORANGE, "--", "s")}
_STATUSES = {
    Status.OK: ("o", BLUE, "white"),
    Status.DEGRADED: ("v", ORANGE, ORANGE),
    Status.IMPROVED: ("^", BLUE, BLUE),
}


def roc(evaluation: Evaluation) -> bytes:
    """The ROC curve of one window, with its vertical intervals and operating points.

    Parameters
    ----------
    evaluation : Evaluation
        Its table ``roc`` is drawn, with a band where a row has ``tpr_low`` and ``tpr_high``; ``fprs`` and
        ``thresholds`` are the operating points. Of a model with one score for all rows the legend says so;
        without any curve the figure says why.

    Returns
    -------
    bytes
        A PNG of 800 by 860 pixels.
    """
    figure, (axes,) = panels(8, 8.6)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.grid(color=LIGHT, linewidth=0.6)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="chance")
    zone = evaluation.zone
    counts = evaluation.counts
    name = short(f"{evaluation.monitor}, {evaluation.segment or 'all rows'}", 64)
    heading(
        axes,
        f"{name}: {evaluation.outcome.upper()}",
        f"{evaluation.window.in_zone(zone)} ({zone}), revision {evaluation.revision}\n"
        f"{counts.n_pos:,} positive and {counts.n_neg:,} negative of {counts.rows:,} rows",
    )
    if evaluation.tables.get("roc") or _has_no_curve(evaluation, "champion"):
        for model in _MODELS:
            _curve(axes, model, evaluation)
            _operating_points(axes, model, evaluation)
        _threshold_labels(axes, evaluation)
        _roc_legend(axes, evaluation)
    else:
        why = verdict(evaluation.verdicts[0]) if evaluation.verdicts else "too few rows"
        text = textwrap.fill(short(f"no curve: {why}", 400), 64)
        axes.text(
            0.5, 0.52, text, ha="center", va="center", color=GREY, backgroundcolor="white", parse_math=False
        )
    return png(figure)


def history(
    title: str,
    points: Sequence[Point],
    *,
    outcomes: Mapping[Window, Status] | None = None,
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
    zone = zone or ZoneInfo("UTC")
    outcomes = outcomes or {}
    seen = [point for point in points if "champion/auc" in point.metrics]
    figure, (axes,) = panels(10, 5)
    heading(axes, short(title, 72), _summary(points, outcomes, zone))
    axes.set_ylabel(f"AUROC, {100 * LEVEL:g} % interval")
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
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
    _dates(axes, points, zone)
    figure.legend(loc="outside lower left", ncols=7, columnspacing=1.5, frameon=False)
    return png(figure)


def _curve(axes: Axes, model: str, evaluation: Evaluation) -> None:
    colour, line, _ = _MODELS[model]
    rows = _rows(evaluation, "roc", model)
    if not rows and not _has_no_curve(evaluation, model):
        return
    version = getattr(evaluation, f"{model}_version")
    auc, low, high = (evaluation.metrics.get(f"{model}/auc{end}") for end in ("", "_low", "_high"))
    label = model if version is None else f"{model}, version {short(version, 16)}"
    if auc is not None:
        label += f": AUROC {auc:.4f}"
    if low is not None and high is not None:
        label += f" ({100 * LEVEL:g} %: {low:.4f} to {high:.4f})"
    if not rows:
        axes.plot([], [], color=colour, linestyle=line, label=f"{label}\nno curve: all its scores are equal")
        return
    fpr, tpr = [[0, *(row[rate] for row in rows), 1] for rate in ("fpr", "tpr")]
    axes.plot(fpr, tpr, color=colour, linestyle=line, linewidth=1.8, label=label)
    bounded = [row for row in rows if row.get("tpr_low") is not None]
    x, below, above = [[row[name] for row in bounded] for name in ("fpr", "tpr_low", "tpr_high")]
    axes.fill_between(x, below, above, color=colour, alpha=0.18, linewidth=0)


def _has_no_curve(evaluation: Evaluation, model: str) -> bool:
    """Whether a model was measured and has one score for all rows."""
    return f"{model}/auc" in evaluation.metrics and not _rows(evaluation, "roc", model)


def _roc_legend(axes: Axes, evaluation: Evaluation) -> None:
    """The curves, and in grey what the band and the markers are."""
    level = f"{100 * LEVEL:g} %"
    handles, labels = axes.get_legend_handles_labels()
    if evaluation.tables.get("roc"):
        handles.append(Patch(color=GREY, alpha=0.18, linewidth=0))
        labels.append(f"{level} intervals, each at its own false positive rate")
    for table, face, what in (
        ("fprs", GREY, f"operating point at a false positive rate, {level} interval"),
        ("thresholds", "white", f"operating point at a threshold, {level} for both rates together"),
    ):
        if evaluation.tables.get(table):
            handles.append(Line2D([], [], color=GREY, marker="o", markersize=5, markerfacecolor=face, ls=""))
            labels.append(what)
    axes.legend(handles, labels, loc="lower right", frameon=False, fontsize=9)


def _operating_points(axes: Axes, model: str, evaluation: Evaluation) -> None:
    """Crosses over the intervals: vertical at a false positive rate, both ways at a threshold."""
    colour, _, marker = _MODELS[model]
    for table, filled in (("fprs", True), ("thresholds", False)):
        rows = _rows(evaluation, table, model)
        for row in rows:
            axes.errorbar(
                row["fpr"],
                row["tpr"],
                yerr=_around(row, "tpr"),
                xerr=_around(row, "fpr") if "fpr_low" in row else None,
                color=colour,
                marker=marker,
                markersize=5,
                markerfacecolor=colour if filled else "white",
                capsize=2,
                linewidth=1.2,
                zorder=3,
            )


def _threshold_labels(axes: Axes, evaluation: Evaluation) -> None:
    """The champion's below its curve, the challenger's above; none where it would lie on one before."""
    right_below, left_above, beside_axis = (7, -13), (-7, 7), (14, -14)
    drawn: list[tuple[float, float, float]] = []
    for model, (colour, _, _) in _MODELS.items():
        for row in _rows(evaluation, "thresholds", model):
            text = f"threshold {row['threshold']:g}"
            beside = right_below if model == "champion" else left_above if row["fpr"] > 0.2 else beside_axis
            # Where it would lie, in rates: the axes are about 500 points wide, a sign of this font 5.
            width = 0.01 * len(text)
            left = row["fpr"] + beside[0] / 500 - (width if beside is left_above else 0)
            base = row["tpr"] + beside[1] / 500
            if any(
                left < end and start < left + width and abs(base - height) < 0.04
                for start, end, height in drawn
            ):
                continue
            drawn.append((left, left + width, base))
            axes.annotate(
                text,
                (row["fpr"], row["tpr"]),
                xytext=beside,
                ha="right" if beside is left_above else "left",
                textcoords="offset points",
                color=colour,
                fontsize=9,
                bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1},
            )


def _rows(evaluation: Evaluation, table: str, model: str) -> list[dict[str, Any]]:
    return [row for row in evaluation.tables.get(table, ()) if row.get("model", "champion") == model]


def _around(row: Mapping[str, float], rate: str) -> list[list[float]]:
    """Lengths of an error bar; an interval need not hold the observed rate."""
    return [[max(row[rate] - row[f"{rate}_low"], 0)], [max(row[f"{rate}_high"] - row[rate], 0)]]


def _summary(points: Sequence[Point], outcomes: Mapping[Window, Status], zone: ZoneInfo) -> str:
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
        axes.fill_between(x, low, high, color=LIGHT, alpha=0.7, linewidth=0, label="forecast interval")
    if not all(map(math.isnan, reference)):
        axes.plot(x, reference, color=GREY, linewidth=1, linestyle=":", label="reference")


def _realised(axes: Axes, points: Sequence[Point], outcomes: Mapping[Window, Status]) -> None:
    size = 7 if len(points) <= 60 else 4
    x = [_middle(point.window) for point in points]
    auc = [point.metrics["champion/auc"] for point in points]
    axes.plot(x, auc, color=BLUE, linewidth=0.8, alpha=0.5)
    for status, (marker, edge, face) in _STATUSES.items():
        chosen = [point for point in points if outcomes.get(point.window, Status.OK) is status]
        if not chosen:
            continue
        bars = [
            [point.metrics["champion/auc"] - point.metrics["champion/auc_low"] for point in chosen],
            [point.metrics["champion/auc_high"] - point.metrics["champion/auc"] for point in chosen],
        ]
        axes.errorbar(
            [_middle(point.window) for point in chosen],
            [point.metrics["champion/auc"] for point in chosen],
            yerr=bars,
            fmt=marker,
            color=edge,
            markerfacecolor=face,
            markersize=size,
            capsize=2 if len(points) <= 60 else 0,
            linewidth=1.2,
            label=str(status) if outcomes else "window",
        )
    for point in points if len(points) <= 60 else ():
        if point.revision:
            top = (_middle(point.window), point.metrics["champion/auc_high"])
            axes.annotate(
                f"r{point.revision}",
                top,
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=GREY,
            )


def _missing(axes: Axes, points: Sequence[Point]) -> None:
    """Windows without an AUROC, at the foot."""
    if points:
        axes.plot(
            [_middle(point.window) for point in points],
            [0.03] * len(points),
            "x",
            color="black",
            transform=axes.get_xaxis_transform(),
            label="too little data",
        )


def _dates(axes: Axes, points: Sequence[Point], zone: ZoneInfo) -> None:
    locator = AutoDateLocator(tz=zone, minticks=4, maxticks=10)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    start, end = _days(points[0].window.start), _days(points[-1].window.end)
    margin = 0.02 * (end - start)
    axes.set_xlim(start - margin, end + margin)


def _days(instant: datetime) -> float:
    """The instant as matplotlib places it."""
    return float(date2num(instant))  # type: ignore[no-untyped-call]


def _middle(window: Window) -> float:
    return (_days(window.start) + _days(window.end)) / 2
