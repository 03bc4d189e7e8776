"""Forecast intervals at levels that are stricter than the number of past windows can show.

A conformal interval of n windows has a level of n / (n + 1) at most. Beyond it only a model helps: the true
values of windows scatter normally about a mean, neighbours may be alike, and each is seen with sampling noise
of known variance. Mean, scatter and correlation are known with error only, so what is expected of a coming
window is a mixture of normal laws over all that the past windows leave possible; with equal sizes and
independent windows nearly Student's t with n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.dependence import series_likelihood
from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING, Noise
from rocmonitor.stats.forecast.following import Bounds, bounds_of
from rocmonitor.stats.forecast.given_scores import ScoreForecast
from rocmonitor.stats.forecast.interval import ForecastInterval, ends_around
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample

_SERIAL = (0.0, 0.3, 0.6, 0.9)
_DEPENDENT = 0.05  # weight of all correlations but 0 together, before the windows are seen
_SCATTERS = 60
_RARE = 1e-8  # of a scatter further from the one seen
_LEAST_NOISE = 1e-9  # of the scatter
_HALVINGS = 60
_OF_WINDOWS = ("too-few-windows", "model-beside", "windows-inside-reference")  # true of the level they show


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingWindow:
    """What past windows leave possible of a coming one: a mixture of normal laws, shape (g,) each."""

    weight: Floats
    mean: Floats
    deviation: Floats

    def below(self, value: float) -> float:
        """The chance of a value below this one."""
        return float(self.weight @ scipy.special.ndtr((value - self.mean) / self.deviation))

    def above(self, value: float) -> float:
        """The chance of a value above this one."""
        return float(self.weight @ scipy.special.ndtr((self.mean - value) / self.deviation))

    def reach(self, tail: float, *, two_sided: bool) -> float:
        """How far below 0 a value lies with the chance `tail`; on either side, twice of it together."""
        low, high = 0.0, float(np.max(np.abs(self.mean) + 40 * self.deviation))

        def beyond(reach: float) -> float:
            return self.below(-reach) + (self.above(reach) if two_sided else 0.0)

        allowed = 2 * tail if two_sided else tail
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > allowed else (low, middle)
        return high


def coming_window(values: ArrayLike, variances: ArrayLike, noise: float) -> ComingWindow:
    """What is expected of a coming window, from the values of past ones.

    Parameters
    ----------
    values : array_like, shape (k,)
        Of past windows in their order, relative to what the coming one is compared with.
    variances : array_like, shape (k,)
        Their sampling variances, at least 0; infinite for a gap.
    noise : float
        Sampling variance of the coming window.

    Raises
    ------
    InputError
        Fewer than two values.

    Notes
    -----
    The likelihood of `series_likelihood` over 60 scatters and four correlations; flat priors of the mean and
    of the log of the whole scatter, 0.95 of the prior weight on independence. Cost: O(k g), some 3 ms.

    Examples
    --------
    >>> found = coming_window([0.1, -0.2, 0.0, 0.2, -0.1], [0.01] * 5, 0.01)
    >>> found.reach(0.001, two_sided=False) > found.reach(0.01, two_sided=False)
    True
    """
    series, own = np.asarray(values, dtype=float), np.asarray(variances, dtype=float)
    seen = np.isfinite(own)
    degrees = int(np.count_nonzero(seen)) - 1
    if degrees < 1:
        raise InputError("values must have at least two windows: one alone shows no scatter")
    middle, scatter = float(series[seen].mean()), float(series[seen].var(ddof=1))
    floor = _LEAST_NOISE * (scatter + 1e-12)
    own = np.maximum(own, floor)
    typical = float(1 / np.mean(1 / own[seen]))
    ends = 2 * scipy.special.gammaincinv(degrees / 2, np.array([_RARE, 1 - _RARE]))
    totals = max(scatter, 1e-3 * typical) * degrees / np.geomspace(ends[0], ends[1], _SCATTERS)
    between, count = np.unique(np.maximum(totals - typical, 0.0), return_counts=True)
    serial, variance = (each.ravel() for each in np.meshgrid(_SERIAL, between, indexing="ij"))
    prior = np.where(serial == 0, 1 - _DEPENDENT, _DEPENDENT / (len(_SERIAL) - 1)) * np.tile(
        count, len(_SERIAL)
    )
    found = series_likelihood(np.where(seen, series - middle, 0.0), own, serial, np.sqrt(variance))
    log = found.of_any_mean()[-1] + np.log(prior)
    weight = np.exp(log - log.max())
    information = found.information[-1]
    return ComingWindow(
        weight=weight / weight.sum(),
        mean=middle + found.score[-1] / information,
        deviation=np.sqrt(variance + 1 / information + max(noise, floor)),
    )


def extended(interval: ForecastInterval, reference: Sample, bounds: Bounds | None = None) -> ForecastInterval:
    """An interval for a batch, at its confidence level also where the windows are too few to show it.

    Parameters
    ----------
    interval : ForecastInterval
        For a batch of given sizes.
    reference : Sample
        The one that the interval was computed from, or what `condensed` left of it.
    bounds : callable, optional
        Those of `reference`.

    Returns
    -------
    ForecastInterval
        Unchanged where its windows give the level, where another method than "calibrated" chose it, and with
        fewer than two windows. Else at least as wide as before, with the caveat `level-by-model`.
    """
    level, achieved = interval.confidence_level, interval.achieved_level
    if not falls_short(interval):
        return interval
    distance = model_distance(interval)
    low, high = _ends(interval, bounds or bounds_of(reference), distance)
    part = interval.sampling_distance
    return replace(
        interval,
        low=low,
        high=high,
        distance=distance,
        drift_distance=None if part is None else distance - part,
        achieved_level=level,
        model_low=None,
        model_high=None,
        caveats=(
            *(each for each in interval.caveats if each.code not in _OF_WINDOWS),
            Caveat("level-by-model", n_windows=interval.n_windows, known=achieved, confidence_level=level),
        ),
    )


def falls_short(interval: ForecastInterval) -> bool:
    """Whether the windows are too few for the level, and enough to learn how they scatter."""
    level, achieved = interval.confidence_level, interval.achieved_level
    return achieved is not None and achieved < level - LEVEL_ROUNDING and interval.n_windows >= 2


def model_distance(interval: ForecastInterval) -> float:
    """The distance that a coming window keeps to with the confidence level, if true values are normal.

    A coming window has the sizes of the batch; without one, sampling noise as the windows on average.
    """
    assert interval.pair_variances is not None
    noise = Noise(*interval.pair_variances)
    past = [noise.variance(*of) for of in zip(interval.window_n_pos, interval.window_n_neg, strict=True)]
    own = float(np.mean(past)) if interval.batch is None else noise.variance(*interval.batch)
    two_sided = interval.alternative == "two-sided"
    tail = (1 - interval.confidence_level) / (2 if two_sided else 1)
    root = coming_window(interval.roots, past, own).reach(tail, two_sided=two_sided)
    return max(interval.distance, root * root / 2)


def with_model(
    interval: ForecastInterval, reference: Sample, bounds: Bounds | None = None
) -> ForecastInterval:
    """The interval, with the one by the model beside it where its windows are too few to show the level."""
    if not falls_short(interval) or interval.weights:
        return interval
    low, high = _ends(interval, bounds or bounds_of(reference), model_distance(interval))
    beside = Caveat(
        "model-beside", low=low, high=high, level=interval.confidence_level, n_windows=interval.n_windows
    )
    return replace(interval, model_low=low, model_high=high, caveats=(*interval.caveats, beside))


def _ends(interval: ForecastInterval, bounds: Bounds, distance: float) -> tuple[float, float]:
    """The ends at a larger distance; those given the scores move in proportion to its root, in log odds."""
    if not isinstance(interval, ScoreForecast):
        return ends_around(bounds, distance, interval)[1]
    if interval.distance == 0 or not 0 < interval.foreseen < 1:
        return 0.0, 1.0
    growth = math.sqrt(distance / interval.distance)
    middle = scipy.special.logit(interval.foreseen)
    ends = scipy.special.logit(np.array([interval.low, interval.high]))
    low, high = scipy.special.expit(middle + growth * (ends - middle)).tolist()
    return low, high


def extreme_limit(values: Sequence[float], tail: float) -> float:
    """What a coming value, of the same normal law as independent past ones, exceeds with the chance `tail`.

    Examples
    --------
    >>> round(extreme_limit([0.0, 1.0, 2.0], 0.1), 2)  # 1 + 1.89 * sqrt(4 / 3)
    3.18
    """
    past = np.asarray(values, dtype=float)
    spread = float(past.std(ddof=1)) * math.sqrt(1 + 1 / len(past))
    return float(past.mean()) - float(scipy.special.stdtrit(len(past) - 1, tail)) * spread
