"""Coverage of the intervals of the calibration: log-loss, Brier score, slope and intercept of probabilities.

Scores are normal log odds with standard deviation 1.2 about the prevalence; labels follow a slope and an
intercept of recalibration. The truth is a quadrature of the same law (log-loss, Brier), the slope and the
intercept with the slope at 1 its likelihood's maximum. Nominal 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from studies.running import options, replicate, say, table

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import calibration

SPREAD = 1.2
NODES = np.polynomial.hermite_e.hermegauss(80)
MEASURES = ("log_loss", "brier", "slope", "intercept")


class Design(NamedTuple):
    """Rows of a window, mean log odds of its probabilities, and how the labels differ from them."""

    rows: int
    centre: float
    slope: float = 1.0
    intercept: float = 0.0


DESIGNS = tuple(
    Design(rows, centre, slope, intercept)
    for rows in (200, 1000, 5000)
    for centre, slope, intercept in ((0.0, 1.0, 0.0), (-2.5, 1.0, 0.0), (-2.5, 0.6, 0.5))
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    lines = [
        [
            f"{of.rows:,}",
            f"{100 * prevalence(of):.0f} %",
            f"{of.slope:g}, {of.intercept:+g}",
            *(f"{100 * rate:.1f} ± {100 * error:.1f}" for rate, error in zip(*found, strict=True)),
        ]
        for of in DESIGNS
        for found in [covered(of, chosen.replications, chosen.seed, chosen.processes)]
    ]
    say(f"{chosen.replications:,} replications; coverage in %, ± one Monte Carlo error\n")
    table(["rows", "positive", "slope, intercept", "log-loss", "Brier", "slope", "intercept"], lines)


def covered(
    of: Design, replications: int, seed: int = 1, processes: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of the intervals that hold the truth, and its Monte Carlo error, for each of `MEASURES`."""
    found = np.array(
        replicate(one, of, truth(of), replications=replications, seed=seed, processes=processes, what=""),
        dtype=np.float64,
    )
    rate = np.nanmean(found, axis=0)
    return rate, np.sqrt(rate * (1 - rate) / np.sum(~np.isnan(found), axis=0))


def one(of: Design, true: dict[str, float], rng: np.random.Generator) -> list[float]:
    """Whether each interval of a drawn window holds the truth; NaN where there is none."""
    logits = rng.normal(of.centre, SPREAD, of.rows)
    y = rng.random(of.rows) < expit(of.intercept + of.slope * logits)
    try:
        found = calibration(y, expit(logits))
    except DegenerateDataError:
        return [np.nan] * len(MEASURES)
    held = []
    for name in MEASURES:
        if getattr(found, name) is None:
            held.append(np.nan)
            continue
        low, high = getattr(found, f"{name}_ci")(0.95)
        held.append(float(low <= true[name] <= high))
    return held


def truth(of: Design) -> dict[str, float]:
    """What the measures are in the whole population."""
    nodes, weights = NODES
    logits = of.centre + SPREAD * nodes
    weights = weights / weights.sum()
    p, chance = expit(logits), expit(of.intercept + of.slope * logits)

    def gradient(intercept: float) -> float:
        return float(weights @ (chance - expit(intercept + logits)))

    return {
        "log_loss": float(-weights @ (chance * np.log(p) + (1 - chance) * np.log1p(-p))),
        "brier": float(weights @ (chance * (1 - p) ** 2 + (1 - chance) * p**2)),
        "slope": of.slope,
        "intercept": float(brentq(gradient, -5, 5)),
    }


def prevalence(of: Design) -> float:
    """Share of positives."""
    nodes, weights = NODES
    return float(weights @ expit(of.intercept + of.slope * (of.centre + SPREAD * nodes)) / weights.sum())
