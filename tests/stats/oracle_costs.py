"""Slow, obvious laws of normalised costs: every resample is drawn, and its rows are paid for one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def row_costs(y: ArrayLike, scores: list[ArrayLike], thresholds: list[float]) -> Floats:
    """What each row costs, in units of its class: 1 for an error; of two models, second minus first."""
    label = np.asarray(y)
    wrong = [(np.asarray(s) >= t) != (label == 1) for s, t in zip(scores, thresholds, strict=True)]
    return np.asarray(wrong[-1].astype(float) - (wrong[0] if len(wrong) == 2 else 0))


def costs(
    y: ArrayLike, row: Floats, w: float, sampling: str, m_pos: int | None = None, m_neg: int | None = None
) -> Floats:
    """The normalised cost of every resample, each with the same probability."""
    label = np.asarray(y)
    pos, neg = row[label == 1], row[label == 0]
    m_pos, m_neg = m_pos or len(pos), m_neg or len(neg)
    if sampling == "stratified":
        return np.array(
            [
                w * np.mean(of_pos) + (1 - w) * np.mean(of_neg)
                for of_pos in product(pos.tolist(), repeat=m_pos)
                for of_neg in product(neg.tolist(), repeat=m_neg)
            ]
        )
    miss, alarm = w / np.mean(label == 1), (1 - w) / np.mean(label == 0)
    paid = row * np.where(label == 1, miss, alarm) / max(miss, alarm)
    return np.array([np.mean(drawn) for drawn in product(paid.tolist(), repeat=m_pos + m_neg)])


def ends(drawn: Floats, tail: float) -> tuple[float, float]:
    """Smallest values that `tail`, and 1 - `tail`, of the resamples do not exceed."""
    values, counts = np.unique(np.round(drawn, 12), return_counts=True)
    reached = np.cumsum(counts) / len(drawn)
    low, high = (values[np.argmax(reached >= level - 1e-12)] for level in (tail, 1 - tail))
    return float(low), float(high)
