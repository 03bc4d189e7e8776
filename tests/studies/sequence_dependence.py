"""Confidence sequences of windows whose neighbours are alike: false decisions in a year, and their price.

Differences are drawn without rows: a true difference that follows a stationary AR(1) process about its mean,
and sampling noise of one standard error. A year is 52 weekly checks at 5 %; false is a year in which any
check finds a difference although the mean is 0. Shown are the sequence that takes windows as independent, and
the one that estimates their correlation: by its interval, and by its p-value, also at the levels that the
review's rule spends on its parts (an interval excludes 0 only where the p-value is below its level); how
often a caveat names the correlation; and how many windows independent ones take to show a difference. Two
hours of two processors with 2,000 years a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from studies.running import options, replicate, say, table

from rocmonitor.stats import ConfidenceSequence, confidence_sequence

CHECKS, LONGEST = 52, 150
SE = 0.001  # so that no difference reaches -1 or 1
PROCESSES = [(0.0, 0.0), (0.0, 1.0), (0.0, 3.0), (0.0, 20.0), *product((0.3, 0.6, 0.9), (1.0, 3.0))]
"""Serial correlation of the true differences, and their standard deviation in standard errors."""

LEVELS = (0.05, 0.025, 0.05 / 6)
MEANS = [(0.6, 0.0), (1.15, 0.0), (1.8, 0.0), (3.0, 0.0), (1.0, 1.0)]
"""Mean difference, and standard deviation between windows, in standard errors."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    runs = {"replications": chosen.replications, "processes": chosen.processes}
    say(f"{chosen.replications:,} years a line; ± one Monte Carlo error; per cent\n")
    rows = []
    for number, process in enumerate(PROCESSES):
        found = replicate(year, process, seed=(chosen.seed, 1, number), what=f"{process}", **runs)
        rows.append([*(f"{value:g}" for value in process), *shares(np.array(found))])
    names = ["independent", "estimated", *(f"p <= {level:.3g}" for level in LEVELS), "caveat"]
    table(["correlation", "between", *(cell for name in names for cell in (name, "±"))], rows)
    say()
    rows = []
    for number, mean in enumerate(MEANS):
        weeks = np.array(
            replicate(weeks_to_find, mean, seed=(chosen.seed, 2, number), what=f"{mean}", **runs)
        )
        ends = [f"{end:.0f}" for of in weeks.T for end in np.quantile(of, [0.5, 0.8], method="inverted_cdf")]
        rows.append([*(f"{value:g}" for value in mean), *ends])
    say("windows by which a mean difference is found in half of the runs, and in 80 %\n")
    names = [f"{method}, {share}" for method in ("independent", "estimated") for share in ("half", "80 %")]
    table(["mean", "between", *names], rows)


def series(
    mean: float, phi: float, between: float, looks: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Differences of the windows."""
    x = np.empty(looks)
    x[0] = rng.standard_normal()
    for j in range(1, looks):
        x[j] = phi * x[j - 1] + np.sqrt(1 - phi * phi) * rng.standard_normal()
    return np.asarray(SE * (mean + between * x + rng.standard_normal(looks)))


def year(process: tuple[float, float], rng: np.random.Generator) -> list[bool]:
    """Whether a year decides: taken as independent, by the interval, by p-values; whether a caveat comes."""
    d, se = series(0.0, *process, CHECKS, rng), np.full(CHECKS, SE)
    estimated = confidence_sequence(d, se, confidence_level=1 - LEVELS[0], correlation="estimated")
    raised = any(caveat.code == "windows-correlated-allowed" for caveat in estimated.caveats)
    by_value = [bool(np.any(estimated.pvalue <= level)) for level in LEVELS]
    return [decides(confidence_sequence(d, se)), decides(estimated), *by_value, raised]


def decides(sequence: ConfidenceSequence) -> bool:
    return bool(np.any((sequence.low > 0) | (sequence.high < 0)))


def weeks_to_find(mean: tuple[float, float], rng: np.random.Generator) -> list[float]:
    """The first window after which each sequence finds the difference."""
    d, se = series(mean[0], 0.0, mean[1], LONGEST, rng), np.full(LONGEST, SE)
    plain, estimated = confidence_sequence(d, se), confidence_sequence(d, se, correlation="estimated")
    return [1.0 + np.argmax(of.low > 0) if np.any(of.low > 0) else np.inf for of in (plain, estimated)]


def shares(found: NDArray[np.bool_]) -> list[str]:
    """Each column's share in per cent, and its Monte Carlo error."""
    n, of = len(found), found.mean(axis=0)
    errors = np.maximum(np.sqrt(of * (1 - of) / n), 1 / n)
    return [f"{100 * value:.1f}" for pair in zip(of, errors, strict=True) for value in pair]
