"""Dugas and Gadoury 2009, section 6: two models that may flag the same number of rows, as a budget has it.

The design of figure 7: binormal scores, 100 rows a class, the second model's positives 2 further than the
first's, correlation 0.3, 0.6 and 0.9 in both classes. Coverage, each rate by itself, of the difference of the
true positive rates at total positive rates 0.05 to 0.95 (`total_rate_difference`), whose joint law is
approximated at this size; and of percentiles over drawn resamples. Ten minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.dg09 import LEVEL, TOTAL_LABEL, in_points, share_above, thresholds
from studies.dg09_paired import CORRELATIONS, ROWS, SHIFT, THETAS, Design, design
from studies.figures import Floats, Outcome, Panel, coverage, finish, lowest_and_highest
from studies.running import options

from rocmonitor.stats import PairedSample, total_rate_difference

RATES = np.arange(1, 20) / 20
METHODS = {"Agresti": "agresti", "Wald": "wald", "exact": "exact", "Empirical": "empirical"}
RESAMPLES = 199
CLAIM = (
    "Where a budget limits how many instances are flagged, intervals at fixed total positive rates may be "
    "appropriate: future work (no figure)."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=400)
    panels = []
    for rho in CORRELATIONS:
        for theta in THETAS:
            title = f"theta = {theta:g}, correlation {rho:g}"
            found = coverage(held, design(theta, rho), theta, chosen=chosen, number=len(panels), what=title)
            panels.append(Panel(title, RATES, dict(zip(METHODS, found, strict=True))))
    outcome = Outcome("[DG09] section 6", CLAIM, conclusion(panels), TOTAL_LABEL, LEVEL, panels, 2)
    finish("dg09-total-rate", outcome, chosen)


def held(of: Design, theta: float, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true difference: (methods, rates)."""
    rate_1 = share_above(thresholds(theta, RATES), of.pos.mean_1, of.pos.sd)
    rate_2 = share_above(thresholds(theta, RATES, shift=SHIFT), of.pos.mean_2, of.pos.sd)
    found = np.zeros((len(METHODS), len(RATES)))
    y = np.repeat([1, 0], ROWS)
    for _ in range(size):
        scores = np.concatenate([law.draw(ROWS, rng) for law in (of.pos, of.neg)], axis=1)
        pair = PairedSample(y, *scores)
        for line, method in zip(found, METHODS.values(), strict=True):
            drawn = {"rng": rng, "n_resamples": RESAMPLES} if method == "empirical" else {}
            each = total_rate_difference(pair, RATES, method=method, confidence_level=LEVEL, **drawn)
            line += (each.dtpr_low <= rate_1 - rate_2) & (rate_1 - rate_2 <= each.dtpr_high)
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
