"""The areas under the ROC curves of several models on the same rows, with their covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import ROUNDING, placements
from rocmonitor.stats.proportion import require_level
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Floats, indexed, require_classes, valid_labels, valid_scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucContrast(Result):
    """Linear combinations of AUCs, and the test that all of them are 0.

    Attributes
    ----------
    estimate, se : ndarray, shape (r,)
    cov : ndarray, shape (r, r)
    statistic : float
        Wald's chi-square.
    df : int
        Its degrees of freedom: the rank of `cov`.
    pvalue : float
    """

    estimate: Floats
    se: Floats
    cov: Floats
    statistic: float
    df: int
    pvalue: float

    def ci(self, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
        """Two-sided normal intervals of each combination on its own: low and high, shape (r,)."""
        half = -float(ndtri((1 - require_level(confidence_level)) / 2)) * self.se
        return self.estimate - half, self.estimate + half


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucCovariance(Result):
    """AUCs of k models on the same rows.

    Attributes
    ----------
    auc, se : ndarray, shape (k,)
    cov : ndarray, shape (k, k)
    n_pos, n_neg : int
    """

    auc: Floats
    se: Floats
    cov: Floats
    n_pos: int
    n_neg: int

    def contrast(self, L: ArrayLike) -> AucContrast:
        """Estimate and test linear combinations of the AUCs.

        Parameters
        ----------
        L : array_like, shape (k,) or (r, k)
            One line for each combination, for example ``[1, -1, 0]`` for first minus second.

        Returns
        -------
        AucContrast

        Raises
        ------
        InputError
            Not (r, k), or not finite.
        DegenerateDataError
            A combination that is not 0 has variance 0: its statistic has no value.

        Notes
        -----
        DeLong, DeLong & Clarke-Pearson 1988, eq. 5: the Wald statistic, redundant lines left out of its
        degrees of freedom. Variances here are differences of covariances, good to about 1e-13 of
        them; `compare_auc_paired` has no such loss for two models that are nearly the same.
        """
        lines = np.atleast_2d(np.asarray(L, dtype=np.float64))
        if lines.ndim != 2 or lines.shape[1] != len(self.auc) or not np.isfinite(lines).all():
            raise InputError(
                f"L must be finite and have {len(self.auc)} columns, one for each model; "
                f"its shape is {np.shape(L)}"
            )
        estimate = lines @ self.auc
        cov = lines @ self.cov @ lines.T
        values, vectors = np.linalg.eigh(cov)
        rounding = ROUNDING * float(np.max(np.abs(lines) @ np.abs(self.cov) @ np.abs(lines).T))
        varying = values > rounding
        along = vectors.T @ estimate
        if np.any(np.abs(along[~varying]) > math.sqrt(ROUNDING) * np.max(np.abs(lines))):
            raise DegenerateDataError(
                "a combination in L is not 0 but has variance 0, so the test has no value; "
                "compare_auc_paired is exact for two models"
            )
        statistic = float(np.sum(along[varying] ** 2 / values[varying]))
        df = int(np.count_nonzero(varying))
        return AucContrast(
            estimate=estimate,
            se=np.sqrt(np.where(np.diag(cov) > rounding, np.diag(cov), 0.0)),
            cov=cov,
            statistic=statistic,
            df=df,
            pvalue=float(chdtrc(df, statistic)) if df else 1.0,
        )


def auc_covariance(y_true: ArrayLike, scores: ArrayLike) -> AucCovariance:
    """AUCs of k models on the same rows with their DeLong covariance matrix.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative.
    scores : array_like, shape (n, k)
        Finite scores, a column for each model.

    Returns
    -------
    AucCovariance
        ``.auc (k,) .se (k,) .cov (k, k)`` and ``.contrast(L)``.

    Raises
    ------
    InputError
        Unusable data (see `Sample`).
    DegenerateDataError
        Fewer than two rows of a class.

    Notes
    -----
    DeLong, DeLong & Clarke-Pearson 1988, eq. 4-6. Cost: one sort a model, then O(n k**2) in a matrix
    product; memory 8 n k bytes beside the scores.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1]
    >>> models = auc_covariance(y, [[0.1, 2], [0.3, 6], [0.3, 3], [0.5, 4], [0.7, 7], [0.9, 5]])
    >>> models.auc.round(4).tolist(), models.se.round(4).tolist()
    ([0.8333, 0.6667], [0.1925, 0.2722])
    >>> models.contrast([1, -1]).se.round(4).tolist()
    [0.1925]
    """
    positive = valid_labels(y_true)
    table = np.asarray(scores)
    if table.ndim != 2 or len(table) != len(positive):
        raise InputError(
            f"scores must have shape (n, k) with n = {len(positive)} rows as y_true; not {table.shape}"
        )
    pos, neg = positive.astype(np.int64), (~positive).astype(np.int64)
    n_pos, n_neg = int(pos.sum()), int(neg.sum())
    require_classes(n_pos, n_neg, at_least=2)
    k = table.shape[1]
    pos_rows, neg_rows = np.flatnonzero(pos), np.flatnonzero(neg)
    v10, v01 = np.empty((k, n_pos)), np.empty((k, n_neg))
    for j in range(k):
        column = np.ascontiguousarray(table[:, j])
        sample, index = indexed(valid_scores(column, f"scores[:, {j}]"), pos, neg)
        below, above = placements(sample)
        v10[j] = below[index[pos_rows]] / n_neg
        v01[j] = above[index[neg_rows]] / n_pos
    area = v10.mean(axis=1)
    v10 -= area[:, None]
    v01 -= area[:, None]
    cov = v10 @ v10.T / (n_pos - 1) / n_pos + v01 @ v01.T / (n_neg - 1) / n_neg
    return AucCovariance(auc=area, se=np.sqrt(np.diag(cov)), cov=cov, n_pos=n_pos, n_neg=n_neg)
