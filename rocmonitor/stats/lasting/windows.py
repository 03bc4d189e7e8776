"""Windows as numbers: what a chart needs of each, and the scale that it works on.

The scale is x = 2 arcsin sqrt(AUC): finite at an AUC of 1, and with nearly the same sampling noise there.

A season is learned from the reference windows, each of which is compared with what the others say of it; one
that does not make them more alike in this comparison is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import exact_bootstrap_variance
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.season import YEAR_DAYS, season, wave_of

_LEAST_SHARE = 1e-9  # of the scatter: sampling noise is never quite nothing


class WindowAuc(NamedTuple):
    """The numbers of one window.

    Attributes
    ----------
    auc
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
    return [_valid(window, f"{name}[{place}]") for place, window in enumerate(windows)]


def noises(windows: Sequence[WindowAuc], pairs: PairVariances, scatter: float) -> Floats:
    """(n,): sampling variance of each window, above 0."""
    variances = np.array([pairs.noise(window.n_pos, window.n_neg) for window in windows])
    return np.asarray(np.maximum(variances, _LEAST_SHARE * max(scatter, _LEAST_SHARE)))


def require_scatter(values: Floats, pairs: PairVariances, auc: float) -> None:
    """Refuse windows that show nothing of how much windows differ."""
    if values.var() == 0 and pairs.noise(1, 1) == 0:
        raise DegenerateDataError(
            f"the {len(values)} reference windows show no scatter: each has the AUC {auc:.4g} and no "
            "sampling error; a change cannot be measured against them: check that scores and labels are right"
        )


def places_of(windows: Sequence[WindowAuc | None]) -> tuple[int, ...]:
    """Return those of the usable windows, counted from the first of them."""
    places = [place for place, window in enumerate(windows) if window is not None]
    return tuple(place - places[0] for place in places)


def _valid(window: object, name: str) -> WindowAuc | None:
    if window is None:
        return None
    if not isinstance(window, tuple) or not 3 <= len(window) <= len(WindowAuc._fields):
        raise InputError(f"{name} must be a WindowAuc or None for a gap, not {window!r}")
    numbers = WindowAuc(*window)
    for field in ("n_pos", "n_neg"):
        rows = getattr(numbers, field)
        if not is_number(rows) or not 0 <= rows < math.inf or rows != int(rows):
            raise InputError(f"{name}.{field} must be a number of rows, 0 or more; it is {rows!r}")
    if not numbers.n_pos or not numbers.n_neg:
        return None
    if not is_number(numbers.auc) or not 0 <= numbers.auc <= 1:
        raise InputError(f"{name}.auc must lie within [0, 1]; it is {numbers.auc!r}")
    if numbers.day is not None and not (is_number(numbers.day) and math.isfinite(numbers.day)):
        raise InputError(f"{name}.day must be a number of days since a fixed date; it is {numbers.day!r}")
    return numbers


def seasonal(wave: tuple[float, float], window: WindowAuc) -> float:
    """Return what the season adds to the value of a window."""
    if not any(wave) or window.day is None:
        return 0.0
    cosine, sine = season(window.day)
    return wave[0] * cosine + wave[1] * sine


def wave_step(windows: Sequence[WindowAuc]) -> float:
    """Return the median step of the season's angle from window to window."""
    days = np.array([window.day for window in windows if window.day is not None])
    return float(np.median(np.diff(days))) * 2 * math.pi / YEAR_DAYS


def adjusted(windows: Sequence[WindowAuc]) -> tuple[tuple[float, float], Floats]:
    """Return the wave of the season in reference windows, 0 where they show none, and (n,) what is left."""
    values = np.array([scaled(window.auc) for window in windows])
    wave = wave_of(values, [window.day for window in windows])
    if wave is None:
        return (0.0, 0.0), values
    cosine, sine = wave.coefficients.tolist()
    return (cosine, sine), wave.left
