"""Pictures of results on matplotlib's axes: the only module of the statistics that needs matplotlib.

Functions take the axes and draw; a result composes two or three of them in its `_draw`. matplotlib is
imported when axes are made, not before. What is drawn later on the same axes gets the next colour. Colours
are safe for the colour-blind, intervals are always drawn, and labels stand beside what they name.
"""

from __future__ import annotations

import html
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes


Floats = NDArray[np.float64]

BLUE, PURPLE, GREEN, BROWN, GREY, LIGHT = "#0072B2", "#8E3B9E", "#00745A", "#8C5A00", "#595959", "#D9D9D9"
_COLOURS = (BLUE, PURPLE, GREEN, BROWN)
_OURS = "rocmonitor"
"""Marks one line of each result that was drawn: how many there are gives the next colour and row."""

MOST_POINTS = 25  # more points than these are drawn as a line in a band
_MOST_LABELS = 12
_WIDTH, _HEIGHT, _ROW = 4.8, 3.6, 1.4  # inches
_LINE = 60  # characters that such a width holds


def new_axes(*, flat: bool = False) -> Axes:
    """Return axes in a figure of pyplot, which notebooks show; low ones for a few rows."""
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(_WIDTH, _ROW if flat else _HEIGHT), layout="constrained")
    axes: Axes = figure.subplots()
    return axes


def png(draw: Callable[[Axes], None], *, flat: bool = False) -> bytes:
    """Return a small picture as a file, without a trace in pyplot; equal pictures give equal bytes."""
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
    """Draw the unit square with its diagonal."""
    if not _drawn(ax):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    describe(ax, x="false positive rate", y="true positive rate", note=note)


def zero(ax: Axes, *, vertical: bool = False) -> None:
    """Draw the line of no difference."""
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
    """Draw a rising curve in its band, from `low` at one x to `high` at the next one."""
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
    """Draw a line alone, in the colour of what is drawn next."""
    ax.plot(x, y, color=_colour(ax), linewidth=1.5)


def marks(ax: Axes, x: Floats, y: Floats, names: Sequence[str]) -> None:
    """Draw names below the points, when they are few."""
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
    """Draw a row for each (estimate, low, high), below those there already; numbers above.

    A row that is alone has its name beside its numbers, and the whole width.
    """
    first = _drawn(ax)
    alone = not first and len(names) == 1 and label is None
    ticks = (
        dict(zip(ax.get_yticks(), (t.get_text() for t in ax.get_yticklabels()), strict=True)) if first else {}
    )
    for number, (name, (estimate, low, high)) in enumerate(zip(names, values, strict=True), first):
        colour = _COLOURS[0] if label is None else _COLOURS[number % len(_COLOURS)]
        ax.plot([low, high], [number, number], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
        centre = (low + high) / 2 if estimate is None else estimate
        ax.plot([centre], [number], "" if estimate is None else "o", color=colour, markersize=6, gid=_OURS)
        ends = f"{low:{sign}.4f} to {high:{sign}.4f}"
        interval = f"{name} {ends}" if alone else ends
        text = interval if estimate is None else f"{estimate:{sign}.4f} ({interval})"
        ax.annotate(
            text, (centre, number), xytext=(0, 7), textcoords="offset points", ha="center", fontsize="small"
        )
        tick = name if label is None else label if len(names) == 1 else f"{label}: {name}"
        ticks[number] = "" if alone else tick
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


def laws(ax: Axes, parts: Sequence[tuple[str, Floats]], *, centred: bool = False) -> None:
    """Probabilities of the counts 0, 1, …, each law with its name at its highest point.

    `centred`: the count in the middle is 0.
    """
    for name, law in parts:
        seen = np.flatnonzero(law > 1e-5 * law.max())
        colour = _colour(ax)
        counts = np.arange(seen[0], seen[-1] + 1)
        zero = len(law) // 2 if centred else 0
        ax.fill_between(counts - zero, law[counts], color=colour, alpha=0.18, linewidth=0, step="mid")
        ax.plot(counts - zero, law[counts], drawstyle="steps-mid", color=colour, linewidth=1.2, gid=_OURS)
        top = int(np.argmax(law))
        _name(ax, name, float(top - zero), float(law[top]), colour)
    ax.set_ylim(bottom=0)


def named(value: float) -> str:
    """Return a threshold as a label."""
    return f"{value:.3g}" if math.isfinite(value) else "∞" if value > 0 else "-∞"


def _drawn(ax: Axes) -> int:
    return sum(line.get_gid() == _OURS for line in ax.lines)


def _colour(ax: Axes) -> str:
    return _COLOURS[_drawn(ax) % len(_COLOURS)]


def _name_result(ax: Axes, name: str | None, x: float, y: float, colour: str) -> None:
    """Write the name of a result: in the unit square below the diagonal, else at (x, y)."""
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


_LONGEST = 140  # characters between the brackets of one line
_LONGEST_TUPLE = 3
_MOST_NUMBERS = 12
_FEW = 3
_ENDS = 5  # lines shown at each end of a long table


def one_line(name: str, values: Mapping[str, Any], *, tabular: bool) -> str:
    """Return the name of a result and its numbers; of a table and of long tuples the length only."""
    lengths = {len(value) for value in values.values() if isinstance(value, np.ndarray)} if tabular else set()
    parts = [f"rows={max(lengths)}"] if lengths else []
    parts += [f"{key}={_short(value)}" for key, value in values.items() if _is_shown(key, value)]
    if values.get("caveats"):
        parts.append(f"caveats={len(values['caveats'])}")
    text = ", ".join(parts)
    if len(text) > _LONGEST:
        text = f"{text[: text.rfind(', ', 0, _LONGEST)]}, …"
    return f"{name}({text})"


def table(values: Mapping[str, Any], *, line: str, tabular: bool, picture: str = "") -> str:
    """HTML: the line, a table with a line for each point or for two numbers, the picture, the caveats."""
    columns = {key: value for key, value in values.items() if tabular and isinstance(value, np.ndarray)}
    body: list[Sequence[str]] = []
    if tabular:
        body += [[_short(item) for item in row] for row in zip(*columns.values(), strict=True)]
        if len(body) > 2 * _ENDS + 1:
            body[_ENDS:-_ENDS] = [["…"] * len(columns)]
    else:  # names and numbers, in two columns that are read downwards where there are more than a few
        body += [
            (key, value if isinstance(value, str) else _short(value))
            for key, value in values.items()
            if _is_shown(key, value) and not _is_long(value)
        ]
        if (more := len(body) - _MOST_NUMBERS) > 1:
            body[_MOST_NUMBERS:] = [("…", f"{more} more in to_dict()")]
        half = -(-len(body) // 2) if len(body) > _FEW else len(body)
        if right := [*body[half:], *[("", "")] * (2 * half - len(body))]:
            body = [(*one, *other) for one, other in zip(body, right, strict=False)]
    lines = "".join(f"<tr>{_cells('td', row)}</tr>" for row in body)
    heading = f"<thead><tr>{_cells('th', columns)}</tr></thead>" if columns else ""
    notes = "".join(f"<li>{html.escape(str(caveat))}</li>" for caveat in values.get("caveats") or ())
    return (
        f"<div><p>{html.escape(line)}</p>"
        f"<table>{heading}<tbody>{lines}</tbody></table>"
        f"{picture}{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _is_shown(key: str, value: Any) -> bool:
    if isinstance(value, np.ndarray) or key == "caveats" or hasattr(value, "to_dict"):  # a result in a result
        return False
    return value is not None and value != ()


def _is_long(value: Any) -> bool:
    return isinstance(value, tuple) and (
        len(value) > _LONGEST_TUPLE or any(isinstance(item, Caveat) for item in value)
    )


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        if _is_long(value):
            return f"<{len(value)}>"
        return f"({', '.join(map(_short, value))})"
    return repr(value) if isinstance(value, str) else str(value)
