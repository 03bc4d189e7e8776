"""The figure of an alarm: which scores have moved, and what each of them does to the AUROC."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.policy.measure import LEVEL
from rocmonitor.report.canvas import BLUE, GREY, LIGHT, PURPLE, heading, panels, png, short
from rocmonitor.stats.proportion import proportion_intervals
from rocmonitor.wording.window import moved

Rows = Sequence[Mapping[str, Any]]

_CLASSES = {"pos": ("positives", PURPLE, "o"), "neg": ("negatives", BLUE, "s")}


def shift(evaluation: Evaluation) -> bytes:
    """Shares of both classes by score bin, now, in the reference and in the least favourable shift.

    Parameters
    ----------
    evaluation : Evaluation
        With a table ``shift``; the text below the title explains it.

    Returns
    -------
    bytes
        A PNG of 1000 by 1000 pixels. The two panels above have the shares of the positives and of the
        negatives in each bin, those of the window with their sampling intervals; the one below has what
        each bin of each class contributes to the change of the AUROC. The bins, quantiles of the reference,
        are drawn equally wide.
    """
    zone = evaluation.zone
    name = short(f"{evaluation.monitor}, {evaluation.segment or 'all rows'}", 64)
    window = f"{evaluation.window.in_zone(zone)} ({zone}), revision {evaluation.revision}"
    figure, above = _figure(evaluation)
    heading(
        above,
        f"{name}: {evaluation.outcome.upper()}, what moved",
        "\n".join([window, *textwrap.wrap(moved(evaluation), 128)]),
    )
    return png(figure)


def _figure(evaluation: Evaluation) -> tuple[Figure, Axes]:
    """Return the three panels, and the one that takes a heading."""
    rows = evaluation.tables["shift"]
    figure, (above, middle, below) = panels(10, 10, (1, 1, 1.1))
    _shares(above, rows, "pos", evaluation.counts.n_pos)
    _shares(middle, rows, "neg", evaluation.counts.n_neg)
    _contributions(below, rows)
    below.set_xticks(np.arange(1, len(rows)), [f"{row['high']:.3g}" for row in rows[:-1]])
    below.set(
        xlim=(0, len(rows)), xlabel="score, in bins that hold equal parts of the reference's two classes"
    )
    handles, labels = above.get_legend_handles_labels()
    handles.append(middle.get_legend_handles_labels()[0][-1])
    labels.append("negatives, likewise")
    figure.legend(handles, labels, loc="outside lower left", ncols=4, columnspacing=1.5, frameon=False)
    return figure, above


def _shares(axes: Axes, rows: Rows, key: str, n: int) -> None:
    """One class: the reference as an area, the window as points with intervals, the least shift as a line."""
    name, colour, marker = _CLASSES[key]
    edges = np.arange(len(rows) + 1)
    axes.stairs(100 * _column(rows, f"{key}_reference"), edges, fill=True, color=LIGHT, label="reference")
    if f"{key}_least" in rows[0]:
        least = 100 * _column(rows, f"{key}_least")
        axes.stairs(least, edges, baseline=None, color="black", ls="--", label="least shift to this AUROC")
    share = _column(rows, f"{key}_window")
    ends = proportion_intervals(np.rint(share * n), n, method="wilson", confidence_level=LEVEL)
    axes.errorbar(
        edges[:-1] + 0.5,
        100 * share,
        yerr=100 * np.maximum([share - ends.low, ends.high - share], 0),
        fmt=marker,
        color=colour,
        capsize=3,
        clip_on=False,  # a share of 0 shows whole
        linewidth=1.4,
        label=f"{name} of this window, {100 * LEVEL:g} % sampling interval",
    )
    axes.set(ylabel=f"% of the {name}", ylim=(0, None))


def _contributions(axes: Axes, rows: Rows) -> None:
    """Draw the effect of the bins of each class on the AUROC as bars, also in the least shift."""
    middle = np.arange(len(rows)) + 0.5
    for beside, (key, (name, colour, _)) in zip((-0.2, 0.2), _CLASSES.items(), strict=True):
        values, at = _column(rows, f"{key}_contribution"), middle + beside
        axes.bar(at, values, width=0.36, color=colour, label=f"{name}: {values.sum():+.4f}")
        if f"{key}_least" in rows[0]:
            least = _column(rows, f"{key}_least_contribution")
            axes.hlines(least, at - 0.18, at + 0.18, color="black", linestyle="--")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_ylabel("contribution to the change of the AUROC")
    axes.legend(loc="best", frameon=False)


def _column(rows: Rows, name: str) -> Any:
    return np.array([row[name] for row in rows], dtype=np.float64)
