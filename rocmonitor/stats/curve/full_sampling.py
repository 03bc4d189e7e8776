"""Rates in resamples whose class sizes are random: rows drawn from both classes together.

Dugas and Gadoury (2009), section 5.5, ask whether fixed class sizes matter. When m rows are drawn from all
rows, M of them belong to a class of share p: M ~ Bin(m, p), given that M >= 1, as there is no rate without
rows. A rate is then a mixture over M: its mean is the stratified one, its variance has the mean of 1/M for
1/m. What needs both rates, a ROC point, is given that both classes were drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Counts, Floats, binomial_window, value_quantiles

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

    def drawn(self, shape: int | tuple[int, int], rng: np.random.Generator) -> Counts:
        """Numbers of rows in drawn resamples."""
        return np.asarray(rng.choice(self.rows, shape, p=self.weight))

    def rate_quantiles(self, law: Callable[[int], tuple[int, Floats]], tail: float) -> tuple[float, float]:
        """Quantiles of count / rows when `law` gives the first count and the masses for each number."""
        rates, masses = [], []
        for m, weight in zip(self.rows.tolist(), self.weight.tolist(), strict=True):
            low, mass = law(m)
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
    require_sampling(sampling)
    if sampling == "stratified":
        return ClassSize(np.array([m_pos]), np.ones(1)), ClassSize(np.array([m_neg]), np.ones(1))
    n, m = n_pos + n_neg, m_pos + m_neg
    return class_size(m, n_pos / n), class_size(m, n_neg / n)


def both_class_sizes(m_pos: int, m_neg: int, share: float) -> tuple[ClassSize, ClassSize]:
    """Law of the positives, of this share, among m_pos + m_neg drawn, given both classes; and the negatives.

    Aligned: the two have as many rows together as are drawn, line by line.
    """
    m = m_pos + m_neg
    pos = class_size(m, share)
    both = pos.rows < m
    weight = pos.weight[both] / pos.weight[both].sum()
    return ClassSize(pos.rows[both], weight), ClassSize(m - pos.rows[both], weight)
