"""Dugas and Gadoury 2008, section 6: thresholds chosen on a validation set of finite size.

For each replication a validation set is drawn, its cheapest thresholds are taken (`cost_thresholds`), and the
cost at these is estimated on a test set of 1,000 rows a class; judged is the true cost at these thresholds.
The last panel of each theta has the best thresholds, as the paper's figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr
from studies.dg08 import LEVEL, METHODS, ROWS, SD, W_LABEL, W, best_thresholds
from studies.figures import Floats, Outcome, Panel, coverage, error, finish, lowest_and_highest
from studies.running import options

from rocmonitor.stats import Sample, cost_thresholds
from rocmonitor.stats.cost.law import CostLaw, ErrorCounts
from rocmonitor.stats.curve.laws import IntervalOptions

THETAS = (1.5, 3.0)
VALIDATION = (25, 250, 1000, None)
CLAIM = (
    "Thresholds from a finite validation set scatter about the best ones, and so smooth the breaks of the "
    "coverage (no figure)."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    panels = []
    for number, (theta, size) in enumerate((theta, size) for theta in THETAS for size in VALIDATION):
        title = f"theta = {theta:g}, " + (f"validated on {size:,} a class" if size else "best thresholds")
        found = coverage(held, theta, size, chosen=chosen, number=number, what=title)
        panels.append(Panel(title, W, dict(zip(METHODS, found, strict=True))))
    outcome = Outcome(
        "[DG08] section 6", CLAIM, conclusion(panels, chosen.replications), W_LABEL, LEVEL, panels, 4
    )
    finish("dg08-validation", outcome, chosen)


def held(theta: float, validation: int | None, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` pairs of sets have each interval hold the true cost: (methods, w)."""
    at = np.array([thresholds(theta, validation, rng) for _ in range(size)])
    rates = ndtr((at - theta) / SD), ndtr((-theta - at) / SD)  # misses, false alarms
    true = W * rates[0] + (1 - W) * rates[1]
    misses, alarms = (rng.binomial(ROWS, rate) for rate in rates)
    none = np.zeros_like(misses)
    law = CostLaw(
        W, ErrorCounts(misses, none, ROWS, ROWS), ErrorCounts(alarms, none, ROWS, ROWS), "stratified"
    )
    found = np.zeros((len(METHODS), len(W)))
    for line, method in zip(found, METHODS.values(), strict=True):
        low, high = law.ends(IntervalOptions(method, LEVEL, (1 - LEVEL) / 2, 0, None))
        line += ((low <= true + 1e-12) & (true <= high + 1e-12)).sum(axis=0)
    return found


def thresholds(theta: float, validation: int | None, rng: np.random.Generator) -> Floats:
    """The best thresholds, or the cheapest ones of a validation set; shape (w,)."""
    if validation is None:
        return best_thresholds(theta, -theta)
    y = np.repeat([1, 0], validation)
    return cost_thresholds(Sample(y, rng.normal((2 * y - 1) * theta, SD)), W).threshold


def jumps(coverage_at: Floats) -> float:
    """The largest change of the coverage between neighbouring w, in points."""
    return float(100 * np.abs(np.diff(coverage_at)).max())


def conclusion(panels: Sequence[Panel], replications: int) -> str:
    parts = []
    for at, theta in enumerate(THETAS):
        mine = panels[at * len(VALIDATION) : (at + 1) * len(VALIDATION)]
        wald = [panel.lines["Wald"] for panel in mine]
        lowest = ", ".join(f"{100 * of.min():.1f}" for of in wald)
        largest = ", ".join(f"{jumps(of):.1f}" for of in wald)
        parts.append(f"{lowest} at theta = {theta:g} (largest jump between neighbouring w {largest} points)")
    low, high = lowest_and_highest(panels, "ours")
    return (
        "With 25, 250, 1,000 validation rows a class and the best thresholds Wald's lowest coverage is "
        f"{' and '.join(parts)}. Ours (mover) covers {100 * low:.1f} to {100 * high:.1f} whatever the "
        f"thresholds; Monte Carlo error {100 * error(LEVEL, replications):.1f}."
    )
