"""Slow, obvious definitions that the fast code must equal. Ties count one half."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def expand(score: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
    """The rows ``(y_true, y_score)`` of grouped counts."""
    y, s = [], []
    for value, pos, neg in zip(np.asarray(score), np.asarray(n_pos), np.asarray(n_neg), strict=True):
        y += [1] * int(pos) + [0] * int(neg)
        s += [float(value)] * int(pos + neg)
    return np.array(y, dtype=np.int64), np.array(s, dtype=np.float64)


def psi(y_true: ArrayLike, y_score: ArrayLike) -> Floats:
    """(n_pos, n_neg) matrix: 1 when the positive is higher, 1/2 on a tie, 0 when it is lower."""
    y, s = np.asarray(y_true), np.asarray(y_score)
    rows = [[1.0 if p > q else 0.5 if p == q else 0.0 for q in s[y == 0]] for p in s[y == 1]]
    return np.array(rows).reshape(int(np.sum(y == 1)), int(np.sum(y == 0)))


def auc(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Mean of psi over all pairs."""
    return float(np.mean(psi(y_true, y_score)))


def delong_covariance(y_true: ArrayLike, scores: list[Floats]) -> Floats:
    """(k, k) covariance of DeLong, DeLong & Clarke-Pearson 1988, eq. 4-6, from the pair matrices."""
    kernels = [psi(y_true, s) for s in scores]
    n_pos, n_neg = kernels[0].shape
    theta = [kernel.mean() for kernel in kernels]
    cov = np.zeros((len(scores), len(scores)))
    for a, first in enumerate(kernels):
        for b, second in enumerate(kernels):
            s10 = sum((first[i].mean() - theta[a]) * (second[i].mean() - theta[b]) for i in range(n_pos)) / (
                n_pos - 1
            )
            s01 = sum(
                (first[:, j].mean() - theta[a]) * (second[:, j].mean() - theta[b]) for j in range(n_neg)
            ) / (n_neg - 1)
            cov[a, b] = s10 / n_pos + s01 / n_neg
    return cov


def resampled_means(kernel: Floats, m_pos: int | None = None, m_neg: int | None = None) -> Floats:
    """The mean of a pair kernel in every stratified resample: each has the same probability.

    All n_pos**m_pos x n_neg**m_neg of them, so keep n and m at 5 or less.
    """
    n_pos, n_neg = kernel.shape
    pos = _resample_weights(n_pos, n_pos if m_pos is None else m_pos)
    neg = _resample_weights(n_neg, n_neg if m_neg is None else m_neg)
    return np.asarray(pos @ kernel @ neg.T).ravel()


def _resample_weights(n: int, m: int) -> Floats:
    """One line for each of the n**m resamples: how often each row was drawn, divided by m."""
    return np.array([np.bincount(draw, minlength=n) / m for draw in product(range(n), repeat=m)])
