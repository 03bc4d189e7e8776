"""Slow, obvious definitions of what groups did to a change of the AUROC."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weighted = tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]
"""Labels, scores, groups and weights of the same rows."""


def shares(rows: Weighted, label: int, groups: list[Any]) -> Floats:
    y, _, g, w = rows
    return np.array([w[(y == label) & (g == each)].sum() for each in groups]) / w[y == label].sum()


def areas(rows: Weighted, groups: list[Any]) -> list[list[float | None]]:
    """P(positive of one above negative of another) + ties / 2; None where there is no such pair."""
    y, s, g, w = rows
    table: list[list[float | None]] = []
    for one in groups:
        line: list[float | None] = []
        for other in groups:
            total = won = 0.0
            for i in np.flatnonzero((y == 1) & (g == one)):
                for j in np.flatnonzero((y == 0) & (g == other)):
                    total += w[i] * w[j]
                    won += w[i] * w[j] * (1.0 if s[i] > s[j] else 0.5 if s[i] == s[j] else 0.0)
            line.append(won / total if total else None)
        table.append(line)
    return table


def area(p: Floats, q: Floats, a: Floats) -> float:
    return float(sum(p[g] * q[h] * a[g, h] for g in range(len(p)) for h in range(len(q))))


def filled(old: list[list[float | None]], new: list[list[float | None]]) -> tuple[Floats, Floats]:
    """Both tables; the other one's area stands where one has none, NaN where both have none."""
    one = [
        [x if x is not None else y for x, y in zip(*each, strict=True)] for each in zip(old, new, strict=True)
    ]
    two = [
        [y if y is not None else x for x, y in zip(*each, strict=True)] for each in zip(old, new, strict=True)
    ]
    return np.array(one, dtype=np.float64), np.array(two, dtype=np.float64)


def totals(old: Weighted, new: Weighted, groups: list[Any]) -> tuple[float, float]:
    """Shapley values of the two steps, mix and ranking, over both orders."""
    a0, a1 = (np.nan_to_num(each) for each in filled(areas(old, groups), areas(new, groups)))
    (p0, q0), (p1, q1) = ((shares(each, 1, groups), shares(each, 0, groups)) for each in (old, new))
    mix = (area(p1, q1, a0) - area(p0, q0, a0) + area(p1, q1, a1) - area(p0, q0, a1)) / 2
    ranking = (area(p0, q0, a1) - area(p0, q0, a0) + area(p1, q1, a1) - area(p1, q1, a0)) / 2
    return mix, ranking


def parts(old: Weighted, new: Weighted, groups: list[Any]) -> tuple[Floats, Floats]:
    """Shapley values of the groups: each goes over from old to new, in every order.

    The mix: its shares go over, at mean areas less their mean. The ranking: half of each of its areas does,
    at mean products of shares.
    """
    a0, a1 = filled(areas(old, groups), areas(new, groups))
    (p0, q0), (p1, q1) = ((shares(each, 1, groups), shares(each, 0, groups)) for each in (old, new))
    mean, weight = (a0 + a1) / 2, np.outer(p0 + p1, q0 + q1)
    seen = ~np.isnan(mean)
    excess = np.nan_to_num(mean - (weight[seen] * mean[seen]).sum() / weight[seen].sum())
    products, gain = (np.outer(p0, q0) + np.outer(p1, q1)) / 2, np.nan_to_num(a1 - a0)
    mix, ranking = np.zeros(len(groups)), np.zeros(len(groups))
    orders = list(permutations(range(len(groups))))
    for order in orders:
        p, q, moved = p0.copy(), q0.copy(), np.zeros_like(gain)
        for group in order:
            before = area(p, q, excess)
            p[group], q[group] = p1[group], q1[group]
            mix[group] += area(p, q, excess) - before
            before = float((products * moved).sum())
            moved[group] += gain[group] / 2
            moved[:, group] += gain[:, group] / 2
            ranking[group] += float((products * moved).sum()) - before
    return mix / len(orders), ranking / len(orders)


def excess(old: Weighted, new: Weighted, groups: list[Any]) -> Floats:
    """The ranking of each group less its share of all ranking, by its mean share of the rows."""
    _, ranking = parts(old, new, groups)
    share = sum(shares(rows, label, groups) for rows in (old, new) for label in (0, 1)) / 4
    return ranking - share * ranking.sum()


def standard_errors(old: Weighted, new: Weighted, groups: list[Any]) -> Floats:
    """Of mix, ranking, both, and excess, (4, k): each row's weight is moved a little, by itself.

    Within a group the variance has n - 1 of the group, between groups n - 1 of the class.
    """
    variance = np.zeros((4, len(groups)))
    for which in (0, 1):
        y, _, g, w = (old, new)[which]
        slopes = np.zeros((len(y), 4, len(groups)))
        for row in range(len(y)):
            ends = []
            for step in (1e-5, -1e-5):
                pair = [old, new]
                pair[which] = (*pair[which][:3], w + step * (np.arange(len(y)) == row))
                mix, ranking = parts(pair[0], pair[1], groups)
                ends.append(np.array([mix, ranking, mix + ranking, excess(pair[0], pair[1], groups)]))
            slopes[row] = (ends[0] - ends[1]) / 2e-5
        for label in (0, 1):
            n = int(np.sum(y == label))
            centre = slopes[y == label].mean(axis=0)
            for each in groups:
                own = slopes[(y == label) & (g == each)]
                if len(own):
                    variance += len(own) * (own.mean(axis=0) - centre) ** 2 * n / max(n - 1, 1)
                if len(own) > 1:
                    variance += len(own) / (len(own) - 1) * ((own - own.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(variance))
