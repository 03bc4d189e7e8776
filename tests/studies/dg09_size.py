"""Dugas and Gadoury 2009, figure 4: joint coverage of TPR and FPR at fixed thresholds, by sample size.

Binormal scores, theta = 3, 25 to 10,000 rows a class. "ours" is `threshold_intervals` with
``method="clopper-pearson"``, which promises at least the level. Two minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg09 import LEVEL, TOTAL_LABEL, binormal, claims, threshold_panels
from studies.figures import Outcome, finish
from studies.running import options

SIZES = (25, 250, 2_500, 10_000)
THETA = 3.0
CLAIM = (
    "Results improve with the size; severe coverage breaks of Wald and Empirical at low and high total "
    "positive rates, where Agresti is too conservative."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    designs = [(f"{n:,} rows a class", binormal(THETA), n) for n in SIZES]
    panels = threshold_panels(designs, chosen)
    found, facts = claims(designs, panels, chosen.replications)
    outcome = Outcome("[DG09] figure 4", CLAIM, found, TOTAL_LABEL, LEVEL, panels, 2, facts)
    finish("dg09-size", outcome, chosen)
