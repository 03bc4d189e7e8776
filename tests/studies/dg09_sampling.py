"""Dugas and Gadoury 2009, figure 11: does it matter that formulas take the class sizes as fixed?

The design of figure 4, with samples drawn class by class (stratified) and from both classes together (full:
the class sizes are random); Agresti's intervals at fixed thresholds in both. Seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.dg09 import JOINT_TAIL, LEVEL, TOTAL_LABEL, Rates, binormal, counts, in_points
from studies.dg09_size import SIZES, THETA
from studies.figures import Floats, Outcome, Panel, coverage, error, finish
from studies.running import options

from rocmonitor.stats.proportion import proportion_ends

CLAIM = "Both sampling approaches yield very similar coverage."


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=10_000)
    panels = []
    for at, n in enumerate(SIZES):
        lines = {
            name: coverage(held, binormal(THETA), n, name == "full", chosen=chosen, number=2 * at + i)
            for i, name in enumerate(("stratified", "full"))
        }
        panels.append(Panel(f"{n:,} rows a class", binormal(THETA).total, lines))
    found, facts = compared(panels, chosen.replications)
    outcome = Outcome("[DG09] figure 11", CLAIM, found, TOTAL_LABEL, LEVEL, panels, 2, facts)
    finish("dg09-sampling", outcome, chosen)


def held(rates: Rates, n: int, full: bool, size: int, rng: np.random.Generator) -> Floats:
    """How many regions of `size` samples hold both rates, at each threshold."""
    n_pos = rng.binomial(2 * n, 0.5, size) if full else np.full(size, n)
    n_pos = np.clip(n_pos, 1, 2 * n - 1)
    found = np.ones((size, len(rates.tpr)), dtype=bool)
    for p, rows in ((rates.tpr, n_pos), (rates.fpr, 2 * n - n_pos)):
        seen = np.empty(found.shape, dtype=np.int64)
        for many in np.unique(rows):
            seen[rows == many] = counts(p, int(many), int(np.sum(rows == many)), rng)
        each = rows[:, np.newaxis]
        low, high = proportion_ends(seen, each, each, "agresti-coull", JOINT_TAIL)  # type: ignore[arg-type]
        found &= (low <= p) & (p <= high)
    return found.sum(axis=0).astype(np.float64)


def compared(panels: Sequence[Panel], replications: int) -> tuple[str, dict[str, float | str]]:
    """How far the two lie apart, and how far chance would move them."""
    apart = np.array([panel.lines["full"] - panel.lines["stratified"] for panel in panels])
    rate = np.array([(panel.lines["full"] + panel.lines["stratified"]) / 2 for panel in panels])
    scale = np.maximum([[error(value, replications) for value in line] for line in rate], 1e-9) * 2**0.5
    mean = np.abs(apart.mean(axis=1))
    facts: dict[str, float | str] = {
        "largest difference": round(float(np.abs(apart).max()), 5),
        "largest mean difference": round(float(mean.max()), 5),
        "beyond 2 errors": round(float((np.abs(apart[1:]) > 2 * scale[1:]).mean()), 4),
    }
    small = float(np.abs(apart[0]).max())
    return (
        f"Averaged over the thresholds the two differ by {100 * mean.max():.2f} points at most. From "
        f"250 rows "
        f"a class on {facts['beyond 2 errors']:.0%} of the differences exceed two Monte Carlo errors (5% if "
        f"there were none). With 25 they reach {in_points(small)}: random class sizes smooth the zigzag."
    ), facts
