"""Forecast intervals of the AUC: past windows, and the distance that follows from them by each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.conventions import Correlation
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.condensed import aligned, condensed_error
from rocmonitor.stats.forecast.calibration import Alternative
from rocmonitor.stats.forecast.distance import require_sample, resampled_distance, valid_windows
from rocmonitor.stats.forecast.given_scores import ScoreForecast
from rocmonitor.stats.forecast.interval import (
    Asked,
    ForecastFit,
    ForecastInterval,
    season_of,
    valid_batch,
)
from rocmonitor.stats.forecast.kld import area, auc_bounds
from rocmonitor.stats.forecast.projection import Scores, expected_auc
from rocmonitor.stats.forecast.score_history import score_history
from rocmonitor.stats.forecast.serial import serial_correlation
from rocmonitor.stats.forecast.windows import used_windows, valid_weights
from rocmonitor.stats.proportion import Rng, is_number, require_level, require_method
from rocmonitor.stats.rows import window_numbers
from rocmonitor.stats.sample import Sample

ForecastMethod = Literal["calibrated", "binned", "dual", "bootstrap", "fixed"]


@overload
def forecast_interval(
    reference: Sample,
    *,
    windows: Sequence[Sample],
    inside: bool | None = None,
    given: Scores,
    confidence_level: float = 0.95,
    batch: tuple[int, int] | None = None,
    alternative: Alternative = "two-sided",
    weights: ArrayLike | None = None,
) -> ScoreForecast: ...
@overload
def forecast_interval(
    reference: Sample,
    *,
    windows: Sequence[Sample] | None = None,
    inside: bool | None = None,
    given: None = None,
    distance: float | None = None,
    method: ForecastMethod = "calibrated",
    confidence_level: float = 0.95,
    batch: tuple[int, int] | None = None,
    alternative: Alternative = "two-sided",
    weights: ArrayLike | None = None,
    correlation: Correlation = "none",
    days: tuple[ArrayLike, float | None] | None = None,
    symmetric: bool = False,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ForecastInterval: ...
def forecast_interval(
    reference: Sample,
    *arrays: object,
    windows: Sequence[Sample] | None = None,
    inside: bool | None = None,
    given: Scores | None = None,
    distance: float | None = None,
    method: ForecastMethod = "calibrated",
    confidence_level: float = 0.95,
    batch: tuple[int, int] | None = None,
    alternative: Alternative = "two-sided",
    weights: ArrayLike | None = None,
    correlation: Correlation = "none",
    days: tuple[ArrayLike, float | None] | None = None,
    symmetric: bool = False,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ForecastInterval:
    """Return the interval in which the AUC of a coming window is expected.

    Parameters
    ----------
    reference: What the model is judged against.
    windows: Past windows. Needed by "calibrated", "dual" and "binned"; "bootstrap" takes their mean sizes
        unless it has a batch.
    inside: Whether the windows are parts of the reference, which are taken out of it one by one; without it
        they are if all of them together are contained in it (at every score, in both classes).
    given, shape (n,), or tuple of two array_like, shape (k,): For "calibrated": the unlabelled scores of the
        coming window, or the pair (score, count). The interval then lies around what these scores foretell,
        as far as that has served the past windows, of which it needs 8: see `ScoreHistory`.
    distance: For "fixed" only: D >= 0, in nats.
    method, {"calibrated", "binned", "dual", "bootstrap", "fixed"}:
        How the distance is chosen:

        - "calibrated": the conformal quantile of the windows' dual distances (the smallest at which a
          reweighting of the reference has the window's AUC; parts of the reference are taken out of it
          first): of n, the one of rank (n + 1) confidence_level, between two where that is no whole number.
          The only method with a level.
        - "dual": the mean dual distance to the whole reference.
        - "binned": `binned_distance`, as in the simulation of [M18].
        - "bootstrap": the mean binned distance of resamples of the reference ([M18] section 3): as far as
          sampling alone goes, without any drift.
        - "fixed": as given.
    confidence_level: Level of "calibrated", and of the part that sampling takes; the other methods have none.
    batch: Positives and negatives of the coming window, expected or seen. "calibrated" then adds to every
        window the sampling noise that the batch has more. Without it the coming window is taken to be as
        large as the past ones.
    alternative, {"two-sided", "less"}: "less" considers losses only: the level is that of `low`, and `high`
        is 1.
    weights, shape (number of windows,): Within [0, 1], for "calibrated", "dual" and "binned": how much each
        window counts relative to the coming one, 0.5 ** (age / half_life) for instance.
    correlation, {"none", "estimated"}: For "calibrated": "none" takes the windows as exchangeable;
        "estimated" takes them in the given order, estimates how alike neighbours are, and widens the interval
        by what that costs of its level on average (`widening`). With fewer than 8 windows nothing of their
        order is known, and nothing is widened.
    days : tuple of array_like, shape (number of windows,), and float or None: For "calibrated" without
        weights: days since a fixed date of the windows and of the coming one. With a year of windows and
        more, the yearly wave that they show is taken off them, and the interval lies around what is left at
        the coming window's time of year (None: the middle of the year), if that makes the windows more alike
        (`season`).
    symmetric: For "binned" and "bootstrap": eq. 13 in place of eq. 12 (see `binned_distance`).
    n_resamples, rng: For "bootstrap": number of resamples, and a seed or a numpy Generator.

    Returns
    -------
    With `given` a `ScoreForecast`, whose `auc` is the expected one.

    Raises
    ------
    InputError: Unknown method or alternative, a level outside (0, 1), a distance that is negative or not
        finite, impossible sizes or weights, something that is no `Sample`, an argument that is missing or
        given to a method that does not use it.
    DegenerateDataError: A reference of one class; no window with both classes; a window whose AUC no
        reweighting of the reference reaches; with `given`, fewer than 8 windows that can be used.

    Notes
    -----
    The coming window's AUC lies in the calibrated interval exactly when its own dual distance is at most the
    quantile. If the windows are outside the reference and exchangeable with the coming one, that has
    probability `achieved_level`, or more where that is 19 of 20, 38 of 40 …, whatever the distributions; else
    at least as far as the density of distances falls outwards (`observed_root`). If they are parts of it, no
    theorem holds, and the level is lower with few windows: a caveat says so below 9.

    With fewer than ceil(1 / (1 - confidence_level)) - 1 windows the widest observed distance is used, with a
    batch no less than sampling alone takes, `achieved_level` is n / (n + 1) and a caveat says so. From two
    windows on, `model_low` and `model_high` are ends that reach the level under a model, which is said too.

    With a batch of other sizes, windows with the missing noise added are exchangeable with it as far as
    sampling noise is normal, see `conformal_root`; windows with more noise are so as far as their scatter is
    normal, see `resized`. All measured levels: docs/coverage.md.
    Cost: one `auc_distance` a window, one `auc_bounds` (two with a batch), and one look-up of the windows'
    scores in the reference. Distances are found on 2,048 joined cells where the reference has more than
    20,000 scores, bounds where it has more than a million (see `condensed`).

    Examples
    --------
    >>> reference = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> past = [Sample([0, 1, 0, 1], [2, 3, 4, 5]), Sample([0, 1, 1, 1], [1, 4, 6, 8])]
    >>> interval = forecast_interval(reference, windows=past, confidence_level=0.6)
    >>> print(interval)
    AUC forecast 0.7500 to 1.0000 around 0.9375 (calibrated, level 0.600, distance 0.2877, 2 windows)
    >>> interval.contains(0.7)
    False
    """
    if arrays:
        raise InputError(
            "forecast_interval takes one Sample, the reference, and not labels and scores: make it by "
            "Sample(y_true, y_score), and give its windows, as in forecast_interval(Sample.merge(weeks), "
            "windows=weeks)"
        )
    dates: Any = None
    day: float | None = None
    if days is not None:
        if not isinstance(days, tuple | list) or len(days) != 2:
            raise InputError(
                "days must be two: one number for each window, and that of the coming window or None"
            )
        dates, coming = days
        if coming is not None:
            if not is_number(coming) or not math.isfinite(coming):
                raise InputError(
                    f"days must have a finite number, or None, for the coming window; it is {coming!r}"
                )
            day = float(coming)
    if given is None:
        fit = forecast_fit(
            reference,
            windows=windows,
            inside=inside,
            distance=distance,
            method=method,
            confidence_level=confidence_level,
            batch=batch,
            alternative=alternative,
            weights=weights,
            correlation=correlation,
            days=dates,
            symmetric=symmetric,
            n_resamples=n_resamples,
            rng=rng,
        )
        return fit.interval(reference, day=day)
    past = _valid_windows(reference, windows, method, confidence_level)
    _require_arguments(method, alternative, past, windows, distance, weights, symmetric, batch)
    if method != "calibrated":
        raise InputError(f"method {method!r} does not use scores; leave given out, or use 'calibrated'")
    if correlation != "none" or days is not None:
        raise InputError("correlation and days belong to forecasts without given: leave one of them out")
    history = score_history(reference, past, weights=weights, inside=inside)
    return history.forecast(
        reference,
        given,
        batch=batch,
        confidence_level=confidence_level,
        alternative=alternative,
        stated=expected_auc(reference, given),
    )


def forecast_fit(
    reference: Sample,
    *,
    windows: Sequence[Sample] | None = None,
    inside: bool | None = None,
    distance: float | None = None,
    method: ForecastMethod = "calibrated",
    confidence_level: float = 0.95,
    batch: tuple[int, int] | None = None,
    alternative: Alternative = "two-sided",
    weights: ArrayLike | None = None,
    correlation: Correlation = "none",
    days: ArrayLike | None = None,
    symmetric: bool = False,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ForecastFit:
    """Learn from past windows how far a window may lie from the reference.

    ``forecast_fit(reference, ...).interval(reference)`` is `forecast_interval`; the fit also gives the
    intervals of windows of other sizes and days, and other levels.

    Parameters
    ----------
    reference, windows, inside, distance, method, confidence_level, batch, alternative, weights, correlation:
        As in `forecast_interval`, like `symmetric`, `n_resamples` and `rng`. Level and batch are the usual
        ones: the widening by `correlation` and the error of condensed rows are those of the interval that has
        them.
    days, shape (number of windows,): Days since a fixed date of the windows. The day of the coming window is
        asked of the interval.

    Examples
    --------
    >>> past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
    >>> reference = Sample.merge(past)
    >>> fit = forecast_fit(reference, windows=past, confidence_level=0.6)
    >>> fit.interval(reference, (2, 2)).low < fit.interval(reference).low
    True
    """
    given = _valid_windows(reference, windows, method, confidence_level)
    _require_arguments(method, alternative, given, windows, distance, weights, symmetric, batch)
    require_method(correlation, get_args(Correlation), "correlation")
    if correlation == "estimated" and method != "calibrated":
        raise InputError("correlation 'estimated' belongs to method 'calibrated': leave one of the two out")
    if days is not None:
        if method != "calibrated" or weights is not None:
            raise InputError("days belongs to method 'calibrated' without weights: leave one of them out")
        dates = window_numbers(days, "days").tolist()
        if len(dates) != len(given):
            raise InputError(
                f"days must have a number for each of the {len(given)} windows; they have {len(dates)}"
            )
    sizes = None if batch is None else valid_batch(batch)
    past = used_windows(reference, given, method, symmetric, inside)
    used = [given[place] for place in past.kept]
    worth = None if weights is None else valid_weights(weights, len(given), past.kept)
    if method == "bootstrap":
        rows = sizes or (
            max(1, round(float(np.mean([window.n_pos for window in used])))),
            max(1, round(float(np.mean([window.n_neg for window in used])))),
        )
        distance = resampled_distance(reference, rows, symmetric=symmetric, n_resamples=n_resamples, rng=rng)
    elif method in ("binned", "dual"):
        distance = float(np.average(past.distances, weights=worth))
    when = None if days is None else [dates[place] for place in past.kept]
    wave, rests = season_of(past.shifts, when, inside=past.inside)
    pairs = moments(reference)
    fit = ForecastFit(
        auc=area(reference),
        method=method,
        alternative=alternative,
        confidence_level=float(confidence_level),
        batch=sizes,
        distance=float(distance or 0.0),
        window_distances=past.distances,
        window_shifts=past.shifts,
        window_n_pos=tuple(window.n_pos for window in used),
        window_n_neg=tuple(window.n_neg for window in used),
        weights=() if worth is None else tuple(worth.tolist()),
        inside=past.inside,
        set_aside=past.caveats,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        pair_variances=(pairs.zeta10, pairs.zeta01, pairs.kernel),
        season=wave,
        window_rests=rests,
    )
    reached, _ = fit.distance_for(Asked(sizes, fit.confidence_level))
    widening = 1.0
    if correlation == "estimated":
        with suppress(DegenerateDataError):  # nothing is known of the correlation
            widening = serial_correlation(fit).widening
    whole = replace(fit, widening=widening, error=_error(reference, given, reached))
    return replace(whole, usual=whole.usual_ends(reference))


def _error(reference: Sample, windows: Sequence[Sample], distance: float) -> float:
    """Return how far an end may be off because rows are known by cells; 0 where every cell is one score.

    A bound is off by no more than `AucBounds.error`, an AUC by no more than `condensed_error` says. The
    distance follows from the AUCs, and an end moves about as far as they do: twice as far is allowed.
    """
    of_windows = [
        condensed_error(window).auc
        for window in windows
        if window.ends is not None and window.n_pos and window.n_neg
    ]
    own = 0.0 if reference.ends is None else condensed_error(reference).auc
    if not own and not any(of_windows):
        return 0.0
    return 2 * (auc_bounds(reference, distance).error + own + max(of_windows, default=0.0))


def _valid_windows(
    reference: Sample, windows: Sequence[Sample] | None, method: str, confidence_level: float
) -> list[Sample]:
    """Return the windows on the cells of the reference; refuse what is no method, level or sample."""
    require_method(method, get_args(ForecastMethod))
    require_level(confidence_level)
    require_sample(reference, "reference")
    reference.require_both_classes()
    return [] if windows is None else aligned(reference, valid_windows(windows, Sample))


def _require_arguments(
    method: str,
    alternative: str,
    windows: list[Sample],
    given: Sequence[Sample] | None,
    distance: float | None,
    weights: ArrayLike | None,
    symmetric: bool,
    batch: object,
) -> None:
    require_method(alternative, get_args(Alternative), "alternative")
    if symmetric and method not in ("binned", "bootstrap"):
        raise InputError(f"method {method!r} does not support symmetric; use 'binned' or 'bootstrap'")
    if weights is not None and method in ("bootstrap", "fixed"):
        raise InputError(f"method {method!r} does not weigh windows; leave weights out")
    if method == "fixed":
        if distance is None:
            raise InputError("method 'fixed' needs distance")
        if given is not None:
            raise InputError("method 'fixed' does not use windows; leave them out, or choose another method")
        return
    if distance is not None:
        raise InputError(
            f"method {method!r} computes the distance itself; leave it out, or use method='fixed'"
        )
    if not windows and not (method == "bootstrap" and batch is not None):
        or_batch = ", or a batch" if method == "bootstrap" else ""
        raise InputError(f"method {method!r} needs windows: past windows as a sequence of Sample{or_batch}")
