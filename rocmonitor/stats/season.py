"""The time of year: a yearly wave in the windows of a reference.

A wave is one cosine and one sine of the time of year, learned from the windows. It is used only where the
windows are spread over the year, where the wave cannot be chance or a trend, and where each window is more
like the others without it, when these alone say what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from rocmonitor.stats.rows import Floats

YEAR_DAYS = 365.25
WHOLE_YEAR = 364.0  # days that the reference must cover before a season can be known: 52 weeks
LONGEST_GAP = 100.0  # days of the year without a window beyond which the others do not show a wave
CHANCE = 0.025  # share of references without a season of which a wave is taken off
_WORTH_IT = 0.95  # of the squared differences: what must be left, at most, for a term to be used


class FittedTerms(NamedTuple):
    """The part of some values that terms explain."""

    coefficients: Floats  # (t,)
    level: float  # mean of the values without the terms
    left: Floats  # (n,): What is left of each value when the others give the coefficients
    gaps: Floats  # (n,): How far that is from the mean of what is left of the others


def season(day: float) -> tuple[float, float]:
    """Cosine and sine of the time of year."""
    angle = 2 * math.pi * day / YEAR_DAYS
    return math.cos(angle), math.sin(angle)


def days_covered(days: Sequence[float | None]) -> float | None:
    """Days from the first window to the end of the last; None where one of their days is not known."""
    ordered = sorted(day for day in days if day is not None)
    if len(ordered) < max(len(days), 2):
        return None
    span = ordered[-1] - ordered[0]
    return span + span / (len(ordered) - 1)


def wave_of(values: ArrayLike, days: Sequence[float | None]) -> FittedTerms | None:
    """Return the yearly wave of some values, shape (n,); None where they do not show one.

    They show none with less than a year, with windows that all fall in one part of the year (each ``365d``),
    where `wave_pvalue` is above `CHANCE`, and where the wave does not predict windows that are left out.

    Cost: O(n²).
    """
    covered = days_covered(days)
    values, dated = np.asarray(values, dtype=float), np.array([day for day in days if day is not None])
    if covered is None or covered < WHOLE_YEAR:
        return None
    phases = np.sort(dated % YEAR_DAYS)
    if np.max(np.diff(phases, append=phases[0] + YEAR_DAYS)) > LONGEST_GAP:
        return None
    if wave_pvalue(values, dated) > CHANCE:
        return None
    return _explained(values, np.array([season(day) for day in dated]))


def wave_pvalue(values: Floats, days: Floats) -> float:
    """Return the chance that values without a season show so large a wave; both of shape (n,).

    The F test of cosine and sine beside a level and a trend: a steady loss is no season. The statistic is
    divided by (1 + r) / (1 - r), r the correlation of neighbouring residuals, corrected for the terms fitted:
    windows that follow one another swing by chance. 1 with fewer than seven values, or equal ones.

    Cost: O(n).
    """
    order = np.argsort(days, kind="stable")
    values, days = values[order], days[order]
    n, trend = len(values), days - days.mean()
    if n < 7 or not np.ptp(values) > 0 or not np.ptp(trend) > 0:
        return 1.0
    plain = np.column_stack([np.ones(n), trend / np.abs(trend).max()])
    terms = np.column_stack([plain, [season(day) for day in days]])
    without, left = (values - part @ np.linalg.lstsq(part, values, rcond=None)[0] for part in (plain, terms))
    noise, freedom = float(left @ left), n - terms.shape[1]
    if noise <= 1e-20 * float(values @ values):  # nothing but a wave
        return 0.0
    alike = float(left[1:] @ left[:-1]) / noise + (1 + terms.shape[1]) / n
    alike = min(max(alike, 0.0), 0.95)
    ratio = (float(without @ without) - noise) / 2 / (noise / freedom)
    return float(fdtrc(2, freedom, max(ratio, 0.0) * (1 - alike) / (1 + alike)))


def _explained(values: Floats, terms: Floats) -> FittedTerms | None:
    """Return what terms, shape (n, t), explain of values; None where too little. O(n² t)."""
    if len(values) <= terms.shape[1] + 2:
        return None

    def fit(use: Floats) -> Floats:
        middle, centre = use @ values / use.sum(), use @ terms / use.sum()
        apart = (terms - centre) * use[:, None]
        slopes, *_ = np.linalg.lstsq(apart, (values - middle) * use, rcond=None)
        return np.asarray(slopes)

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
    return FittedTerms(coefficients, float(np.mean(values - terms @ coefficients)), left, gaps)
