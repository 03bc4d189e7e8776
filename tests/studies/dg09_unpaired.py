"""Dugas and Gadoury 2009, section 1: differences of the ROC curves of two disjoint test sets.

Normal scores: positives of the first and of the second sample 1.2 and 1.2, 1.2 and 1.4, or 2.5 and 2.0
deviations above the negatives. Coverage, each rate by itself, of the difference of the true positive rates at
false positive rates (`vertical_difference_unpaired`), and at the thresholds that have them in the first
population (`threshold_difference_unpaired`). Two minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from studies.dg09 import LEVEL, in_points
from studies.figures import Floats, Outcome, Panel, coverage, finish, lowest_and_highest
from studies.running import options

from rocmonitor.stats import Sample, threshold_difference_unpaired, vertical_difference_unpaired

FPR = np.array([0.02, 0.05, *np.arange(1, 10) / 10])
VERTICAL = {"Agresti": "agresti", "exact": "exact"}
THRESHOLD = {"Newcombe": "newcombe", "Agresti-Caffo": "agresti-caffo"}
CLAIM = (
    "With disjoint test sets the two curves are independent, so that solutions for one serve for the "
    "difference (no figure)."
)


class Design(NamedTuple):
    """Positives and negatives of both samples, and how far apart their classes are."""

    first: tuple[int, int]
    second: tuple[int, int]
    gaps: tuple[float, float]

    def draw(self, rng: np.random.Generator) -> tuple[Sample, Sample]:
        """Return both samples."""
        return tuple(
            Sample(
                np.repeat([1, 0], sizes), np.append(rng.normal(gap, 1, sizes[0]), rng.normal(size=sizes[1]))
            )
            for sizes, gap in zip((self.first, self.second), self.gaps, strict=True)
        )


DESIGNS = {
    "50 + 50, 50 + 50": Design((50, 50), (50, 50), (1.2, 1.2)),
    "50 + 200, 100 + 100": Design((50, 200), (100, 100), (1.2, 1.2)),
    "100 + 900, 400 + 3,600": Design((100, 900), (400, 3600), (1.2, 1.4)),
    "50 + 200, 50 + 200, 2.5 and 2.0 apart": Design((50, 200), (50, 200), (2.5, 2.0)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    panels = []
    for number, (title, of) in enumerate(DESIGNS.items()):
        found = coverage(held, of, chosen=chosen, number=number, what=title)
        panels.append(Panel(title, FPR, dict(zip((*VERTICAL, *THRESHOLD), found, strict=True))))
    outcome = Outcome("[DG09] section 1", CLAIM, conclusion(panels), "false positive rate", LEVEL, panels, 2)
    finish("dg09-unpaired", outcome, chosen)


def held(of: Design, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` pairs of samples have each interval hold the true difference: (methods, rates)."""
    at = -ndtri(FPR)  # the threshold of the first population, and of the second: their negatives are alike
    true = ndtr(of.gaps[0] - at) - ndtr(of.gaps[1] - at)
    found = np.zeros((len(VERTICAL) + len(THRESHOLD), len(FPR)))
    for _ in range(size):
        pair = of.draw(rng)
        ends = []
        for method in VERTICAL.values():
            vertical = vertical_difference_unpaired(*pair, FPR, method=method, confidence_level=LEVEL)
            ends.append((vertical.dtpr_low, vertical.dtpr_high))
        for method in THRESHOLD.values():
            fixed = threshold_difference_unpaired(
                *pair, at, method=method, confidence_level=LEVEL, joint=False
            )
            ends.append((fixed.dtpr_low, fixed.dtpr_high))
        found += [(low <= true) & (true <= high) for low, high in ends]
    return found


def conclusion(panels: Sequence[Panel]) -> str:
    ends = {name: lowest_and_highest(panels, name) for name in (*VERTICAL, *THRESHOLD)}
    beyond = [panel._replace(lines={"Agresti": panel.lines["Agresti"][1:]}) for panel in panels]
    said = {name: f"{in_points(low)} to {in_points(high)}" for name, (low, high) in ends.items()}
    return (
        f"They do: at thresholds Newcombe covers {said['Newcombe']}, Agresti-Caffo "
        f"{said['Agresti-Caffo']}. At false positive rates Agresti covers {said['Agresti']}, and "
        f"{in_points(lowest_and_highest(beyond, 'Agresti')[0])} or more from 0.05 on (0.02 of 50 is a single "
        f"negative); exact laws fall to {in_points(ends['exact'][0])} where all positives are flagged."
    )
