"""Morin 2018, eq. 16, 17 and 41: where the published recurrence goes, beside the exact solution.

One sample of 1,000 negatives and 100 positives from two normal laws; the distribution asked for is the
closest with an AUC that is 0.05 lower. Three versions, for several step sizes eta: as printed; with the sign
of the step rule turned round, so that it points to the target; and with the exponent mended as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from studies.m18_table1 import draw
from studies.published_recurrence import recurrence
from studies.running import options, say, table

from rocmonitor.stats import Sample, auc, auc_distance

AREA, FALL = 0.70, 0.05
GAINS = (0.1, 0.5, 0.9, 1.1, 2.0, 10.0)
VERSIONS = {
    "as printed": {},
    "sign turned round": {"turned": True},
    "sign and exponent": {"turned": True, "printed": False},
}
GRADES = 10
STILL = 1e-9


class Outcome(NamedTuple):
    """What a version of the recurrence came to."""

    auc: float
    behaviour: str
    distance: float
    needed: float  # exact distance of the AUC it came to

    def way(self, start: float, target: float) -> float:
        """The part of the way to the target that it went."""
        return (self.auc - start) / (target - start)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    sample = draw(AREA, np.random.default_rng(chosen.seed))
    start = auc(sample).auc
    target = start - FALL
    slope = spread(sample)
    say(f"AUC {start:.4f}, asked for {target:.4f}: exact distance {auc_distance(sample, target):.6f}")
    say(f"gain = eta x {slope:.4f}, what the AUC moves for a unit of lambda\n")
    found = {
        (name, gain): outcome(sample, target, gain / slope, **version)
        for name, version in VERSIONS.items()
        for gain in GAINS
    }
    table(
        ["", "gain", "eta", "AUC", "of the way", "distance", "exact, to there", "behaviour"],
        [
            [
                name if gain == GAINS[0] else "",
                f"{gain:.1f}",
                f"{gain / slope:.1f}",
                f"{of.auc:.4f}",
                f"{of.way(start, target):.0%}" if of.behaviour == "settles" else "",
                f"{of.distance:.6f}",
                f"{of.needed:.6f}",
                of.behaviour,
            ]
            for (name, gain), of in found.items()
        ],
    )
    stray = [recurrence(of, target, 0.0).distance for of in (sample, graded(sample))]
    say(
        f"\nWith steps of 0 it should stay where it is; f^(1 + u) takes it {stray[0]:.1e} away, "
        f"and {stray[1]:.1e} with the same scores in {GRADES} grades."
    )
    say(f"\n{conclusion(found, start, target)}")


def conclusion(found: dict[tuple[str, float], Outcome], start: float, target: float) -> str:
    away = sum(of.way(start, target) <= 0 for (name, _), of in found.items() if name == "as printed")
    settled = [of for (name, _), of in found.items() if name != "as printed" and of.behaviour == "settles"]
    farthest = max(of.way(start, target) for of in settled)
    return (
        f"As printed, {away} of {len(GAINS)} step sizes lead away from the target. With the sign turned "
        f"round, it settles only below a gain of 1, at most {farthest:.0%} of the way, and swings beyond: "
        "lambda must be solved for, as auc_distance does. So the recurrence is not offered."
    )


def spread(sample: Sample) -> float:
    """dA/dlambda at the sample: the variances of the two classes' placement values added up."""
    negatives, positives = (np.repeat(sample.score, of) for of in (sample.neg, sample.pos))
    won = np.searchsorted(negatives, positives) / sample.n_neg
    lost = np.searchsorted(positives, negatives) / sample.n_pos
    return float(np.var(won) + np.var(lost))


def graded(sample: Sample) -> Sample:
    """The sample with its scores in quantile grades."""
    share = np.cumsum(sample.pos + sample.neg) / (sample.n_pos + sample.n_neg)
    return Sample.from_counts(np.ceil(share * GRADES), sample.pos, sample.neg)


def outcome(sample: Sample, target: float, eta: float, **version: bool) -> Outcome:
    """Run one version and name what it does."""
    course = recurrence(sample, target, eta, **version)
    last, before, earlier = course.auc[-1], course.auc[-2], course.auc[-3]
    if abs(last - before) < STILL:
        behaviour = "runs away" if min(last, 1 - last) < 1e-3 else "settles"
    elif abs(last - earlier) < STILL:
        behaviour = f"swings from {before:.4f} and back"
    else:
        behaviour = "does not settle"
    return Outcome(float(last), behaviour, course.distance, auc_distance(sample, min(max(last, 0.0), 1.0)))
