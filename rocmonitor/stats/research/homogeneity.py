"""The test that several models have the same AUC, by the closest population in which they have.

The extension that Morin (2018), section 5, names. With one multiplier for each model, adding up to 0, the
closest shares are the tilts of `climbing`: u_i = f_i exp(sum_k lambda_k P_ki) / c, and v likewise. For
multipliers whose absolute values add up to 4 at most, KL(u||f) + KL(v||g) - sum_k lambda_k A_k is convex
(point 1 of `climbing`; each area adds |lambda_k| to s), so that a solution is *the* closest population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.variances import ROUNDING
from rocmonitor.stats.forecast.tilting import placed_in
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import require_method
from rocmonitor.stats.resampling import Rng, generator
from rocmonitor.stats.research.population import METHODS, pvalue, resampled, reweighted, several
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats, require_classes, same_order, valid_labels, valid_scores

_UNIQUE = 4.0  # the sum of the multipliers' absolute values up to which a solution is the global one
_LEFT_OUT = 1e-6  # of its share: a row with less is left out, and the areas only come nearer and nearer
_SWEEPS = 500
_STILL = 1e-13  # of an exponent between sweeps, and of a contrast
_NEWTON_STEPS, _HALVINGS = 60, 30
_LEVEL = 1e-9  # difference of areas that counts as none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucHomogeneityTest(Result):
    """A test that k models on the same rows have the same AUC, and how far they are from having it.

    Attributes
    ----------
    auc : ndarray, shape (k,)
        The areas.
    statistic : float
        Wald's chi-square of their contrasts with DeLong's covariances; with method "plain" the sum of the
        squared distances from their mean.
    df : int
        Contrasts that are not constant: k - 1 unless models rank alike.
    pvalue : float
        Of equal areas: at least 1 / (n_resamples + 1); 1 for models that all rank alike.
    distance : float
        The smallest KL(u||f) + KL(v||g) of a reweighting in which all areas are equal, in nats.
    level_auc : float
        The area that all models have there.
    multipliers : ndarray, shape (k,)
        lambda: what one more unit of an area, against the others, would add to the distance.
    optimum : str
        "proven" if no population with equal areas is closer, "searched" if none closer was found.
    """

    auc: Floats
    statistic: float
    df: int
    pvalue: float
    distance: float
    level_auc: float
    multipliers: Floats
    n_pos: int
    n_neg: int
    n_resamples: int
    method: str
    optimum: str

    def __str__(self) -> str:
        areas = ", ".join(f"{area:.4f}" for area in self.auc)
        return (
            f"AUCs {areas}: equal with p = {self.pvalue:.4g} ({self.n_resamples} resamples); level, at "
            f"{self.level_auc:.4f}, in a population at distance {self.distance:.4g}; "
            f"{classes(self.n_pos, self.n_neg)}"
        )


def auc_homogeneity_test(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    method: str = "studentized",
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> AucHomogeneityTest:
    """Test whether several models have the same AUC, by the closest population in which they have.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative.
    scores : array_like, shape (n, k)
        Finite scores, a column for each of at least two models.
    method, n_resamples, rng
        As for `auc_test`.

    Returns
    -------
    AucHomogeneityTest

    Raises
    ------
    InputError
        Unusable data (see `Sample`), fewer than two models, an unknown method, no `rng`.
    DegenerateDataError
        Fewer than two rows of a class; no reweighting that keeps all rows makes the areas equal, as where a
        model is never behind another on any pair of rows.

    Notes
    -----
    [M18] section 5, for more than two models: weights u on the negative rows and v on the positive rows with
    A_1(u, v) = … = A_k(u, v) and the smallest KL(u||f) + KL(v||g), eq. 6-9 with k - 1 equalities for eq. 7;
    whole rows are resampled from them by class. Of two models `auc_equality_test` gives the same distance,
    and one-sided p-values. Level: docs/coverage.md. Cost: k sorts, then O(k^2 n) a sweep, some 30 sweeps;
    O(k n) a resample.

    References
    ----------
    .. [M18] L. Morin (2018). Forecast intervals for the AUROC with a time-varying population. Working paper.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> scores = np.transpose([range(10), [1, 2, 6, 5, 3, 4, 9, 10, 8, 7], [2, 1, 3, 7, 8, 9, 4, 6, 5, 10]])
    >>> result = auc_homogeneity_test(y, scores, rng=1)
    >>> result.auc.round(2).tolist(), round(result.distance, 3), result.optimum
    ([0.84, 0.72, 0.8], 0.131, 'searched')
    """
    require_method(method, METHODS)
    source = generator(rng, n_resamples, method="auc_homogeneity_test")
    studentized = method == "studentized"
    rows = _Rows.of(y_true, scores, at_least=2 if studentized else 1)
    own = rows.areas(rows.shares)
    basis = _contrasts(rows)
    closest = _closest(rows, own, basis)
    sizes = rows.n_pos, rows.n_neg
    population, counts = reweighted(rows.shares, closest.tilt, rows.ranks, sizes, 0.0)
    measure = partial(several, basis=basis, studentized=studentized)
    statistic = float(measure(population, *counts)[0]) if len(basis) else 0.0
    drawn = np.zeros(int(n_resamples))
    if len(basis):
        drawn = resampled(population, sizes, int(n_resamples), source, measure)
    return AucHomogeneityTest(
        auc=own,
        statistic=statistic,
        df=len(basis),
        pvalue=pvalue(statistic, drawn, "greater"),
        distance=closest.distance,
        level_auc=float(rows.areas(rows.shares * closest.tilt).mean()),
        multipliers=closest.multipliers,
        n_pos=rows.n_pos,
        n_neg=rows.n_neg,
        n_resamples=int(n_resamples),
        method=method,
        optimum="proven" if np.abs(closest.multipliers).sum() <= _UNIQUE else "searched",
    )


class _Rows(NamedTuple):
    """The rows of all models: shares (2, n), negatives first, and their ranks by each model."""

    shares: Floats
    ranks: tuple[NDArray[np.intp], ...]
    n_pos: int
    n_neg: int

    @classmethod
    def of(cls, y_true: ArrayLike, scores: ArrayLike, *, at_least: int) -> _Rows:
        same_order(y_true=y_true, scores=scores)
        positive = valid_labels(y_true)
        table = np.asarray(scores)
        if table.ndim != 2 or len(table) != len(positive) or table.shape[1] < 2:
            raise InputError(
                f"scores must have shape (n, k) with n = {len(positive)} rows as y_true and k >= 2 models; "
                f"not {table.shape}"
            )
        columns = [valid_scores(np.ascontiguousarray(of), f"scores[:, {j}]") for j, of in enumerate(table.T)]
        n_pos = int(positive.sum())
        n_neg = len(positive) - n_pos
        require_classes(n_pos, n_neg, at_least=at_least)
        ranks = tuple(np.unique(of, return_inverse=True)[1] for of in columns)
        return cls(np.stack([~positive / n_neg, positive / n_pos]), ranks, n_pos, n_neg)

    def placed(self, weights: Floats) -> Floats:
        """(k, 2, n): the placement values of the rows by each model."""
        return np.stack([placed_in(rank, weights) for rank in self.ranks])

    def areas(self, weights: Floats) -> Floats:
        """(k,): the areas of weights (2, n)."""
        return np.asarray((self.placed(weights)[:, 0] * weights[0]).sum(axis=1))


class _Closest(NamedTuple):
    """The closest population with equal areas: its tilt (2, n), and the multipliers (k,)."""

    tilt: Floats
    distance: float
    multipliers: Floats


def _contrasts(rows: _Rows) -> Floats:
    """Return orthonormal contrasts whose placement values vary, (d, k)."""
    k = len(rows.ranks)
    placed = rows.placed(rows.shares)
    placed -= (placed * rows.shares).sum(axis=2, keepdims=True)
    cov = np.einsum("kcn,lcn,cn->kl", placed, placed, rows.shares)
    centre = np.eye(k) - 1 / k
    values, vectors = np.linalg.eigh(centre @ cov @ centre)
    some = values > ROUNDING
    return np.asarray(vectors.T[some] @ centre)


def _closest(rows: _Rows, own: Floats, basis: Floats) -> _Closest:
    """Return the closest population with equal areas.

    At placement values of the last weights the areas are linear in both, so that the closest weights with
    equal areas are tilts whose multipliers minimise a convex function; their placement values are the next.
    Iterations keep the areas equal, not the multipliers (point 3 of `climbing`).
    """
    ones = np.ones_like(rows.shares)
    if float(np.ptp(own)) < ROUNDING:
        return _Closest(ones, 0.0, np.zeros(len(own)))
    if not len(basis):
        raise _unreachable()
    tilt, mu, step, before = ones, np.zeros(len(basis)), 1.0, np.inf
    placed = _along(basis, rows, rows.shares)
    for _ in range(_SWEEPS):
        level = (placed[:, 0] * (rows.shares * tilt)[0]).sum(axis=1)
        tilt, mu = _tilted(rows.shares, placed, level, mu)
        new = _along(basis, rows, rows.shares * tilt)
        residual = float(np.abs(mu @ (new - placed).reshape(len(mu), -1)).max())
        if residual < _STILL:
            break
        step = step / 2 if residual > before else min(1.0, 1.1 * step)
        before = residual
        placed += step * (new - placed)
    weights = rows.shares * tilt
    least = np.min(tilt, where=rows.shares > 0, initial=np.inf)
    if not least >= _LEFT_OUT or np.ptp(rows.areas(weights)) > _LEVEL:
        raise _unreachable()
    logs = np.log(np.where(weights > 0, tilt, 1.0))
    return _Closest(tilt, max(float((weights * logs).sum()), 0.0), mu @ basis)


def _along(basis: Floats, rows: _Rows, weights: Floats) -> Floats:
    """(d, 2, n): contrasts of the placement values."""
    return np.asarray(np.tensordot(basis, rows.placed(weights), 1))


def _tilted(shares: Floats, placed: Floats, level: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Minimise the sum of both classes' ln sum f exp(mu placed), less mu level, by Newton's method: the tilt.

    Its gradient is the linear contrasts of the areas.
    """
    tilt, value = _exponential(shares, placed, level, mu)
    for _ in range(_NEWTON_STEPS):
        weights = shares * tilt
        mean = (placed * weights).sum(axis=2)
        gradient = mean.sum(axis=1) - level
        if np.abs(gradient).max() < _STILL:
            break
        off = placed - mean[..., np.newaxis]
        bend = np.einsum("dcn,ecn,cn->de", off, off, weights)
        way = -np.linalg.lstsq(bend, gradient, rcond=1e-12)[0]
        for _ in range(_HALVINGS):
            new, lower = _exponential(shares, placed, level, mu + way)
            if lower <= value + 1e-15:
                break
            way /= 2
        tilt, value, mu = new, lower, mu + way
    return tilt, mu


def _exponential(shares: Floats, placed: Floats, level: Floats, mu: Floats) -> tuple[Floats, float]:
    exponent = np.tensordot(mu, placed, 1)
    top = np.max(exponent, axis=1, where=shares > 0, initial=-np.inf, keepdims=True)
    factor = np.exp(np.minimum(exponent - top, 0.0))
    total = (shares * factor).sum(axis=1, keepdims=True)
    return factor / total, float((top + np.log(total)).sum() - mu @ level)


def _unreachable() -> DegenerateDataError:
    return DegenerateDataError(
        "no reweighting that keeps all rows makes the areas equal: one model is never behind another on any "
        "pair of rows, or nearly so; auc_covariance(...).contrast needs no such population"
    )
