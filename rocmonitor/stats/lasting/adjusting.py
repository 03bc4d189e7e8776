"""What explains a part of a window's AUC: its scores, and the season.

Both are linear on the chart's scale and learned from the reference windows, each of which is compared with
what the others say of it. A term that does not make them more alike in this comparison is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rocmonitor.stats.forecast.score_history import ScoreHistory
from rocmonitor.stats.lasting.windows import WindowAuc, scaled
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.season import YEAR_DAYS, explained, season, wave_of


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


def wave_step(windows: Sequence[WindowAuc]) -> float:
    """By how much the angle of the season moves from window to window, in the median."""
    days = np.array([window.day for window in windows if window.day is not None])
    return float(np.median(np.diff(days))) * 2 * math.pi / YEAR_DAYS


def adjusted(windows: Sequence[WindowAuc]) -> tuple[Adjustment, Floats]:
    """What explains the reference windows, and (n,) what is left of each when the others explain it."""
    values = np.array([scaled(window.auc) for window in windows])
    found = Adjustment()
    wave = wave_of(values, [window.day for window in windows])
    if wave is not None:
        cosine, sine = wave.coefficients.tolist()
        values, found = wave.left, Adjustment(wave=(cosine, sine))
    if all(window.expected is not None for window in windows):
        expected = np.array([scaled(w.expected) for w in windows if w.expected is not None])
        centre = float(expected.mean())
        slope = explained(values, (expected - centre)[:, None], largest=1.0)
        if slope is not None:
            values, found = slope.left, Adjustment(float(slope.coefficients[0]), centre, found.wave)
    return found, values
