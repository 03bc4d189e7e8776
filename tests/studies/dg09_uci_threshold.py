"""Dugas and Gadoury 2009, figures 5 and 6: joint coverage of TPR and FPR at fixed thresholds, on real scores.

Six UCI data sets and a logistic regression each; samples of 25 and of 250 rows a class, drawn with
replacement from the rows that did not train, whose ROC curve is the true one. Half a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.dg09 import LEVEL, TOTAL_LABEL, TOTAL_RATES, Rates, claims, threshold_panels
from studies.figures import Outcome, finish
from studies.running import options
from studies.uci import SETS, Population, population, require_data

SIZES = (25, 250)
CLAIM = (
    "As with binormal scores: severe breaks of Wald and Empirical at both ends, which Agresti "
    "avoids, above target."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    require_data()
    designs = [(f"{name}, {n} a class", rates(population(name)), n) for n in SIZES for name in SETS]
    panels = threshold_panels(designs, chosen)
    found, facts = claims(designs, panels, chosen.replications)
    outcome = Outcome("[DG09] figures 5 and 6", CLAIM, found, TOTAL_LABEL, LEVEL, panels, 3, facts)
    finish("dg09-uci-threshold", outcome, chosen)


def rates(of: Population) -> Rates:
    """True rates where 0.01 to 0.99 of the population are flagged, or the next share that scores allow."""
    every = np.sort(np.concatenate([of.pos, of.neg]))[::-1]
    at = every[np.ceil(TOTAL_RATES * len(every)).astype(int) - 1]
    tpr, fpr = (1 - np.searchsorted(scores, at) / len(scores) for scores in (of.pos, of.neg))
    return Rates((1 - np.searchsorted(every[::-1], at) / len(every)), tpr, fpr)
