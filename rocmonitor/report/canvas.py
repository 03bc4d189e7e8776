"""The canvas of figures: headings, colours, and the PNG of the result."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rocmonitor.errors import printable

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


def short(text: str, longest: int) -> str:
    """On one line, shortened visibly."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def png(figure: Figure) -> bytes:
    """Return the drawn figure as a file; equal figures give equal bytes."""
    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    with _DRAWING, warnings.catch_warnings():
        # A segment's name may have signs that the font lacks: they become boxes.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
