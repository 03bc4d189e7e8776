"""Tests of one AUC and of two: resamples from the closest distributions that have what is tested.

The future work of Morin (2018), section 5: rows are drawn from the closest distributions that satisfy the
null hypothesis, each class from its own. A resample is the number of rows that each cell gets; the areas and
their placement variances follow from cumulated counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.compare import Alternative
from rocmonitor.stats.area.delong import ROUNDING, delong_variance
from rocmonitor.stats.band.drawing import cumulated, in_parts
from rocmonitor.stats.forecast.climbing import Extreme, along, closest, optimum, reference
from rocmonitor.stats.forecast.kld import area, nearest
from rocmonitor.stats.forecast.tilting import OneOrder, TwoOrders, cell_shares
from rocmonitor.stats.proportion import Rng, generator, require_method
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.rows import (
    Counts,
    Floats,
    number_list,
    require_all,
    same_length,
    same_order,
    valid_labels,
    valid_scores,
)
from rocmonitor.stats.sample import (
    PairedSample,
    Sample,
    WeightedSample,
    on_pair,
    on_sample,
    on_shares,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AucTest(Result):
    """A test of an AUC against a value.

    Attributes
    ----------
    auc, null: Of the sample, and of the null hypothesis.
    statistic: ``(auc - null) / se`` with DeLong's standard error; ``auc - null`` with method "plain".
    pvalue: Against `alternative`; at least 1 / (n_resamples + 1), two-sided twice that.
    distance: Of the closest distributions with the AUC `null`, in nats (see `auc_distance`).
    optimum: "proven" if no distributions are closer, "searched" if none closer was found (see `AucBounds`).
    """

    auc: float
    null: float
    statistic: float
    pvalue: float
    distance: float
    n_pos: int
    n_neg: int
    n_resamples: int
    alternative: str
    method: str
    optimum: str

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f} against {self.null:.4f}: {self.alternative} p = {self.pvalue:.4g} "
            f"({self.n_resamples} resamples from distance {self.distance:.4g})"
        )


@on_sample
def auc_test(
    sample: Sample,
    /,
    null: float,
    *,
    alternative: Alternative = "two-sided",
    method: str = "studentized",
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> AucTest:
    """Test an AUC against a value by resamples from the closest distributions that have it.

    Parameters
    ----------
    null: The AUC of the null hypothesis, within (0, 1).
    alternative, {"two-sided", "greater", "less"}: "less": the AUC is below `null`.
    method, {"studentized", "plain"}: Whether the difference to `null` is divided by DeLong's standard error,
        in the resamples too.

    Raises
    ------
    DegenerateDataError, InputError: A class without rows (with "studentized", fewer than two); a `null` that
        no reweighting of the rows reaches, as the scores do not overlap in its direction. A null outside (0,
        1), an unknown option, no `rng`.

    Notes
    -----
    The future work of [M18]: the shares u and v of `auc_distance` at `null` are a population in which the
    null hypothesis is true, and as close to the sample as one can be. Classes are resampled from it, and the
    p-value is (1 + #) / (n_resamples + 1) of resamples as far out as the sample; two-sided, twice the smaller
    of the two sides. Level and power by simulation: docs/coverage.md. Cost: one `auc_distance`, then O(k) a
    resample for k distinct scores.

    Examples
    --------
    >>> y, s = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> result = auc_test(y, s, 0.5, alternative="greater", rng=1)
    >>> round(result.auc, 2), round(result.distance, 3), result.pvalue < 0.1
    (0.84, 0.418, True)
    """
    if not 0 < null < 1:
        raise InputError(f"null must be an AUC within (0, 1), exclusive; it is {null}")
    require_method(alternative, get_args(Alternative), "alternative")
    require_method(method, METHODS)
    source = generator(rng, n_resamples, method="auc_test")
    sample.require_both_classes(at_least=2 if method == "studentized" else 1)
    own, null = area(sample), float(null)
    shares = cell_shares(sample.pos, sample.neg)
    extreme = nearest(shares, own, null)
    if math.isinf(extreme.multiplier):
        raise DegenerateDataError(
            f"an AUC of {null:g} is reached only by leaving rows out, which is no population that the sample "
            "could come from; take a sample whose scores overlap more"
        )
    sizes = (sample.n_pos, sample.n_neg)
    population, counts = reweighted(shares, extreme.tilt, (np.arange(shares.shape[1]),), sizes, null)
    measure = partial(statistics, studentized=method == "studentized")
    statistic = float(measure(population, *counts)[0])
    drawn = resampled(population, sizes, int(n_resamples), source, measure)
    return AucTest(
        auc=own,
        null=null,
        statistic=statistic,
        pvalue=pvalue(statistic, drawn, alternative),
        distance=extreme.distance,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        n_resamples=int(n_resamples),
        alternative=alternative,
        method=method,
        optimum=optimum(OneOrder.unique, extreme),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AucEqualityTest(Result):
    """A test that two models on the same rows have the same AUC, and how far they are from having it.

    Attributes
    ----------
    auc_1, auc_2, difference: The two areas, and ``auc_1 - auc_2``.
    statistic: ``difference / se`` with DeLong's standard error; ``difference`` with method "plain".
    pvalue: Of equal areas against `alternative`: at least 1 / (n_resamples + 1); 1 for models that rank
        alike.
    distance: How far the population would have to move for the two models to be level: the smallest KL(u||f)
        + KL(v||g) of a reweighting with equal areas, in nats.
    level_auc: The area that both models have there.
    residual, optimum: As in `AucBounds`, of the closest population with equal areas.
    """

    auc_1: float
    auc_2: float
    difference: float
    statistic: float
    pvalue: float
    distance: float
    level_auc: float
    n_pos: int
    n_neg: int
    n_resamples: int
    alternative: str
    method: str
    residual: float
    optimum: str
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        moved = "they are level"
        if self.distance > 0:
            shift = f"{math.sqrt(2 * self.distance):.2g} standard deviations of a normal score"
            moved = (
                f"level, at {self.level_auc:.4f}, in a population at distance {self.distance:.4g}: "
                f"as far as one class shifted by {shift}"
            )
        return (
            f"AUC {self.auc_1:.4f} - {self.auc_2:.4f} = {self.difference:+.4f} ({self.alternative} "
            f"p = {self.pvalue:.4g}, {self.n_resamples} resamples); {moved}"
        )


@on_pair
def auc_equality_test(
    pair: PairedSample,
    /,
    *,
    alternative: Alternative = "two-sided",
    method: str = "studentized",
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> AucEqualityTest:
    """Test whether two models have the same AUC by resamples from the closest population in which they have.

    Parameters
    ----------
    alternative, {"two-sided", "greater", "less"}: "greater": the first area is the larger one.
    method, n_resamples, rng: As for `auc_test`.

    Raises
    ------
    DegenerateDataError, InputError: As for `auc_test`; one model is never behind on any pair of rows, so that
        only pairs which both order alike would make them level.

    Notes
    -----
    The future work of [M18]: weights u on the negative rows and v on the positive rows are found with A1(u,
    v) = A2(u, v) and the smallest KL(u||f) + KL(v||g); whole rows are resampled from them by class. The
    p-value is (1 + #) / (n_resamples + 1) of resamples as far out as the sample, by absolute value if
    two-sided. Level and power are much those of DeLong's test (`compare_auc_paired`): docs/coverage.md.

    `distance` does not shrink with the number of rows, as p-values do: compared with the distances of past
    windows from a reference (`auc_distance`) it says whether an ordinary shift could level the two models.
    Cost: the two sorts of the sample; O(c) a sweep for c cells, some 20 sweeps; O(c) a resample.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> result = auc_equality_test(y, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 6, 5, 3, 4, 9, 10, 8, 7], rng=1)
    >>> round(result.difference, 2), round(result.distance, 3), result.pvalue > 0.05
    (0.12, 0.098, True)
    """
    require_method(alternative, get_args(Alternative), "alternative")
    require_method(method, METHODS)
    source = generator(rng, n_resamples, method="auc_equality_test")
    pair.require_both_classes(at_least=2 if method == "studentized" else 1)
    areas = area(pair.first), area(pair.second)
    difference, kernel = areas[0] - areas[1], TwoOrders.of(pair)
    extreme: Extreme | None = reference(kernel)
    if abs(difference) >= ROUNDING:
        extreme = closest(kernel if difference < 0 else kernel.swapped(), 0.0)
    if extreme is None:
        ahead, behind = ("first", "second") if difference > 0 else ("second", "first")
        raise DegenerateDataError(
            f"no population in which they order pairs differently makes the models level: the {behind} "
            f"orders no pair of a positive and a negative better than the {ahead} does; compare_auc_paired "
            "needs no such population"
        )
    sizes, ranks = (pair.n_pos, pair.n_neg), (kernel.first, kernel.second)
    population, counts = reweighted(kernel.shares, extreme.tilt, ranks, sizes, 0.0)
    measure = partial(statistics, studentized=method == "studentized")
    statistic = float(measure(population, *counts)[0])
    drawn = resampled(population, sizes, int(n_resamples), source, measure)
    alike = np.array_equal(pair.index_1, pair.index_2)
    return AucEqualityTest(
        auc_1=areas[0],
        auc_2=areas[1],
        difference=difference,
        statistic=statistic,
        pvalue=pvalue(statistic, drawn, alternative, symmetric=True),
        distance=extreme.distance,
        level_auc=kernel.areas(kernel.shares * extreme.tilt)[0],
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
        n_resamples=int(n_resamples),
        alternative=alternative,
        method=method,
        residual=extreme.residual,
        optimum=optimum(kernel.unique, extreme),
        caveats=(Caveat("same-ranking"),) if alike else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucPath(Table):
    """The smallest and the largest AUC within each of several distances of a sample.

    Attributes
    ----------
    distance, shape (h,): As asked for, in nats and in the order asked for.
    low, high, shape (h,): The bounds.
    low_multiplier, high_multiplier, shape (h,): Slopes of the path: how much distance one more unit of AUC
        takes; infinite where more distance changes nothing.
    auc: The sample's own AUC.
    residual, optimum: As in `AucBounds`: the largest residual, and "proven" where every bound is.
    """

    distance: Floats
    low: Floats
    high: Floats
    low_multiplier: Floats
    high_multiplier: Floats
    auc: float
    residual: float
    optimum: str

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f}, from {self.low.min():.4f} to {self.high.max():.4f} within "
            f"{len(self.distance)} distances up to {self.distance.max():.4g}"
        )


@on_shares
def auc_path(sample: Sample, /, distances: ArrayLike) -> AucPath:
    """Return the smallest and the largest AUC of all reweightings within each of several distances.

    Parameters
    ----------
    distances, shape (h,): Finite numbers >= 0, in nats, in any order.

    Returns
    -------
    The values of `auc_bounds`.

    Raises
    ------
    DegenerateDataError, InputError: A class without rows; unusable data, no distances, or one that is
        negative or not finite.

    Notes
    -----
    [M18] eq. 2-9 and figure 2. The distances are taken in increasing order, each solution from the one
    before it. Cost: one sort, then about half of what separate calls of `auc_bounds` take (50 distances
    up to 0.1). Less is saved where multipliers exceed 4: other solutions are looked for at each distance.

    Examples
    --------
    >>> path = auc_path([0, 0, 1, 1], [1, 2, 1, 2], [0.0, 0.1, 0.5])
    >>> path.low.round(3).tolist(), path.high.round(3).tolist()
    ([0.5, 0.343, 0.162], [0.5, 0.657, 0.838])
    """
    asked = number_list(distances, "distances")
    require_all(
        (asked >= 0) & (asked < np.inf), "distances", "be finite and at least 0", "0 is the sample itself"
    )
    sample.require_both_classes()
    shares = cell_shares(sample.pos, sample.neg)
    own = area(sample)
    increasing, place = np.unique(asked, return_inverse=True)
    ends, certain = [], True
    for kernel in (OneOrder.of(shares), OneOrder.of(shares[:, ::-1])):
        points = []
        for end in along(kernel, increasing.tolist()):
            points.append((end.value, end.multiplier, end.residual))
            certain &= optimum(kernel.unique, end) == "proven"
        ends.append(np.array(points)[place].T)
    high, low = ends
    return AucPath(
        distance=asked,
        low=np.minimum(1 - low[0], own),
        high=np.maximum(high[0], own),
        low_multiplier=low[1],
        high_multiplier=high[1],
        auc=own,
        residual=float(max(high[2].max(), low[2].max())),
        optimum="proven" if certain else "searched",
    )


METHODS = ("studentized", "plain")

_AT_ONCE = 2**18  # cells of a class in memory together
_ROUNDING = 1e-9  # of a statistic, by which a resample equal to the sample may come out different


Ranks = tuple[NDArray[np.intp], NDArray[np.intp]]  # of the cells of negatives and of positives in one order


class Population(NamedTuple):
    """The population to draw from, and what is measured on it."""

    u: Floats  # (m,): chances of the cells that hold negatives
    v: Floats  # (n,): chances of the cells that hold positives
    orders: tuple[Ranks, ...]  # one for an AUC, two for the difference of two
    null: float  # its area, or its difference of two


def reweighted(
    shares: Floats, tilt: Floats, ranks: tuple[NDArray[np.intp], ...], sizes: tuple[int, int], null: float
) -> tuple[Population, tuple[Counts, Counts]]:
    """Return the population of reweighted shares, and the sample's own rows in its cells, (1, m) and (1, n).

    `shares` and `tilt`, (2, k), are those of negatives and positives in each cell and the factors of the null
    hypothesis; `ranks` those of the cells, (k,), in each order; `sizes` the positives and negatives of the
    sample.
    """
    negatives, positives = (np.flatnonzero(share) for share in shares)
    u, v = shares * tilt
    orders = tuple((rank[negatives], rank[positives]) for rank in ranks)
    rows = shares[0, negatives] * sizes[1], shares[1, positives] * sizes[0]
    neg, pos = (np.rint(counts).astype(np.int64)[np.newaxis] for counts in rows)
    return Population(u[negatives], v[positives], orders, null), (neg, pos)


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
    some = se > _ROUNDING
    # Without scatter it is infinitely far from its null value, or on it.
    far = np.where(np.abs(difference) > _ROUNDING, np.copysign(np.inf, difference), 0.0)
    return np.where(some, difference / np.where(some, se, 1.0), far)


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


def placements(order: Ranks, neg: Counts, pos: Counts) -> tuple[Floats, Floats]:
    """(r, n) negatives below each cell of the positives, (r, m) positives above each of the negatives."""
    of_neg, of_pos = order
    return _below(neg, of_neg, of_pos), pos.sum(axis=1, keepdims=True) - _below(pos, of_pos, of_neg)


def _below(counts: Counts, rank: NDArray[np.intp], at: NDArray[np.intp]) -> Floats:
    """Rows of each resample below some ranks, level ones half, from those in cells of one class, (r, c)."""
    places = np.argsort(rank, kind="stable")
    sums = cumulated(counts[:, places])
    left, right = (np.searchsorted(rank[places], at, side=side) for side in ("left", "right"))
    return np.asarray((sums[:, left] + sums[:, right]) / 2)


_UNIT = 2**52  # counts a class: each share is as exact as float64 holds it


def weighted_sample(y_true: ArrayLike, y_score: ArrayLike, weights: ArrayLike) -> WeightedSample:
    """Labelled scores in which every row has a share of its class that is proportional to its weight.

    For `auc_bounds`, `auc_distance` and `auc_path`, which depend on a sample through these shares only.
    Functions that state a sampling error, such as `auc`, need numbers of rows and refuse the result.

    Parameters
    ----------
    y_true, y_score, shape (n,): Labels and scores.
    weights, shape (n,): Finite numbers >= 0, on any scale, for example ``0.5 ** (age / half_life)``. A weight
        below 2**-53 of the total of its class counts as 0.

    Returns
    -------
    ``.score .pos .neg``: the distinct scores and the shares of the two classes at each.

    Raises
    ------
    DegenerateDataError, InputError: A class without weight; unusable data (see `Sample`), unequal lengths, a
        negative weight.

    Examples
    --------
    >>> weighted = weighted_sample([0, 0, 1], [1, 2, 2], [1.5, 0.5, 3.0])
    >>> weighted.neg.tolist()
    [0.75, 0.25]
    """
    same_order(y_true=y_true, y_score=y_score, weights=weights)
    positive, score = valid_labels(y_true), valid_scores(y_score, "y_score")
    weight = valid_scores(weights, "weights")
    same_length(y_true=positive, y_score=score, weights=weight)
    require_all(weight >= 0, "weights", "be >= 0", "0 leaves a row out")
    counts = []
    for rows in (positive, ~positive):
        share = np.where(rows, weight, 0.0)
        largest = share.max(initial=0.0)
        if largest == 0:
            raise DegenerateDataError("a class has no row with a weight above 0; both classes are needed")
        share /= largest  # first, so that the sum is finite
        counts.append(np.asarray(np.rint(share / share.sum() * _UNIT), dtype=np.int64))
    return WeightedSample(Sample.from_counts(score, *counts))
