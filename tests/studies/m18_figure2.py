"""Morin 2018, figure 2: the forecast interval as a function of the distance, beside confidence intervals.

One sample of 1,000 negatives and 100 positives from two normal laws with an AUC of 0.70. The paper prints the
figure without numbers: told here is where the forecast interval passes each confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.figures import keep
from studies.m18_table1 import LEVEL, METHODS, draw, rivals
from studies.running import options, say, table

from rocmonitor.report.timeline import BLUE, GREY, LIGHT, PURPLE, heading, panels, png
from rocmonitor.stats import Sample, auc, auc_distance
from rocmonitor.stats.research import auc_path

AREA = 0.70
CLAIM = "The forecast interval widens with the distance, beyond the confidence intervals."
SHOWN = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
STYLES = ((GREY, ":"), (BLUE, "--"), (PURPLE, "-."), (GREY, "-"))


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    rng = np.random.default_rng(chosen.seed)
    sample = draw(AREA, rng)
    intervals = dict(zip(METHODS, rivals(sample, rng), strict=False))
    passed = {name: reached(sample, ends) for name, ends in intervals.items()}
    say(f"AUC of the sample {auc(sample).auc:.4f}; level of the confidence intervals {LEVEL:.0%}\n")
    table(
        ["", "low", "high", "distance to low", "to high"],
        [
            [name, *(f"{end:.4f}" for end in intervals[name]), *(f"{value:.5f}" for value in passed[name])]
            for name in intervals
        ],
    )
    say()
    path = auc_path(sample, SHOWN)
    table(
        ["distance", "low", "high", "width", "holds"],
        [
            [f"{d:.3f}", f"{a:.4f}", f"{b:.4f}", f"{b - a:.4f}", held(d, passed)]
            for d, a, b in zip(path.distance, path.low, path.high, strict=True)
        ],
    )
    every = max(max(distances) for distances in passed.values())
    found = (
        "The forecast interval grows like the root of the distance, passes the confidence intervals one by "
        f"one and holds all of them from {every:.4f} on: what it says hangs on the distance."
    )
    say(f"\n{found}")
    document = {"paper": "[M18] figure 2", "claim": CLAIM, "found": found, "seed": chosen.seed}
    keep("m18-figure2", chosen, document, figure(sample, intervals))


def reached(sample: Sample, ends: tuple[float, float]) -> tuple[float, float]:
    """The distances at which the forecast interval reaches both ends of another one."""
    low, high = (auc_distance(sample, end) for end in ends)
    return low, high


def held(distance: float, passed: dict[str, tuple[float, float]]) -> str:
    names = [name for name, distances in passed.items() if max(distances) <= distance]
    return "all" if len(names) == len(passed) else ", ".join(names) or "-"


def figure(sample: Sample, intervals: dict[str, tuple[float, float]]) -> bytes:
    """A PNG of 900 by 600 pixels."""
    drawn, (axes,) = panels(9, 6)
    farthest = 1.6 * max(max(reached(sample, ends)) for ends in intervals.values())
    path = auc_path(sample, np.linspace(0.0, 1.0, 60) ** 2 * farthest)
    for end, name in ((path.high, "forecast interval"), (path.low, None)):
        axes.plot(path.distance, end, color="black", linewidth=2, label=name)
    for (name, ends), (colour, style) in zip(intervals.items(), STYLES, strict=True):
        for at, end in enumerate(ends):
            axes.axhline(end, color=colour, linestyle=style, label=name if at == 0 else None)
    axes.axhline(auc(sample).auc, color=LIGHT, linewidth=1)
    axes.set(xlim=(0, farthest), xlabel="Kullback-Leibler distance from the sample, nats", ylabel="AUC")
    heading(
        axes,
        "How far the AUC may move within a distance",
        f"{sample.n_pos:,} positives, {sample.n_neg:,} negatives, AUC {auc(sample).auc:.3f}; "
        f"confidence intervals at {LEVEL:.0%}",
    )
    axes.legend(edgecolor="none", framealpha=1, loc="center right")
    return png(drawn)
