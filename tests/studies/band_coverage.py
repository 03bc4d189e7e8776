"""Bands for the whole ROC curve: how often each holds the true one, and its area, from 100 rows to 100,000.

First "studentized-sup" with scores of other laws: skewed, discrete, spiked, rare. Then all methods where
scores of both classes are normal with equal deviation; "working-hotelling" knows that and the others do not:
its coverage shows what chance does to the samples of a line. Some hours of one processor, nearly all of it
for the lines of 10,000 rows and more; 50 replications are enough for the areas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import RocBand, Sample, roc_band

LEVEL, RESAMPLES = 0.95, 399
METHODS = ("studentized-sup", "smoothed-db", "kolmogorov-smirnov", "working-hotelling")

Curve = Callable[[Any], Any]


class Design(NamedTuple):
    """Rows, the share of positives, the AUC of the normal scores beneath, and what is made of them."""

    rows: int
    share: float
    auc: float
    law: str = "normal"

    @property
    def shift(self) -> float:
        """Between the two normal laws."""
        return 2**0.5 * float(ndtri(self.auc))


DESIGNS = [
    *(Design(100, share, auc) for share in (0.2, 0.5) for auc in (0.7, 0.95)),
    *(
        Design(n, share, auc)
        for n in (1_000, 10_000, 100_000)
        for share in (0.05, 0.5)
        for auc in (0.7, 0.95)
    ),
]
LAWS = ("exp(2 z)", "sigmoid(3 z - 6)", "5 levels", "20 levels", "spiked", "gamma", "mixture")
OTHERS = [
    Design(n, share, auc, law)
    for law in LAWS
    for n, share in ((100, 0.5), (100, 0.2), (1_000, 0.5), (1_000, 0.05), (20_000, 0.01))
    for auc in (0.7, 0.95)
]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    many = chosen.replications
    say(f"{many:,} replications, {RESAMPLES} resamples, level {LEVEL:.0%}: coverage in per cent, mean area\n")
    for designs, methods in ((OTHERS, METHODS[:1]), (DESIGNS, METHODS)):
        rows = []
        for design in designs:
            name = f"{design.law}, {design.rows:,}, {design.share:.0%}, {design.auc:g}"
            found = np.array(
                replicate(
                    one,
                    design,
                    methods,
                    replications=many,
                    seed=chosen.seed,
                    processes=chosen.processes,
                    what=name,
                )
            )
            rows.append([name, *(f"{100 * held:.1f} {area:.3f}" for held, area in found.mean(axis=0))])
        table(["scores, rows, positive, AUC", *methods], rows)
        say()
    say(f"The Monte Carlo error of a coverage of 95 is {100 * (0.95 * 0.05 / many) ** 0.5:.1f}.")


def one(design: Design, methods: Sequence[str], rng: np.random.Generator) -> list[tuple[bool, float]]:
    """Whether each method holds the true curve, and its area, on one sample."""
    sample, true = draw(design, rng)
    try:
        bands = [
            roc_band(sample, method=method, confidence_level=LEVEL, n_resamples=RESAMPLES, rng=rng)
            for method in methods
        ]
    except DegenerateDataError:  # a class has one score, and says nothing
        return [(True, 1.0)] * len(methods)
    return [(held(band, true), band.area) for band in bands]


def draw(design: Design, rng: np.random.Generator) -> tuple[Sample, Curve]:
    """A sample of the design, and its true curve: with straight lines across ties."""
    n_pos = round(design.rows * design.share)
    y = np.repeat([1, 0], [n_pos, design.rows - n_pos])
    z = rng.standard_normal(design.rows) + design.shift * y
    if design.law in _OF_OTHERS:
        s, true = _OF_OTHERS[design.law](design, y, rng)
        return Sample(y, s), true
    cuts = np.sort(_cuts(design))
    if design.law == "spiked":  # one score for all rows below
        z = np.where(z < cuts[0], -9.0, z)
    elif len(cuts):
        z = np.searchsorted(cuts, z).astype(float)
    return Sample(y, _MAPS.get(design.law, np.positive)(z)), lambda fpr: _lined(fpr, design, cuts)


_MAPS = {"exp(2 z)": lambda z: np.exp(2 * z), "sigmoid(3 z - 6)": lambda z: expit(3 * z - 6)}


def _cuts(design: Design) -> Any:
    """Where normal scores are cut into levels that are about equally frequent; of "spiked", the spike."""
    if design.law == "spiked":
        return np.array([-0.3])
    levels = int(design.law.split()[0]) if design.law.endswith("levels") else 1
    even = ndtri((np.arange(4000) + 0.5) / 4000)
    return np.quantile(np.concatenate([even, even + design.shift]), np.arange(1, levels) / levels)


def _lined(fpr: Any, design: Design, cuts: Any) -> Any:
    """The curve of two normal laws, with straight lines where scores between two cuts are one."""
    smooth = ndtr(design.shift + ndtri(fpr))
    if not len(cuts):
        return smooth
    at, reached = ndtr(-cuts[::-1]), ndtr(design.shift - cuts[::-1])
    lines = np.interp(fpr, np.concatenate([[0], at, [1]]), np.concatenate([[0], reached, [1]]))
    return np.where(fpr <= at[0], smooth, lines) if design.law == "spiked" else lines


def _gamma(design: Design, y: Any, rng: np.random.Generator) -> tuple[Any, Curve]:
    """Shape 2, positives on a longer scale."""
    scale = {0.7: 1.9, 0.95: 9.0}[design.auc]
    law = stats.gamma(2)
    return rng.gamma(2, 1, len(y)) * np.where(y == 1, scale, 1), lambda fpr: law.sf(law.isf(fpr) / scale)


def _mixture(design: Design, y: Any, rng: np.random.Generator) -> tuple[Any, Curve]:
    """Three tenths of the positives look like negatives."""
    far = design.shift + 0.6
    centre = np.where(rng.random(len(y)) < 0.7, far, -0.3)
    true = lambda fpr: 0.7 * ndtr(far + ndtri(fpr)) + 0.3 * ndtr(-0.3 + ndtri(fpr))  # noqa: E731
    return rng.standard_normal(len(y)) + centre * y, true


_OF_OTHERS = {"gamma": _gamma, "mixture": _mixture}


def held(band: RocBand, true: Curve) -> bool:
    """Whether the band holds the true curve at all rates."""
    curve = true(band.fpr)
    return bool(np.all((band.low <= curve + 1e-12) & (curve <= band.high + 1e-12)))
