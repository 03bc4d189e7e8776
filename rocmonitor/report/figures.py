"""The ROC figure of a window, as PNG: equal input gives equal bytes.

The models have colours that the colour-blind can tell apart, and lines and markers differ too, so that the
figure holds in print. No global state of matplotlib is touched.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.policy.measure import LEVEL
from rocmonitor.report.canvas import BLUE, GREY, LIGHT, PURPLE, heading, panels, png, short
from rocmonitor.wording.verdicts import verdict

_MODELS = {"champion": (BLUE, "-", "o"), "challenger": (PURPLE, "--", "s")}


def roc(evaluation: Evaluation) -> bytes:
    """Return the ROC curve of one window, with its vertical intervals and operating points.

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
    """Return True if a model was measured and has one score for all rows."""
    return f"{model}/auc" in evaluation.metrics and not _rows(evaluation, "roc", model)


def _roc_legend(axes: Axes, evaluation: Evaluation) -> None:
    """Name the curves, and in grey the band and the markers."""
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
    """Label the champion's points below its curve, the challenger's above; none on one before."""
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
