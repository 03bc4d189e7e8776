"""Windows as numbers: what a chart needs of each, and the scale that it works on.

The scale is x = 2 arcsin sqrt(AUC): finite at an AUC of 1, and with nearly the same sampling noise there.

What explains a part of a window's AUC: its scores, and the season.

Both are linear on the chart's scale and learned from the reference windows, each of which is compared with
what the others say of it. A term that does not make them more alike in this comparison is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.variances import exact_bootstrap_variance
from rocmonitor.stats.forecast.score_history import ScoreHistory
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.season import YEAR_DAYS, explained, season, wave_of

_LEAST_SHARE = 1e-9  # of the scatter: sampling noise is never quite nothing


class WindowAuc(NamedTuple):
    """The numbers of one window.

    Attributes
    ----------
    auc : float
    n_pos, n_neg : int
        Rows of each class.
    expected : float or None
        The AUC expected from the window's scores, as by `expected_auc`; of a reference window, by the others.
    day : float or None
        Days since any fixed date, for the season.
    """

    auc: float
    n_pos: int
    n_neg: int
    expected: float | None = None
    day: float | None = None


class PairVariances(NamedTuple):
    """The moments of psi over all pairs of the reference that give the sampling noise of an AUC."""

    auc: float
    zeta10: float
    zeta01: float
    kernel: float

    def noise(self, n_pos: int, n_neg: int, seen: float = 0.0) -> float:
        """Return the sampling variance of a window of this size at the reference's AUC, on the scale.

        `seen`: the part of the variance that the scores show, times the number of rows.
        """
        scale = self.auc * (1 - self.auc)
        if scale <= 0:
            return 0.0
        variance = exact_bootstrap_variance(self.zeta10, self.zeta01, self.kernel, n_pos, n_neg)
        return max(variance - seen / (n_pos + n_neg), 0.0) / scale


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


def noises(windows: Sequence[WindowAuc], pairs: PairVariances, scatter: float, seen: float = 0.0) -> Floats:
    """(n,): sampling variance of each window, above 0; `seen` as in `PairVariances.noise`."""
    found = np.array([pairs.noise(window.n_pos, window.n_neg, seen) for window in windows])
    return np.asarray(np.maximum(found, _LEAST_SHARE * max(scatter, _LEAST_SHARE)))


def require_scatter(values: Floats, pairs: PairVariances, auc: float) -> None:
    """Refuse windows that show nothing of how much windows differ."""
    if values.var() == 0 and pairs.noise(1, 1) == 0:
        raise DegenerateDataError(
            f"the {len(values)} reference windows show no scatter: each has the AUC {auc:.4g} and no "
            "sampling error; a change cannot be measured against them: check that scores and labels are right"
        )


def places_of(windows: Sequence[WindowAuc | None]) -> tuple[int, ...]:
    """Return those of the usable windows, counted from the first of them."""
    found = [place for place, window in enumerate(windows) if window is not None]
    return tuple(place - found[0] for place in found)


def valid_variance(value: float) -> float:
    """Return the sampling variance of an expected AUC, times the number of rows."""
    if not (is_number(value) and 0 <= value < math.inf):
        raise InputError(f"score_variance must be a variance, 0 or more; it is {value!r}")
    return float(value)


def _valid(window: object, name: str) -> WindowAuc | None:
    if window is None:
        return None
    if not isinstance(window, tuple) or not 3 <= len(window) <= len(WindowAuc._fields):
        raise InputError(f"{name} must be a WindowAuc or None for a gap, not {window!r}")
    known = WindowAuc(*window)
    for field in ("n_pos", "n_neg"):
        rows = getattr(known, field)
        if not is_number(rows) or not 0 <= rows < math.inf or rows != int(rows):
            raise InputError(f"{name}.{field} must be a number of rows, 0 or more; it is {rows!r}")
    if not known.n_pos or not known.n_neg:
        return None
    for field in ("auc", "expected"):
        area = getattr(known, field)
        if field == "expected" and area is None:
            continue
        if not is_number(area) or not 0 <= area <= 1:
            raise InputError(f"{name}.{field} must lie within [0, 1]; it is {area!r}")
    if known.day is not None and not (is_number(known.day) and math.isfinite(known.day)):
        raise InputError(f"{name}.day must be a number of days since a fixed date; it is {known.day!r}")
    return known


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The amount taken off a window's value: slope (expected - centre) and the season's wave."""

    slope: float = 0.0
    centre: float = 0.0
    wave: tuple[float, float] = (0.0, 0.0)

    def of(self, window: WindowAuc) -> float:
        """Return what the scores and the season of a window add to its value."""
        added = 0.0
        if self.slope and window.expected is not None:
            added += self.slope * (scaled(window.expected) - self.centre)
        if any(self.wave) and window.day is not None:
            cosine, sine = season(window.day)
            added += self.wave[0] * cosine + self.wave[1] * sine
        return added

    def seen(self, score_variance: float) -> float:
        """Return the part of a window's sampling variance that goes with the scores, of `score_variance` in
        all.

        The expected AUC is the realised one averaged over the labels, so their covariance is its variance.
        """
        return self.slope * (2 - self.slope) * score_variance


def expected_by_the_others(history: ScoreHistory, windows: Sequence[Sample | None]) -> list[float | None]:
    """Return the AUC that the scores of each window of a history lead to, by the reference without it.

    None for a gap, and for a window without which the reference has one class.
    """
    coming = iter(history.foreseen[history.strengths.index(1.0)])
    return [next(coming) if window is not None and history.uses(window) else None for window in windows]


def expected_by_all(
    history: ScoreHistory, reference: Sample, windows: Sequence[Sample | None]
) -> list[float | None]:
    """Return the AUC that the scores of each later window lead to; None for a gap."""
    return [
        history.expected(reference, (window.score, window.pos + window.neg)).auc
        if window is not None and window.n_pos and window.n_neg
        else None
        for window in windows
    ]


def with_expected(
    windows: Sequence[WindowAuc | None], expected: Sequence[float | None]
) -> list[WindowAuc | None]:
    """Return the windows with the AUCs expected of them; a gap where that is not known."""
    return [
        None if known is None or auc is None else known._replace(expected=auc)
        for known, auc in zip(windows, expected, strict=True)
    ]


def wave_step(windows: Sequence[WindowAuc]) -> float:
    """Return the median step of the season's angle from window to window."""
    days = np.array([window.day for window in windows if window.day is not None])
    return float(np.median(np.diff(days))) * 2 * math.pi / YEAR_DAYS


def adjusted(windows: Sequence[WindowAuc]) -> tuple[Adjustment, Floats]:
    """Return what explains the reference windows, and (n,) what is left of each when the others explain
    it.
    """
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
