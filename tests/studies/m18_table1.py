"""Morin 2018, table 1: how often intervals hold the AUC of a population that changes between two regimes.

Each replication draws a labelled sample of either regime (1,000 negatives, 100 positives, both normal with
standard deviation 1/√2). The rivals see the two together. Ours, `forecast_interval` with its
calibrated distance, sees 40 past windows of such samples, whose regimes come up with equal probability, as
that of the coming one does. Judged are the true AUC of a regime and the AUC of a new sample of it: both
regimes in each replication, which is the mean over the coming regime and takes less noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, forecast_interval

NEGATIVES, POSITIVES = 1000, 100
DEVIATION = 0.5**0.5
LEVEL = 0.95
RESAMPLES = 399
WINDOWS = 40
Design = tuple[float, float]
METHODS = ("bi-normal", "DeLong", "bootstrap", "upper bound", "forecast, binned", "ours, calibrated")
PUBLISHED = {  # for each method but ours: the true AUC is covered, the realised AUC is covered
    (0.68, 0.72): ((0.8265, 0.6612), (0.8395, 0.6689), (0.8310, 0.6616), (0.9885, 0.9074), (0.9955, 0.9600)),
    (0.65, 0.75): ((0.2360, 0.3427), (0.2470, 0.3515), (0.2455, 0.3453), (0.7725, 0.6615), (0.9795, 0.9259)),
    (0.75, 0.80): ((0.6805, 0.5912), (0.6845, 0.5979), (0.6730, 0.5889), (0.9665, 0.8654), (0.9940, 0.9451)),
    (0.70, 0.70): ((0.951, 0.7402), (0.944, 0.7477), (0.941, 0.7386), (1.000, 0.9464), (0.999, 0.9702)),
}
PUBLISHED_REPLICATIONS = 1000
BINNED, OURS = 4, 5


class Rates(NamedTuple):
    """Means over the replications of one design, (methods, 3) as `one` gives them, and their errors."""

    mean: NDArray[np.float64]
    error: NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    say(f"{chosen.replications:,} replications, level {LEVEL:.0%}; ± one Monte Carlo error of ours, and the")
    say(f"difference in errors of both (the print has {PUBLISHED_REPLICATIONS:,} replications)\n")
    show({of: simulated(of, chosen.replications, chosen.seed, chosen.processes) for of in PUBLISHED})


def simulated(design: Design, replications: int, seed: int = 1, processes: int = 1) -> Rates:
    """The table's numbers for one design."""
    what = label(design) if processes > 1 else ""
    found = np.array(
        replicate(one, *design, replications=replications, seed=seed, processes=processes, what=what)
    )
    return Rates(found.mean(axis=0), found.std(axis=0) / replications**0.5)


def one(low: float, high: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """(methods, 3): shares of the regimes whose true and whose realised AUC is covered, and the width."""
    regimes = (low, high)
    labelled = [draw(regime, rng) for regime in regimes]
    build = Sample.merge(labelled)
    past = [draw(regime, rng, digits=2) for regime in rng.choice(regimes, WINDOWS)]
    binned = forecast_interval(build, windows=labelled, method="binned", confidence_level=LEVEL)
    ours = forecast_interval(
        Sample.merge(past), windows=past, confidence_level=LEVEL, batch=(POSITIVES, NEGATIVES)
    )
    intervals = np.array([*rivals(build, rng), (binned.low, binned.high), (ours.low, ours.high)])
    realised = [auc(draw(regime, rng)).auc for regime in regimes]
    return np.column_stack(
        [*(covered(intervals, values) for values in (regimes, realised)), np.ptp(intervals, axis=1)]
    )


def draw(area: float, rng: np.random.Generator, digits: int = 15) -> Sample:
    """A sample of the regime with this AUC: the pooled variance is 1, so the means are its probit apart.

    With 2 digits the population's AUC is the same to 1e-5, and a reference of many samples is several times
    faster to judge by.
    """
    score = rng.normal(0.0, DEVIATION, NEGATIVES + POSITIVES)
    score[NEGATIVES:] += ndtri(area)
    return Sample(np.arange(NEGATIVES + POSITIVES) >= NEGATIVES, np.round(score, digits))


def rivals(sample: Sample, rng: np.random.Generator) -> list[tuple[float, float]]:
    """The confidence intervals of the paper's section 4.2, in the order of its table."""
    drawn = auc(sample, method="bootstrap", n_resamples=RESAMPLES, rng=rng)
    return [
        binormal(sample),
        auc(sample, method="delong").ci(LEVEL),
        drawn.ci(LEVEL),
        auc(sample, method="upper-bound").ci(LEVEL),
    ]


def binormal(sample: Sample) -> tuple[float, float]:
    """Fitted normal laws and the delta method on the probit of the AUC (Demidenko 2012)."""
    mean, variance, n = np.array([fitted(sample.score, of) for of in (sample.neg, sample.pos)]).T
    pooled = variance.sum()
    probit = (mean[1] - mean[0]) / pooled**0.5
    of_variances = probit**2 / (4 * pooled**2) * np.sum(2 * variance**2 / (n - 1))
    half = -ndtri((1 - LEVEL) / 2) * (np.sum(variance / n) / pooled + of_variances) ** 0.5
    return float(ndtr(probit - half)), float(ndtr(probit + half))


def fitted(score: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[float, float, int]:
    n = counts.sum()
    mean = counts @ score / n
    return mean, counts @ (score - mean) ** 2 / (n - 1), n


def covered(intervals: NDArray[np.float64], values: Sequence[float]) -> NDArray[np.float64]:
    low, high = intervals.T[..., np.newaxis]
    return np.mean((low <= values) & (values <= high), axis=1)


def show(found: dict[Design, Rates]) -> None:
    """The table, and what follows from it."""
    apart = {design: differences(design, rates) for design, rates in found.items()}
    header = ("true AUC:", "paper", "ours", "±", "apart", "realised:", "paper", "ours", "±", "apart", "width")
    table(
        ["A_L, A_H", *header],
        [row for design, rates in found.items() for row in lines(design, rates, apart[design])],
    )
    say(f"\n{conclusion(found, apart)}")


def differences(design: Design, rates: Rates) -> NDArray[np.float64]:
    """(methods of the paper, 2): ours less the print, in Monte Carlo errors of the two."""
    published = np.array(PUBLISHED[design])
    # A share of 1 has no visible error: as if half a replication had missed.
    inner = np.minimum(published, 1 - 0.5 / PUBLISHED_REPLICATIONS)
    both = np.hypot(rates.error[:OURS, :2], (inner * (1 - inner) / PUBLISHED_REPLICATIONS) ** 0.5)
    return (rates.mean[:OURS, :2] - published) / both


def lines(design: Design, rates: Rates, apart: NDArray[np.float64]) -> list[list[str]]:
    rows = []
    for at, method in enumerate(METHODS):
        row = [f"{label(design) if at == 0 else '':12}{method}"]
        for kind in (0, 1):
            paper = (
                [f"{PUBLISHED[design][at][kind]:.4f}", f"{apart[at, kind]:+.1f}"] if at < OURS else ["", ""]
            )
            row += ["", paper[0], f"{rates.mean[at, kind]:.4f}", f"{rates.error[at, kind]:.4f}", paper[1]]
        rows.append([*row, f"{rates.mean[at, 2]:.4f}"])
    return rows


def label(design: Design) -> str:
    return f"{design[0]:.2f}, {design[1]:.2f}"


def conclusion(found: dict[Design, Rates], apart: dict[Design, NDArray[np.float64]]) -> str:
    rivals = np.abs([of[:BINNED] for of in apart.values()])
    binned = np.array([of.mean[BINNED] for of in found.values()])
    off = np.abs(binned[:, :2] - [PUBLISHED[design][BINNED] for design in found])
    ours = np.array([of.mean[OURS] for of in found.values()])
    return (
        f"The rivals' {rivals.size} numbers lie within {rivals.max():.1f} errors of the print, the binned "
        f"forecast's within {off.max():.3f} of it; ours covers the realised AUC in {ours[:, 1].min():.3f} to "
        f"{ours[:, 1].max():.3f} and is narrower than the binned one in "
        f"{np.sum(ours[:, 2] < binned[:, 2])} of {len(found)} designs."
    )
