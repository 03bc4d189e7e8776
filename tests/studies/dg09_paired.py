"""Dugas and Gadoury 2009, figure 7: joint coverage of the differences of two models' TPR and FPR.

Binormal scores, 100 rows a class; the first model's positives at theta = 1 or 3, the second's at theta + 2;
correlation 0.3, 0.6 and 0.9 in both classes. A pair of thresholds gives both models the same total positive
rate. Agresti is `threshold_difference` as it comes (Agresti and Min). Two minutes of one processor.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from studies.dg09 import (
    JOINT_TAIL,
    LEVEL,
    RESAMPLES,
    SD_NEG,
    SD_POS,
    TOTAL_LABEL,
    TOTAL_RATES,
    in_points,
    share_above,
    thresholds,
)
from studies.figures import Floats, Outcome, Panel, coverage, finish, lowest_and_highest
from studies.running import options
from studies.two_models import Counts, ScoreLaw, disagreements

from rocmonitor.stats.proportion import AGRESTI_MIN, NOT_SMOOTHED, Smoothing, percentiles, quantile_beyond

ROWS, SHIFT = 100, 2.0
THETAS, CORRELATIONS = (1.0, 3.0), (0.3, 0.6, 0.9)
NAMES = {"Agresti": AGRESTI_MIN, "Wald": NOT_SMOOTHED}
CLAIM = (
    "Coverage of Wald and Empirical drops at both ends, and more with theta and the correlation; "
    "there Agresti "
    "rises above the target."
)


class Design(NamedTuple):
    """Both classes, and the pairs of thresholds."""

    pos: ScoreLaw
    neg: ScoreLaw
    at_1: Floats
    at_2: Floats

    def true_difference(self, law: ScoreLaw) -> Floats:
        """Rate of the first model minus that of the second."""
        return share_above(self.at_1, law.mean_1, law.sd) - share_above(self.at_2, law.mean_2, law.sd)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    panels = all_panels(chosen, held, (*NAMES, "Empirical"), TOTAL_RATES)
    ends = {name: lowest_and_highest(panels, name) for name in (*NAMES, "Empirical")}
    agresti = np.concatenate([panel.lines["Agresti"] for panel in panels])
    found = (
        f"Agresti covers {in_points(ends['Agresti'][0])} to {in_points(ends['Agresti'][1])} (below "
        f"{100 * LEVEL - 2:g} at {np.mean(agresti < LEVEL - 0.02):.1%} of the pairs); Wald falls to "
        f"{in_points(ends['Wald'][0])}, Empirical to {in_points(ends['Empirical'][0])}."
    )
    facts = {f"{name}, lowest": round(low, 4) for name, (low, _) in ends.items()}
    outcome = Outcome("[DG09] figure 7", CLAIM, found, TOTAL_LABEL, LEVEL, panels, 2, facts)
    finish("dg09-paired", outcome, chosen)


def all_panels(
    chosen: Namespace, one: Callable[..., Floats], names: Iterable[str], rates: Floats
) -> list[Panel]:
    """In the paper's order: theta to the right, correlation downwards; `one` counts as `held` does."""
    panels = []
    for rho in CORRELATIONS:
        for theta in THETAS:
            title = f"theta = {theta:g}, correlation {rho:g}"
            found = coverage(one, design(theta, rho), ROWS, chosen=chosen, number=len(panels), what=title)
            panels.append(Panel(title, rates, dict(zip(names, found, strict=True))))
    return panels


def design(theta: float, rho: float) -> Design:
    """The paper's."""
    return Design(
        ScoreLaw(theta, theta + SHIFT, SD_POS, rho),
        ScoreLaw(-theta, -theta, SD_NEG, rho),
        thresholds(theta),
        thresholds(theta, shift=SHIFT),
    )


def held(of: Design, rows: int, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each region hold both differences: (methods, h)."""
    found = np.ones((len(NAMES) + 1, size, len(of.at_1)), dtype=bool)
    for law in (of.pos, of.neg):
        true = of.true_difference(law)
        only_1, only_2 = disagreements(law, of.at_1, of.at_2, rows, size, rng)
        ends = [*(normal_ends(only_1, only_2, rows, added) for added in NAMES.values())]
        ends.append(drawn_ends(only_1, only_2, rows, rng))
        for line, (low, high) in zip(found, ends, strict=True):
            line &= (low <= true) & (true <= high)
    return found.sum(axis=1).astype(np.float64)


def normal_ends(only_1: Counts, only_2: Counts, rows: int, added: Smoothing) -> tuple[Floats, Floats]:
    """[DG09] alg. 3."""
    p1, p2 = added.share(only_1, rows), added.share(only_2, rows)
    half = quantile_beyond(JOINT_TAIL) * np.sqrt(
        np.maximum(p1 + p2 - (p1 - p2) ** 2, 0.0) / (rows + added.rows)
    )
    return p1 - p2 - half, p1 - p2 + half


def drawn_ends(only_1: Counts, only_2: Counts, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentiles over drawn resamples."""
    shape = (RESAMPLES, *only_1.shape)
    first = rng.binomial(rows, only_1 / rows, shape)
    second = rng.binomial(rows - first, only_2 / np.maximum(rows - only_1, 1))
    return percentiles((first - second) / rows, JOINT_TAIL)
