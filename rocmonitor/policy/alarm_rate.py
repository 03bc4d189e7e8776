"""A rate of alarms over all processes that a reference leaves possible: what to expect, and its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocmonitor.stats.rows import Floats

_FEWEST_ALIKE = 0.1
"""Share of correlated processes from which on they count by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Events a year.

    Attributes
    ----------
    expected : float
        On average of all that the reference leaves possible. Of a ``floor`` alone it is set so that its
        average over references is right: see `expected_below_fixed`.
    low, high : float
        Between these it is for at least 80 % of references, or nearly so: see `ends`.
    """

    expected: float
    low: float
    high: float


def ends(rates: Floats, serial: Floats) -> tuple[float, float]:
    """The range of a rate: 80 % of what is possible, and 90 % of what is possible if neighbours are alike.

    A few reference windows that are alike show neither that nor how far they scatter in the long run. With a
    correlation of 0.9, 80 % of what is possible had the rate for 53 to 82 % of references: docs/coverage.md.
    """
    low, high = np.quantile(rates, [0.1, 0.9]).tolist()
    alike = rates[serial > 0]
    if len(alike) >= _FEWEST_ALIKE * len(rates):
        least, most = np.quantile(alike, [0.05, 0.95]).tolist()
        low, high = min(low, least), max(high, most)
    return low, high


def expected_below_fixed(rates: Floats, error: float) -> float:
    """The rate below a limit that does not depend on the reference, right on average over references.

    The reference's mean is off by chance, and all means that it leaves possible are as far off again. A rate
    grows steeply with that, so its mean over them is too high twice over. For rates with a lognormal law,
    the mean over 1 + (coefficient of variation)² has the true rate as its mean over references. `error` is
    the part of the variance of `rates` that comes from drawing few series.
    """
    mean = float(rates.mean())
    variance = max(float(rates.var()) - error, 0.0)
    return mean / (1 + variance / mean**2) if mean > 0 else 0.0
