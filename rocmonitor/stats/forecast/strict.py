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
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.dependence import series_likelihood
from rocmonitor.stats.rows import Floats

_SERIAL = (0.0, 0.3, 0.6, 0.9)
_DEPENDENT = 0.05  # weight of all correlations but 0 together, before the windows are seen
_SCATTERS = 60
_RARE = 1e-8  # of a scatter further from the one seen
_LEAST_NOISE = 1e-9  # of the scatter


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingWindow:
    """The law of a coming window given past ones: a mixture of normal laws, shape (g,) each."""

    weight: Floats
    mean: Floats
    deviation: Floats

    def below(self, value: float) -> float:
        """Return the chance of a value below this one."""
        return float(self.weight @ scipy.special.ndtr((value - self.mean) / self.deviation))

    def above(self, value: float) -> float:
        """Return the chance of a value above this one."""
        return float(self.weight @ scipy.special.ndtr((self.mean - value) / self.deviation))

    def reach(self, tail: float, *, two_sided: bool) -> float:
        """Return how far below 0 a value lies with the chance `tail`; or on either side, with twice of it."""

        def excess(reach: float) -> float:
            return self.below(-reach) + (self.above(reach) - 2 * tail if two_sided else -tail)

        furthest = float(np.max(np.abs(self.mean) + 40 * self.deviation))
        if excess(0.0) <= 0:
            return 0.0
        return float(scipy.optimize.brentq(excess, 0.0, furthest, xtol=1e-15))


def coming_window(values: ArrayLike, variances: ArrayLike, noise: float) -> ComingWindow:
    """Return what is expected of a coming window, from the values of past ones.

    values, shape (k,): Of past windows in their order, relative to what the coming one is compared with.
    variances, shape (k,): Their sampling variances, at least 0; infinite for a gap.
    noise: Sampling variance of the coming window.

    The likelihood of `series_likelihood` over 60 scatters and four correlations; flat priors of the mean and
    of the log of the whole scatter, 0.95 of the prior weight on independence. Cost: O(k g), some 3 ms.
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
    serial, variance = (grid.ravel() for grid in np.meshgrid(_SERIAL, between, indexing="ij"))
    prior = np.where(serial == 0, 1 - _DEPENDENT, _DEPENDENT / (len(_SERIAL) - 1)) * np.tile(
        count, len(_SERIAL)
    )
    likelihood = series_likelihood(np.where(seen, series - middle, 0.0), own, serial, np.sqrt(variance))
    log = likelihood.of_any_mean()[-1] + np.log(prior)
    weight = np.exp(log - log.max())
    information = likelihood.information[-1]
    return ComingWindow(
        weight=weight / weight.sum(),
        mean=middle + likelihood.score[-1] / information,
        deviation=np.sqrt(variance + 1 / information + max(noise, floor)),
    )


def extreme_limit(values: Sequence[float], tail: float) -> float:
    """Return what a coming value, of the normal law of independent past ones, exceeds with chance `tail`."""
    past = np.asarray(values, dtype=float)
    spread = float(past.std(ddof=1)) * math.sqrt(1 + 1 / len(past))
    return float(past.mean()) - float(scipy.special.stdtrit(len(past) - 1, tail)) * spread
