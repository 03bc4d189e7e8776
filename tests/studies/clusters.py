"""Clustered rows: how often intervals of the AUROC and of a paired difference hold, by clusters and by rows.

Customers have several rows each. Some have labels of one class only, others of both. The score of a row is
that of its customer, plus its own, plus what its class adds; the customer's share is the correlation.
Cells are coverage in per cent, and the mean design effect.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import auc, compare_auc_paired

LEVEL = 0.95


class Design(NamedTuple):
    """Customers, rows of each on average, correlation of its scores, and the AUC."""

    customers: int
    rows: int
    correlation: float
    auc: float = 0.8


DESIGNS = [
    *(Design(customers, 10, correlation) for customers in (20, 50, 200) for correlation in (0.0, 0.2, 0.5)),
    Design(200, 3, 0.5),
    Design(200, 10, 0.5, 0.95),
]
RATES = (0.2, 0.8)  # of the beta law of the shares of positives among the rows of a customer


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=1000)
    many = chosen.replications
    rows = []
    for design in DESIGNS:
        found = replicate(one, design, replications=many, seed=chosen.seed, processes=chosen.processes)
        clustered, plain, effect, paired, paired_plain = np.mean(found, axis=0)
        name = f"{design.customers} of {design.rows}, {design.correlation:g}, {design.auc:g}"
        held = [f"{100 * share:.1f}" for share in (clustered, plain, paired, paired_plain)]
        rows.append([name, *held, f"{effect:.2f}"])
    table(["customers, correlation, AUC", "AUC", "rows", "paired", "rows", "effect"], rows)
    say(f"\n{many:,} samples a design: Monte Carlo error of 95: {100 * (0.95 * 0.05 / many) ** 0.5:.1f}.")


def one(design: Design, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether each interval holds the true value: by clusters, and as if rows were independent."""
    ids, y, s, t = draw(design, rng)
    if min(len(np.unique(ids[y == each])) for each in (0, 1)) < 2:
        return (1.0, 1.0, 1.0, 1.0, 1.0)
    area = auc(y, s, cluster=ids)
    pairs = compare_auc_paired(y, s, t, cluster=ids), compare_auc_paired(y, s, t)
    held = [low <= design.auc <= high for low, high in (area.ci(LEVEL), auc(y, s).ci(LEVEL))]
    equal = [low <= 0 <= high for low, high in (each.ci(LEVEL) for each in pairs)]
    return (*held, area.design_effect or 1.0, *equal)


def draw(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Customers, labels, and the scores of two models that are equally good, of the rows."""
    sizes = 1 + rng.poisson(design.rows - 1, design.customers)
    ids = np.repeat(np.arange(design.customers), sizes)
    y = (rng.random(len(ids)) < rng.beta(*RATES, design.customers)[ids]).astype(int)
    own, shared = (1 - design.correlation) ** 0.5, design.correlation**0.5
    shift = 2**0.5 * float(ndtri(design.auc))
    scores = (
        own * rng.standard_normal(len(ids)) + shared * rng.standard_normal(design.customers)[ids] + shift * y
        for _ in range(2)
    )
    return ids, y, *scores
