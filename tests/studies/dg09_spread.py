"""Dugas and Gadoury 2009, figure 3: joint coverage of TPR and FPR at fixed thresholds, by the spread.

Binormal scores, 10,000 rows a class, theta from 0.75 to 5. "ours" is `threshold_intervals` with
``method="clopper-pearson"``, which promises at least the level. Two minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg09 import LEVEL, TOTAL_LABEL, binormal, claims, threshold_panels
from studies.figures import Outcome, finish
from studies.running import options

THETAS = (0.75, 1.5, 3.0, 5.0)
ROWS = 10_000
CLAIM = (
    "Wald and Empirical drop sharply at low total positive rates from theta = 1.5 on, and at both ends at "
    "theta = 5; Agresti does not, and is somewhat too conservative."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    designs = [(f"theta = {theta:g}", binormal(theta), ROWS) for theta in THETAS]
    panels = threshold_panels(designs, chosen)
    found, facts = claims(designs, panels, chosen.replications)
    wald = panels[-1].lines["Wald"][19]
    facts["wald_at_0.2"] = round(float(wald), 4)
    found += f" At theta = 5 and a total positive rate of 0.2 Wald covers {100 * wald:.1f} (print: 69.2)."
    outcome = Outcome("[DG09] figure 3", CLAIM, found, TOTAL_LABEL, LEVEL, panels, 2, facts)
    finish("dg09-spread", outcome, chosen)
