"""Clustered rows: how often intervals of the AUROC and of a paired difference hold, by clusters and by rows.

Customers have several rows each. Some have labels of one class only, others of both. The score of a row is
that of its customer, plus its own, plus what its class adds; the customer's share is the correlation.
Cells are coverage in per cent by clusters, by clusters with the normal law, and by rows; then the mean design
effect, the median degrees of freedom, and how much wider Student's t and unequal sizes make the interval.
Sizes "pareto": 20 to 3,000 rows, of a Pareto law with exponent 1.2; its shares of positives are of the same
beta law as all others, or go from 5 to 45 % by size. Sizes "giants": the last two customers have 200 rows.
"""

from __future__ import annotations

from dataclasses import replace
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
    sizes: str = "poisson"
    by_size: bool = False
    alike: bool = False  # whether all customers have the same share of positives


DESIGNS = [
    *(Design(customers, 10, correlation) for customers in (20, 50, 200) for correlation in (0.0, 0.2, 0.5)),
    Design(200, 3, 0.5),
    Design(200, 10, 0.5, 0.95),
    Design(60, 0, 0.3, 0.8, "pareto"),
    Design(60, 0, 0.3, 0.8, "pareto", by_size=True),
    *(
        Design(customers, rows, correlation, 0.8, "giants", alike=True)
        for customers, rows in ((20, 10), (50, 10), (20, 3), (50, 3))
        for correlation in (0.3, 0.6)
    ),
]
RATES = (0.2, 0.8)  # of the beta law of the shares of positives among the rows of a customer


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=1000)
    many = chosen.replications
    rows = []
    for design in DESIGNS:
        found = replicate(one, design, replications=many, seed=chosen.seed, processes=chosen.processes)
        *held, effect, df, wider = np.mean(found, axis=0)
        df = np.median(np.array(found)[:, -2])
        name = f"{design.customers} of {design.rows or 'pareto'}, {design.correlation:g}, {design.auc:g}"
        name += ", by size" if design.by_size else ", two giants" if design.sizes == "giants" else ""
        cells = [f"{100 * share:.1f}" for share in held]
        rows.append([name, *cells, f"{effect:.2f}", f"{df:.1f}", f"{wider:.2f}"])
    names = ["AUC", "normal", "rows", "paired", "normal", "rows", "effect", "df", "wider"]
    table(["customers, correlation, AUC", *names], rows)
    say(f"\n{many:,} samples a design: Monte Carlo error of 95: {100 * (0.95 * 0.05 / many) ** 0.5:.1f}.")


def one(design: Design, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether each interval holds the true value: by clusters, with the normal law, by rows."""
    ids, y, s, t = draw(design, rng)
    if min(len(np.unique(ids[y == each])) for each in (0, 1)) < 2:
        return (1.0,) * 6 + (1.0, float(design.customers - 1), 1.0)
    area, pair = auc(y, s, cluster=ids), compare_auc_paired(y, s, t, cluster=ids)
    areas = area.ci(LEVEL), replace(area, df=None, inflation=1.0).ci(LEVEL), auc(y, s).ci(LEVEL)
    normal = replace(pair, df=None, inflation=1.0)
    pairs = pair.ci(LEVEL), normal.ci(LEVEL), compare_auc_paired(y, s, t).ci(LEVEL)
    held = [low <= design.auc <= high for low, high in areas]
    equal = [low <= 0 <= high for low, high in pairs]
    wider = (areas[0].high - areas[0].low) / (areas[1].high - areas[1].low)
    return (*held, *equal, area.design_effect or 1.0, area.df or float(design.customers - 1), wider)


def draw(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Customers, labels, and the scores of two models that are equally good, of the rows."""
    if design.sizes == "pareto":
        sizes = np.minimum(20 * (1 + rng.pareto(1.2, design.customers)), 3000).astype(int)
    else:
        sizes = 1 + rng.poisson(design.rows - 1, design.customers)
    if design.sizes == "giants":
        sizes[-2:] = 200
    rates = rng.beta(*RATES, design.customers)
    if design.by_size:
        rates = 0.05 + 0.4 * np.argsort(np.argsort(sizes)) / (design.customers - 1)
    if design.alike:
        rates[:] = RATES[0]
    ids = np.repeat(np.arange(design.customers), sizes)
    y = (rng.random(len(ids)) < rates[ids]).astype(int)
    own, shared = (1 - design.correlation) ** 0.5, design.correlation**0.5
    shift = 2**0.5 * float(ndtri(design.auc))
    scores = (
        own * rng.standard_normal(len(ids)) + shared * rng.standard_normal(design.customers)[ids] + shift * y
        for _ in range(2)
    )
    return ids, y, *scores
