"""Forecast intervals: how far the AUC of a coming window may lie from that of the reference.

The interval holds every AUC that some reweighting of the reference reaches within a distance [M18]. How the
distance is chosen decides what the interval means: only the calibrated one has a confidence level.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

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
    sampling_root,
    windows_needed,
)
from rocmonitor.stats.forecast.distance import require_sample
from rocmonitor.stats.forecast.following import Bounds, Ends, bounds_of
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.season import season

ENOUGH_PARTS = 9  # parts of the reference from which on leaving one out costs less than 0.005 of the level
ENOUGH_ROWS = 10  # rows of a class from which on the noise of an AUC is taken as normal
_SHORTFALL = 0.02  # of the misses that the level allows: 0.949 for 0.95 is as good
_NOISIER = 1.2  # times the variance: smaller differences are normal from week to week


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast(Result):
    """What is expected of a coming window.

    Attributes
    ----------
    low, high : float
        Ends of the interval, both included.
    distance : float
        The Kullback-Leibler distance KL(u||f) + KL(v||g), in nats, that the interval allows.
    method : str
        How the distance was chosen.
    achieved_level : float or None
        The level that the distance has. None for the methods without one.
    n_windows : int
        Past windows that were used.
    window_distances, window_shifts : tuple of float
        The distance D of each of them in the order given, and its root sqrt(2 D), negative where the window
        was below the reference. No roots for the methods that do not use them.
    inside : bool
        Whether they were parts of the reference.
    n_pos, n_neg : int
        Class sizes of the reference.
    """

    low: float
    high: float
    distance: float
    method: str
    confidence_level: float
    achieved_level: float | None
    n_windows: int
    window_distances: tuple[float, ...]
    window_shifts: tuple[float, ...] = ()
    inside: bool = False
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def level_caveats(self, weights: Sequence[float] = (), *, batch: bool = False) -> Iterator[Caveat]:
        """Caveats on the level: with weights of the windows or without, for a batch of given sizes or not."""
        level, achieved = self.confidence_level, self.achieved_level
        if achieved is None:
            yield Caveat("no-confidence-level", method=self.method, batch=batch)
            return
        if level - achieved > _SHORTFALL * (1 - level):
            yield Caveat(
                "too-few-windows",
                n_windows=self.n_windows,
                weight=float(sum(weights)) if weights else None,
                confidence_level=level,
                achieved_level=achieved,
                needed=windows_needed(level),
                batch=batch,
            )
        if self.inside and self.n_windows < ENOUGH_PARTS:
            yield Caveat("windows-inside-reference", n_windows=self.n_windows, enough=ENOUGH_PARTS)

    def _level(self) -> str:
        return "no level" if self.achieved_level is None else f"level {self.achieved_level:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastInterval(Forecast):
    """The AUCs that are expected of a coming window.

    Attributes
    ----------
    auc : float
        Of the reference.
    alternative : str
        "two-sided", or "less": only losses count, and `high` and `sampling_high` are 1.
    batch : tuple of int or None
        Positives and negatives of the coming window; None: as the past windows.
    sampling_distance, drift_distance : float or None
        What `distance` consists of: the part that the sampling noise of the batch and of the reference alone
        takes at this level, and the rest. None without a batch.
    sampling_low, sampling_high : float or None
        The ends that `sampling_distance` alone gives: so much of the interval's width is sampling. None
        without a batch.
    window_n_pos, window_n_neg : tuple of int
        Class sizes of the windows.
    weights : tuple of float
        Their weights; empty when all count alike.
    set_aside : tuple of Caveat
        Caveats on windows that were given and not used.
    pair_variances : tuple of float or None
        zeta10, zeta01 and the variance of psi over all pairs of the reference; sampling noise follows.
    model_low, model_high : float or None
        Where the windows are too few to show the confidence level, ends that have it if the true values of
        windows scatter normally about a mean, with the windows' known sampling noise on top (`coming_window`
        of `rocmonitor.stats.forecast.strict`; nearly Student's t). None elsewhere, and with weights.
    widening : float
        What the roots of the windows' distances were multiplied by, because neighbouring windows may be
        alike (`SerialCorrelation.widening`); 1 where windows were taken as independent.
    season : tuple of float
        Level, cosine and sine of the yearly wave in `window_shifts`; empty where none is taken off.
    window_rests : tuple of float
        What is left of `window_shifts` without it, when the other windows say what it is.
    day : float or None
        Of the coming window, in days since a fixed date; None: the middle of the year.
    error : float
        By how much the ends were moved outwards because the reference or windows are condensed.
    seasonal_auc : float or None
        The AUC that the interval lies around at this time of year; None without a season.
    """

    _estimate: ClassVar[str | None] = "auc"
    _flat: ClassVar[bool] = True

    auc: float
    alternative: Alternative = "two-sided"
    batch: tuple[int, int] | None = None
    sampling_distance: float | None = None
    drift_distance: float | None = None
    sampling_low: float | None = None
    sampling_high: float | None = None
    window_n_pos: tuple[int, ...] = ()
    window_n_neg: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    set_aside: tuple[Caveat, ...] = ()
    pair_variances: tuple[float, float, float] | None = None
    widening: float = 1.0
    season: tuple[float, ...] = ()
    window_rests: tuple[float, ...] = ()
    day: float | None = None
    seasonal_auc: float | None = None
    model_low: float | None = None
    model_high: float | None = None
    error: float = 0.0

    @property
    def roots(self) -> tuple[float, ...]:
        """Signed roots of the windows' distances, without the season where it is taken off."""
        return self.window_rests if self.season else self.window_shifts

    @property
    def seasonal_root(self) -> float:
        """The signed root that the interval lies around: 0 without a season."""
        if not self.season:
            return 0.0
        level, *wave = self.season
        return level if self.day is None else level + float(np.dot(wave, season(self.day)))

    def contains(self, auc: float) -> bool:
        """Whether an AUC lies within the interval."""
        return bool(self.low <= auc <= self.high)

    def margin(self, auc: float) -> float:
        """How far an AUC is inside the nearer end that can be left; negative outside."""
        below = float(auc - self.low)
        return below if self.alternative == "less" else min(below, float(self.high - auc))

    def for_batch(
        self, reference: Sample, batch: tuple[int, int], *, bounds: Bounds | None = None
    ) -> ForecastInterval:
        """The same interval for a batch of other sizes, without the past windows.

        Parameters
        ----------
        reference : Sample
            The one that the interval was computed from, or what `condensed` left of it: the bounds are then
            carried to the AUC of the full one.
        batch : tuple of int
            Positives and negatives of the coming window.
        bounds : callable, optional
            Those of `reference`, where they are asked for many times (`FollowedBounds`).

        Raises
        ------
        InputError
            Sizes that are no whole numbers >= 1; a reference of other sizes; a result without what this
            needs, because it was stored before it was kept: compute it anew with `forecast_interval`.
        DegenerateDataError
            A reference of one class.

        Notes
        -----
        Only a calibrated distance follows the batch; the others keep theirs. Cost: two `auc_bounds`.

        Examples
        --------
        >>> from rocmonitor.stats import forecast_interval
        >>> past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
        >>> reference = Sample.merge(past)
        >>> interval = forecast_interval(reference, windows=past, confidence_level=0.6)
        >>> interval.for_batch(reference, (2, 2)).low < interval.low
        True
        """
        require_sample(reference, "reference")
        reference.require_both_classes()
        sizes = valid_batch(batch)
        if (reference.n_pos, reference.n_neg) != (self.n_pos, self.n_neg):
            raise InputError(
                f"reference must be the one of this interval, with {self.n_pos} positives and {self.n_neg} "
                f"negatives, or that one condensed; it has {reference.n_pos} and {reference.n_neg}"
            )
        calibrated = self.method == "calibrated"
        if self.pair_variances is None or (calibrated and not self.window_shifts):
            raise InputError(
                "this interval was stored without what another batch needs (window_shifts, pair_variances): "
                "compute it anew with forecast_interval"
            )
        from rocmonitor.stats.forecast.strict import with_model  # which builds on this module

        found = finished(replace(self, batch=sizes), reference, bounds)
        return with_model(found, reference, bounds)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        values = [("forecast", (self.auc, self.low, self.high))]
        if self.sampling_low is not None and self.sampling_high is not None:
            values.append(("sampling alone", (self.auc, self.sampling_low, self.sampling_high)))
        names, ends = zip(*values, strict=True)
        note = f"{self.method}, {self._level()}, {self.n_windows} windows; the point is the reference"
        plotting.rows(ax, names, ends, x="AUROC of a coming window", note=note, label=label)

    def __str__(self) -> str:
        text = (
            f"AUC forecast {self._ends(self.low, self.high)} around {self._middle:.4f} "
            f"({self.method}, {self._level()}, distance {self.distance:.4g}, {self.n_windows} windows)"
        )
        if self.batch is None or self.sampling_low is None or self.sampling_high is None:
            return text
        return (
            f"{text} for a batch of {self.batch[0]} positives and {self.batch[1]} negatives; "
            f"sampling alone: {self._ends(self.sampling_low, self.sampling_high)}"
        )

    @property
    def _middle(self) -> float:
        """The AUC that the interval lies around."""
        return self.auc if self.seasonal_auc is None else self.seasonal_auc

    def _ends(self, low: float, high: float) -> str:
        return f"{low:.4f} or more" if self.alternative == "less" else f"{low:.4f} to {high:.4f}"


def require_alternative(alternative: object) -> None:
    """Refuse an alternative that is none."""
    if alternative not in get_args(Alternative):
        raise InputError(f"alternative must be 'two-sided' or 'less'; it is {alternative!r}")


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


def finished(draft: ForecastInterval, reference: Sample, bounds: Bounds | None = None) -> ForecastInterval:
    """The draft with its distance, bounds, parts and caveats, for the batch that it names."""
    assert draft.pair_variances is not None
    noise = Noise(*draft.pair_variances)
    common = noise.variance(draft.n_pos, draft.n_neg)
    sampling = None
    if draft.batch is not None:
        sampling = sampling_root(
            noise.variance(*draft.batch) + common, draft.confidence_level, draft.alternative
        )
    distance, level = draft.distance, None
    if draft.method == "calibrated":
        distance, level = _calibrated(draft, noise, sampling or 0.0)
    within = bounds or bounds_of(reference)
    ends, (low, high) = ends_around(within, distance, draft)
    done = replace(draft, low=low, high=high, distance=distance, achieved_level=level)
    if draft.season:
        done = replace(done, seasonal_auc=_at_root(within, draft.seasonal_root, draft.auc))
    done = replace(done, model_low=None, model_high=None)
    if sampling is not None:
        part = min(sampling * sampling / 2, distance)
        alone = (low, high) if part == distance else ends_around(within, part, draft)[1]
        done = replace(
            done,
            sampling_distance=part,
            drift_distance=distance - part,
            sampling_low=alone[0],
            sampling_high=alone[1],
        )
    caveats = [*done.set_aside, *done.level_caveats(done.weights, batch=done.batch is not None)]
    if level is not None:
        caveats += size_caveats(done, noise)
    if distance == 0:
        caveats.append(Caveat("zero-distance"))
    return replace(done, caveats=(*caveats, *ends.caveats))


def size_caveats(done: ForecastInterval, noise: Noise) -> Iterator[Caveat]:
    """Caveats on the sizes of the reference, the past windows and the batch."""
    past = [noise.variance(*sizes) for sizes in zip(done.window_n_pos, done.window_n_neg, strict=True)]
    if not done.inside and noise.variance(done.n_pos, done.n_neg) > _NOISIER * np.median(past):
        yield Caveat("reference-smaller-than-windows", n_pos=done.n_pos, n_neg=done.n_neg)
    if done.batch is None:
        return
    coming = noise.variance(*done.batch)
    smaller = sum(variance > _NOISIER * coming for variance in past)
    if 2 * smaller > len(past):
        yield Caveat("windows-smaller-than-batch", smaller=smaller, n_windows=len(past))
    if min(done.batch) < ENOUGH_ROWS:
        yield Caveat("small-batch", rows=min(done.batch), enough=ENOUGH_ROWS)


def ends_around(within: Bounds, distance: float, draft: ForecastInterval) -> tuple[Ends, tuple[float, float]]:
    """The bounds at a distance, and the ends of the interval: the upper one is 1 where only losses count.

    The ends are relative to the reference's own AUC. Where a season is taken off, they are those of the roots
    as far to either side of the season's.
    """
    ends, shift = within(distance), draft.seasonal_root
    if shift:
        reach = math.sqrt(2 * distance)
        low, high = (_at_root(within, shift + side * reach, draft.auc) for side in (-1, 1))
    else:
        low, high = (carried(end, ends.auc, draft.auc) for end in (ends.low, ends.high))
    if draft.error:
        low, high = max(low - draft.error, 0.0), min(high + draft.error, 1.0)
    return ends, (low, high if draft.alternative == "two-sided" else 1.0)


def _at_root(within: Bounds, root: float, own: float) -> float:
    """The AUC at a signed root of a distance, relative to the reference's own AUC."""
    ends = within(root * root / 2)
    return carried(ends.low if root < 0 else ends.high, ends.auc, own)


def _calibrated(draft: ForecastInterval, noise: Noise, sampling: float) -> tuple[float, float]:
    """The conformal distance and its level."""
    shifts = draft.widening * np.array(draft.roots)
    weights = np.array(draft.weights) if draft.weights else np.ones(len(shifts))
    missing = np.zeros(len(shifts))
    if draft.batch is not None:
        sizes = zip(draft.window_n_pos, draft.window_n_neg, strict=True)
        past = np.array([noise.variance(*rows) for rows in sizes])
        missing = np.maximum(noise.variance(*draft.batch) - past, 0.0)
    root, level = conformal_root(shifts, missing, weights, draft.confidence_level, draft.alternative)
    if level < draft.confidence_level - LEVEL_ROUNDING:  # too few windows to know: at least the known noise
        root = max(root, sampling)
    return (root * root / 2 if draft.season else own_distance(draft.window_distances, root)), level
