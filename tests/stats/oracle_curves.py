"""Slow, obvious laws of ROC points: every stratified resample is drawn, and each counts the same."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def resamples(n: int, m: int) -> list[tuple[int, ...]]:
    """All n**m resamples of `m` out of `n` rows, as row numbers."""
    return list(product(range(n), repeat=m))


def flagged_law(scores: ArrayLike, threshold: float, m: int) -> Floats:
    """Law of the number of rows of one class with score >= threshold in a resample of `m`, shape (m + 1,)."""
    s = np.asarray(scores)
    found = Counter(sum(s[row] >= threshold for row in draw) for draw in resamples(len(s), m))
    return np.array([found[count] / len(s) ** m for count in range(m + 1)])


def difference_law(score_1: ArrayLike, score_2: ArrayLike, t1: float, t2: float, m: int) -> dict[int, float]:
    """Law of (rows that model 1 flags) - (rows that model 2 flags), for one class, resamples of `m`."""
    s1, s2 = np.asarray(score_1), np.asarray(score_2)
    found: Counter[int] = Counter()
    for draw in resamples(len(s1), m):
        found[sum(int(s1[row] >= t1) for row in draw) - sum(int(s2[row] >= t2) for row in draw)] += 1
    return {difference: times / len(s1) ** m for difference, times in found.items()}


def dominance(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, t1: float, t2: float, m_pos: int, m_neg: int
) -> dict[str, float]:
    """Probabilities of the five outcomes, each pair of resamples (positives, negatives) put in its place."""
    label, s1, s2 = np.asarray(y), np.asarray(score_1), np.asarray(score_2)
    tp = difference_law(s1[label == 1], s2[label == 1], t1, t2, m_pos)
    fp = difference_law(s1[label == 0], s2[label == 0], t1, t2, m_neg)
    total = dict.fromkeys(("first", "second", "both_higher", "both_lower", "tie"), 0.0)
    for (dtp, chance_tp), (dfp, chance_fp) in product(tp.items(), fp.items()):
        total[_outcome(dtp, dfp)] += chance_tp * chance_fp
    return total


def _outcome(dtp: int, dfp: int) -> str:
    if dtp == 0 and dfp == 0:
        return "tie"
    if dtp >= 0 and dfp <= 0:
        return "first"
    if dtp <= 0 and dfp >= 0:
        return "second"
    return "both_higher" if dtp > 0 else "both_lower"


def vertical_thresholds(neg_scores: ArrayLike, r: int, m: int) -> dict[float, float]:
    """Law of the r-th largest negative score, repeats counted, in a resample of `m`."""
    s = np.asarray(neg_scores)
    found = Counter(
        sorted((float(s[row]) for row in draw), reverse=True)[r - 1] for draw in resamples(len(s), m)
    )
    return {threshold: times / len(s) ** m for threshold, times in found.items()}


def vertical_law(y: ArrayLike, score: ArrayLike, r: int, m_pos: int, m_neg: int) -> Floats:
    """Law of the number of positives at or above the threshold of FPR r / m_neg, shape (m_pos + 1,)."""
    label, s = np.asarray(y), np.asarray(score)
    law = np.zeros(m_pos + 1)
    for threshold, chance in vertical_thresholds(s[label == 0], r, m_neg).items():
        law += chance * flagged_law(s[label == 1], threshold, m_pos)
    return law


def vertical_moments(
    y: ArrayLike, score: ArrayLike, r: int, added: float, m_pos: int, m_neg: int
) -> tuple[float, float]:
    """Mean and variance of algorithm 4 in Dugas and Gadoury (2009), the thresholds drawn, not derived."""
    label, s = np.asarray(y), np.asarray(score)
    positives = s[label == 1]
    mean = second = 0.0
    for threshold, chance in vertical_thresholds(s[label == 0], r, m_neg).items():
        p = (np.count_nonzero(positives >= threshold) + added) / (len(positives) + 2 * added)
        mean += chance * p
        second += chance * (p**2 + p * (1 - p) / (m_pos + 2 * added))
    return mean, second - mean**2


def quantile(law: ArrayLike, level: float) -> int:
    """Smallest count whose distribution function reaches `level`."""
    reached = np.flatnonzero(np.cumsum(np.asarray(law)) >= level - 1e-12)
    return int(reached[0])


def vertical_difference_law(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, r: int, m_pos: int, m_neg: int
) -> Floats:
    """Law of (true positives of 1) - (true positives of 2) at FPR r / m_neg, over -m_pos…m_pos."""
    law = np.zeros(2 * m_pos + 1)
    for (t1, t2), chance in _threshold_pairs(y, score_1, score_2, r, m_neg).items():
        for difference, likely in _positives(y, score_1, score_2, t1, t2, m_pos).items():
            law[m_pos + difference] += chance * likely
    return law


def vertical_difference_moments(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, r: int, added: float, m_pos: int, m_neg: int
) -> tuple[float, float]:
    """Mean and variance of eq. 24 to 27 in Dugas and Gadoury (2009), smoothed; the thresholds are drawn."""
    label, s1, s2 = np.asarray(y), np.asarray(score_1), np.asarray(score_2)
    n = np.count_nonzero(label == 1)
    mean = second = 0.0
    for (t1, t2), chance in _threshold_pairs(y, score_1, score_2, r, m_neg).items():
        by_1, by_2 = s1[label == 1] >= t1, s2[label == 1] >= t2
        a = (np.count_nonzero(by_1 & ~by_2) + added) / (n + 4 * added)
        b = (np.count_nonzero(by_2 & ~by_1) + added) / (n + 4 * added)
        mean += chance * (a - b)
        second += chance * ((a - b) ** 2 + (a + b - (a - b) ** 2) / (m_pos + 4 * added))
    return mean, second - mean**2


def _threshold_pairs(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, r: int, m: int
) -> dict[tuple[float, float], float]:
    negative = np.asarray(y) == 0
    s1, s2 = np.asarray(score_1)[negative], np.asarray(score_2)[negative]
    found = Counter(
        (sorted(s1[list(draw)])[-r], sorted(s2[list(draw)])[-r]) for draw in resamples(len(s1), m)
    )
    return {pair: times / len(s1) ** m for pair, times in found.items()}


def _positives(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, t1: float, t2: float, m: int
) -> dict[int, float]:
    positive = np.asarray(y) == 1
    return difference_law(np.asarray(score_1)[positive], np.asarray(score_2)[positive], t1, t2, m)


def total_rate_laws(y: ArrayLike, score: ArrayLike, r: int) -> tuple[Floats, Floats]:
    """Laws of the flagged positives and negatives at or above the r-th largest score of all rows."""
    label, s = np.asarray(y), np.asarray(score)
    pos, neg = s[label == 1].tolist(), s[label == 0].tolist()
    tp, fp = np.zeros(len(pos) + 1), np.zeros(len(neg) + 1)
    for drawn_pos in product(pos, repeat=len(pos)):
        for drawn_neg in product(neg, repeat=len(neg)):
            threshold = sorted(drawn_pos + drawn_neg, reverse=True)[r - 1]
            tp[sum(x >= threshold for x in drawn_pos)] += 1
            fp[sum(x >= threshold for x in drawn_neg)] += 1
    return tp / tp.sum(), fp / fp.sum()


def total_rate_difference_laws(
    y: ArrayLike, score_1: ArrayLike, score_2: ArrayLike, r: int
) -> tuple[Floats, Floats]:
    """Laws over -n…n of the flagged positives, and negatives, of model 1 less those of model 2.

    Each flags at or above the r-th largest of its scores among all rows of the resample.
    """
    label, scores = np.asarray(y), np.stack([np.asarray(score_1), np.asarray(score_2)])
    pos, neg = np.flatnonzero(label == 1), np.flatnonzero(label == 0)
    tp, fp = np.zeros(2 * len(pos) + 1), np.zeros(2 * len(neg) + 1)
    for drawn_pos in product(pos.tolist(), repeat=len(pos)):
        for drawn_neg in product(neg.tolist(), repeat=len(neg)):
            drawn = scores[:, [*drawn_pos, *drawn_neg]]
            above = drawn >= np.sort(drawn, axis=1)[:, [-r]]
            net = above[0].astype(int) - above[1]
            tp[len(pos) + net[: len(pos)].sum()] += 1
            fp[len(neg) + net[len(pos) :].sum()] += 1
    return tp / tp.sum(), fp / fp.sum()
