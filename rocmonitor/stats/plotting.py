"""Pictures of results on matplotlib's axes: the only module of the statistics that needs matplotlib.

Functions take the axes and draw; a result composes two or three of them in its `_draw`. matplotlib is
imported when axes are made, not before. What is drawn later on the same axes gets the next colour. Colours
are safe for the colour-blind, intervals are always drawn, and labels stand beside what they name.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

Floats = NDArray[np.float64]

BLUE, PURPLE, GREEN, BROWN, GREY, LIGHT = "#0072B2", "#8E3B9E", "#00745A", "#8C5A00", "#595959", "#D9D9D9"
_COLOURS = (BLUE, PURPLE, GREEN, BROWN)
_OURS = "rocmonitor"
"""Marks one line of each result that was drawn: how many there are gives the next colour and row."""

MOST_POINTS = 25
"""More points than these are drawn as a line in a band."""

_MOST_LABELS = 12
_WIDTH, _HEIGHT, _ROW = 4.8, 3.6, 1.5  # inches
_LINE = 60  # characters that such a width holds


def new_axes(*, flat: bool = False) -> Axes:
    """Axes in a figure of pyplot, which notebooks show by themselves; low ones for a few rows."""
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(_WIDTH, _ROW if flat else _HEIGHT), layout="constrained")
    axes: Axes = figure.subplots()
    return axes


def png(draw: Callable[[Axes], None], *, flat: bool = False) -> bytes:
    """A small picture as a file, without a trace in pyplot; equal pictures give equal bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _ROW if flat else _HEIGHT), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def describe(ax: Axes, *, x: str, y: str, note: str, label: str | None = None) -> None:
    """Label the axes; `note` says above them what the intervals are, unless something stands there."""
    note = note if label is None else f"{label}: {note}"
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    if not ax.get_title(loc="left"):
        lines = note.split("; ") if len(note) > _LINE else [note]
        ax.set_title(
            "\n".join(textwrap.fill(line, _LINE) for line in lines),
            loc="left",
            fontsize="small",
            color=GREY,
            parse_math=False,
        )


def roc_plane(ax: Axes, note: str) -> None:
    """The unit square with its diagonal."""
    if not _drawn(ax):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    describe(ax, x="false positive rate", y="true positive rate", note=note)


def zero(ax: Axes, *, vertical: bool = False) -> None:
    """The line of no difference."""
    draw = ax.axvline if vertical else ax.axhline
    draw(0, color=GREY, linewidth=0.8, linestyle=":", zorder=1)


def limits(ax: Axes, values: Sequence[float], name: str) -> None:
    """Level lines, the first with its name."""
    for value in values:
        ax.axhline(value, color=GREY, linewidth=1.2, linestyle="--", zorder=1)
    where = ax.get_yaxis_transform()
    ax.text(0.01, values[0], name, transform=where, va="bottom", color=GREY, fontsize="small")


def along(
    ax: Axes, x: Floats, y: Floats, low: Floats | None, high: Floats | None, *, label: str | None = None
) -> None:
    """Values along x: points with their intervals, or with many of them a line in a band."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    colour = _colour(ax)
    if low is not None and high is not None:
        low, high = low[order], high[order]
        if len(x) > MOST_POINTS:
            ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        else:
            ax.vlines(x, low, high, color=colour, linewidth=1.6)
    style = "-" if len(x) > MOST_POINTS else "o"
    ax.plot(x, y, style, color=colour, linewidth=1.5, markersize=4.5, gid=_OURS)
    _name_result(ax, label, float(x[-1]), float(y[-1]), colour)


def band(ax: Axes, x: Floats, y: Floats, low: Floats, high: Floats, *, label: str | None = None) -> None:
    """A rising curve in its band, which reaches from `low` at one x to `high` at the next one."""
    colour = _colour(ax)
    ax.fill_between(
        np.repeat(x, 2)[1:-1],
        np.repeat(low[:-1], 2),
        np.repeat(high[1:], 2),
        color=colour,
        alpha=0.18,
        linewidth=0,
    )
    ax.plot(x, y, color=colour, linewidth=1.5, gid=_OURS)
    _name_result(ax, label, float(x[-1]), float(y[-1]), colour)


def crosses(
    ax: Axes,
    x: tuple[Floats, Floats, Floats],
    y: tuple[Floats, Floats, Floats],
    *,
    names: Sequence[str] = (),
    boxes: bool = False,
    label: str | None = None,
) -> None:
    """Points with an interval each way: `x` and `y` are value, low, high. `boxes`: both hold at once."""
    colour = _colour(ax)
    (at, left, right), (height, low, high) = x, y
    ax.hlines(height, left, right, color=colour, linewidth=1.4)
    ax.vlines(at, low, high, color=colour, linewidth=1.4)
    if boxes:
        for number in range(len(at)):
            ends = (left[number], right[number])
            ax.fill_between(ends, low[number], high[number], color=colour, alpha=0.14, linewidth=0)
    ax.plot(at, height, "o", color=colour, markersize=4.5, gid=_OURS)
    if names:
        marks(ax, at, height, names)
    _name_result(ax, label, float(at[-1]), float(high[-1]), colour)


def curve(ax: Axes, x: Floats, y: Floats) -> None:
    """A line alone, in the colour of what is drawn next."""
    ax.plot(x, y, color=_colour(ax), linewidth=1.5)


def marks(ax: Axes, x: Floats, y: Floats, names: Sequence[str]) -> None:
    """Names below points that are drawn, when they are few."""
    ax.margins(0.1)
    if len(names) <= _MOST_LABELS:
        for name, at, height in zip(names, x, y, strict=True):
            _name(ax, name, float(at), float(height), GREY, below=True)


def stretches(ax: Axes, ends: Sequence[tuple[float, float]], name: str) -> None:
    """Stretches of the x axis, marked at the bottom; the name stands above the longest."""
    where, (bottom, top) = ax.get_xaxis_transform(), ax.get_ylim()
    ax.set_ylim(bottom - 0.1 * (top - bottom), top)
    for low, high in ends:
        ax.plot([low, high], [0.02, 0.02], color=GREY, linewidth=3, transform=where, solid_capstyle="butt")
    low, high = max(ends, key=lambda stretch: stretch[1] - stretch[0])
    ax.text((low + high) / 2, 0.035, name, transform=where, ha="center", va="bottom", fontsize="small")


def rows(
    ax: Axes,
    names: Sequence[str],
    values: Sequence[tuple[float | None, float, float]],
    *,
    x: str,
    note: str,
    label: str | None = None,
    sign: Literal["", "+"] = "",
) -> None:
    """A row for each (estimate, low, high), below those that are there already; numbers written above."""
    first = _drawn(ax)
    ticks = (
        dict(zip(ax.get_yticks(), (t.get_text() for t in ax.get_yticklabels()), strict=True)) if first else {}
    )
    for number, (name, (estimate, low, high)) in enumerate(zip(names, values, strict=True), first):
        colour = _COLOURS[0] if label is None else _COLOURS[number % len(_COLOURS)]
        ax.plot([low, high], [number, number], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
        centre = (low + high) / 2 if estimate is None else estimate
        ax.plot([centre], [number], "" if estimate is None else "o", color=colour, markersize=6, gid=_OURS)
        text = f"{low:{sign}.4f} to {high:{sign}.4f}"
        text = text if estimate is None else f"{estimate:{sign}.4f} ({text})"
        ax.annotate(
            text, (centre, number), xytext=(0, 7), textcoords="offset points", ha="center", fontsize="small"
        )
        ticks[number] = name if label is None else label if len(names) == 1 else f"{label}: {name}"
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set_ylim(max(ticks) + 0.5, -0.75)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.25)
    ax.locator_params(axis="x", nbins=6)
    describe(ax, x=x, y="", note=note)
    ax.spines["left"].set_visible(False)


def bars(ax: Axes, edges: Floats, heights: Sequence[tuple[str, Floats]]) -> None:
    """Bars side by side in each bin; `edges` are the scores between bins, and each series has its name."""
    places = np.arange(len(edges) - 1)
    width = 0.8 / len(heights)
    ax.axhline(0, color=GREY, linewidth=0.8)
    for number, (name, height) in enumerate(heights):
        colour = _COLOURS[number]
        shift = (number - (len(heights) - 1) / 2) * width
        ax.bar(places + shift, height, width * 0.92, color=colour, gid=_OURS)
        ax.text(
            0.01,
            0.98 - 0.075 * number,
            name,
            color=colour,
            transform=ax.transAxes,
            va="top",
            fontsize="small",
        )
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.25 * (high - low))
    shown = np.arange(0, len(edges), 1 + len(edges) // 8)
    ax.set_xticks(shown - 0.5, [f"{edge:.3g}" for edge in edges[shown]])


def stacks(ax: Axes, names: Sequence[str], parts: Sequence[tuple[str, Floats, str]]) -> None:
    """Rows of shares that add up to 1: each part has its name, its shares and its colour."""
    places = np.arange(len(names))
    left = np.zeros(len(names))
    for name, share, colour in parts:
        if not np.any(share >= 0.005):
            left = left + share
            continue
        ax.barh(places, share, 0.62, left=left, color=colour, edgecolor="white", linewidth=0.6, label=name)
        for place in places[share >= 0.08]:
            ink = "white" if colour in _COLOURS else "black"
            middle = left[place] + share[place] / 2
            ax.text(
                middle, place, f"{share[place]:.2f}", color=ink, ha="center", va="center", fontsize="small"
            )
        left = left + share
    ax.set_yticks(places, list(names))
    ax.set(xlim=(0, 1), ylim=(len(names) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.22),  # below the axis and its label
        ncols=3,
        frameon=False,
        fontsize="small",
        handlelength=1,
    )


def laws(ax: Axes, parts: Sequence[tuple[str, Floats]]) -> None:
    """Probabilities of the counts 0, 1, …, each law with its name at its highest point."""
    for name, law in parts:
        seen = np.flatnonzero(law > 1e-5 * law.max())
        colour = _colour(ax)
        counts = np.arange(seen[0], seen[-1] + 1)
        ax.fill_between(counts, law[counts], color=colour, alpha=0.18, linewidth=0, step="mid")
        ax.plot(counts, law[counts], drawstyle="steps-mid", color=colour, linewidth=1.2, gid=_OURS)
        top = int(np.argmax(law))
        _name(ax, name, float(top), float(law[top]), colour)
    ax.set_ylim(bottom=0)


def named(value: float) -> str:
    """A threshold as a label."""
    return f"{value:.3g}" if math.isfinite(value) else "∞" if value > 0 else "-∞"


def _drawn(ax: Axes) -> int:
    return sum(line.get_gid() == _OURS for line in ax.lines)


def _colour(ax: Axes) -> str:
    return _COLOURS[_drawn(ax) % len(_COLOURS)]


def _name_result(ax: Axes, name: str | None, x: float, y: float, colour: str) -> None:
    """The name of a result: below the diagonal of the unit square, where no curve is; else at (x, y)."""
    if name and ax.get_aspect() == 1:
        at = 0.02 + 0.07 * (_drawn(ax) - 1)
        ax.text(0.98, at, name, color=colour, ha="right", transform=ax.transAxes, parse_math=False)
    else:
        _name(ax, name, x, y, colour)


def _name(ax: Axes, name: str | None, x: float, y: float, colour: str, *, below: bool = False) -> None:
    if name:
        ax.annotate(
            name,
            (x, y),
            xytext=(4, -4 if below else 4),
            textcoords="offset points",
            va="top" if below else "bottom",
            color=colour,
            fontsize="small",
            parse_math=False,
        )
