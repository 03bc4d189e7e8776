"""The chart: an exponentially weighted mean of standardised windows, over its own standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rocmonitor.stats.rows import Floats

DECAY = 0.15
"""Weight of the newest window in the mean [R59]; chosen by simulation, docs/coverage.md."""

CAP = 2.5
"""Standard deviations at which one window is cut off: no single window is a lasting change."""


class ChartShape(NamedTuple):
    """What a chart standardises with."""

    mean: float  # of the reference windows
    noise: float  # sampling variance of a window of the median size
    deviation: float  # standard deviation of such a window
    mean_share: float  # variance of the mean over that of such a window
    wave_error: float = 0.0  # standard error of each coefficient of the season
    wave_step: float = 0.0  # of the season's angle from window to window


def running(standardised: Floats, size: Floats, mean_share: float) -> Floats:
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
    rows = np.empty(standardised.shape)
    cut = np.clip(standardised, -CAP, CAP)
    for k, u in enumerate(size.tolist()):
        if u:
            total = (1 - DECAY) * total + u * cut[k]
            square = (1 - DECAY) ** 2 * square + u * u
            reach = (1 - DECAY) * reach + u * u
        rows[k] = total / np.sqrt(square + mean_share * reach * reach) if square else total
    return rows
