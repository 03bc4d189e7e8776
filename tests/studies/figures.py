"""What a study of a paper's figure leaves: numbers as JSON, and the figure in the paper's layout as PNG."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from studies.running import say, share, table

from rocmonitor.report.timeline import BLUE, GREY, LIGHT, PURPLE, png

Floats = NDArray[np.float64]

BATCH = 100
"""Replications to one seed: the results do not depend on the number of processes."""
STYLES = {
    "Agresti": ("black", "-", 1.2),
    "Wald": (PURPLE, ":", 1.2),
    "Empirical": (GREY, "--", 0.9),
    "Kernel": (PURPLE, ":", 1.2),
    "ours": (BLUE, "-", 1.4),
    "stratified": (PURPLE, ":", 1.2),
    "full": ("black", "-", 1.2),
    "binomial": (PURPLE, ":", 1.2),
    "beta-binomial": ("black", "-", 1.2),
}


class Panel(NamedTuple):
    """One plot of a figure: coverage at each x of each line."""

    title: str
    x: Floats
    lines: Mapping[str, Floats]


class Outcome(NamedTuple):
    """A figure that was run again. `claim` is the paper's, `found` says how ours compares."""

    paper: str
    claim: str
    found: str
    xlabel: str
    level: float
    panels: Sequence[Panel]
    columns: int
    facts: Mapping[str, float | str] = {}


def coverage(
    one: Callable[..., Floats], *design: object, chosen: Namespace, number: int, what: str = ""
) -> Floats:
    """Shares of replications from ``one(*design, replications, rng)``, which counts them batch by batch.

    `number` tells the panels of a study apart: each has random numbers of its own.
    """
    many = chosen.replications
    seeds = np.random.SeedSequence([chosen.seed, number]).spawn(ceil(many / BATCH))
    tasks = [(_batch, one, design, min(BATCH, many - BATCH * at), seed) for at, seed in enumerate(seeds)]
    return np.asarray(sum(share(_call, tasks, chosen.processes, what)) / many)


def _call(call: Callable[..., Floats], *arguments: object) -> Floats:
    return call(*arguments)


def _batch(
    one: Callable[..., Floats], design: tuple[object, ...], size: int, seed: np.random.SeedSequence
) -> Floats:
    return np.asarray(one(*design, size, np.random.default_rng(seed)), dtype=np.float64)


def error(rate: float, replications: int) -> float:
    """Monte Carlo error of a coverage."""
    return (rate * (1 - rate) / replications) ** 0.5


def lowest_and_highest(panels: Sequence[Panel], name: str) -> tuple[float, float]:
    """Of a line, over all panels."""
    values = np.concatenate([panel.lines[name] for panel in panels if name in panel.lines])
    return float(values.min()), float(values.max())


def finish(name: str, outcome: Outcome, chosen: Namespace) -> None:
    """Print the outcome, and write its JSON and its PNG."""
    say(f"{outcome.paper}. {chosen.replications:,} replications, nominal {outcome.level:.0%}.\n")
    table(*extremes(outcome, chosen.replications))
    once = 100 * error(outcome.level, chosen.replications)
    say(f"\nThe Monte Carlo error of a coverage of {100 * outcome.level:g} is {once:.2f} points.")
    say(f"The paper: {outcome.claim}\nOurs: {outcome.found}")
    drawn = png(picture(outcome))
    keep(name, chosen, document(outcome, chosen), drawn)


def keep(name: str, chosen: Namespace, found: Mapping[str, Any], drawn: bytes | None) -> None:
    """Write results as JSON, and the figure as PNG, into the folder of results."""
    folder = Path(chosen.results)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"study": name, **found}, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    if drawn is not None:
        (folder / f"{name}.png").write_bytes(drawn)
        if chosen.output:
            Path(chosen.output).write_bytes(drawn)
    say(f"Results: {folder / name}.json" + (", .png" if drawn else ""))


def document(outcome: Outcome, chosen: Namespace) -> dict[str, Any]:
    """The outcome as plain values."""
    return {
        "paper": outcome.paper,
        "claim": outcome.claim,
        "found": outcome.found,
        "xlabel": outcome.xlabel,
        "level": outcome.level,
        "columns": outcome.columns,
        "replications": chosen.replications,
        "seed": chosen.seed,
        "error": round(error(outcome.level, chosen.replications), 5),
        "facts": dict(outcome.facts),
        "panels": [
            {
                "title": panel.title,
                "x": np.round(panel.x, 6).tolist(),
                "lines": {line: np.round(values, 5).tolist() for line, values in panel.lines.items()},
            }
            for panel in outcome.panels
        ],
    }


def restored(found: Mapping[str, Any]) -> Outcome:
    """The outcome of `document`."""
    panels = [
        Panel(each["title"], np.array(each["x"]), {k: np.array(v) for k, v in each["lines"].items()})
        for each in found["panels"]
    ]
    kept = {key: found[key] for key in ("paper", "claim", "found", "xlabel", "level", "columns", "facts")}
    return Outcome(panels=panels, **kept)


def extremes(outcome: Outcome, replications: int) -> tuple[list[str], list[list[str]]]:
    """Header and rows: lowest and highest coverage of each line in each panel, in per cent."""
    names = list(dict.fromkeys(name for panel in outcome.panels for name in panel.lines))
    rows = []
    for panel in outcome.panels:
        cells = [
            f"{100 * panel.lines[name].min():.1f} to {100 * panel.lines[name].max():.1f}"
            if name in panel.lines
            else "-"
            for name in names
        ]
        rows.append([panel.title, *cells])
    return ["lowest to highest, %", *names], rows


def picture(outcome: Outcome, *, width: float = 9.0) -> Figure:
    """Panels in the paper's order and number of columns, on common axes."""
    columns = outcome.columns
    lines = ceil(len(outcome.panels) / columns)
    figure = Figure(figsize=(width, 2.2 * lines + 0.8), dpi=100, layout="constrained")
    all_axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in all_axes[len(outcome.panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(all_axes, outcome.panels, strict=False):
        axes.axhline(outcome.level, color=LIGHT, linewidth=2)
        for name, values in panel.lines.items():
            colour, style, wide = STYLES.get(name, STYLES["ours"])
            axes.plot(panel.x, values, color=colour, linestyle=style, linewidth=wide, label=name)
        axes.set_title(panel.title, fontsize=9, loc="left")
        axes.set(xlim=(0, 1), ylim=(-0.02, 1.02))
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(outcome.xlabel, fontsize=9)
    figure.supylabel("coverage", fontsize=9)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9)
    return figure
