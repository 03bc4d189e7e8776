"""The test that several models have the same AUC, by the closest population in which they have.

The extension that Morin (2018), section 5, names. With one multiplier for each model, adding up to 0, the
closest shares are the tilts of `rocmonitor.stats.forecast.climbing`: u_i = f_i exp(sum_k lambda_k P_ki) / c,
and v likewise. For multipliers whose absolute values add up to 4 at most, KL(u||f) + KL(v||g) -
sum_k lambda_k A_k is convex (each area adds |lambda_k| to s), so that a solution is *the* closest population.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.delong import ROUNDING
from rocmonitor.stats.forecast.tilting import placed_in
from rocmonitor.stats.research.null import Population, placements, pvalue, resampled, reweighted
from rocmonitor.stats.rows import Counts, Floats, require_classes

_UNIQUE = 4.0  # the sum of the multipliers' absolute values up to which a solution is the global one
_LEFT_OUT = 1e-6  # of its share: a row with less is left out, and the areas only come nearer and nearer
_SWEEPS = 500
_STILL = 1e-13  # of an exponent between sweeps, and of a contrast
_NEWTON_STEPS, _HALVINGS = 60, 30
_LEVEL = 1e-9  # difference of areas that counts as none, and of a statistic


class Homogeneity(NamedTuple):
    """A test that k models on the same rows have the same AUC, and how far they are from having it."""

    auc: Floats
    statistic: float  # Wald's chi-square of the contrasts of the areas with DeLong's covariances
    df: int  # contrasts that are not constant: k - 1 unless models rank alike
    pvalue: float  # at least 1 / (n_resamples + 1); 1 for models that all rank alike
    distance: float  # the smallest KL(u||f) + KL(v||g) of a reweighting with equal areas, in nats
    level_auc: float  # the area that all models have there
    multipliers: Floats  # lambda: what one more unit of an area, against the others, would add
    optimum: str  # "proven" if no population with equal areas is closer, "searched" if none was found


def homogeneity(y: np.ndarray, scores: np.ndarray, n_resamples: int, rng: np.random.Generator) -> Homogeneity:
    """Test if several models, scores (n, k), have the same AUC: [M18] eq. 6-9, k - 1 equalities for eq. 7.

    Whole rows are resampled from the closest population by class. DegenerateDataError if no reweighting that
    keeps all rows makes the areas equal. Cost: O(k^2 n) a sweep, some 30 sweeps; O(k n) a resample.
    """
    n_pos, n_neg = int(y.sum()), int((1 - y).sum())
    require_classes(n_pos, n_neg, at_least=2)
    ranks = tuple(np.unique(column, return_inverse=True)[1] for column in scores.T)
    rows = _Rows(np.stack([(1 - y) / n_neg, y / n_pos]), ranks)
    own, basis = rows.areas(rows.shares), _contrasts(rows)
    tilt, distance, multipliers = _closest(rows, own, basis)
    population, counts = reweighted(rows.shares, tilt, ranks, (n_pos, n_neg), 0.0)
    statistic, drawn = 0.0, np.zeros(n_resamples)
    if len(basis):
        statistic = float(_chi_square(population, *counts, basis)[0])
        measure = partial(_chi_square, basis=basis)
        drawn = resampled(population, (n_pos, n_neg), n_resamples, rng, measure)
    return Homogeneity(
        auc=own,
        statistic=statistic,
        df=len(basis),
        pvalue=pvalue(statistic, drawn, "greater"),
        distance=distance,
        level_auc=float(rows.areas(rows.shares * tilt).mean()),
        multipliers=multipliers,
        optimum="proven" if np.abs(multipliers).sum() <= _UNIQUE else "searched",
    )


class _Rows(NamedTuple):
    """The rows of all models: shares (2, n), negatives first, and their ranks by each model."""

    shares: Floats
    ranks: tuple[np.ndarray, ...]

    def placed(self, weights: Floats) -> Floats:
        """(k, 2, n): the placement values of the rows by each model."""
        return np.stack([placed_in(rank, weights) for rank in self.ranks])

    def areas(self, weights: Floats) -> Floats:
        """(k,): the areas of weights (2, n)."""
        return np.asarray((self.placed(weights)[:, 0] * weights[0]).sum(axis=1))


def _chi_square(population: Population, neg: Counts, pos: Counts, basis: Floats) -> Floats:
    """DeLong's chi-square of contrasts (d, k) of k areas, shape (r,), for r resamples."""
    n_neg, n_pos = int(neg[0].sum()), int(pos[0].sum())
    placed = [placements(order, neg, pos) for order in population.orders]
    v10, v01 = (np.stack(kind) for kind in zip(*placed, strict=True))  # (k, r, n) and (k, r, m)
    v10, v01 = v10 / n_neg, v01 / n_pos
    areas = (pos * v10).sum(axis=2) / n_pos  # (k, r)
    contrasts = (basis @ areas).T
    v10, v01 = (np.tensordot(basis, values - areas[..., np.newaxis], 1) for values in (v10, v01))
    cov = np.einsum("drn,ern,rn->rde", v10, v10, pos / (n_pos * (n_pos - 1.0)))
    cov += np.einsum("drm,erm,rm->rde", v01, v01, neg / (n_neg * (n_neg - 1.0)))
    values, vectors = np.linalg.eigh(cov)
    along = np.einsum("rde,rd->re", vectors, contrasts)
    some = values > _LEVEL**2 + 1e-12 * values[:, -1:]
    lost = np.any(~some & (np.abs(along) > _LEVEL), axis=1)
    chi = np.where(some, along**2 / np.where(some, values, 1.0), 0.0).sum(axis=1)
    return np.asarray(np.where(lost, np.inf, chi))


def _contrasts(rows: _Rows) -> Floats:
    """Orthonormal contrasts whose placement values vary, (d, k)."""
    k = len(rows.ranks)
    placed = rows.placed(rows.shares)
    placed -= (placed * rows.shares).sum(axis=2, keepdims=True)
    cov = np.einsum("kcn,lcn,cn->kl", placed, placed, rows.shares)
    centre = np.eye(k) - 1 / k
    values, vectors = np.linalg.eigh(centre @ cov @ centre)
    return np.asarray(vectors.T[values > ROUNDING] @ centre)


def _closest(rows: _Rows, own: Floats, basis: Floats) -> tuple[Floats, float, Floats]:
    """The tilt (2, n) of the closest population with equal areas, its distance, and the multipliers (k,).

    At placement values of the last weights the areas are linear in both, so that the closest weights with
    equal areas are tilts whose multipliers minimise a convex function; their placement values are the next.
    """
    ones = np.ones_like(rows.shares)
    if float(np.ptp(own)) < ROUNDING:
        return ones, 0.0, np.zeros(len(own))
    tilt, mu, step, before = ones, np.zeros(len(basis)), 1.0, np.inf
    placed = np.tensordot(basis, rows.placed(rows.shares), 1)
    for _ in range(_SWEEPS if len(basis) else 0):
        level = (placed[:, 0] * (rows.shares * tilt)[0]).sum(axis=1)
        tilt, mu = _tilted(rows.shares, placed, level, mu)
        new = np.tensordot(basis, rows.placed(rows.shares * tilt), 1)
        residual = float(np.abs(mu @ (new - placed).reshape(len(mu), -1)).max())
        if residual < _STILL:
            break
        step = step / 2 if residual > before else min(1.0, 1.1 * step)
        before = residual
        placed += step * (new - placed)
    weights = rows.shares * tilt
    least = np.min(tilt, where=rows.shares > 0, initial=np.inf)
    if not len(basis) or not least >= _LEFT_OUT or np.ptp(rows.areas(weights)) > _LEVEL:
        raise DegenerateDataError(
            "no reweighting that keeps all rows makes the areas equal: one model is never behind another on "
            "any pair of rows, or nearly so"
        )
    logs = np.log(np.where(weights > 0, tilt, 1.0))
    return tilt, max(float((weights * logs).sum()), 0.0), mu @ basis


def _tilted(shares: Floats, placed: Floats, level: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """The tilt that minimises both classes' ln sum f exp(mu placed), less mu level, by Newton's method.

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
