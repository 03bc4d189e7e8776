"""The ROC curve of one window against that of its reference, for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.report.canvas import BLUE, GREY, PURPLE, TOKENS, panels, svg
from rocmonitor.wording.page import roc_label

Row = Mapping[str, Any]

_MODELS = {"champion": (BLUE, "-", "o"), "challenger": (PURPLE, "--", "s")}


def drawing(evaluation: Evaluation, reference: Sequence[Row], name: str) -> str:
    """Return the curves of a window with the champion's intervals, the reference's, and the operating points.

    Parameters
    ----------
    evaluation : Evaluation
        Tables ``roc``, ``fprs`` (filled marks) and ``thresholds`` (hollow) of it are drawn.
    reference : sequence of dict
        ``fpr`` and ``tpr`` of the reference; empty where it is not known.
    name : str
        Of the figure within its page.

    Returns
    -------
    str
        An ``<svg>`` in the colours of the page; empty where the champion has no curve.
    """
    if not _rows(evaluation, "roc", "champion"):
        return ""
    figure, (axes,) = panels(4.6, 4.6)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.tick_params(color=TOKENS["reference"], labelcolor=GREY)
    axes.spines[:].set_color(TOKENS["reference"])
    for each in (axes.xaxis.label, axes.yaxis.label):
        each.set_color(GREY)
    axes.grid(color=TOKENS["grid"], linewidth=0.6)
    axes.plot([0, 1], [0, 1], color=TOKENS["grid"], linewidth=1)
    if reference:
        fpr, tpr = ([row[rate] for row in reference] for rate in ("fpr", "tpr"))
        axes.plot(fpr, tpr, color=TOKENS["reference"], linewidth=1.6)
    for model in ("challenger", "champion"):
        _curve(axes, evaluation, model)
    return svg(figure, name, roc_label(evaluation.metrics))


def _curve(axes: Axes, evaluation: Evaluation, model: str) -> None:
    colour, line, marker = _MODELS[model]
    rows = _rows(evaluation, "roc", model)
    if not rows:
        return
    bounded = [row for row in rows if row.get("tpr_low") is not None]
    if model == "champion" and bounded:
        x, low, high = ([row[name] for row in bounded] for name in ("fpr", "tpr_low", "tpr_high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    fpr, tpr = ([0, *(row[rate] for row in rows), 1] for rate in ("fpr", "tpr"))
    axes.plot(fpr, tpr, color=colour, linestyle=line, linewidth=1.6)
    for table, face in (("fprs", colour), ("thresholds", TOKENS["paper"])):
        points = _rows(evaluation, table, model)
        axes.plot(
            [row["fpr"] for row in points],
            [row["tpr"] for row in points],
            marker=marker,
            color=colour,
            markersize=5.5,
            markerfacecolor=face,
            linestyle="",
            zorder=3,
        )


def _rows(evaluation: Evaluation, table: str, model: str) -> list[Row]:
    return [row for row in evaluation.tables.get(table, ()) if row.get("model", "champion") == model]
