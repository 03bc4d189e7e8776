"""Intervals of the AUC near 1 and with few positives: how often each of them misses, and on which side.

Two normal score laws, and five ratings. Every interval is told by the share of samples in which it lies
wholly above, and wholly below, the true area; by its coverage; and by its width, the mean and the median.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc

LEVEL = 0.95
DESIGNS = [
    ((20, 200), 0.7),
    ((20, 200), 0.9),
    ((20, 200), 0.99),
    ((20, 200), None),
    ((20, 2000), 0.7),
    ((20, 2000), 0.9),
    ((20, 2000), 0.99),
    ((20, 2000), None),
    ((50, 50), 0.7),
    ((50, 50), 0.9),
    ((50, 50), 0.99),
    ((50, 50), None),
    ((100, 1000), 0.99),
]
RATINGS = np.array([0.05, 0.1, 0.15, 0.25, 0.45]), np.array([0.5, 0.2, 0.15, 0.1, 0.05])
"""Shares of five ratings among the positives and among the negatives, for the designs without an area."""

TRANSFORMS = ("none", "logit", "second-order")
METHODS = (*TRANSFORMS, "percentile")


def true_area(area: float | None) -> float:
    """Of the design."""
    if area is not None:
        return area
    pos, neg = RATINGS
    below = np.cumsum(neg) - 0.5 * neg
    return float(pos @ below)


def draw(sizes: tuple[int, int], area: float | None, rng: np.random.Generator) -> Sample:
    """A sample of the design."""
    y = np.repeat([1, 0], sizes)
    if area is not None:
        return Sample(y, rng.standard_normal(len(y)) + np.sqrt(2) * ndtri(area) * y)
    return Sample(
        y, np.concatenate([rng.choice(5, n, p=shares) for n, shares in zip(sizes, RATINGS, strict=True)])
    )


def one(sizes: tuple[int, int], area: float | None, rng: np.random.Generator) -> list[tuple[float, float]]:
    """The interval of each method on one sample."""
    sample = draw(sizes, area, rng)
    result = auc(sample)
    drawn = auc(sample, method="bootstrap", n_resamples=999, rng=rng)
    return [*(result.ci(LEVEL, transform) for transform in TRANSFORMS), drawn.ci(LEVEL)]


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=2000)
    rows = []
    for sizes, area in DESIGNS:
        name = f"{sizes[0]}/{sizes[1]}, {'ratings' if area is None else area}"
        found = replicate(
            one,
            sizes,
            area,
            replications=chosen.replications,
            seed=chosen.seed,
            processes=chosen.processes,
            what=name,
        )
        for method, (low, high) in zip(METHODS, np.moveaxis(np.array(found), 0, -1), strict=True):
            above, below = np.mean(low > true_area(area)), np.mean(high < true_area(area))
            shares = [f"{100 * share:.1f} %" for share in (above, below, 1 - above - below)]
            widths = [f"{value:.4f}" for value in (np.mean(high - low), np.median(high - low))]
            rows.append([f"{name}: {method}", *shares, *widths])
    table(["", "above", "below", "covers", "width", "median"], rows)
    say(f"\nNominal: 2.5 %, 2.5 %, 95 %. {chosen.replications:,} samples a design.")
