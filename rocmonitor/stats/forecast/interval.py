"""Forecast intervals: how far the AUC of a coming window may lie from that of the reference.

The interval holds every AUC that some reweighting of the reference reaches within a distance [M18]. How the
distance is chosen decides what the interval means: only the calibrated one has a confidence level.

`ForecastFit` keeps what a reference and its past windows show; `ForecastFit.interval` makes the interval of
one window from it, for its sizes, its day and any level.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.calibration import (
    LEVEL_ROUNDING,
    Alternative,
    Noise,
    conformal_root,
    own_distance,
    resized,
    sampling_root,
    windows_needed,
)
from rocmonitor.stats.forecast.distance import require_own
from rocmonitor.stats.forecast.kld import Bounds, Ends, bounds_of
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.proportion import require_level
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.series import coming_window, season, wave_of

ENOUGH_PARTS = 9  # parts of the reference from which on leaving one out costs less than 0.005 of the level
ENOUGH_ROWS = 10  # rows of a class from which on the noise of an AUC is taken as normal
_SHORTFALL = 0.02  # of the misses that the level allows: 0.949 for 0.95 is as good
_NOISIER = 1.2  # times the variance: smaller differences are normal from week to week
_OF_WINDOWS = ("too-few-windows", "windows-inside-reference")  # true of the level that windows show


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowForecast(Result):
    """The expectation for a coming window."""

    low: float  # ends of the interval, both included
    high: float
    distance: float  # the Kullback-Leibler distance KL(u||f) + KL(v||g), in nats, that the interval allows
    method: str  # how the distance was chosen
    confidence_level: float
    achieved_level: float | None  # the level that the distance has. None for the methods without one.
    n_windows: int  # past windows that were used
    n_pos: int  # class sizes of the reference
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def _level(self) -> str:
        return "no level" if self.achieved_level is None else f"level {self.achieved_level:.3f}"


def level_caveats(
    method: str,
    level: float,
    achieved: float | None,
    n_windows: int,
    inside: bool,
    weights: Sequence[float] = (),
    *,
    batch: bool = False,
) -> Iterator[Caveat]:
    """Yield caveats on a level: with weights of the windows or without, for a batch of given sizes or not."""
    if achieved is None:
        yield Caveat("no-confidence-level", method=method, batch=batch)
        return
    if level - achieved > _SHORTFALL * (1 - level):
        yield Caveat(
            "too-few-windows",
            n_windows=n_windows,
            weight=float(sum(weights)) if weights else None,
            confidence_level=level,
            achieved_level=achieved,
            needed=windows_needed(level),
            batch=batch,
        )
    if inside and n_windows < ENOUGH_PARTS:
        yield Caveat("windows-inside-reference", n_windows=n_windows, enough=ENOUGH_PARTS)


class Asked(NamedTuple):
    """The window that an interval is for, and the confidence level."""

    batch: tuple[int, int] | None
    level: float
    day: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalEnds(Result):
    """The ends of an interval and of its parts, as bounds of the reference; see `ForecastInterval`."""

    low: float
    high: float
    sampling_low: float | None = None
    sampling_high: float | None = None
    seasonal_auc: float | None = None
    model_low: float | None = None
    model_high: float | None = None
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastFit(Result):
    """The lesson of a reference and its past windows, from which the interval of any window follows.

    Attributes
    ----------
    auc: Of the reference.
    method: How the distance is chosen.
    alternative: "two-sided", or "less": only losses count, and the upper end of an interval is 1.
    confidence_level, batch: Those that the fit was made for; an interval has them unless it is asked for
        others.
    distance: The distance of every interval, in nats; 0 for "calibrated", whose distance follows level and
        batch.
    window_distances, window_shifts: The distance D of each window in the order given, and its root sqrt(2 D),
        negative where the window was below the reference. No roots for the methods that do not use them.
    window_n_pos, window_n_neg: Class sizes of the windows.
    weights: Their weights; empty when all count alike.
    inside: Whether they were parts of the reference.
    set_aside: Caveats on windows that were given and not used.
    n_pos, n_neg: Class sizes of the reference.
    pair_variances: zeta10, zeta01 and the variance of psi over all pairs of the reference; sampling noise
        follows.
    season: Level, cosine and sine of the yearly wave in `window_shifts`; empty where none is taken off.
    window_rests: What is left of `window_shifts` without it, when the other windows say what it is.
    widening: What the roots of the windows' distances are multiplied by, because neighbouring windows may be
        alike (`SerialCorrelation.widening`); 1 where windows are taken as independent.
    error: By how much ends are moved outwards because the reference or windows are condensed.
    usual: Ends for the fit's own batch and level, from all rows of the reference: later windows have those of
        its joined cells.
    """

    auc: float
    method: str
    alternative: Alternative = "two-sided"
    confidence_level: float
    batch: tuple[int, int] | None = None
    distance: float = 0.0
    window_distances: tuple[float, ...] = ()
    window_shifts: tuple[float, ...] = ()
    window_n_pos: tuple[int, ...] = ()
    window_n_neg: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    inside: bool = False
    set_aside: tuple[Caveat, ...] = ()
    n_pos: int
    n_neg: int
    pair_variances: tuple[float, float, float]
    season: tuple[float, ...] = ()
    window_rests: tuple[float, ...] = ()
    widening: float = 1.0
    error: float = 0.0
    usual: IntervalEnds | None = None

    @property
    def n_windows(self) -> int:
        """Windows used."""
        return len(self.window_n_pos)

    @property
    def roots(self) -> tuple[float, ...]:
        """Signed roots of the windows' distances, without the season where it is taken off."""
        return self.window_rests if self.season else self.window_shifts

    @property
    def noise(self) -> Noise:
        """Sampling noise of a root distance."""
        return Noise(*self.pair_variances)

    def window_noise(self) -> list[float]:
        """Return the sampling variance of each window's root."""
        noise = self.noise
        return [noise.variance(*sizes) for sizes in zip(self.window_n_pos, self.window_n_neg, strict=True)]

    def seasonal_root(self, day: float | None) -> float:
        """Return the signed root that the interval of a day lies around: 0 without a season."""
        if not self.season:
            return 0.0
        level, *wave = self.season
        return level if day is None else level + float(np.dot(wave, season(day)))

    def interval(
        self,
        reference: Sample,
        batch: tuple[int, int] | None = None,
        *,
        confidence_level: float | None = None,
        day: float | None = None,
        full_level: bool = False,
        around: float | None = None,
        error: float = 0.0,
        scatter: float = 0.0,
        bounds: Bounds | None = None,
    ) -> ForecastInterval:
        """Return the interval of a window.

        Parameters
        ----------
        reference: The one that the fit was made from, or what `condensed` left of it: the bounds are then
            carried to the AUC of the full one.
        batch: Positives and negatives of the window; default those that the fit was made for.
        confidence_level: Default: that of the fit.
        day: Of the window, in days since a fixed date, where the fit has a season; None: the middle of the
            year.
        full_level: Whether the interval reaches the confidence level by a model of the windows where they are
            too few to show it. Without it, such an interval has `model_low` and `model_high` beside its ends.
        around: An AUC that stands in the place of the reference's: all ends are carried to it.
        error: By how much the ends are moved outwards besides, because the AUC of the window is not exact.
        scatter: A reach of its own that the AUC of the window has besides, at the same level and independent
            of what moves windows: the squares add up.
        bounds: Those of `reference`, where they are asked for many times (`FollowedBounds`).

        Raises
        ------
        InputError: Sizes that are no whole numbers >= 1; a level outside (0, 1); another reference.
        DegenerateDataError: A reference of one class.

        Notes
        -----
        Only a calibrated distance follows batch and level; the others stay. Cost: two `auc_bounds`.
        """
        require_own(reference, self.n_pos, self.n_neg)
        level = self.confidence_level if confidence_level is None else require_level(confidence_level)
        asked = Asked(self.batch if batch is None else valid_batch(batch), level, day)
        distance, achieved = self.distance_for(asked)
        alone_root = self._sampling_root(asked)
        part = None if alone_root is None else min(alone_root * alone_root / 2, distance)
        is_usual = asked.batch == self.batch and level == self.confidence_level
        usual = self.usual if is_usual and (day is None or not self.season) else None
        models = full_level or not (self.weights or usual)
        further = self.further(asked, distance, achieved) if models else None
        ends = usual or self._ends(bounds or bounds_of(reference), asked, distance, further)
        zero = (Caveat("zero-distance"),) if distance == 0 else ()
        caveats = (*self.window_caveats(asked, achieved), *zero, *ends.caveats)
        low, high, model = ends.low, ends.high, (ends.model_low, ends.model_high)
        if full_level and further is not None:
            within = bounds or bounds_of(reference)
            (low, high), model = self._apart(within, further, self.seasonal_root(day))[1], (None, None)
            by_model = Caveat(
                "level-by-model", n_windows=self.n_windows, known=achieved, confidence_level=level
            )
            caveats = (*(caveat for caveat in caveats if caveat.code not in _OF_WINDOWS), by_model)
            distance, achieved = further, level
        elif ends.model_low is not None:
            beside = {"low": ends.model_low, "high": ends.model_high, "level": level}
            caveats = (*caveats, Caveat("model-beside", **beside, n_windows=self.n_windows))
        auc, middle, alone = self.auc, ends.seasonal_auc, (ends.sampling_low, ends.sampling_high)
        if around is not None:
            low, high = carried(low, auc, around), carried(high, auc, around)
            middle = None if middle is None else carried(middle, auc, around)
            auc, part, alone = around, None, (None, None)  # the part of sampling is not known of it
        if scatter:
            centre = auc if middle is None else middle
            low = centre - math.hypot(centre - low, scatter)
            high = centre + math.hypot(high - centre, scatter)
        if error or scatter:
            low, high = max(low - error, 0.0), min(high + error, 1.0)
        return ForecastInterval(
            auc=auc,
            low=low,
            high=high,
            distance=distance,
            method=self.method,
            alternative=self.alternative,
            confidence_level=level,
            achieved_level=achieved,
            n_windows=self.n_windows,
            n_pos=self.n_pos,
            n_neg=self.n_neg,
            batch=asked.batch,
            day=day,
            sampling_distance=part,
            drift_distance=None if part is None else distance - part,
            sampling_low=alone[0],
            sampling_high=alone[1],
            seasonal_auc=middle,
            model_low=model[0],
            model_high=model[1],
            fit=self,
            caveats=caveats,
        )

    def usual_ends(self, reference: Sample) -> IntervalEnds:
        """Return the ends for the fit's own batch and level, from all rows of the reference."""
        asked = Asked(self.batch, self.confidence_level)
        distance, achieved = self.distance_for(asked)
        further = None if self.weights else self.further(asked, distance, achieved)
        return self._ends(bounds_of(reference), asked, distance, further)

    def distance_for(self, asked: Asked) -> tuple[float, float | None]:
        """Return the distance of an interval, and its level; None for the methods without one."""
        if self.method != "calibrated":
            return self.distance, None
        noise, shifts = self.noise, self.widening * np.array(self.roots)
        weights = np.array(self.weights) if self.weights else np.ones(len(shifts))
        missing = np.zeros(len(shifts))
        if asked.batch is not None:
            own = np.array(self.window_noise())
            shifts, missing = resized(shifts, own, np.full(len(own), noise.variance(*asked.batch)))
        root, level = conformal_root(shifts, missing, weights, asked.level, self.alternative)
        if level < asked.level - LEVEL_ROUNDING:  # too few windows to know: at least the known noise
            root = max(root, self._sampling_root(asked) or 0.0)
        return (root * root / 2 if self.season else own_distance(self.window_distances, root)), level

    def further(self, asked: Asked, least: float, achieved: float | None) -> float | None:
        """Return the distance that a coming window keeps to with the level, if true values are normal.

        Not below `least`, which has the level `achieved`. None where the windows show the level, or are too
        few to learn how they scatter. A coming window has the sizes of the batch; without one, sampling noise
        as the windows on average.
        """
        if achieved is None or achieved >= asked.level - LEVEL_ROUNDING or self.n_windows < 2:
            return None
        past = self.window_noise()
        own = float(np.mean(past)) if asked.batch is None else self.noise.variance(*asked.batch)
        two_sided = self.alternative == "two-sided"
        tail = (1 - asked.level) / (2 if two_sided else 1)
        root = coming_window(self.roots, past, own).reach(tail, two_sided=two_sided)
        return max(least, root * root / 2)

    def window_caveats(self, asked: Asked, achieved: float | None) -> Iterator[Caveat]:
        """Yield the caveats on the windows, on the level that they show, and on all sizes."""
        yield from self.set_aside
        level, windows = (self.method, asked.level, achieved), (self.n_windows, self.inside, self.weights)
        yield from level_caveats(*level, *windows, batch=asked.batch is not None)
        if achieved is None:
            return
        noise, past, batch = self.noise, self.window_noise(), asked.batch
        if not self.inside and noise.variance(self.n_pos, self.n_neg) > _NOISIER * np.median(past):
            yield Caveat("reference-smaller-than-windows", n_pos=self.n_pos, n_neg=self.n_neg)
        if batch is None:
            return
        coming = noise.variance(*batch)
        smaller = sum(variance > _NOISIER * coming for variance in past)
        if 2 * smaller > len(past):
            yield Caveat("windows-smaller-than-batch", smaller=smaller, n_windows=len(past))
        if min(batch) < ENOUGH_ROWS:
            yield Caveat("small-batch", rows=min(batch), enough=ENOUGH_ROWS)

    def _sampling_root(self, asked: Asked) -> float | None:
        """Return the root that the noise of batch and reference alone keeps to; None without a batch."""
        if asked.batch is None:
            return None
        noise = self.noise
        common = noise.variance(self.n_pos, self.n_neg)
        return sampling_root(noise.variance(*asked.batch) + common, asked.level, self.alternative)

    def _ends(self, within: Bounds, asked: Asked, distance: float, further: float | None) -> IntervalEnds:
        """Return the ends at a distance, at the part of it that sampling takes, and at that by the model."""
        root, alone_root = self.seasonal_root(asked.day), self._sampling_root(asked)
        ends, (low, high) = self._apart(within, distance, root)
        seasonal = self.auc_at(within, root) if self.season else None
        alone: tuple[float | None, float | None] = (None, None)
        if alone_root is not None:
            part = min(alone_root * alone_root / 2, distance)
            alone = (low, high) if part == distance else self._apart(within, part, root)[1]
        model: tuple[float | None, float | None] = (None, None)
        if further is not None and not self.weights:
            model = self._apart(within, further, root)[1]
        return IntervalEnds(
            low=low,
            high=high,
            sampling_low=alone[0],
            sampling_high=alone[1],
            seasonal_auc=seasonal,
            model_low=model[0],
            model_high=model[1],
            caveats=ends.caveats,
        )

    def _apart(self, within: Bounds, distance: float, shift: float) -> tuple[Ends, tuple[float, float]]:
        """Return the bounds at a distance, and the ends: the upper one is 1 where only losses count.

        The ends are relative to the reference's own AUC. Where a season is taken off, they are those of the
        roots as far to either side of the season's.
        """
        ends = within(distance)
        if shift:
            reach = math.sqrt(2 * distance)
            low, high = (self.auc_at(within, shift + side * reach) for side in (-1, 1))
        else:
            low, high = (carried(end, ends.auc, self.auc) for end in (ends.low, ends.high))
        if self.error:
            low, high = max(low - self.error, 0.0), min(high + self.error, 1.0)
        return ends, (low, high if self.alternative == "two-sided" else 1.0)

    def auc_at(self, within: Bounds, root: float) -> float:
        """Return the AUC at a signed root of a distance, relative to the reference's own AUC."""
        ends = within(root * root / 2)
        return carried(ends.low if root < 0 else ends.high, ends.auc, self.auc)

    def __str__(self) -> str:
        return f"AUC forecast fit of {self.n_windows} windows, reference AUC {self.auc:.4f} ({self.method})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastInterval(WindowForecast):
    """The AUCs that are expected of a coming window.

    Attributes
    ----------
    auc: Of the reference.
    alternative: "two-sided", or "less": only losses count, and `high` and `sampling_high` are 1.
    batch: Positives and negatives of the coming window; None: as the past windows.
    sampling_distance, drift_distance: What `distance` consists of: the part that the sampling noise of the
        batch and of the reference alone takes at this level, and the rest. None without a batch.
    sampling_low, sampling_high: The ends that `sampling_distance` alone gives: so much of the interval's
        width is sampling. None without a batch.
    model_low, model_high: Where the windows are too few to show the confidence level, ends that have it if
        the true values of windows scatter normally about a mean, with the windows' known sampling noise on
        top (`coming_window` of `rocmonitor.stats.series`; nearly Student's t). None elsewhere, and
        with weights.
    day: Of the coming window, in days since a fixed date; None: the middle of the year.
    seasonal_auc: The AUC that the interval lies around at this time of year; None without a season.
    fit: What the interval was computed from: distances, sizes and weights of the windows, season, widening.
    """

    _estimate: ClassVar[str | None] = "auc"
    _flat: ClassVar[bool] = True
    _point: ClassVar = ("auc", "forecast", "the reference")  # of a picture: its field, row, and what it is

    auc: float
    alternative: Alternative = "two-sided"
    batch: tuple[int, int] | None = None
    sampling_distance: float | None = None
    drift_distance: float | None = None
    sampling_low: float | None = None
    sampling_high: float | None = None
    day: float | None = None
    seasonal_auc: float | None = None
    model_low: float | None = None
    model_high: float | None = None
    fit: ForecastFit

    def contains(self, auc: float) -> bool:
        """Return True if an AUC lies within the interval."""
        return bool(self.low <= auc <= self.high)

    def margin(self, auc: float) -> float:
        """Return how far an AUC is inside the nearer end that can be left; negative outside."""
        below = float(auc - self.low)
        return below if self.alternative == "less" else min(below, float(self.high - auc))

    def for_batch(self, reference: Sample, batch: tuple[int, int]) -> ForecastInterval:
        """Return the interval for a batch of other sizes, without the past windows.

        As `ForecastFit.interval`, at the same level and day.

        Examples
        --------
        >>> from rocmonitor.stats import forecast_interval
        >>> past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
        >>> reference = Sample.merge(past)
        >>> interval = forecast_interval(reference, windows=past, confidence_level=0.6)
        >>> interval.for_batch(reference, (2, 2)).low < interval.low
        True
        """
        return self.fit.interval(
            reference, valid_batch(batch), confidence_level=self.confidence_level, day=self.day
        )

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        field, name, what = self._point
        point = getattr(self, field)
        values = [(name, (point, self.low, self.high))]
        if self.sampling_low is not None and self.sampling_high is not None:
            values.append(("sampling alone", (point, self.sampling_low, self.sampling_high)))
        names, ends = zip(*values, strict=True)
        note = f"{self.method}, {self._level()}, {self.n_windows} windows; the point is {what}"
        plotting.rows(ax, names, ends, x="AUROC of a coming window", note=note, label=label)

    def __str__(self) -> str:
        middle = getattr(self, self._point[0]) if self.seasonal_auc is None else self.seasonal_auc
        text = (
            f"AUC forecast {self._ends(self.low, self.high)} around {middle:.4f} "
            f"({self.method}, {self._level()}, distance {self.distance:.4g}, {self.n_windows} windows)"
        )
        if self.batch is None or self.sampling_low is None or self.sampling_high is None:
            return text
        return (
            f"{text} for a batch of {self.batch[0]} positives and {self.batch[1]} negatives; "
            f"sampling alone: {self._ends(self.sampling_low, self.sampling_high)}"
        )

    def _ends(self, low: float, high: float) -> str:
        return f"{low:.4f} or more" if self.alternative == "less" else f"{low:.4f} to {high:.4f}"


def valid_batch(batch: object) -> tuple[int, int]:
    """Sizes of a coming window, positives and negatives."""
    try:
        n_pos, n_neg = (operator.index(size) for size in batch)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        n_pos = n_neg = 0
    if min(n_pos, n_neg) < 1:
        raise InputError(
            f"batch must be two whole numbers of at least 1, positives and negatives; it is {batch!r}"
        )
    return n_pos, n_neg


def season_of(
    shifts: Sequence[float], days: Sequence[float | None] | None, *, inside: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return `season` and `window_rests` of a fit, by the yearly wave of its windows; empty without one.

    shifts: Signed roots of the distances of windows without weights: nearly linear in the AUC.
    days: Of the windows; None where no wave is looked for.
    inside: Whether they are parts of the reference. Each root is then measured from the others, which makes
        it n / (n - 1) times as long as from all; what is left of it is measured from the others once.
    """
    n = len(shifts)
    whole = np.array(shifts) * ((n - 1) / n if inside and n > 1 else 1.0)
    wave = None if days is None else wave_of(whole, days)
    if wave is None:
        return (), ()
    return (wave.level, *wave.coefficients.tolist()), tuple(wave.gaps.tolist())
