"""Rates in resamples whose class sizes are random: rows drawn from both classes together.

Dugas and Gadoury (2009), section 5.5, ask whether fixed class sizes matter. When m rows are drawn out of all,
M of them are of a class of share p: M ~ Bin(m, p), given that M >= 1, as there is no rate without rows. A
rate is then a mixture over M: its mean is the stratified one, its variance has the mean of 1/M for 1/m. What
needs both rates, a ROC point, is given that both classes were drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import (
    LEVEL_ROUNDING,
    SMOOTHING,
    Intervals,
    binomial_window,
    clipped_intervals,
    normal_quantile,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Sampling = Literal["stratified", "full"]


def require_sampling(sampling: str) -> None:
    """Refuse a sampling that is not offered."""
    if sampling not in get_args(Sampling):
        raise InputError(f"sampling must be one of {', '.join(get_args(Sampling))}; it is {sampling!r}")


class ClassSize(NamedTuple):
    """Law of the number of rows of a class in a resample: `weight` of each of `rows`, both shape (w,)."""

    rows: Counts
    weight: Floats

    def mean_inverse(self, added: float) -> float:
        """Mean of 1 / (rows + added)."""
        return float(self.weight @ (1 / (self.rows + added)))


def class_size(m: int, share: float) -> ClassSize:
    """Law of the rows of a class of this share among `m` drawn, given at least one; O(sqrt(m)) of them."""
    low, mass = binomial_window(m, share)
    rows = np.arange(low, low + len(mass))
    return ClassSize(rows[rows > 0], mass[rows > 0] / mass[rows > 0].sum())


def sampled_size(sampling: Sampling, m: int, total: int, share: float) -> ClassSize:
    """Law of the rows of a class: `m` for sure if stratified, else its share of `total` rows drawn."""
    return class_size(total, share) if sampling == "full" else ClassSize(np.array([m]), np.ones(1))


def both_class_sizes(m_pos: int, m_neg: int, share: float) -> tuple[ClassSize, ClassSize]:
    """Law of the positives, of this share, among m_pos + m_neg drawn, given both classes; and the negatives.

    Aligned: as many positives as the first has in a line leave as many negatives as the second has there.
    """
    m = m_pos + m_neg
    pos = class_size(m, share)
    both = pos.rows < m
    weight = pos.weight[both] / pos.weight[both].sum()
    return ClassSize(pos.rows[both], weight), ClassSize(m - pos.rows[both], weight)


def full_proportions(count: Counts, n: int, size: ClassSize, method: str, tail: float) -> Intervals:
    """Intervals of a rate under full sampling by ``agresti-coull``, ``wald`` or ``exact``, each shape (h,).

    ``exact`` sorts the O(m) rates that carry mass, for each of the h.
    """
    if method == "exact":
        ends = [rate_quantiles(size, partial(binomial_window, p=p), tail) for p in (count / n).tolist()]
        return clipped_intervals(*np.array(ends, dtype=np.float64).T)
    if method not in ("agresti-coull", "wald"):
        raise InputError(
            f"method {method!r} knows no resampling, so no full sampling: use agresti-coull, wald, exact or "
            "empirical, or sampling='stratified'"
        )
    added = SMOOTHING if method == "agresti-coull" else 0.0
    p = (count + added) / (n + 2 * added)
    half = normal_quantile(tail) * np.sqrt(p * (1 - p) * size.mean_inverse(2 * added))
    return clipped_intervals(p - half, p + half)


def rate_quantiles(
    size: ClassSize, law: Callable[[int], tuple[int, Floats]], tail: float
) -> tuple[float, float]:
    """Quantiles of count / M when `law` gives the first count and the masses for each M."""
    rates, masses = [], []
    for m, weight in zip(size.rows.tolist(), size.weight.tolist(), strict=True):
        low, mass = law(m)
        rates.append(np.arange(low, low + len(mass)) / m)
        masses.append(weight * mass)
    rate = np.concatenate(rates)
    order = np.argsort(rate)
    reached = np.cumsum(np.concatenate(masses)[order])
    ends = np.searchsorted(reached, [tail - LEVEL_ROUNDING, 1 - tail - LEVEL_ROUNDING])
    low_end, high_end = rate[order[np.minimum(ends, len(rate) - 1)]]
    return float(low_end), float(high_end)


def drawn_sizes(size: ClassSize, shape: int | tuple[int, int], rng: np.random.Generator) -> Counts:
    """Class sizes of drawn resamples."""
    return np.asarray(rng.choice(size.rows, shape, p=size.weight))
