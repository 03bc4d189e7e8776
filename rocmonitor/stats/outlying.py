"""Reference windows far below or above the others, several of which may hide each other.

A monitor that learns from a bad window takes such a window for normal. Windows differ by their sampling
errors, which are known, and by a scatter that is not. So each is compared with the others alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import gammaln, stdtr

from rocmonitor.stats.area.auc import AucResult
from rocmonitor.stats.area.delong import exact_bootstrap_variance
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.series import scatter_between

FEWEST = 9  # windows below which none is looked for: what is left shows scatter and scores from 8 on
_PART = 5  # one in so many windows may be outlying
_CHANCE = 0.01  # of references without a bad window in which one is named
_LOW = 0.9  # of the chance belongs to windows below the others
_TOGETHER = 2 / 3  # of that of a side: what several windows show together
_EACH = 1.5  # times the chance of one window: what each of several must show by itself
_CHI_MEDIAN = 0.4549364  # of a squared standard normal variable
_LEAST = 1e-12  # variance


class Side(NamedTuple):
    """The windows far from the others on one side."""

    places: tuple[int, ...] = ()  # their indices, the farthest first; empty without any
    chance: float = 1.0  # of windows so far out in a reference without bad ones; 1 without any


class Outlying(NamedTuple):
    """The windows far from the others."""

    low: Side  # below and above the others
    high: Side
    others: float  # mean AUC of the others


def sampling_errors(areas: Sequence[AucResult]) -> list[float]:
    """Return the sampling error of each window by its size, from the scatter of rows in all windows.

    The standard error of a small window is small where its AUC is high by chance, and 0 where no pair is in
    the wrong order, so such a window would seem far from the others.

    areas: Of windows with `zeta`. Where rows come in clusters, all windows have the mean design effect.
    """
    with_zeta = [(area, area.zeta) for area in areas if area.zeta is not None]
    if not with_zeta:
        return [area.se for area in areas]
    pairs = [float(area.n_pos) * area.n_neg for area, _ in with_zeta]
    moments = [(*zeta, area.auc * (1 - area.auc)) for area, zeta in with_zeta]
    zeta10, zeta01, kernel = map(float, np.average(moments, axis=0, weights=pairs))
    effects = [area.design_effect for area in areas if area.design_effect is not None]
    effect = float(np.mean(effects)) if effects else 1.0
    return [
        math.sqrt(effect * exact_bootstrap_variance(zeta10, zeta01, kernel, area.n_pos, area.n_neg))
        for area in areas
    ]


def sampling_skewness(areas: Sequence[AucResult], errors: Sequence[float]) -> list[float]:
    """Return the skewness of the error of each window, by `sampling_errors`: below 0 for AUCs above 1/2.

    It falls with the root of the number of rows, as the error does; their ratio is the mean over the windows:
    ``skewness - 6 mean`` of the studentised AUC (`rocmonitor.stats.area.skewness`). Without these (clusters,
    joined scores) it is nearly that of two normal laws of scores.
    """
    ratios = [
        (area.studentised[1] - 6 * area.studentised[0]) / area.se
        for area in areas
        if area.studentised is not None and area.se > 0
    ]
    if ratios:
        ratio = float(np.median(ratios))
    else:
        mean = float(np.mean([area.auc for area in areas]))
        ratio = 1.6 * (1 - 2 * mean) / max(mean * (1 - mean), _LEAST)
    return [max(-1.0, min(1.0, ratio * error)) for error in errors]


def outlying_windows(
    aucs: Sequence[float],
    ses: Sequence[float],
    skewness: Sequence[float] | None = None,
) -> Outlying:
    """Return the windows that the others do not lead to expect: docs/method.md, section 2.

    aucs, ses: Of each window, with the sampling error of its own size (`sampling_errors`); both of length n.
    skewness: Of the sampling errors (`sampling_skewness`); default 0.

    Without any where there are fewer than 9 windows; never more than a fifth of them on one side. The scatter
    is that of [PM82], the correction for skewness that of [H92]; bad windows that hide each other ([R83]) do
    not hide here. A jump of one window is a p-value below its part of the chance. Of k windows it is one of
    their mean, times the choices of them; besides the nearest must be far by itself. Cost: O(n^2).
    """
    values, errors = np.asarray(aucs, dtype=float), np.asarray(ses, dtype=float)
    skews = np.zeros(len(values)) if skewness is None else np.asarray(skewness, dtype=float)
    low, high, everyone = Side(), Side(), np.arange(len(values))
    if len(values) >= FEWEST:
        for _ in range(2):  # a window on one side hides those on the other
            left = np.setdiff1d(everyone, high.places)
            low = _side(values, errors, skews, left, _LOW * _CHANCE)
            left = np.setdiff1d(everyone, low.places)
            high = _side(-values, errors, -skews, left, (1 - _LOW) * _CHANCE)
            if not high.places:
                break
    rest = np.setdiff1d(everyone, [*low.places, *high.places])
    return Outlying(low, high, float(values[rest].mean()) if len(rest) else math.nan)


def _side(values: Floats, errors: Floats, skews: Floats, left: np.ndarray, chance: float) -> Side:
    """Return the windows of `left` that are far below the others."""
    values, skews = values[left], skews[left]
    variances = np.maximum(errors[left] ** 2, _LEAST)
    # In the order of their standardised distance from the median, the lowest first.
    apart = values - np.median(values)

    def excess(scatter: float) -> float:
        return float(np.median(apart**2 / (variances + scatter))) - _CHI_MEDIAN

    scatter, furthest = 0.0, float(np.max(apart**2)) / _CHI_MEDIAN
    if excess(0.0) > 0:
        scatter = scipy.optimize.brentq(excess, 0.0, furthest, xtol=1e-18 * furthest)
    order = np.argsort(apart / np.sqrt(variances + scatter), kind="stable")
    values, variances, skews = values[order], variances[order], skews[order]
    most = len(values) // _PART
    for count in range(most, 0, -1):
        jump = _jump(values, variances, skews, count, most, chance)
        if jump < 1:
            return Side(tuple(int(left[place]) for place in order[:count]), jump)
    return Side()


def _jump(values: Floats, variances: Floats, skews: Floats, count: int, most: int, chance: float) -> float:
    """Return the chance of the jump between the first `count` windows and the others; 1 without a jump."""
    n = len(values)
    inside = values[count:], variances[count:]
    scatter = scatter_between(*inside)
    weights = 1 / (inside[1] + scatter)
    mean = float(weights @ inside[0] / weights.sum())
    own = variances[:count] + scatter

    def pvalue(first: int) -> float:
        """Return the p-value of the mean of the windows from `first` on."""
        precision = 1 / own[first:]
        variance = 1 / precision.sum()
        distance = mean - float(precision @ values[first:count]) * variance
        cubes = float(precision**3 @ (skews[first:count] * variances[first:count] ** 1.5))
        bend = max(-cubes * variance**1.5, 0.0) / 6
        t = distance / math.sqrt(variance + 1 / weights.sum())
        if t > 0 and bend:  # u with u + bend (u^2 - 1) = t: the first terms of Cornish and Fisher
            t = 2 * (t + bend) / (1 + math.sqrt(1 + 4 * bend * (t + bend)))
        # The scatter is known less well beside a window whose sampling error is smaller than those of most.
        known = min(1.0, (count - first) * variance * float(weights.mean())) ** 2
        return float(stdtr((n - count - 1) * known, -t))

    alone = pvalue(count - 1) * (n - count + 1)
    if count == 1:
        return alone if alone < chance else 1.0
    choices = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
    together = math.exp(min(math.log(max(pvalue(0), 1e-300)) + float(choices), 0.0)) * (most - 1)
    return together if alone < _EACH * chance and together < _TOGETHER * chance else 1.0
