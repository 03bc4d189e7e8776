"""The correlation of neighbouring reference windows, and its effect on the level of a forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.forecast.interval import ForecastFit
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.series import series_likelihood

LEAST_WINDOWS = 8  # fewer reference windows show nothing of their order
LEVEL = 0.9  # the level of the interval of the correlation
_COEFFICIENTS = np.linspace(0.0, 0.95, 20)
_RATIOS = np.array([0.0, 0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.3])
"""Standard deviations of the true values, in root mean squares of what the windows show."""

_CORRELATED = 0.2
"""Prior probability of any correlation where a widening is chosen, in proportion to the coefficients."""

_WIDENINGS = np.linspace(1.0, 4.0, 61)
_DRAWS = 400
_COMING = 52  # windows over which the share outside is taken
_NOTABLE = 0.1  # a correlation that matters, if it is exceeded with probability 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SerialCorrelation(Result):
    """The serial correlation of the reference windows, and what it implies for a forecast interval."""

    # From one window's true AUC to the next: posterior mean, and ends of the central 90 %. With few windows
    # they reach from about 0 to about 1.
    correlation: float
    low: float
    high: float
    # Share of the next 52 windows, like those of the reference, that leave an interval with the level
    # `achieved_level` although nothing lasts; over the posterior of the correlation.
    outside: float
    # By how much the interval would have to be wider for them to leave it as often as its level says, on
    # average over what the windows leave possible: at least 1. The root of the distance is multiplied.
    widening: float = 1.0
    outside_widened: float | None = None  # the share that leaves the interval that is so much wider
    allowed: bool = False  # whether the interval at hand is that wider one
    achieved_level: float  # of the interval, were windows independent
    n_windows: int

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """`serial-correlation`, or `serial-correlation-allowed`, where it is beyond reasonable doubt."""
        if self.low < _NOTABLE:
            return ()
        names = ("correlation", "low", "high", "achieved_level", "n_windows")
        values = {name: getattr(self, name) for name in names}
        if self.allowed:
            more = {"widening": self.widening, "outside": self.outside_widened}
            return (Caveat("serial-correlation-allowed", **values, **more),)
        return (Caveat("serial-correlation", **values, outside=self.outside),)


def serial_correlation(fit: ForecastFit) -> SerialCorrelation:
    """Return the serial correlation of the windows that a calibrated forecast was learned from.

    fit: Of method "calibrated", its windows in the order of time. Weights are left aside.

    The likelihood of `rocmonitor.stats.series` over a grid of coefficients (0 to 0.95) and standard
    deviations, with equal prior weights; windows that were set aside are gaps. Shares outside are found by
    drawing reference and coming windows from each process (with numbers that are always the same) and
    applying the conformal quantile. For `widening` independence has the prior probability 0.8, so that
    independent windows, whose order shows little, pay little. Cost: O(k g), and about 0.1 s.
    """
    # Signed roots of all windows in order, and their sampling variances: infinite where set aside.
    shifts, variances = np.zeros(0), np.zeros(0)
    if len(fit.roots) == fit.n_windows:  # else of a method that does not use them
        lost = {number for caveat in fit.set_aside for number in caveat.values.get("numbers", ())}
        total = fit.n_windows + len(lost)
        kept = [place for place in range(total) if place + 1 not in lost]
        shifts, variances = np.zeros(total), np.full(total, math.inf)
        shifts[kept], variances[kept] = fit.roots, fit.window_noise()
    seen = np.isfinite(variances)
    number = int(np.count_nonzero(seen))
    scale = float(np.std(shifts[seen])) if number else 0.0
    if number < LEAST_WINDOWS or fit.method != "calibrated" or scale == 0:
        raise DegenerateDataError(
            f"{number} windows that differ are known, and {LEAST_WINDOWS} are needed to see whether "
            "neighbouring ones are alike"
        )
    level = min(fit.confidence_level, number / (number + 1))  # of every batch alike
    noise = np.maximum(variances / scale**2, 1e-6)
    phi, tau = (grid.ravel() for grid in np.meshgrid(_COEFFICIENTS, _RATIOS, indexing="ij"))
    log = series_likelihood(shifts / scale, noise, phi, tau).of_any_mean()[-1]
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    of_phi = weight.reshape(len(_COEFFICIENTS), -1).sum(axis=1)
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = np.interp(ends, np.cumsum(of_phi) - of_phi / 2, _COEFFICIENTS).tolist()
    shares = np.zeros((len(phi), len(_WIDENINGS)))  # points without any weight stay 0
    for at in np.flatnonzero(weight > 1e-4 * weight.max()):
        shares[at] = _shares(
            fit, number, level, float(phi[at]), float(tau[at]), float(np.median(noise[seen]))
        )
    expected = weight @ shares
    # Relative prior weights where a widening is chosen; all are equal elsewhere.
    spread = _CORRELATED * _COEFFICIENTS / _COEFFICIENTS.sum()
    prior = weight * np.where(phi == 0, 1 - _CORRELATED, np.interp(phi, _COEFFICIENTS, spread))
    # The smallest widening at which no more than 1 - level leave the interval on average.
    widening = float(np.interp(level - 1, -(prior @ shares / prior.sum()), _WIDENINGS))
    return SerialCorrelation(
        correlation=float(of_phi @ _COEFFICIENTS),
        low=low,
        high=high,
        outside=float(expected[0]),
        widening=widening,
        outside_widened=float(np.interp(widening, _WIDENINGS, expected)),
        allowed=fit.widening > 1,
        achieved_level=level,
        n_windows=number,
    )


def _shares(fit: ForecastFit, n: int, level: float, phi: float, tau: float, noise: float) -> Floats:
    """Return the shares outside by widening, with `n` reference windows from this process."""
    states, errors = _processes(n + _COMING, phi)
    seen = tau * states + math.sqrt(noise) * errors
    apart = seen - seen[:n].mean(axis=0)
    if fit.inside:
        apart[:n] *= n / (n - 1)
    apart = np.abs(apart) if fit.alternative == "two-sided" else -apart
    rank, part = divmod(round(min((n + 1) * level, n), 9), 1)
    last = int(rank) - 1
    ends = np.partition(apart[:n], (last, min(last + 1, n - 1)), axis=0)
    limit = ends[last] + part * (ends[min(last + 1, n - 1)] - ends[last])
    coming = apart[n:] / np.where(limit > 0, limit, 1.0)
    # Beyond the widening k are those that fill the steps after it.
    step = np.ceil((coming.ravel() - _WIDENINGS[0]) / (_WIDENINGS[1] - _WIDENINGS[0]))
    filled = np.bincount(np.clip(step, 0, len(_WIDENINGS)).astype(np.intp), minlength=len(_WIDENINGS) + 1)
    return np.asarray(1 - np.cumsum(filled)[:-1] / coming.size)


@lru_cache(maxsize=64)
def _processes(windows: int, phi: float) -> tuple[Floats, Floats]:
    """States and errors by the same normal numbers for every process, shape (windows, draws) each."""
    innovations, errors = np.random.default_rng(14).standard_normal((2, windows, _DRAWS))
    states = np.empty_like(innovations)
    states[0] = innovations[0]
    for j in range(1, windows):
        states[j] = phi * states[j - 1] + math.sqrt(1 - phi * phi) * innovations[j]
    return states, errors
