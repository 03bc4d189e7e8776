"""Tests of the AUC, and the probability that they reject after a drop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import scipy

from rocmonitor.stats.area.spread import AucSpread, PairedSpread


class PairTest(NamedTuple):
    """A test of two models, but for the drop and the sizes."""

    spread: PairedSpread
    z: float
    score: bool

    @property
    def drops(self) -> tuple[float, float]:
        """Open range of the possible drops."""
        first = self.spread.areas[0] if self.spread.areas else 1.0
        return first - 1, first

    def power(self, drop: float, n_pos: float, n_neg: float) -> float:
        """Probability that the test rejects after this drop."""
        zeta10, zeta01 = self.spread.at(drop)
        se = se_test = math.sqrt(zeta10 / n_pos + zeta01 / n_neg)
        if self.score:
            se_test = math.sqrt(self.spread.null_variance(n_pos, n_neg))
        return float(scipy.special.ndtr((abs(drop) - self.z * se_test) / se))


class OneTest(NamedTuple):
    """A test of one model against a value, itself known with the variance `reference`."""

    spread: AucSpread
    z: float
    against: float
    reference: float
    score: bool
    logits: bool

    @property
    def drops(self) -> tuple[float, float]:
        """Open range of the possible drops."""
        return self.spread.auc - 1, self.spread.auc

    def power(self, drop: float, n_pos: float, n_neg: float) -> float:
        """Probability that the test rejects after this drop."""
        if drop < 0:  # a rise is the drop of 1 - AUC
            flipped = replace(self.spread, auc=1 - self.spread.auc)
            return self._replace(spread=flipped, against=1 - self.against).power(-drop, n_pos, n_neg)
        true = self.spread.auc - drop
        own = self.spread.at(true).variance(n_pos, n_neg)
        scatter = own + self.reference
        if self.score:
            null = self.spread.at(self.against).variance(n_pos, n_neg) + self.reference
            critical = self.against - self.z * math.sqrt(null)
        else:
            critical = self._critical(true, own / scatter, n_pos, n_neg)
        return float(scipy.special.ndtr((critical - true) / math.sqrt(scatter)))

    def _critical(self, true: float, share: float, n_pos: float, n_neg: float) -> float:
        """The largest estimate whose interval lies below `against`.

        The standard error is that of the estimate, not of the truth: a low estimate comes with a large one.
        `share` of an estimate's error is the window's, the rest its reference's.
        """

        def beyond(seen: float) -> float:
            area = true + share * (seen - true)
            se = math.sqrt(self.spread.at(area).variance(n_pos, n_neg) + self.reference)
            if self.logits:
                return float(scipy.special.logit(seen) - scipy.special.logit(self.against)) + self.z * se / (
                    seen * (1 - seen)
                )
            return seen - self.against + self.z * se

        high = last = self.against
        for step in range(1, 80):
            low = float(scipy.special.expit(scipy.special.logit(high) - step / 4))
            if beyond(low) < 0:
                return root(beyond, low, last)
            last = low
        return -math.inf


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between `low` and `high` is 0."""
    from scipy.optimize import brentq  # takes a quarter of a second to import

    return float(brentq(function, low, high, xtol=1e-13))
