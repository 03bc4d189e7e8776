"""What the studies of Dugas and Gadoury (2009), figures 3 to 11, share: populations, samples, coverage.

Scores are binormal: positives N(theta, 3.75), negatives N(-theta, 3). Thresholds are those of total
positive rates 0.01 to 0.99, as in the paper, whose thresholds at theta = 0.75 span -7.843 to 8.530. At
fixed thresholds a sample matters through its counts only, so that samples are drawn as counts: a thousand
at a time.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom
from studies.figures import Floats, Panel, coverage

from rocmonitor.stats.curve.threshold import MOST_EXCESS
from rocmonitor.stats.proportion import normal_density, percentiles, proportion_ends, quantile_beyond

SD_POS, SD_NEG, LEVEL, RESAMPLES = 3.75, 3.0, 0.90, 100
TOTAL_RATES = np.arange(1, 100) / 100
JOINT_TAIL = (1 - LEVEL**0.5) / 2
"""Of each side of each of two rates that are covered together at `LEVEL`."""
METHODS = {"Agresti": "agresti-coull", "Wald": "wald", "ours": "clopper-pearson"}
NAMES = (*METHODS, "Empirical")
TOTAL_LABEL = "total positive rate"


class Rates(NamedTuple):
    """True rates at thresholds of decreasing height, shape (h,), and their total positive rates."""

    total: Floats
    tpr: Floats
    fpr: Floats


def thresholds(theta: float, rates: Floats = TOTAL_RATES, shift: float = 0.0) -> Floats:
    """Where so large a share of both classes together, equally many, scores higher."""
    low, high = np.full(len(rates), -60.0), np.full(len(rates), 60.0)
    for _ in range(80):
        middle = (low + high) / 2
        above = (share_above(middle, theta + shift, SD_POS) + share_above(middle, -theta, SD_NEG)) / 2 > rates
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)


def share_above(threshold: Floats, mean: float, sd: float) -> Floats:
    """Of a normal class."""
    return np.asarray(ndtr((mean - threshold) / sd))


def binormal(theta: float) -> Rates:
    """The rates of the paper's design."""
    at = thresholds(theta)
    return Rates(TOTAL_RATES, share_above(at, theta, SD_POS), share_above(at, -theta, SD_NEG))


def covers(p: Floats, n: int, method: str) -> NDArray[np.bool_]:
    """Whether the interval of a count holds the rate p, for each count 0…n, shape (n + 1, h)."""
    low, high = _ends(n, method)
    return np.asarray((low[:, np.newaxis] <= p) & (p <= high[:, np.newaxis]))


@cache
def _ends(n: int, method: str) -> tuple[Floats, Floats]:
    return proportion_ends(np.arange(n + 1), n, n, method, JOINT_TAIL)


def exact_coverage(rates: Rates, n: int) -> dict[str, Floats]:
    """Probability that each method's region holds both rates, n rows a class: no simulation is needed."""
    found = {name: np.ones(len(rates.tpr)) for name in METHODS}
    for p in (rates.tpr, rates.fpr):
        law = binom.pmf(np.arange(n + 1)[:, np.newaxis], n, p)
        for name, method in METHODS.items():
            found[name] *= np.einsum("kh,kh->h", law, covers(p, n, method))
    return found


def called_conservative(rates: Rates, n: int) -> NDArray[np.bool_]:
    """Where `threshold_intervals` calls an interval conservative, with the expected counts."""
    excess = normal_density(quantile_beyond(JOINT_TAIL))
    return np.any([excess > MOST_EXCESS * np.sqrt(n * p * (1 - p)) for p in (rates.tpr, rates.fpr)], axis=0)


def counts(p: Floats, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Flagged rows of a class in `size` samples of n rows, at all thresholds: shape (size, h)."""
    steps = np.diff(p, prepend=0.0, append=1.0)
    return np.cumsum(rng.multinomial(n, np.maximum(steps, 0.0) / steps.sum(), size)[:, :-1], axis=1)


def held(rates: Rates, n: int, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each region hold both rates: shape (methods, h)."""
    found = np.ones((len(NAMES), size, len(rates.tpr)), dtype=bool)
    at = np.arange(len(rates.tpr))
    for p in (rates.tpr, rates.fpr):
        seen = counts(p, n, size, rng)
        for line, method in zip(found, METHODS.values(), strict=False):
            line &= covers(p, n, method)[seen, at]
        low, high = percentiles(rng.binomial(n, seen / n, (RESAMPLES, *seen.shape)) / n, JOINT_TAIL)
        found[-1] &= (low <= p) & (p <= high)
    return np.asarray(found.sum(axis=1), dtype=np.float64)


def threshold_panels(designs: Sequence[tuple[str, Rates, int]], chosen: Namespace) -> list[Panel]:
    """A panel for each (title, rates, rows a class)."""
    return [
        Panel(
            title,
            rates.total,
            dict(zip(NAMES, coverage(held, rates, n, chosen=chosen, number=at, what=title), strict=True)),
        )
        for at, (title, rates, n) in enumerate(designs)
    ]


def in_points(value: float) -> str:
    """A share in per cent."""
    return f"{100 * value:.1f}"


def claims(
    designs: Sequence[tuple[str, Rates, int]], panels: Sequence[Panel], replications: int
) -> tuple[str, dict[str, float | str]]:
    """A sentence on all methods, simulated and without simulation, and its numbers."""
    sums = [exact_coverage(rates, n) for _, rates, n in designs]
    exact = {name: np.array([of[name] for of in sums]) for name in METHODS}
    apart = max(
        float(np.abs(panel.lines[name] - values[at]).max())
        for at, panel in enumerate(panels)
        for name, values in exact.items()
    )
    facts: dict[str, float | str] = {
        f"{name}, {end}": round(float(value), 5)
        for name, values in exact.items()
        for end, value in (("lowest", values.min()), ("highest", values.max()))
    }
    empirical = min(float(panel.lines["Empirical"].min()) for panel in panels)
    low, high = exact["Agresti"].min(), exact["Agresti"].max()
    ours = exact["ours"]
    said = np.array([called_conservative(rates, n) for _, rates, n in designs])
    facts["ours, said to be conservative"] = round(float(said.mean()), 4)
    text = (
        f"By binomial sums Wald falls to {in_points(exact['Wald'].min())}, Agresti covers "
        f"{in_points(low)} to {in_points(high)}, ours {in_points(ours.min())} to {in_points(ours.max())}. "
        f"Empirical falls to {in_points(empirical)}. "
        f"Simulations are {in_points(apart)} points off at most."
    )
    return text, facts
