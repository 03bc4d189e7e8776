"""Dugas and Gadoury 2009, section 6: two models that may flag the same number of rows, as a budget has it.

The design of figure 7: binormal scores, 100 rows a class, the second model's positives 2 further than the
first's, correlation 0.3, 0.6 and 0.9 in both classes. Coverage, each rate by itself, of the difference of the
true positive rates at total positive rates 0.05 to 0.95 (`total_rate_difference`), whose joint law is
approximated at this size; and of percentiles over drawn resamples. Ten minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.dg09 import LEVEL, TOTAL_LABEL, TOTAL_RATES, in_points
from studies.dg09_paired import Design, all_panels
from studies.figures import Floats, Outcome, Panel, finish, lowest_and_highest
from studies.running import options

from rocmonitor.stats import PairedSample, total_rate_difference

EVERY = slice(4, None, 5)  # of figure 7's rates
RATES = TOTAL_RATES[EVERY]
METHODS = {"Agresti": "agresti", "Wald": "wald", "exact": "exact", "Empirical": "empirical"}
RESAMPLES = 199
CLAIM = (
    "Where a budget limits how many instances are flagged, intervals at fixed total positive rates may be "
    "appropriate: future work (no figure)."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=400)
    panels = all_panels(chosen, held, METHODS, RATES)
    outcome = Outcome("[DG09] section 6", CLAIM, conclusion(panels), TOTAL_LABEL, LEVEL, panels, 2)
    finish("dg09-total-rate", outcome, chosen)


def held(of: Design, rows: int, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true difference: (methods, rates)."""
    true, found = of.true_difference(of.pos)[EVERY], np.zeros((len(METHODS), len(RATES)))
    y = np.repeat([1, 0], rows)
    for _ in range(size):
        scores = np.concatenate([law.draw(rows, rng) for law in (of.pos, of.neg)], axis=1)
        pair = PairedSample(y, *scores)
        for line, method in zip(found, METHODS.values(), strict=True):
            drawn = {"rng": rng, "n_resamples": RESAMPLES} if method == "empirical" else {}
            each = total_rate_difference(pair, RATES, method=method, confidence_level=LEVEL, **drawn)
            line += (each.dtpr_low <= true) & (true <= each.dtpr_high)
    return found


def conclusion(panels: Sequence[Panel]) -> str:
    ends = {name: lowest_and_highest(panels, name) for name in METHODS}
    said = {name: f"{in_points(low)} to {in_points(high)}" for name, (low, high) in ends.items()}
    means = {name: np.mean([panel.lines[name] for panel in panels]) for name in METHODS}
    return (
        f"Agresti covers {said['Agresti']} (mean {in_points(means['Agresti'])}). At the ends "
        f"quantiles of the law fall to {in_points(ends['exact'][0])}, percentiles of "
        f"drawn resamples to {in_points(ends['Empirical'][0])} and Wald to {in_points(ends['Wald'][0])}. The "
        f"law is approximated at this size, and covers as drawn resamples do: {in_points(means['exact'])} "
        f"and {in_points(means['Empirical'])} on average."
    )
