"""What the reference windows say of later ones, and the limit of a chart that follows from it.

The true values of windows scatter about a mean with a standard deviation `between`, and neighbours may be
alike: an AR(1) series, seen with known sampling noise. Mean, scatter and correlation are known with error
only. The limit is that of later windows drawn from all that the reference windows leave possible.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.dependence import series_likelihood
from rocmonitor.stats.lasting.ewma import ChartShape, running
from rocmonitor.stats.rows import Floats

SERIAL = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Serial correlations that are thought possible."""

DEPENDENT = 0.05
"""Weight, before the reference windows are seen, of all correlations but 0 together."""

DRAWS = 6000
_SEED = 14
_SCATTERS = 18  # sizes of the scatter that are thought possible
_RARE = 5e-4  # of a scatter further from the one seen


class Outlook(NamedTuple):
    """Means, scatters and correlations that are possible, shape (g,) each, and how probable they are."""

    serial: Floats
    between: Floats
    prior: Floats  # before the reference windows are seen
    weight: Floats
    mean: Floats
    mean_variance: Floats

    @property
    def mean_serial(self) -> float:
        """The serial correlation, on average of what is possible."""
        return float(self.weight @ self.serial)


def scatter_between(values: Floats, noise: Floats) -> float:
    """The variance between windows that makes their scatter what was expected ([PM82]); at least 0."""

    def excess(between: float) -> float:
        weight = 1 / (noise + between)
        mean = weight @ values / weight.sum()
        return float(weight @ (values - mean) ** 2) - (len(values) - 1)

    low, high = 0.0, float(np.sum((values - values.mean()) ** 2))
    if excess(0.0) <= 0:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def possible(values: Floats, noise: Floats, places: tuple[int, ...]) -> Outlook:
    """What the reference windows at these places of the series leave possible.

    The prior is flat in the mean and in the log of the scatter, sampling noise included; correlations have
    the weight `DEPENDENT` together. Cost: O(n g).
    """
    degrees = len(values) - 1
    typical = float(1 / np.mean(1 / noise))
    seen = max(float(values.var(ddof=1)), 1e-3 * typical)
    rare = 2 * scipy.special.gammaincinv(degrees / 2, np.array([_RARE, 1 - _RARE]))
    totals = seen * degrees / np.geomspace(rare[0], rare[1], _SCATTERS)
    scatters, count = np.unique(np.maximum(totals - typical, 0.0), return_counts=True)
    serial, variance = (each.ravel() for each in np.meshgrid(SERIAL, scatters, indexing="ij"))
    prior = np.where(serial == 0, 1 - DEPENDENT, DEPENDENT / (len(SERIAL) - 1))
    series, variances = np.zeros(places[-1] + 1), np.full(places[-1] + 1, np.inf)
    middle = float(values.mean())
    series[list(places)], variances[list(places)] = values - middle, noise
    found = series_likelihood(series, variances, serial, np.sqrt(variance))
    prior *= np.tile(count, len(SERIAL)) / _SCATTERS
    log = found.of_any_mean()[-1] + np.log(prior)
    weight = np.exp(log - log.max())
    return Outlook(
        serial=serial,
        between=np.sqrt(variance),
        prior=prior,
        weight=weight / weight.sum(),
        mean=middle + found.score[-1] / found.information[-1],
        mean_variance=1 / found.information[-1],
    )


def chart_limit(
    outlook: Outlook, shape: ChartShape, horizon: int, probability: float, *, two_sided: bool
) -> float:
    """The value that the chart passes within `horizon` windows with this probability, nothing lasting."""
    return float(np.quantile(largest_values(outlook, shape, horizon, two_sided=two_sided), 1 - probability))


def largest_values(outlook: Outlook, shape: ChartShape, horizon: int, *, two_sided: bool) -> Floats:
    """(DRAWS,): the largest value of the chart in each of the drawn series.

    Notes
    -----
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
    """Standard normal numbers: (horizon, draws) twice, and (3, draws)."""
    rng = np.random.default_rng(_SEED)
    shocks, noise = rng.standard_normal((2, horizon, DRAWS))
    return shocks, noise, rng.standard_normal((3, DRAWS))
