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
from rocmonitor.stats.dependence import possible
from rocmonitor.stats.rows import Floats

_SERIAL = (0.0, 0.3, 0.6, 0.9)
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
    places = np.flatnonzero(np.isfinite(own))
    if len(places) < 2:
        raise InputError("values must have at least two windows: one alone shows no scatter")
    floor = _LEAST_NOISE * (float(series[places].var(ddof=1)) + 1e-12)
    levels = possible(
        series[places],
        np.maximum(own[places], floor),
        tuple(places.tolist()),
        serials=_SERIAL,
        scatters=60,
        rare=1e-8,
    )
    return ComingWindow(
        weight=levels.weight,
        mean=levels.mean,
        deviation=np.sqrt(levels.between**2 + levels.mean_variance + max(noise, floor)),
    )


def extreme_limit(values: Sequence[float], tail: float) -> float:
    """Return what a coming value, of the normal law of independent past ones, exceeds with chance `tail`."""
    past = np.asarray(values, dtype=float)
    spread = float(past.std(ddof=1)) * math.sqrt(1 + 1 / len(past))
    return float(past.mean()) - float(scipy.special.stdtrit(len(past) - 1, tail)) * spread
