"""The limit of a chart over later windows, from the reference windows.

The true values of windows scatter about a mean with a standard deviation `between`, and neighbours may be
alike: an AR(1) series, seen with known sampling noise. Mean, scatter and correlation are known with error
only. The limit is that of later windows drawn from all that the reference windows leave possible.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.dependence import PossibleLevels
from rocmonitor.stats.rows import Floats

DECAY = 0.15  # weight of the newest window in the mean [R59]; chosen by simulation, docs/coverage.md
CAP = 2.5  # standard deviations at which one window is cut off: no single window is a lasting change
ENDS = 0.5  # share of its limit below which the chart must fall before an alarm ends: one change is one alarm


class ChartShape(NamedTuple):
    """The values that a chart standardises with."""

    mean: float  # of the reference windows
    noise: float  # sampling variance of a window of the median size
    deviation: float  # standard deviation of such a window
    mean_share: float  # variance of the mean over that of such a window
    wave_error: float = 0.0  # standard error of each coefficient of the season
    wave_step: float = 0.0  # of the season's angle from window to window


class Running(NamedTuple):
    """The sums that a chart follows from, after each window."""

    total: Floats  # (k,) or (k, r): of the standardised distances, each by what its window can show
    spread: Floats  # (k,): standard deviation of `total` when nothing has changed
    reach: Floats  # (k,): `total` over it is the weighted mean, in deviations; 0 before the first window

    @property
    def statistic(self) -> Floats:
        """The chart."""
        spread = np.where(self.spread > 0, self.spread, 1.0)
        return np.asarray((self.total.T / spread).T)

    @property
    def mean(self) -> Floats:
        """(k,): the weighted mean of the latest windows, in deviations; 0 before the first."""
        return np.asarray(self.total / np.where(self.reach > 0, self.reach, 1.0))

    @property
    def error(self) -> Floats:
        """(k,): its standard error; infinite before the first window."""
        seen = self.reach > 0
        return np.where(seen, self.spread / np.where(seen, self.reach, 1.0), np.inf)


def running(standardised: Floats, size: Floats, mean_share: float) -> Running:
    """Return the chart after each window, over the first axis of `standardised`.

    standardised, shape (k,) or (k, r): (mean - value) / standard deviation of each window, its own one.
    size, shape (k,): Standard deviation of a window of the median size over the window's own one; 0 for a
        gap.
    mean_share: Variance of the reference's mean over that of a window of the median size.

    With z_j cut off at `CAP` and u_j = `size`, the chart is N / sqrt(V + mean_share W²), where N, V and W
    are the sums of u_j z_j, u_j² and u_j² with weights (1 - DECAY)^(k - j), squared for V. So a window
    counts by what it can show of a shift, a gap changes nothing, and the error of the reference's mean, which
    stays the same for all windows, weighs more the more of them are averaged.
    """
    total = np.zeros(standardised.shape[1:])
    square = reach = 0.0
    totals, spreads, reaches = np.empty(standardised.shape), np.empty(len(size)), np.empty(len(size))
    cut = np.clip(standardised, -CAP, CAP)
    for k, u in enumerate(size.tolist()):
        if u:
            total = (1 - DECAY) * total + u * cut[k]
            square = (1 - DECAY) ** 2 * square + u * u
            reach = (1 - DECAY) * reach + u * u
        totals[k], spreads[k], reaches[k] = total, np.sqrt(square + mean_share * reach * reach), reach
    return Running(totals, spreads, reaches)


def alarms(statistic: Floats, limit: float, *, two_sided: bool) -> NDArray[np.int8]:
    """Return alarms, shaped as `statistic`, (k, …): 1 where a window leaves a fall, -1 a rise, 0 none.

    An alarm begins above the limit and ends below `ENDS` times it.
    """
    alarm = np.zeros(statistic.shape, np.int8)
    now = np.zeros(statistic.shape[1:], np.int8)
    for k, value in enumerate(statistic):
        now = np.where(now * value < ENDS * limit, 0, now)
        now = np.where(value > limit, 1, now)
        if two_sided:
            now = np.where(value < -limit, -1, now)
        alarm[k] = now
    return alarm


DRAWS = 6000
_SEED = 14


def chart_limit(
    outlook: PossibleLevels, shape: ChartShape, horizon: int, probability: float, *, two_sided: bool
) -> float:
    """Return the value that the chart passes within `horizon` quiet windows with this probability."""
    return float(np.quantile(largest_values(outlook, shape, horizon, two_sided=two_sided), 1 - probability))


def largest_values(outlook: PossibleLevels, shape: ChartShape, horizon: int, *, two_sided: bool) -> Floats:
    """(DRAWS,): the largest value of the chart in each of the drawn series.

    `DRAWS` series of later windows, as large as the median reference window, with a fixed seed: mean, scatter
    and correlation of each drawn from the outlook, and a season with its error. Cost: O(DRAWS horizon).
    """
    shocks, noise, (luck, cosine, sine) = _normals(horizon)
    cumulative = np.cumsum(outlook.weight)
    which = np.searchsorted(cumulative, (np.arange(DRAWS) + 0.5) / DRAWS * cumulative[-1])
    serial, between = outlook.serial[which], outlook.between[which]
    fresh, spread = np.sqrt(1 - serial**2), np.sqrt(shape.noise)
    mean = shape.mean - outlook.mean[which] - np.sqrt(outlook.mean_variance[which]) * luck
    state = shocks[0]
    rows = np.empty((horizon, DRAWS))
    for k in range(horizon):
        state = serial * state + fresh * shocks[k] if k else state
        rows[k] = (mean - between * state - spread * noise[k]) / shape.deviation
        if shape.wave_error:
            angle = k * shape.wave_step
            rows[k] += (np.cos(angle) * cosine + np.sin(angle) * sine) * (shape.wave_error / shape.deviation)
    chart = running(rows, np.ones(horizon), shape.mean_share).statistic
    return np.asarray(np.abs(chart).max(axis=0) if two_sided else chart.max(axis=0))


@lru_cache(maxsize=4)
def _normals(horizon: int) -> tuple[Floats, Floats, Floats]:
    """Return standard normal numbers: (horizon, draws) twice, and (3, draws)."""
    rng = np.random.default_rng(_SEED)
    shocks, noise = rng.standard_normal((2, horizon, DRAWS))
    return shocks, noise, rng.standard_normal((3, DRAWS))
