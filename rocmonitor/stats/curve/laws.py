"""From a bootstrap law to intervals: the same way for rates, for differences of rates and for costs.

Each function states the law of what it estimates, as a `BootstrapLaw`. The rest is written here once: a
normal law with the exact moments, quantiles of the exact law, or percentiles of drawn resamples; then
clipping, caveats, and the columns of a result.

Under full sampling (Dugas and Gadoury 2009, section 5.5) m rows are drawn from all rows, and M of them belong
to a class of share p: M ~ Bin(m, p), given that M >= 1, as there is no rate without rows. A rate is then a
mixture over M: its mean is the stratified one, its variance has the mean of 1/M for 1/m. What needs both
rates, a ROC point, is given that both classes were drawn.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats.binomial import (
    Counts,
    Floats,
    binomial_window,
    require_room,
    value_quantiles,
)
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import (
    AGRESTI_COULL,
    NOT_SMOOTHED,
    Rng,
    Smoothing,
    clipped_intervals,
    generator,
    interval_caveats,
    percentiles,
    quantile_beyond,
    require_level,
    require_method,
)
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import PairedSample, Sample

_NAMES = {"tpr": "TPR", "fpr": "FPR", "dtpr": "TPR difference", "dfpr": "FPR difference", "cost": "cost"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalTable(Table):
    """Intervals at points of a curve; `n_pos` and `n_neg` are the class sizes.

    `caveats`: points that had to move, or at which an approximation or ties matter; intervals that were
    clipped, have zero length, or do not contain the estimate; for bands also an adjusted number of resamples.
    """

    _points: ClassVar[str] = ""  # what the rows are, with their number

    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def __str__(self) -> str:
        rows = next(len(value) for value in self._values().values() if isinstance(value, np.ndarray))
        sampling = getattr(self, "sampling", None)
        method = f"{self.method}, {sampling}" if sampling else self.method
        return self._line(self._points.format(rows), method=method)

    def _line(self, points: str, intervals: str = "", method: str = "") -> str:
        return (
            f"{points}, {self._level(intervals)} ({method or self.method}), {classes(self.n_pos, self.n_neg)}"
        )

    def _about(self, intervals: str = "") -> str:
        return f"{self._level(intervals)} ({self.method}); {classes(self.n_pos, self.n_neg)}"

    def _level(self, intervals: str) -> str:
        kind = intervals or ("joint regions" if getattr(self, "joint", False) else "intervals")
        return f"{100 * self.confidence_level:g} % {kind}"


class IntervalOptions(NamedTuple):
    """Valid options of intervals; `tail` is the probability that an interval leaves on each side."""

    method: str
    confidence_level: float
    tail: float
    n_resamples: int
    rng: np.random.Generator | None  # only of the method that draws


def interval_options(
    method: str,
    offered: tuple[str, ...],
    confidence_level: float,
    *,
    joint: bool = False,
    n_resamples: int = 1,
    rng: Rng | None = None,
) -> IntervalOptions:
    """Return valid options of a call. With `joint`, two independent intervals have the level together."""
    require_method(method, offered)
    level = require_level(confidence_level)
    tail = (1 - (math.sqrt(level) if joint else level)) / 2
    random = generator(rng, n_resamples) if method == "empirical" else None
    return IntervalOptions(method, level, tail, n_resamples, random)


class BootstrapLaw(ABC):
    """Law of a rate, a difference of rates or a cost in bootstrap resamples, at each of h points."""

    smoothing: Smoothing = AGRESTI_COULL
    least = 0.0  # lowest value possible; the highest is 1

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
        """Return ends of the intervals, not clipped."""
        if options.rng is not None:
            return percentiles(self.drawn(options.n_resamples, options.rng), options.tail)
        if options.method == "exact":
            low, high = np.array([self.quantiles(i, options.tail) for i in range(len(self.mean))]).T
            return low, high
        mean, variance = self.moments(NOT_SMOOTHED if options.method == "wald" else self.smoothing)
        half = quantile_beyond(options.tail) * np.sqrt(variance)
        return mean - half, mean + half


def measured(
    rows: Sample | PairedSample,
    laws: Mapping[str, BootstrapLaw],
    options: IntervalOptions,
    at: NDArray[Any],
    caveats: tuple[Caveat, ...],
) -> dict[str, Any]:
    """Return the fields of a result from its laws: for each `name` also `name`_low and `name`_high."""
    fields: dict[str, Any] = {}
    for name, law in laws.items():
        intervals, mean = clipped_intervals(*law.ends(options), least=law.least), law.mean
        fields |= {name: mean, f"{name}_low": intervals.low, f"{name}_high": intervals.high}
        within = "[0, 1]" if law.least == 0 else "[-1, 1]"
        caveats += interval_caveats(_NAMES[name], mean, intervals, within=within, at=at)
    return fields | {
        "method": options.method,
        "confidence_level": options.confidence_level,
        "n_pos": rows.n_pos,
        "n_neg": rows.n_neg,
        "caveats": caveats,
    }


Sampling = Literal["stratified", "full"]


class ClassSize(NamedTuple):
    """Law of the number of rows of a class in a resample: `weight` of each of `rows`, both shape (w,)."""

    rows: Counts
    weight: Floats

    def mean_inverse(self, added: float) -> float:
        """Mean of 1 / (rows + added)."""
        return float(self.weight @ (1 / (self.rows + added)))

    def drawn(self, shape: int | tuple[int, int], rng: np.random.Generator) -> Counts:
        """Numbers of rows in drawn resamples."""
        return np.asarray(rng.choice(self.rows, shape, p=self.weight))

    def rate_quantiles(self, law: Callable[[int], tuple[int, Floats]], tail: float) -> tuple[float, float]:
        """Quantiles of count / rows when `law` gives the first count and the masses for each number."""
        rates, masses = [], []
        for m, weight in zip(self.rows.tolist(), self.weight.tolist(), strict=True):
            low, mass = law(m)
            require_room(len(self.rows) * len(mass))
            rates.append(np.arange(low, low + len(mass)) / m)
            masses.append(weight * mass)
        return value_quantiles(np.concatenate(rates), np.concatenate(masses), tail)


def class_size(m: int, share: float) -> ClassSize:
    """Law of the rows of a class of this share among `m` drawn, given at least one; O(sqrt(m)) of them."""
    low, mass = binomial_window(m, share)
    rows = np.arange(low, low + len(mass))
    return ClassSize(rows[rows > 0], mass[rows > 0] / mass[rows > 0].sum())


def sampled_sizes(
    sampling: Sampling, m_pos: int, m_neg: int, n_pos: int, n_neg: int
) -> tuple[ClassSize, ClassSize]:
    """Laws of the positives and of the negatives: `m_pos` and `m_neg`, or as m_pos + m_neg rows are drawn."""
    require_method(sampling, get_args(Sampling), "sampling")
    if sampling == "stratified":
        return ClassSize(np.array([m_pos]), np.ones(1)), ClassSize(np.array([m_neg]), np.ones(1))
    n, m = n_pos + n_neg, m_pos + m_neg
    return class_size(m, n_pos / n), class_size(m, n_neg / n)


def both_class_sizes(m_pos: int, m_neg: int, share: float) -> tuple[ClassSize, ClassSize]:
    """Law of the positives among m_pos + m_neg drawn, given both classes; and the negatives, line by line."""
    m = m_pos + m_neg
    pos = class_size(m, share)
    both = pos.rows < m
    weight = pos.weight[both] / pos.weight[both].sum()
    return ClassSize(pos.rows[both], weight), ClassSize(m - pos.rows[both], weight)
