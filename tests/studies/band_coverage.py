"""Bands for the whole ROC curve: how often each holds the true one, and its area, from 100 rows to 100,000.

Scores of both classes are normal with equal deviation. "working-hotelling" knows that and the others do not:
its coverage shows what chance does to the samples of a line. An hour or two of one processor, nearly all of
it for the lines of 10,000 rows and more; 50 replications are enough for the areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import RocBand, Sample, roc_band

LEVEL, RESAMPLES = 0.95, 399
METHODS = ("studentized-sup", "smoothed-db", "kolmogorov-smirnov", "working-hotelling")


class Design(NamedTuple):
    """Rows, the share of positives, and the true AUC."""

    rows: int
    share: float
    auc: float


DESIGNS = [
    *(Design(100, share, auc) for share in (0.2, 0.5) for auc in (0.7, 0.95)),
    *(
        Design(n, share, auc)
        for n in (1_000, 10_000, 100_000)
        for share in (0.05, 0.5)
        for auc in (0.7, 0.95)
    ),
]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    many = chosen.replications
    say(f"{many:,} replications, {RESAMPLES} resamples, level {LEVEL:.0%}: coverage in per cent, mean area\n")
    rows = []
    for design in DESIGNS:
        name = f"{design.rows:,}, {design.share:.0%}, {design.auc:g}"
        found = np.array(
            replicate(one, design, replications=many, seed=chosen.seed, processes=chosen.processes, what=name)
        )
        rows.append([name, *(f"{100 * held:.1f} {area:.3f}" for held, area in found.mean(axis=0))])
    table(["rows, positive, AUC", *METHODS], rows)
    say(f"\nThe Monte Carlo error of a coverage of 95 is {100 * (0.95 * 0.05 / many) ** 0.5:.1f}.")


def one(design: Design, rng: np.random.Generator) -> list[tuple[bool, float]]:
    """Whether each method holds the true curve, and its area, on one sample."""
    n_pos = round(design.rows * design.share)
    y = np.repeat([1, 0], [n_pos, design.rows - n_pos])
    shift = 2**0.5 * float(ndtri(design.auc))
    sample = Sample(y, rng.standard_normal(design.rows) + shift * y)
    bands = [
        roc_band(sample, method=method, confidence_level=LEVEL, n_resamples=RESAMPLES, rng=rng)
        for method in METHODS
    ]
    return [(held(band, shift), band.area) for band in bands]


def held(band: RocBand, shift: float) -> bool:
    """Whether the band holds the curve of two normal laws that are so far apart, at all rates."""
    true = ndtr(shift + ndtri(band.fpr))
    return bool(np.all((band.low <= true) & (true <= band.high)))
