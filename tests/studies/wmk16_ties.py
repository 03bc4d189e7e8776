"""Wu, Martin & Kacker 2016, eq. 13-15, and a peak of tied scores.

The paper holds the bootstrap against eq. 13-15 on 14 sets of a little over 60,000 genuine and 120,000
impostor scores. In three of them the two disagree, and these are the three with a huge peak at the
lowest impostor score (algorithms 1, 7, 11); the paper suspects the resampling. Here the same sizes are held
against the variance that is exact for any ties, and bootstraps of as many replications as the paper's.

First a filter that gives the lowest score to a growing share of the impostors, and to a hundredth of
that share of the genuine scores, at the area of algorithm 7. Then the three algorithms themselves. The paper
tells their peak, area and two standard errors; the genuine scores at the peak and below it follow from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from studies.figures import keep
from studies.running import options, say, share, table

from rocmonitor.report.timeline import BLUE, LIGHT, PURPLE, heading, panels, png
from rocmonitor.stats import Sample, auc

GENUINE, IMPOSTORS = 60_000, 120_000
PEAKS = (0.0, 0.20, 0.50, 0.80, 0.9715, 0.9854)
GENUINE_AT_PEAK = 0.01
AREA = 0.9939199
CLAIM = (
    "In 3 of 14 algorithms the bootstraps fall 7 to 13 % short of eq. 13-15; the paper suspects "
    "the resampling."
)
BOOTSTRAPS = 10


class Published(NamedTuple):
    """A line of the paper's table 2 (the mean of 500 bootstraps of 2,000), and its peak from section 7.1."""

    peak: float
    auc: float
    se: float
    bootstrap: float


OUTLIERS = {
    1: Published(0.9854, 0.9985568, 0.0001242, 0.0001083),
    7: Published(0.9715, 0.9939199, 0.0002670, 0.0002435),
    11: Published(0.8002, 0.9846023, 0.0003928, 0.0003664),
}


class Errors(NamedTuple):
    """Standard errors of one AUC."""

    auc: float
    printed: float  # eq. 13-15
    exact: float
    bootstrap: float  # the mean of several

    @property
    def excess(self) -> float:
        """How far eq. 13-15 lies above the exact bootstrap."""
        return self.printed / self.exact - 1

    @property
    def deviation(self) -> float:
        """How far the bootstraps lie above the exact value."""
        return self.bootstrap / self.exact - 1


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    names = [*(f"peak {peak:7.2%}" for peak in PEAKS), *(f"algorithm {number}" for number in OUTLIERS)]
    samples = [*(filtered(peak) for peak in PEAKS), *(rebuilt(line) for line in OUTLIERS.values())]
    seeds = np.random.SeedSequence(chosen.seed).spawn(len(samples))
    tasks = [(sample, chosen.replications, seed) for sample, seed in zip(samples, seeds, strict=True)]
    found = share(errors, tasks, chosen.processes, "bootstraps")
    noise = (2 * chosen.replications * BOOTSTRAPS) ** -0.5
    say(f"{GENUINE:,} genuine and {IMPOSTORS:,} impostor scores; means of {BOOTSTRAPS} bootstraps of")
    say(f"{chosen.replications:,} resamples, whose Monte Carlo error is {noise:.2%} of the standard error.\n")
    table(
        ["", "AUC", "eq. 13-15", "exact", "bootstrap", "13-15 / exact", "bootstrap / exact"],
        [line(name, of) for name, of in zip(names, found, strict=True)],
    )
    say()
    outliers = dict(zip(OUTLIERS, found[len(PEAKS) :], strict=True))
    table(
        ["how far bootstraps fall short", "paper, of 13-15", "ours, of 13-15", "ours, of exact", "noise"],
        [compared(number, our, noise) for number, our in outliers.items()],
    )
    say(f"\n{conclusion(found, noise)}")
    document = {
        "paper": "[WMK16] table 2, section 7.1",
        "claim": CLAIM,
        "found": conclusion(found, noise),
        "seed": chosen.seed,
        "replications": chosen.replications,
        "error": round(noise, 5),
        "unit": "% of the standard error",
        "errors": {name: of._asdict() for name, of in zip(names, found, strict=True)},
    }
    keep("wmk16-ties", chosen, document, figure(found))


def figure(found: Sequence[Errors]) -> bytes:
    """Both standard errors over the exact one, by the share of the impostors that are tied."""
    drawn, (axes,) = panels(8, 4)
    peaks = [*PEAKS, *(of.peak for of in OUTLIERS.values())]
    axes.axhline(1, color=LIGHT, linewidth=2)
    for share_of, mark, colour, name in (
        ([1 + of.excess for of in found], "o", PURPLE, "eq. 13-15, as printed"),
        ([1 + of.deviation for of in found], "x", BLUE, "bootstrap"),
    ):
        axes.plot(peaks, share_of, mark, color=colour, label=name)
    axes.set(xlabel="share of the impostors at the lowest score", ylabel="standard error / exact")
    heading(axes, "Ties explain the outliers", "the exact variance counts them as they are")
    axes.legend(edgecolor="none", loc="upper left")
    return png(drawn)


def filtered(peak: float, genuine: int = GENUINE, impostors: int = IMPOSTORS) -> Sample:
    """Scores of which a filter puts a share of each class to the lowest one, with the area `AREA`."""
    return peaked(peak, GENUINE_AT_PEAK * peak, 0.0, AREA, genuine, impostors)


def rebuilt(of: Published, genuine: int = GENUINE, impostors: int = IMPOSTORS) -> Sample:
    """Scores with the peak, the area and the standard errors of one of the paper's algorithms.

    The excess of eq. 13-15 is the genuine share at the peak times peak² / 12 / genuine, up to terms that are
    a hundredth of it. What the genuine scores at the peak do not take of the area and of the
    bootstrap's variance decides how many lie below it, if any.
    """
    at_peak = 12 * GENUINE * (of.se**2 - of.bootstrap**2) / of.peak**2
    lost = 1 - of.auc - at_peak * (1 - of.peak / 2)

    def short(below: float) -> float:
        sample = peaked(of.peak, at_peak, below, of.auc, GENUINE, IMPOSTORS)
        return auc(sample, method="exact-bootstrap").se - of.bootstrap

    most = 0.99 * lost
    below = brentq(short, 0.0, most, xtol=1e-6) if short(0.0) < 0 < short(most) else 0.0
    return peaked(of.peak, at_peak, below, of.auc, genuine, impostors)


def peaked(peak: float, at_peak: float, below: float, area: float, genuine: int, impostors: int) -> Sample:
    """A share of the impostors and of the genuine scores at one low score, some genuine ones below it.

    All others lie above it, at the quantiles of two normal laws as far apart as `area` asks for.
    """
    tied, free = round(peak * impostors), impostors - round(peak * impostors)
    level, under = round(at_peak * genuine), round(below * genuine)
    above = genuine - level - under
    won = area * genuine - level * peak / 2 - above * peak
    distance = 2**0.5 * ndtri(won / (above * (1 - peak)))
    negatives, positives = _normal(free), _normal(above) + distance
    lowest = min(negatives[0], positives[0]) - 1
    score = np.concatenate([[lowest - 1, lowest], negatives, positives])
    pos = np.concatenate([[under, level], np.zeros(free), np.ones(above)])
    neg = np.concatenate([[0, tied], np.ones(free), np.zeros(above)])
    return Sample.from_counts(score, pos, neg)


def errors(sample: Sample, n_resamples: int, seed: np.random.SeedSequence) -> Errors:
    """The three standard errors of one sample."""
    exact = auc(sample, method="exact-bootstrap")
    drawn = [
        auc(sample, method="bootstrap", n_resamples=n_resamples, rng=of).se for of in seed.spawn(BOOTSTRAPS)
    ]
    return Errors(exact.auc, auc(sample, method="wmk16").se, exact.se, float(np.mean(drawn)))


def line(name: str, of: Errors) -> list[str]:
    numbers = [f"{value:.7f}" for value in of]
    return [name, *numbers, f"{1 + of.excess:.4f}", f"{1 + of.deviation:.4f}"]


def compared(number: int, our: Errors, noise: float) -> list[str]:
    of = OUTLIERS[number]
    return [
        f"algorithm {number}, printed {of.se:.7f} and {of.bootstrap:.7f}",
        f"{1 - of.bootstrap / of.se:.1%}",
        f"{1 - our.bootstrap / our.printed:.1%}",
        f"{-our.deviation:.1%}",
        f"{noise:.1%}",
    ]


def conclusion(found: Sequence[Errors], noise: float) -> str:
    worst = max(abs(of.deviation) for of in found)
    excess = [of.excess for of in found[len(PEAKS) :]]
    return (
        f"Eq. 13-15 lie {min(excess):.1%} to {max(excess):.1%} above the exact standard error in the three "
        f"outliers and {found[0].excess:.1%} without a peak; the bootstraps are within {worst / noise:.1f} "
        "Monte Carlo errors of it everywhere: the resampling is right, and P²/3 for ties should be P²/4."
    )


def _normal(n: int) -> np.ndarray:
    return ndtri((np.arange(n) + 0.5) / n)
