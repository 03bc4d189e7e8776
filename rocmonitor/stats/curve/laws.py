"""From a bootstrap law to intervals: the same way for rates, for differences of rates and for costs.

Each function states the law of what it estimates, as a `BootstrapLaw`. The rest is written here once: a
normal law with the exact moments, quantiles of the exact law, or percentiles of drawn resamples; then
clipping, caveats, and the columns of a result.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.proportion import (
    AGRESTI_COULL,
    NOT_SMOOTHED,
    Smoothing,
    clipped_intervals,
    interval_caveats,
    normal_quantile,
    require_level,
    require_method,
)
from rocmonitor.stats.resampling import Rng, generator, percentiles
from rocmonitor.stats.result import Table

_NAMES = {"tpr": "TPR", "fpr": "FPR", "dtpr": "TPR difference", "dfpr": "FPR difference", "cost": "cost"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalTable(Table):
    """Intervals at points of a curve.

    Attributes
    ----------
    method : str
    confidence_level : float
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of Caveat
        Points that had to move, or at which an approximation or ties matter; intervals that were clipped,
        have zero length, or do not contain the estimate.
    """

    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def _line(self, points: str, intervals: str = "intervals", method: str | None = None) -> str:
        """One line for people, about these points."""
        return (
            f"{points}, {100 * self.confidence_level:g} % {intervals} ({method or self.method}), "
            f"{self.n_pos} positives, {self.n_neg} negatives"
        )


class IntervalOptions(NamedTuple):
    """Valid options of intervals; `tail` is the probability that an interval leaves on each side."""

    method: str
    confidence_level: float
    tail: float
    n_resamples: int
    rng: np.random.Generator | None
    """Only of the method that draws."""


def interval_options(
    method: str,
    offered: tuple[str, ...],
    confidence_level: float,
    *,
    joint: bool = False,
    n_resamples: int = 1,
    rng: Rng | None = None,
) -> IntervalOptions:
    """The options of a call, valid. With `joint`, two independent intervals have the level together."""
    require_method(method, offered)
    level = require_level(confidence_level)
    tail = (1 - (math.sqrt(level) if joint else level)) / 2
    random = generator(rng, n_resamples) if method == "empirical" else None
    return IntervalOptions(method, level, tail, n_resamples, random)


class BootstrapLaw(ABC):
    """Law of a rate, a difference of rates or a cost in bootstrap resamples, at each of h points."""

    smoothing: Smoothing = AGRESTI_COULL
    least = 0.0
    """Lowest value possible; the highest is 1."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """Means, shape (h,)."""

    @abstractmethod
    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Means and variances after adding rows, shape (h,) each."""

    @abstractmethod
    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        """Quantiles of the exact law at the i-th point, at `tail` and 1 - `tail`."""

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Values in drawn resamples, shape (n_resamples, h)."""
        raise NotImplementedError

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        """Ends of the intervals, not clipped."""
        if options.rng is not None:
            return percentiles(self.drawn(options.n_resamples, options.rng), options.tail)
        if options.method == "exact":
            low, high = np.array([self.quantiles(i, options.tail) for i in range(len(self.mean))]).T
            return low, high
        mean, variance = self.moments(NOT_SMOOTHED if options.method == "wald" else self.smoothing)
        half = normal_quantile(options.tail) * np.sqrt(variance)
        return mean - half, mean + half


def measured(
    laws: Mapping[str, BootstrapLaw], options: IntervalOptions, at: NDArray[Any], caveats: tuple[Caveat, ...]
) -> dict[str, Any]:
    """The fields of a result that follow from its laws: for each `name`, and `name`_low and `name`_high.

    The caveats of the intervals, which are those at the points `at`, come after the given ones.
    """
    fields: dict[str, Any] = {}
    for name, law in laws.items():
        intervals = clipped_intervals(*law.ends(options), least=law.least)
        fields |= {name: law.mean, f"{name}_low": intervals.low, f"{name}_high": intervals.high}
        within = "[0, 1]" if law.least == 0 else "[-1, 1]"
        caveats += interval_caveats(_NAMES[name], law.mean, intervals, within=within, at=at)
    return fields | {
        "method": options.method,
        "confidence_level": options.confidence_level,
        "caveats": caveats,
    }
