"""Dugas and Gadoury 2008, section 4: another law for the class proportions than the binomial one.

Test sets of 2,000 rows whose share of positives varies with a standard deviation of 0.05 about one half (the
binomial one is 0.011): a beta-binomial law. Coverage of the expected cost by normal intervals with the
moments of the binomial law, and with those of the beta-binomial one (``prevalence_sd``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from studies.dg08 import LEVEL, ROWS, W_LABEL, Design, W, cost_law, one_model, two_models
from studies.figures import Floats, Outcome, Panel, coverage, error, finish
from studies.running import options

from rocmonitor.stats.curve.laws import IntervalOptions

PREVALENCE_SD = 0.05
LINES = ("binomial", "beta-binomial")
CLAIM = "The binomial law of the class proportions could easily be replaced (no figure)."


def designs() -> list[tuple[str, Design]]:
    return [
        *((f"theta = {theta:g}", one_model(theta, full=True)) for theta in (0.75, 1.5, 3.0)),
        ("difference, theta = 1, shift 2", two_models(1.0, 2.0, 0.6, full=True)),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    panels = []
    for number, (title, of) in enumerate(designs()):
        found = coverage(held, of, chosen=chosen, number=number, what=title)
        panels.append(Panel(title, W, dict(zip(LINES, found, strict=True))))
    outcome = Outcome(
        "[DG08] section 4", CLAIM, conclusion(panels, chosen.replications), W_LABEL, LEVEL, panels, 2
    )
    finish("dg08-proportions", outcome, chosen)


def held(of: Design, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true cost: (2, w)."""
    true, found = of.true_cost(), np.zeros((2, len(W)))
    alike = 0.25 / PREVALENCE_SD**2 - 1  # the beta law's a + b
    n_pos = np.clip(rng.binomial(2 * ROWS, rng.beta(alike / 2, alike / 2, size)), 1, 2 * ROWS - 1)
    for many, samples in zip(*np.unique(n_pos, return_counts=True), strict=True):
        binomial = cost_law(of, int(many), 2 * ROWS - int(many), int(samples), rng)
        share = many / (2 * ROWS)
        # Known of the process: how much the share varies, relative to what a fixed share would let it.
        sd = PREVALENCE_SD * (share * (1 - share) / 0.25) ** 0.5
        for line, law in zip(found, (binomial, replace(binomial, prevalence_sd=sd)), strict=True):
            low, high = law.ends(IntervalOptions("wald", LEVEL, (1 - LEVEL) / 2, 0, None))
            line += ((low <= true) & (true <= high)).sum(axis=0)
    return found


def conclusion(panels: Sequence[Panel], replications: int) -> str:
    near = (W >= 0.1) & (W <= 0.9)
    ends = {
        name: (
            min(100 * float(panel.lines[name][near].min()) for panel in panels),
            max(100 * float(panel.lines[name][near].max()) for panel in panels),
        )
        for name in LINES
    }
    return (
        f"It is: one number, the standard deviation of the share, suffices for the moments. With a share "
        f"that varies by {PREVALENCE_SD:g} and w from 0.1 to 0.9, intervals that take it as binomial cover "
        f"{ends['binomial'][0]:.1f} to {ends['binomial'][1]:.1f}, and those with `prevalence_sd` "
        f"{ends['beta-binomial'][0]:.1f} to {ends['beta-binomial'][1]:.1f} (Monte Carlo error "
        f"{100 * error(LEVEL, replications):.1f}). Where a row of either class costs as much on average, "
        "the share does not matter, and the two agree."
    )
