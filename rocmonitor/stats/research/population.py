"""Resamples from a reweighted population: what a statistic does when its null hypothesis is true.

The future work of Morin (2018), section 5: rows are drawn from the closest distributions that satisfy the
null hypothesis, each class from its own. A resample is the number of rows that each cell gets; the areas and
their placement variances follow from cumulated counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.area.compare import Alternative
from rocmonitor.stats.area.delong import delong_variance
from rocmonitor.stats.band.drawing import cumulated, in_parts
from rocmonitor.stats.sample import Counts, Floats

METHODS = ("studentized", "plain")

_AT_ONCE = 2**18  # cells of a class in memory together
_ROUNDING = 1e-9  # of a statistic, by which a resample equal to the sample may come out different


class CellOrder(NamedTuple):
    """The places of the cells of each class among those of the other, in one order of the scores."""

    negatives: NDArray[np.intp]
    """(m,): the cells of the negatives, sorted."""
    positives: NDArray[np.intp]
    below: tuple[NDArray[np.intp], NDArray[np.intp]]
    """Twice (n,): how many cells of negatives are below each of the positives, and how many not above."""
    not_above: tuple[NDArray[np.intp], NDArray[np.intp]]
    """Twice (m,): the same of positives for each cell of the negatives."""


class Population(NamedTuple):
    """The population to draw from, and what is measured on it."""

    u: Floats
    """(m,): chances of the cells that hold negatives."""
    v: Floats
    """(n,): chances of the cells that hold positives."""
    orders: tuple[CellOrder, ...]
    """One for an AUC, two for the difference of two."""
    null: float
    """Its area, or its difference of two."""


def reweighted(
    shares: Floats, tilt: Floats, ranks: tuple[NDArray[np.intp], ...], sizes: tuple[int, int], null: float
) -> tuple[Population, tuple[Counts, Counts]]:
    """Return the population of reweighted shares, and the sample's own rows in its cells, (1, m) and (1, n).

    `shares` and `tilt`, (2, k), are those of negatives and positives in each cell and the factors of the null
    hypothesis; `ranks` those of the cells, (k,), in each order; `sizes` the positives and negatives of the
    sample.
    """
    negatives, positives = (np.flatnonzero(of) for of in shares)
    u, v = shares * tilt
    orders = tuple(_order(rank[negatives], rank[positives]) for rank in ranks)
    rows = shares[0, negatives] * sizes[1], shares[1, positives] * sizes[0]
    neg, pos = (np.rint(of).astype(np.int64)[np.newaxis] for of in rows)
    return Population(u[negatives], v[positives], orders, null), (neg, pos)


def _order(neg_rank: NDArray[np.intp], pos_rank: NDArray[np.intp]) -> CellOrder:
    """From the ranks of the cells with negatives, (m,), and with positives, (n,)."""
    negatives, positives = np.argsort(neg_rank, kind="stable"), np.argsort(pos_rank, kind="stable")
    return CellOrder(
        negatives, positives, _sides(neg_rank[negatives], pos_rank), _sides(pos_rank[positives], neg_rank)
    )


def statistics(population: Population, neg: Counts, pos: Counts, *, studentized: bool) -> Floats:
    """Area or difference less its null value, and over DeLong's standard error if studentized: shape (r,).

    `neg` and `pos`, (r, m) and (r, n), are the rows in each cell, one resample a line.
    """
    below, above = placements(population.orders[0], neg, pos)
    if len(population.orders) == 2:
        other = placements(population.orders[1], neg, pos)
        below -= other[0]
        above -= other[1]
    n_neg, n_pos = int(neg[0].sum()), int(pos[0].sum())
    mean = (pos * below).sum(axis=1) / (float(n_pos) * n_neg)
    difference = mean - population.null
    if not studentized:
        return np.asarray(difference)
    below -= (mean * n_neg)[:, np.newaxis]
    above -= (mean * n_pos)[:, np.newaxis]
    zeta10 = (pos * below**2).sum(axis=1) / n_pos / float(n_neg) ** 2
    zeta01 = (neg * above**2).sum(axis=1) / n_neg / float(n_pos) ** 2
    se = np.sqrt(delong_variance(zeta10, zeta01, n_pos, n_neg))
    return _ratio(difference, se)


def resampled(
    population: Population,
    sizes: tuple[int, int],
    n_resamples: int,
    rng: np.random.Generator,
    statistic: Callable[[Population, Counts, Counts], Floats],
) -> Floats:
    """Statistics of resamples of `sizes` (positives, negatives), (n_resamples,); O(m + n) a resample."""
    drawn = np.empty(n_resamples)
    for part in in_parts(drawn, _AT_ONCE // max(len(population.u), len(population.v))):
        neg = rng.multinomial(sizes[1], population.u / population.u.sum(), size=len(part))
        pos = rng.multinomial(sizes[0], population.v / population.v.sum(), size=len(part))
        part[:] = statistic(population, neg, pos)
    return drawn


def pvalue(statistic: float, drawn: Floats, alternative: Alternative, *, symmetric: bool = False) -> float:
    """Share of resamples as far out as the sample, which counts as one of them.

    Two-sided: by absolute values if the law is about symmetric, else twice the smaller one-sided value: the
    studentized law of one area leans, and by absolute values its longer tail alone would decide.
    """
    if alternative == "two-sided" and symmetric:
        return pvalue(abs(statistic), np.abs(drawn), "greater")
    if alternative == "two-sided":
        return min(1.0, 2 * min(pvalue(statistic, drawn, "less"), pvalue(statistic, drawn, "greater")))
    if alternative == "less":
        statistic, drawn = -statistic, -drawn
    least = statistic - _ROUNDING * max(1.0, abs(statistic)) if np.isfinite(statistic) else statistic
    return (1 + int(np.count_nonzero(drawn >= least))) / (1 + len(drawn))


def _sides(ordered: NDArray[np.intp], rank: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.searchsorted(ordered, rank, side="left"), np.searchsorted(ordered, rank, side="right")


def placements(of: CellOrder, neg: Counts, pos: Counts) -> tuple[Floats, Floats]:
    """(r, n) negatives below each cell of the positives, (r, m) positives above each of the negatives."""
    negatives, positives = cumulated(neg[:, of.negatives]), cumulated(pos[:, of.positives])
    below = (negatives[:, of.below[0]] + negatives[:, of.below[1]]) / 2
    not_above = (positives[:, of.not_above[0]] + positives[:, of.not_above[1]]) / 2
    return below, positives[:, -1:] - not_above


def _ratio(difference: Floats, se: Floats) -> Floats:
    """Return a statistic without scatter is infinitely far from its null value, or on it."""
    some = se > _ROUNDING
    far = np.where(np.abs(difference) > _ROUNDING, np.copysign(np.inf, difference), 0.0)
    return np.where(some, difference / np.where(some, se, 1.0), far)
