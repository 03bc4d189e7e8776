"""Dugas and Gadoury 2009, figure 10: coverage of the difference of two TPRs at a fixed FPR, by the exact law.

The populations of figure 7 with 100 rows a class, at every rate; then with 1,000 and 10,000 rows, out of
reach for the paper's O(n^4), in half and a quarter of the replications. Agresti and Wald take their
moments from the exact bootstrap law (`vertical_difference`). 1.7 hours of one processor with the default of
1,000 replications, half of it for 100 rows.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.dg09 import LEVEL, RESAMPLES, SD_NEG, SD_POS, in_points, share_above
from studies.dg09_paired import CORRELATIONS, SHIFT, THETAS
from studies.figures import Floats, Outcome, Panel, coverage, error, finish, lowest_and_highest
from studies.running import options
from studies.two_models import ScoreLaw

from rocmonitor.stats import PairedSample
from rocmonitor.stats.curve.laws import IntervalOptions
from rocmonitor.stats.curve.vertical_difference import MAX_THRESHOLDS, difference_law

NAMES = ("Agresti", "Wald", "Empirical")
CLAIM = (
    "Generally too conservative; coverage of all methods drops at very low FPR, that of Wald and "
    "Empirical severely "
    "at high FPR, where Agresti is above the target. Larger samples are out of reach."
)


class Size(NamedTuple):
    """Rows a class, negatives above the threshold, and by how much fewer replications there are."""

    rows: int
    ranks: Sequence[int]
    fewer: int


SIZES = (
    Size(100, range(1, 100), 1),
    Size(1_000, (1, 2, 5, 10, *range(20, 1_000, 20), 990, 995, 998, 999), 2),
    Size(10_000, (10, 100, *range(1_000, 10_000, 1_000), 9_900, 9_990), 4),
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    text, panels, facts = [], [], {}
    for size in SIZES:
        many = max(chosen.replications // size.fewer, 1)
        some = panels_of(size, Namespace(**{**vars(chosen), "replications": many}), len(panels))
        ends = {name: lowest_and_highest(some, name) for name in NAMES}
        text.append(
            f"{size.rows:,} rows a class ({many:,} runs, error {100 * error(LEVEL, many):.1f}): "
            f"Agresti covers "
            f"{in_points(ends['Agresti'][0])} to {in_points(ends['Agresti'][1])}; Wald falls to "
            f"{in_points(ends['Wald'][0])}, Empirical to {in_points(ends['Empirical'][0])}."
        )
        facts |= {f"{name}, {size.rows}, lowest": round(low, 4) for name, (low, _) in ends.items()}
        panels += some
    outcome = Outcome(
        "[DG09] figure 10", CLAIM, " ".join(text), "false positive rate", LEVEL, panels, 2, facts
    )
    finish("dg09-vertical-paired", outcome, chosen)


def panels_of(size: Size, chosen: Namespace, number: int) -> list[Panel]:
    """In the paper's order: theta to the right, correlation downwards."""
    panels: list[Panel] = []
    for rho in CORRELATIONS:
        for theta in THETAS:
            title = f"theta = {theta:g}, correlation {rho:g}, {size.rows:,} a class"
            found = coverage(held, theta, rho, size, chosen=chosen, number=number + len(panels), what=title)
            x = np.array(size.ranks) / size.rows
            panels.append(Panel(title, x, dict(zip(NAMES, found, strict=True))))
    return panels


def true_difference(theta: float, rates: Floats) -> Floats:
    """TPR of the first model minus that of the second; both have the same negatives."""
    at = -theta - SD_NEG * ndtri(rates)
    return share_above(at, theta, SD_POS) - share_above(at, theta + SHIFT, SD_POS)


def held(theta: float, rho: float, of: Size, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true difference: (methods, h)."""
    r, y = np.array(of.ranks), np.repeat([1, 0], of.rows)
    true, found = true_difference(theta, r / of.rows), np.zeros((len(NAMES), len(r)))
    laws = ScoreLaw(theta, theta + SHIFT, SD_POS, rho), ScoreLaw(-theta, -theta, SD_NEG, rho)
    tail = (1 - LEVEL) / 2
    methods = [
        IntervalOptions("agresti", LEVEL, tail, 0, None),
        IntervalOptions("wald", LEVEL, tail, 0, None),
        IntervalOptions("empirical", LEVEL, tail, RESAMPLES, rng),
    ]
    for _ in range(size):
        first, second = (
            np.concatenate(scores) for scores in zip(*(law.draw(of.rows, rng) for law in laws), strict=True)
        )
        law = difference_law(PairedSample(y, first, second), r, of.rows, of.rows, MAX_THRESHOLDS)
        for line, method in zip(found, methods, strict=True):
            low, high = law.ends(method)
            line += (low <= true) & (true <= high)
    return found
