"""The extreme AUC within a Kullback-Leibler distance, and the closest weights at which two models are level.

Both by a general constrained optimiser from many starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

_TINY = 1e-300


def weighted_auc(u: ArrayLike, v: ArrayLike) -> float:
    """P(positive > negative) + P(tie) / 2 for weights at the same increasing scores, pair by pair."""
    total = 0.0
    for i, a in enumerate(np.asarray(u)):
        for j, b in enumerate(np.asarray(v)):
            total += float(a * b) * (1.0 if j > i else 0.5 if j == i else 0.0)
    return total


def divergence(new: ArrayLike, old: ArrayLike) -> float:
    """KL(new||old), with 0 ln 0 = 0."""
    p, q = np.asarray(new, dtype=float), np.asarray(old, dtype=float)
    return float(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


def highest_auc(n_neg: ArrayLike, n_pos: ArrayLike, distance: float, *, starts: int, seed: int = 0) -> float:
    """The best feasible AUC that SLSQP finds from the counts' own shares and from random weights."""
    negatives, positives = np.flatnonzero(n_neg), np.flatnonzero(n_pos)
    f = np.asarray(n_neg)[negatives] / np.sum(n_neg)
    g = np.asarray(n_pos)[positives] / np.sum(n_pos)
    psi = (positives > negatives[:, None]) + 0.5 * (positives == negatives[:, None])
    old = np.concatenate([f, g])
    m = len(f)

    def kl(z: Floats) -> float:
        return float(np.sum(np.maximum(z, 0) * np.log(np.maximum(z, _TINY) / old)))

    sums = np.array([np.arange(len(old)) < m, np.arange(len(old)) >= m], dtype=float)
    constraints = [
        {"type": "eq", "fun": lambda z: sums @ z - 1, "jac": lambda z: sums},
        {
            "type": "ineq",
            "fun": lambda z: distance - kl(z),
            "jac": lambda z: -(np.log(np.maximum(z, 1e-12) / old) + 1),
        },
    ]
    rng = np.random.default_rng(seed)
    best = -1.0
    for start in range(starts):
        z0 = np.concatenate([rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(len(g)))]) if start else old
        z = minimize(
            lambda z: -z[:m] @ psi @ z[m:],
            z0,
            jac=lambda z: -np.concatenate([psi @ z[m:], z[:m] @ psi]),
            bounds=[(0, 1)] * len(old),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-14},
        ).x
        if np.abs(sums @ z - 1).max() < 1e-9 and kl(z) <= distance + 1e-9:
            best = max(best, float(z[:m] @ psi @ z[m:]))
    return best


def kernel(rows_neg: ArrayLike, rows_pos: ArrayLike) -> Floats:
    """psi of each negative row (down) and each positive row (across), pair by pair."""
    return np.array([[float(b > a) + 0.5 * float(b == a) for b in rows_pos] for a in rows_neg])


def level_distance(psi: Floats, *, starts: int, seed: int = 0) -> float:
    """The least KL(u||f) + KL(v||g) with u' psi v = 0 that SLSQP finds, for rows of equal shares."""
    m, n = psi.shape
    old = np.concatenate([np.full(m, 1 / m), np.full(n, 1 / n)])
    sums = np.array([np.arange(m + n) < m, np.arange(m + n) >= m], dtype=float)

    def kl(z: Floats) -> float:
        return float(np.sum(np.maximum(z, 0) * np.log(np.maximum(z, _TINY) / old)))

    constraints = [
        {"type": "eq", "fun": lambda z: sums @ z - 1, "jac": lambda z: sums},
        {
            "type": "eq",
            "fun": lambda z: z[:m] @ psi @ z[m:],
            "jac": lambda z: np.concatenate([psi @ z[m:], z[:m] @ psi]),
        },
    ]
    rng = np.random.default_rng(seed)
    best = np.inf
    for start in range(starts):
        z0 = np.concatenate([rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))]) if start else old
        z = minimize(
            kl,
            z0,
            jac=lambda z: np.log(np.maximum(z, 1e-12) / old) + 1,
            bounds=[(0, 1)] * (m + n),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-14},
        ).x
        if np.abs(sums @ z - 1).max() < 1e-9 and abs(z[:m] @ psi @ z[m:]) < 1e-9:
            best = min(best, kl(z))
    return best


def largest_turn(psi: Floats) -> float:
    """The largest |K_pj - K_qj - K_pi + K_qi| of a kernel."""
    rows = psi[:, None, :] - psi[None, :, :]
    return float((rows.max(axis=2) - rows.min(axis=2)).max())
