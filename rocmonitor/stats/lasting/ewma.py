"""The chart: an exponentially weighted mean of standardised windows, over its own standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.rows import Floats

DECAY = 0.15
"""Weight of the newest window in the mean [R59]; chosen by simulation, docs/coverage.md."""

CAP = 2.5
"""Standard deviations at which one window is cut off: no single window is a lasting change."""

ENDS = 0.5
"""Share of its limit below which the chart must fall before an alarm ends: one change is one alarm."""


class ChartShape(NamedTuple):
    """What a chart standardises with."""

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
    """The chart after each window, over the first axis of `standardised`.

    Parameters
    ----------
    standardised : ndarray, shape (k,) or (k, r)
        (mean - value) / standard deviation of each window, its own one.
    size : ndarray, shape (k,)
        Standard deviation of a window of the median size over the window's own one; 0 for a gap.
    mean_share : float
        Variance of the reference's mean over that of a window of the median size.

    Notes
    -----
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
    """As `statistic`, shape (k, …): 1 after a window that leaves an alarm of a fall, -1 of a rise, 0 none.

    An alarm begins above the limit and ends below `ENDS` times it.
    """
    found = np.zeros(statistic.shape, np.int8)
    now = np.zeros(statistic.shape[1:], np.int8)
    for k, value in enumerate(statistic):
        now = np.where(now * value < ENDS * limit, 0, now)
        now = np.where(value > limit, 1, now)
        if two_sided:
            now = np.where(value < -limit, -1, now)
        found[k] = now
    return found
