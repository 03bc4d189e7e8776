"""Dugas and Gadoury 2009, figures 8 and 9: coverage of TPR at a fixed FPR, on real scores.

Six UCI data sets and a logistic regression each; samples of 25 and of 250 rows a class, drawn with
replacement from the rows that did not train, whose ROC curve is the true one. Agresti is
`vertical_intervals` as it comes; its rivals are the kernel method and percentiles over 100 resamples. Four
minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from studies.dg09 import LEVEL, RESAMPLES, in_points
from studies.figures import Floats, Outcome, Panel, coverage, finish, lowest_and_highest
from studies.running import options
from studies.uci import SETS, Population, population, require_data

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import Sample, vertical_intervals

RANKS = {25: np.arange(1, 25), 250: np.array([1, 2, 3, 4, *range(5, 250, 5), 246, 247, 248, 249])}
"""Negatives above the threshold, of so many."""
NAMES = {"Agresti": "agresti", "Kernel": "kernel", "Empirical": "empirical"}
CLAIM = (
    "Empirical breaks severely at high FPR, Kernel on some data sets, with coverage 1 on others; "
    "Agresti has the "
    "tightest range: 75.3 to 96.5 with 25 rows, 80.2 to 97.1 with 250."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    require_data()
    panels = []
    for n, ranks in RANKS.items():
        for name in SETS:
            of, title = population(name), f"{name}, {n} a class"
            found = coverage(held, of, ranks, n, chosen=chosen, number=len(panels), what=title)
            panels.append(Panel(title, ranks / n, dict(zip(NAMES, found, strict=True))))
    found, facts = compared(panels)
    outcome = Outcome("[DG09] figures 8 and 9", CLAIM, found, "false positive rate", LEVEL, panels, 3, facts)
    finish("dg09-vertical", outcome, chosen)


def true_tpr(of: Population, rates: Floats) -> Floats:
    """At the threshold that the largest negatives reach: a share of them of `rates`, or the next above."""
    above = np.ceil(rates * len(of.neg) - 1e-9).astype(int)
    at = of.neg[len(of.neg) - above]
    return np.asarray(1 - np.searchsorted(of.pos, at) / len(of.pos))


def held(of: Population, ranks: NDArray[np.int64], n: int, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true TPR: (methods, h).

    A method that has no interval for a sample (kernel: a class without spread) does not hold it.
    """
    rates = ranks / n
    true, found = true_tpr(of, rates), np.zeros((len(NAMES), len(ranks)))
    y = np.repeat([1, 0], n)
    for _ in range(size):
        sample = Sample(y, np.concatenate([rng.choice(of.pos, n), rng.choice(of.neg, n)]))
        for line, method in zip(found, NAMES.values(), strict=True):
            drawn = {"n_resamples": RESAMPLES, "rng": rng} if method == "empirical" else {}
            try:
                at = vertical_intervals(sample, rates, method=method, confidence_level=LEVEL, **drawn)  # type: ignore[arg-type]
            except DegenerateDataError:
                continue
            line += (at.tpr_low <= true + 1e-12) & (true - 1e-12 <= at.tpr_high)
    return found


def compared(panels: Sequence[Panel]) -> tuple[str, dict[str, float | str]]:
    """Lowest and highest coverages of each method, by the size of the samples."""
    text, facts = [], {}
    for n in RANKS:
        some = [panel for panel in panels if panel.title.endswith(f" {n} a class")]
        ends = {name: lowest_and_highest(some, name) for name in NAMES}
        inner = (some[0].x >= 0.01) & (some[0].x <= 0.99)
        near = np.concatenate([panel.lines["Agresti"][inner] for panel in some])
        facts |= {f"{name}, {n}, lowest": round(low, 4) for name, (low, _) in ends.items()}
        text.append(
            f"With {n} rows a class Agresti covers {in_points(near.min())} to {in_points(near.max())} "
            f"from FPR "
            f"0.01 to 0.99 and at least "
            f"{in_points(ends['Agresti'][0])} everywhere; Kernel falls to {in_points(ends['Kernel'][0])} and "
            f"Empirical to {in_points(ends['Empirical'][0])}."
        )
    better = [panel.title for panel in panels if panel.lines["Kernel"].min() > panel.lines["Agresti"].min()]
    text.append(f"Kernel's worst is above Agresti's on {'; '.join(better) or 'no data set'}.")
    return " ".join(text), facts
