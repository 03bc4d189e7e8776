"""The areas under the ROC curves of several models on the same rows, with their covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.delong import ROUNDING, placements
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import quantile_beyond, require_level
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats, require_classes, same_order, valid_labels, valid_scores
from rocmonitor.stats.sample import indexed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucContrast(Result):
    """Linear combinations of AUCs, and the test that all of them are 0.

    Attributes
    ----------
    estimate, se, shape (r,)
    cov, shape (r, r)
    statistic, pvalue: Wald's chi-square.
    df: Its degrees of freedom: the rank of `cov`.
    least, largest, shape (r,): What the combination is at least and at most, whatever the areas.
    """

    _flat: ClassVar[bool] = True

    estimate: Floats
    se: Floats
    cov: Floats
    statistic: float
    df: int
    pvalue: float
    least: Floats
    largest: Floats

    def ci(self, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
        """Two-sided normal intervals of each combination on its own: low and high, shape (r,).

        Clipped to what areas within [0, 1] allow. Of length 0 where `se` is 0, which says no more than that
        every pair of these rows compares alike; `rocmonitor.stats.auc` has an exact bound there.
        """
        half = quantile_beyond((1 - require_level(confidence_level)) / 2) * self.se
        return np.maximum(self.estimate - half, self.least), np.minimum(self.estimate + half, self.largest)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        plotting.rows(
            ax,
            [f"contrast {number}" for number in range(1, len(self.estimate) + 1)],
            list(zip(self.estimate, *self.ci(), strict=True)),
            x="combination of AUROCs",
            note=f"95 % intervals; chi-square {self.statistic:.4g} with {self.df} df, p = {self.pvalue:.3g}",
            label=label,
            sign="+",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucCovariance(Result):
    """AUCs of k models on the same rows.

    Attributes
    ----------
    auc, se, shape (k,)
    cov, shape (k, k)
    """

    _flat: ClassVar[bool] = True

    auc: Floats
    se: Floats
    cov: Floats
    n_pos: int
    n_neg: int

    def contrast(self, L: ArrayLike) -> AucContrast:
        """Estimate and test linear combinations of the AUCs: Wald's statistic, [DDC88] eq. 5.

        Redundant lines are left out of its degrees of freedom. Variances here are differences of covariances,
        good to about 1e-13 of them; `compare_auc_paired` has no such loss for two models that are nearly the
        same.

        Parameters
        ----------
        L, shape (k,) or (r, k): One line for each combination, for example ``[1, -1, 0]`` for first minus
            second.

        Raises
        ------
        InputError: Not (r, k), or not finite.
        DegenerateDataError: A combination that is not 0 has variance 0: its statistic has no value.
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
            pvalue=float(scipy.special.chdtrc(df, statistic)) if df else 1.0,
            least=np.minimum(lines, 0).sum(axis=1),
            largest=np.maximum(lines, 0).sum(axis=1),
        )

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        alone = self.contrast(np.eye(len(self.auc)))
        plotting.rows(
            ax,
            [f"model {number}" for number in range(1, len(self.auc) + 1)],
            list(zip(alone.estimate, *alone.ci(), strict=True)),
            x="AUROC",
            note=f"95 % intervals (DeLong); {classes(self.n_pos, self.n_neg)}",
            label=label,
        )


def auc_covariance(y_true: ArrayLike, scores: ArrayLike) -> AucCovariance:
    """AUCs of k models on the same rows with their DeLong covariance matrix, [DDC88] eq. 4-6.

    Parameters
    ----------
    y_true, shape (n,): Labels, 1 for positive and 0 for negative.
    scores, shape (n, k): Finite scores, a column for each model.

    Notes
    -----
    Cost: one sort a model, then O(n k**2) in a matrix product; memory 8 n k bytes beside the scores.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1]
    >>> models = auc_covariance(y, [[0.1, 2], [0.3, 6], [0.3, 3], [0.5, 4], [0.7, 7], [0.9, 5]])
    >>> models.auc.round(4).tolist(), models.se.round(4).tolist()
    ([0.8333, 0.6667], [0.1925, 0.2722])
    >>> models.contrast([1, -1]).se.round(4).tolist()
    [0.1925]
    """
    same_order(y_true=y_true, scores=scores)
    positive = valid_labels(y_true)
    table = np.asarray(scores)
    if table.ndim != 2 or len(table) != len(positive):
        raise InputError(
            f"scores must have shape (n, k) with n = {len(positive)} rows as y_true; not {table.shape}"
        )
    pos, neg = positive.astype(np.int64), (~positive).astype(np.int64)
    n_pos, n_neg, k = int(pos.sum()), int(neg.sum()), table.shape[1]
    require_classes(n_pos, n_neg, at_least=2)
    v10, v01 = np.empty((k, n_pos)), np.empty((k, n_neg))
    for j in range(k):
        sample, index = indexed(valid_scores(table[:, j], f"scores[:, {j}]"), pos, neg)
        below, above = placements(sample)
        v10[j], v01[j] = below[index[positive]] / n_neg, above[index[~positive]] / n_pos
    area = v10.mean(axis=1)
    v10 -= area[:, None]
    v01 -= v01.mean(axis=1)[:, None]
    cov = v10 @ v10.T / (n_pos - 1) / n_pos + v01 @ v01.T / (n_neg - 1) / n_neg
    return AucCovariance(auc=area, se=np.sqrt(np.diag(cov)), cov=cov, n_pos=n_pos, n_neg=n_neg)
