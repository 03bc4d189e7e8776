"""Windows as numbers on the scale of a chart, the chart that runs over them, and its limit.

The scale is x = 2 arcsin sqrt(AUC): finite at an AUC of 1, and with nearly the same sampling noise there. The
limit is that of later windows drawn from all that the reference windows leave possible of mean, scatter and
correlation (`rocmonitor.stats.series`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.area.delong import exact_bootstrap_variance
from rocmonitor.stats.proportion import is_number, whole_number
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.series import PossibleProcesses, season, wave_of

_LEAST_SHARE = 1e-9  # of the scatter: sampling noise is never quite nothing


class WindowAuc(NamedTuple):
    """The numbers of one window.

    Attributes
    ----------
    n_pos, n_neg: Rows of each class.
    day: Days since any fixed date, for the season.
    """

    auc: float
    n_pos: int
    n_neg: int
    day: float | None = None


class PairVariances(NamedTuple):
    """The moments of psi over all pairs of the reference that give the sampling noise of an AUC."""

    auc: float
    zeta10: float
    zeta01: float
    kernel: float

    def noise(self, n_pos: int, n_neg: int) -> float:
        """Return the sampling variance of a window of this size at the reference's AUC, on the scale."""
        scale = self.auc * (1 - self.auc)
        if scale <= 0:
            return 0.0
        return exact_bootstrap_variance(self.zeta10, self.zeta01, self.kernel, n_pos, n_neg) / scale


def scaled(auc: float) -> float:
    """2 arcsin sqrt(AUC)."""
    return 2 * math.asin(math.sqrt(auc))


def unscaled(x: float) -> float:
    """Return the AUC of a value on the scale; what lies beyond an end of it is that end."""
    return math.sin(min(max(x, 0.0), math.pi) / 2) ** 2


def valid_numbers(windows: object, name: str) -> list[WindowAuc | None]:
    """Return the windows as a list; one without rows of both classes is a gap, None."""
    if not isinstance(windows, Iterable):
        raise InputError(f"{name} must be a list of WindowAuc, not a {type(windows).__name__}")
    numbers: list[WindowAuc | None] = []
    for place, window in enumerate(windows):
        if window is None:
            numbers.append(None)
            continue
        called = f"{name}[{place}]"
        if not isinstance(window, tuple) or not 3 <= len(window) <= len(WindowAuc._fields):
            raise InputError(f"{called} must be a WindowAuc or None for a gap, not {window!r}")
        auc, n_pos, n_neg, day = own = WindowAuc(*window)
        whole_number(n_pos, f"{called}.n_pos", 0)
        whole_number(n_neg, f"{called}.n_neg", 0)
        if not n_pos or not n_neg:
            numbers.append(None)
            continue
        if not is_number(auc) or not 0 <= auc <= 1:
            raise InputError(f"{called}.auc must lie within [0, 1]; it is {auc!r}")
        if day is not None and not (is_number(day) and math.isfinite(day)):
            raise InputError(f"{called}.day must be a number of days since a fixed date; it is {day!r}")
        numbers.append(own)
    return numbers


def noises(windows: Sequence[WindowAuc], pairs: PairVariances, scatter: float) -> Floats:
    """(n,): sampling variance of each window, above 0."""
    variances = np.array([pairs.noise(window.n_pos, window.n_neg) for window in windows])
    return np.asarray(np.maximum(variances, _LEAST_SHARE * max(scatter, _LEAST_SHARE)))


def seasonal(wave: tuple[float, float], window: WindowAuc) -> float:
    """Return what the season adds to the value of a window."""
    if not any(wave) or window.day is None:
        return 0.0
    cosine, sine = season(window.day)
    return wave[0] * cosine + wave[1] * sine


def adjusted(windows: Sequence[WindowAuc]) -> tuple[tuple[float, float], Floats]:
    """Return the wave of the season in reference windows, 0 where they show none, and (n,) what is left."""
    values = np.array([scaled(window.auc) for window in windows])
    wave = wave_of(values, [window.day for window in windows])
    if wave is None:
        return (0.0, 0.0), values
    cosine, sine = wave.coefficients.tolist()
    return (cosine, sine), wave.left


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
    """Return the chart of docs/method.md, section 3, by window, along the first axis of `standardised`.

    standardised, shape (k,) or (k, r): (mean - value) / standard deviation of each window, its own one.
    size, shape (k,): Standard deviation of a window of the median size over the window's own one; 0 for a
        gap.
    mean_share: Variance of the reference's mean over that of a window of the median size.

    A window counts by what it can show of a shift, a gap changes nothing, and the error of the reference's
    mean, which stays the same for all windows, weighs more the more of them are averaged.
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


def largest_values(outlook: PossibleProcesses, shape: ChartShape, horizon: int, *, two_sided: bool) -> Floats:
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
