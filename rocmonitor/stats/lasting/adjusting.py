"""What explains a part of a window's AUC: its scores, and the season.

Both are linear on the chart's scale and learned from the reference windows, each of which is compared with
what the others say of it. A term that does not make them more alike in this comparison is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.forecast.score_history import ScoreHistory
from rocmonitor.stats.lasting.windows import WindowAuc, scaled
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.rows import Floats, window_numbers
from rocmonitor.stats.sample import Sample

YEAR_DAYS = 365.25
WHOLE_YEAR = 364.0
"""Days that the reference must cover before a season can be known: 52 weeks."""

_WORTH_IT = 0.95  # of the squared differences: what must be left, at most, for a term to be used


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What is taken off a window's value: slope (expected - centre) and the season's wave."""

    slope: float = 0.0
    centre: float = 0.0
    wave: tuple[float, float] = (0.0, 0.0)

    def of(self, window: WindowAuc) -> float:
        """What the scores and the season of a window add to its value."""
        added = 0.0
        if self.slope and window.expected is not None:
            added += self.slope * (scaled(window.expected) - self.centre)
        if any(self.wave) and window.day is not None:
            cosine, sine = season(window.day)
            added += self.wave[0] * cosine + self.wave[1] * sine
        return added

    def seen(self, score_variance: float) -> float:
        """The part of a window's sampling variance that goes with the scores, of `score_variance` in all.

        The expected AUC is the realised one averaged over the labels, so their covariance is its variance.
        """
        return self.slope * (2 - self.slope) * score_variance


def expected_by_the_others(history: ScoreHistory, windows: Sequence[Sample | None]) -> list[float | None]:
    """The AUC that the scores of each window of a history lead to, by the reference without it.

    None for a gap, and for a window without which the reference has one class.
    """
    coming = iter(history.foreseen[history.strengths.index(1.0)])
    return [next(coming) if window is not None and history.uses(window) else None for window in windows]


def expected_by_all(
    history: ScoreHistory, reference: Sample, windows: Sequence[Sample | None]
) -> list[float | None]:
    """The AUC that the scores of each later window lead to; None for a gap."""
    return [
        history.expected(reference, (window.score, window.pos + window.neg)).auc
        if window is not None and window.n_pos and window.n_neg
        else None
        for window in windows
    ]


def with_expected(
    windows: Sequence[WindowAuc | None], expected: Sequence[float | None]
) -> list[WindowAuc | None]:
    """The windows with the AUCs expected of them; a gap where that is not known."""
    return [
        None if known is None or auc is None else known._replace(expected=auc)
        for known, auc in zip(windows, expected, strict=True)
    ]


def season(day: float) -> tuple[float, float]:
    """Cosine and sine of the time of year."""
    angle = 2 * math.pi * day / YEAR_DAYS
    return math.cos(angle), math.sin(angle)


def days_covered(windows: Sequence[WindowAuc]) -> float | None:
    """Days from the first reference window to the end of the last; None where their days are not known."""
    days = sorted(window.day for window in windows if window.day is not None)
    if len(days) < max(len(windows), 2):
        return None
    span = days[-1] - days[0]
    return span + span / (len(days) - 1)


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


def wave_step(windows: Sequence[WindowAuc]) -> float:
    """By how much the angle of the season moves from window to window, in the median."""
    days = np.array([window.day for window in windows if window.day is not None])
    return float(np.median(np.diff(days))) * 2 * math.pi / YEAR_DAYS


def adjusted(windows: Sequence[WindowAuc]) -> tuple[Adjustment, Floats]:
    """What explains the reference windows, and (n,) what is left of each when the others explain it."""
    values = np.array([scaled(window.auc) for window in windows])
    found = Adjustment()
    covered = days_covered(windows)
    if covered is not None and covered >= WHOLE_YEAR:
        waves = np.array([season(window.day) for window in windows if window.day is not None])
        coefficients, left = _explained(values, waves)
        if left is not None:
            values, found = left, Adjustment(wave=(float(coefficients[0]), float(coefficients[1])))
    if all(window.expected is not None for window in windows):
        expected = np.array([scaled(w.expected) for w in windows if w.expected is not None])
        centre = float(expected.mean())
        coefficients, left = _explained(values, (expected - centre)[:, None], largest=1.0)
        if left is not None:
            values, found = left, Adjustment(float(coefficients[0]), centre, found.wave)
    return found, values


def _explained(values: Floats, terms: Floats, largest: float | None = None) -> tuple[Floats, Floats | None]:
    """Coefficients of the terms, and what is left of each value when the others give them; None: too little.

    With `largest` the coefficients stay within [0, largest].
    """
    if len(values) <= terms.shape[1] + 2:
        return np.zeros(terms.shape[1]), None

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
        left[place] = values[place] - terms[place] @ fit(others)
        rest = others @ (values - terms @ fit(others)) / others.sum()
        gaps[place] = left[place] - rest
    plain = (values - values.mean()) * len(values) / (len(values) - 1)
    worth = gaps @ gaps < _WORTH_IT * (plain @ plain)
    return fit(everyone), left if worth else None
