"""The time of year: a yearly wave in the windows of a reference, and windows of the same season.

A wave is one cosine and one sine of the time of year, learned from the windows. It is used only where each
window is more like the others without it, when these alone say what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.rows import Floats, window_numbers

YEAR_DAYS = 365.25
WHOLE_YEAR = 364.0
"""Days that the reference must cover before a season can be known: 52 weeks."""

_WORTH_IT = 0.95  # of the squared differences: what must be left, at most, for a term to be used


class Explained(NamedTuple):
    """What terms explain of some values.

    Attributes
    ----------
    coefficients : ndarray, shape (t,)
    level : float
        Mean of the values without the terms.
    left : ndarray, shape (n,)
        What is left of each value when the others give the coefficients.
    gaps : ndarray, shape (n,)
        How far that is from the mean of what is left of the others.
    """

    coefficients: Floats
    level: float
    left: Floats
    gaps: Floats


def season(day: float) -> tuple[float, float]:
    """Cosine and sine of the time of year."""
    angle = 2 * math.pi * day / YEAR_DAYS
    return math.cos(angle), math.sin(angle)


def days_covered(days: Sequence[float | None]) -> float | None:
    """Days from the first window to the end of the last; None where one of their days is not known."""
    known = sorted(day for day in days if day is not None)
    if len(known) < max(len(days), 2):
        return None
    span = known[-1] - known[0]
    return span + span / (len(known) - 1)


def wave_of(values: Floats, days: Sequence[float | None]) -> Explained | None:
    """The yearly wave of some values, shape (n,); None with less than a year, or if it explains too little.

    Cost: O(n²).
    """
    covered = days_covered(days)
    if covered is None or covered < WHOLE_YEAR:
        return None
    return explained(values, np.array([season(day) for day in days if day is not None]))


def explained(values: Floats, terms: Floats, largest: float | None = None) -> Explained | None:
    """What terms, shape (n, t), explain of values; None where too little. Cost: O(n² t).

    With `largest` the coefficients stay within [0, largest].
    """
    if len(values) <= terms.shape[1] + 2:
        return None

    def fit(use: Floats) -> Floats:
        middle, centre = use @ values / use.sum(), use @ terms / use.sum()
        apart = (terms - centre) * use[:, None]
        found, *_ = np.linalg.lstsq(apart, (values - middle) * use, rcond=None)
        return np.asarray(found if largest is None else np.clip(found, 0.0, largest))

    everyone = np.ones(len(values))
    left, gaps = np.empty(len(values)), np.empty(len(values))
    for place in range(len(values)):
        others = everyone.copy()
        others[place] = 0.0
        coefficients = fit(others)
        left[place] = values[place] - terms[place] @ coefficients
        gaps[place] = left[place] - others @ (values - terms @ coefficients) / others.sum()
    plain = (values - values.mean()) * len(values) / (len(values) - 1)
    if gaps @ gaps >= _WORTH_IT * (plain @ plain):
        return None
    coefficients = fit(everyone)
    return Explained(coefficients, float(np.mean(values - terms @ coefficients)), left, gaps)


def seasonal_weights(days: ArrayLike, day: float, *, width: float = 45.0) -> Floats:
    """Weights of past windows for a coming one: those of the same season count most.

    For ``forecast_interval(…, weights=…)``, with two years of windows and more: with one year few windows
    count, and the interval says that its level is lower. With few years it costs power: docs/coverage.md.

    Parameters
    ----------
    days : array_like, shape (n,)
        Days since a fixed date of the past windows.
    day : float
        That of the coming window.
    width : float
        Days from the same time of year after which a window counts exp(-1/2), above 0.

    Returns
    -------
    ndarray, shape (n,)
        Within (0, 1], by a normal law of the days between the times of year.

    Raises
    ------
    InputError
        Days that are not finite, a width of 0 or less.

    Examples
    --------
    >>> seasonal_weights([0, 91, 182, 274, 365], 365).round(2).tolist()
    [1.0, 0.13, 0.0, 0.13, 1.0]
    """
    past = window_numbers(days, "days")
    if not (is_number(day) and math.isfinite(day)) or not (is_number(width) and 0 < width < math.inf):
        raise InputError(f"day must be finite and width above 0 days; they are {day!r} and {width!r}")
    apart = np.abs((past - day + YEAR_DAYS / 2) % YEAR_DAYS - YEAR_DAYS / 2)
    return np.asarray(np.exp(-0.5 * (apart / width) ** 2))
