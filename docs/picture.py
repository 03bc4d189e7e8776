"""Draws the picture of the README from what `rocmonitor history late-arrivals --json` prints on stdin.

make demo && make picture
"""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter, MonthLocator
from PIL import Image

BLUE, RED, PURPLE, INK, BAND, GREY = "#0058a3", "#b13700", "#7b3fa0", "#1c1c1c", "#dbe3ec", "#5c5f66"
LARGEST = 60_000

Windows = list[dict[str, Any]]


def main() -> None:
    """Read, draw, and write with few colours: the file stays small."""
    history = json.load(sys.stdin)
    newest: dict[str, dict[str, Any]] = {}
    for each in history["evaluations"]:
        newest[each["window"]["start"]] = each  # a later revision takes the place of an earlier one
    matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 11, "axes.edgecolor": GREY})
    figure, axes = plt.subplots(figsize=(10, 4.4), dpi=120, layout="constrained", facecolor="white")
    draw(axes, list(newest.values()), history["outlooks"], history["transitions"])
    target = Path(__file__).parent / "images" / "late-arrivals.png"
    target.parent.mkdir(exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(48, dither=Image.Dither.NONE).save(target, optimize=True)
    assert target.stat().st_size < LARGEST
    print(f"wrote {target} ({target.stat().st_size:,} bytes)")


def draw(axes: Axes, windows: Windows, outlooks: Windows, changes: Windows) -> None:
    """The forecast as a band, the AUROC inside it, what the scores foretold, and the alarms."""
    begin, end = day(windows[0], "start"), day(windows[-1], "end")
    edges = [day(each, at) for each in windows for at in ("start", "end")]
    low, high = (
        [each["metrics"][f"forecast/{at}"] for each in windows for _ in "12"] for at in ("low", "high")
    )
    axes.fill_between(edges, low, high, color=BAND, linewidth=0)
    axes.annotate(
        "forecast from the reference, 95 %", (middle(windows[-5]), high[0]), (-40, -16), **label(GREY)
    )

    foreseen = [each["metrics"]["outlook/auc"] for each in outlooks]
    axes.plot(
        [middle(each) for each in outlooks],
        foreseen,
        "D",
        color=PURPLE,
        markerfacecolor="white",
        ms=6,
        zorder=4,
    )

    shape = {"ok": ("o", BLUE), "degraded": ("^", RED)}
    at = [middle(each) for each in windows]
    auc = [each["metrics"]["champion/auc"] for each in windows]
    axes.plot(at, auc, color=BLUE, linewidth=1, alpha=0.5)
    for outcome, (marker, colour) in shape.items():
        for each in (each for each in windows if each["outcome"] == outcome):
            of = each["metrics"]
            around = [
                [of["champion/auc"] - of["champion/auc_low"]],
                [of["champion/auc_high"] - of["champion/auc"]],
            ]
            axes.errorbar(middle(each), of["champion/auc"], yerr=around, fmt=marker, color=colour, ms=8)
    key = [
        ("o", BLUE, BLUE, "AUROC with its 95 % interval"),
        ("^", RED, RED, "degraded"),
        ("D", PURPLE, "white", "outlook: expected from the scores, before any label"),
    ]
    handles = [
        axes.plot([], [], mark, color=edge, markerfacecolor=face, label=text)[0]
        for mark, edge, face, text in key
    ]
    axes.figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=10.5)
    for alarm in (each for each in changes if each["after"] == "degraded"):
        since = datetime.fromisoformat(alarm["since"])
        axes.axvline(since, color=RED, linewidth=1)
        axes.annotate(f"alarm: {since:%-d %b}", (since, 0.862), (4, 0), **label(RED))
    axes.set(xlim=(begin, end), ylim=(0.57, 0.88), ylabel="AUROC of a week")
    axes.xaxis.set_major_locator(MonthLocator())
    axes.xaxis.set_major_formatter(DateFormatter("%b %Y"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Late arrivals: AUROC of each week inside its forecast", loc="left", color=INK)


def label(colour: str) -> dict[str, Any]:
    """How a label stands beside what it names."""
    return {"color": colour, "textcoords": "offset points", "fontsize": 10.5, "annotation_clip": False}


def day(each: dict[str, Any], side: str) -> datetime:
    return datetime.fromisoformat(each["window"][side])


def middle(each: dict[str, Any]) -> datetime:
    return day(each, "start") + (day(each, "end") - day(each, "start")) / 2


if __name__ == "__main__":
    main()
