"""The rule `cost` with a `margin`: false alarms, and the cost of the reference by two ways.

Normal scores with an AUROC of 0.80. The reference is cut into 1, 3 or 10 windows of so many positives and
negatives; w is the operating condition. "was" is the cost of the reference at the threshold that costs least
on all of it, "now" the cross-fitted one (`cross_fitted`). Bias is what each says less the true cost at that
threshold. Then the share of later windows, as large as one of the reference, that are found degraded at
margin 0 and 95 %, in per cent: of good ones at most 2.5 is asked, bad ones have an AUROC of 0.70.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.evaluation import Status
from rocmonitor.rules import Cost
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats import Sample, cost_thresholds
from rocmonitor.stats.cost.conditions import WrongDecisions, cross_fitted, errors_at

AUC, BAD = 0.80, 0.70
LATER = 10
"""Later windows of each kind that are judged against a reference."""


class Past(NamedTuple):
    """Windows of a reference, positives and negatives of each, the operating condition."""

    windows: int
    n_pos: int
    n_neg: int
    w: float

    def __str__(self) -> str:
        return f"{self.windows} of {self.n_pos} + {self.n_neg:,}, w {self.w:g}"


class Known(NamedTuple):
    """What the rule asks of a reference."""

    threshold: float
    past: tuple[WrongDecisions, int, int]

    def cost_at(self, w: float) -> float:
        return self.threshold

    def cost_of(self, w: float) -> tuple[float, tuple[WrongDecisions, int, int]]:
        return self.threshold, self.past


DESIGNS = [
    Past(windows, n_pos, 9 * n_pos, w)
    for n_pos in (20, 60, 300)
    for w in (0.2, 0.5)
    for windows in (1, 3, 10)
]


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=1000)
    many, rows = chosen.replications, []
    for past in DESIGNS:
        found = np.array(
            replicate(one, past, replications=many, seed=chosen.seed, processes=chosen.processes)
        )
        mean, error = found.mean(axis=0), found.std(axis=0) / many**0.5
        biases = [f"{of:+.4f} ± {by:.4f}" for of, by in zip(mean[:2], error[:2], strict=True)]
        shares = [f"{100 * of:.1f} ± {100 * by:.1f}" for of, by in zip(mean[2:], error[2:], strict=True)]
        rows.append([str(past), *biases, *shares])
    table(["reference", "bias, was", "bias, now", "good, was", "good, now", "bad, was", "bad, now"], rows)
    say(f"\n{many:,} references a line, {LATER} good and {LATER} bad windows each.")


def one(past: Past, rng: np.random.Generator) -> tuple[float, ...]:
    """Return bias, good and bad windows degraded, each by the cost as it was and as it is."""
    w, rule = past.w, Cost(w=past.w, margin=0.0)
    windows = [window(past, AUC, rng) for _ in range(past.windows)]
    whole = Sample.merge(windows)
    threshold = float(cost_thresholds(whole, [w]).threshold[0])
    both = errors_at(whole, threshold), cross_fitted(whole, windows, [w])[0]
    true = _true(w, threshold)
    biases = [
        w * each.missed / whole.n_pos + (1 - w) * each.false_alarms / whole.n_neg - true for each in both
    ]
    shares = []
    for area in (AUC, BAD):
        later = [window(past, area, rng) for _ in range(LATER)]
        for errors in both:
            known = Known(threshold, (errors, whole.n_pos, whole.n_neg))
            found = [
                rule.judge("cost", Evidence(law=None, now=None, sample=each), known).outcome for each in later
            ]
            shares.append(found.count(Status.DEGRADED) / LATER)
    return *biases, *shares


def window(past: Past, area: float, rng: np.random.Generator) -> Sample:
    """Draw one window with such an AUROC."""
    y = np.repeat([1, 0], [past.n_pos, past.n_neg])
    return Sample(y, rng.standard_normal(len(y)) + _shift(area) * y)


def _shift(area: float) -> float:
    return 2**0.5 * float(ndtri(area))


def _true(w: float, threshold: float) -> float:
    """Return the cost of good windows without end at a threshold."""
    return float(w * ndtr(threshold - _shift(AUC)) + (1 - w) * ndtr(-threshold))
