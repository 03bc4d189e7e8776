"""Forecast intervals: how far the AUC of a coming window may lie from that of the reference.

The interval holds every AUC that some reweighting of the reference reaches within a distance, Morin
(2018), [M18] below. How the distance is chosen decides what the interval means: only the calibrated one
has a confidence level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.kld import area, auc_bounds, auc_distance
from rocmonitor.stats.proportion import require_level, require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Counts, Floats, Sample, on_sample

ForecastMethod = Literal["calibrated", "binned", "dual", "fixed"]

BINS = 10
"""Quantile bins a class of the binned distance ([M18], as in its simulation)."""

ENOUGH_PARTS = 9
"""Windows inside the reference from which on leaving one out costs less than 0.005 of the level."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastInterval(Result):
    """The AUCs to be expected of a coming window.

    Attributes
    ----------
    auc : float
        Of the reference.
    low, high : float
        Ends of the interval, both included.
    distance : float
        The Kullback-Leibler distance, in nats, that the interval allows.
    method : str
        How the distance was chosen.
    confidence_level : float
        As asked for.
    achieved_level : float or None
        The level that the distance has: with "calibrated" rank / (n_windows + 1). None for the other
        methods, which have no level.
    n_windows : int
        Past windows that were used.
    window_distances : tuple of float
        The distance of each of them, in the order given.
    n_pos, n_neg : int
        Class sizes of the reference.
    caveats : tuple of str
        What a reader of the numbers must know; empty when there is nothing.
    """

    auc: float
    low: float
    high: float
    distance: float
    method: str
    confidence_level: float
    achieved_level: float | None
    n_windows: int
    window_distances: tuple[float, ...]
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...] = ()

    def contains(self, auc: float) -> bool:
        """Whether an AUC lies within the interval."""
        return bool(self.low <= auc <= self.high)

    def margin(self, auc: float) -> float:
        """How far an AUC is inside the nearer end; negative outside."""
        return float(min(auc - self.low, self.high - auc))

    def __str__(self) -> str:
        level = "no level" if self.achieved_level is None else f"level {self.achieved_level:.3f}"
        return (
            f"AUC forecast {self.low:.4f} to {self.high:.4f} around {self.auc:.4f} "
            f"({self.method}, {level}, distance {self.distance:.4g}, {self.n_windows} windows)"
        )


def forecast_interval(
    reference: Sample,
    *,
    windows: Sequence[Sample] | None = None,
    distance: float | None = None,
    method: ForecastMethod = "calibrated",
    confidence_level: float = 0.95,
) -> ForecastInterval:
    """The interval in which the AUC of a coming window is to be expected.

    Parameters
    ----------
    reference : Sample
        What the model is judged against.
    windows : sequence of Sample
        Past windows, each as large as the coming one; needed by every method but "fixed". When all of
        them together are contained in the reference (at every score, in both classes) they are taken
        as its parts, otherwise as being outside of it.
    distance : float
        For "fixed" only: D >= 0, in nats.
    method : {"calibrated", "binned", "dual", "fixed"}
        How the distance is chosen:

        - "calibrated": each window's dual distance (the smallest at which a reweighting of the reference
          has the window's AUC; parts of the reference are taken out of it first), and of these the
          ceil((n + 1) confidence_level)-th smallest: the conformal quantile. The only one with a level.
        - "dual": the mean dual distance to the whole reference.
        - "binned": `binned_distance`, as in the simulation of [M18].
        - "fixed": as given.
    confidence_level : float
        Level of "calibrated"; the other methods have none.

    Returns
    -------
    ForecastInterval
        ``.low .high .auc .distance .method .confidence_level .achieved_level .n_windows
        .window_distances .caveats``, ``.contains()``, ``.margin()`` and ``.to_dict()``.

    Raises
    ------
    InputError
        Unknown method, a level outside (0, 1), a distance that is negative or not finite, `windows` or
        `distance` missing or given to a method that does not use it, something that is no `Sample`.
    DegenerateDataError
        A reference of one class; no window with both classes; a window whose AUC no reweighting of
        the reference reaches.

    Notes
    -----
    The coming window's AUC lies in the calibrated interval exactly when its own dual distance is at most
    the quantile. If the windows are outside the reference and exchangeable with the coming one, that
    has probability >= `achieved_level`, whatever the distributions (Vovk, Gammerman & Shafer 2005).
    If they are parts of it, each is judged by a reference that is smaller by one window, and no theorem
    holds: with normal AUCs the true level is 0.54 instead of 0.67 with 2 windows, 0.78 instead of 0.80
    with 4, and within 0.005 of the nominal one from 9 on. Below 9 a caveat says so.

    With fewer than ceil(1 / (1 - confidence_level)) - 1 windows, the widest observed distance is used,
    `achieved_level` is n / (n + 1) and a caveat says so.

    Cost: one `auc_distance` a window and one `auc_bounds`.

    Examples
    --------
    >>> reference = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> past = [Sample([0, 1, 0, 1], [2, 3, 4, 5]), Sample([0, 1, 1, 1], [1, 4, 6, 8])]
    >>> interval = forecast_interval(reference, windows=past, confidence_level=0.6)
    >>> print(interval)
    AUC forecast 0.7500 to 1.0000 around 0.9375 (calibrated, level 0.667, distance 0.2877, 2 windows)
    >>> interval.contains(0.7)
    False
    """
    require_method(method, get_args(ForecastMethod))
    require_level(confidence_level)
    _require_sample(reference, "reference")
    reference.require_both_classes()
    _require_arguments(method, windows, distance)
    distances: tuple[float, ...] = ()
    caveats: list[str] = []
    level: float | None = None
    if distance is None:
        past = list(windows or ())
        inside = method == "calibrated" and _contained(past, reference)
        distances, caveats = _window_distances(reference, past, method, inside)
        if method == "calibrated":
            distance, level = _conformal(distances, confidence_level)
            caveats += _level_caveats(len(distances), confidence_level, inside)
        else:
            distance = float(np.mean(distances))
    if level is None:
        caveats.append(f"a {method} distance has no confidence level")
    bounds = auc_bounds(reference, distance)
    if distance == 0:
        caveats.append("the distance is 0, which leaves no room for any change")
    return ForecastInterval(
        auc=bounds.auc,
        low=bounds.low,
        high=bounds.high,
        distance=bounds.distance,
        method=method,
        confidence_level=float(confidence_level),
        achieved_level=level,
        n_windows=len(distances),
        window_distances=distances,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        caveats=(*caveats, *bounds.caveats),
    )


@on_sample
def binned_distance(sample: Sample, /, windows: Sequence[Sample], *, bins: int = BINS) -> float:
    """Mean Kullback-Leibler distance of windows to a sample, over quantile bins of each class.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative. Or one `Sample` in place of the two arrays.
    y_score : array_like, shape (n,)
        Finite scores; higher means more positive.
    windows : sequence of Sample
        Windows (segments) of the same score, each with both classes.
    bins : int
        At least 2.

    Returns
    -------
    float
        Mean over the windows of KL(window||sample) of the binned negatives plus that of the binned positives.

    Raises
    ------
    InputError
        Unusable data (see `Sample`), no windows, something that is no `Sample`, fewer than 2 bins.
    DegenerateDataError
        The sample or a window has one class only.

    Notes
    -----
    As the simulation of [M18] does (section 4.3, eq. 12). The bins of a class end at the scores at which
    its share in the sample first reaches 1/bins, 2/bins, …; the outermost ones are open. A tie is never
    split: a score that reaches several of these at once leaves fewer bins. So every bin has a share
    of the sample, and one that a window leaves empty adds 0 ln 0 = 0, the limit of any floor.

    In small windows this is mostly sampling noise, about (bins - 1) / (2 n) for each class of n rows
    even when nothing has changed.

    Examples
    --------
    >>> sample = Sample([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 3, 4, 5, 6])
    >>> round(binned_distance(sample, [Sample([0, 0, 1, 1], [1, 2, 5, 6])], bins=2), 4)
    1.3863
    """
    if bins < 2:
        raise InputError(f"bins must be at least 2; it is {bins}")
    sample.require_both_classes()
    if not windows:
        raise InputError("windows is empty; give at least one Sample")
    for number, window in enumerate(windows, 1):
        _require_sample(window, f"window {number}")
        if not min(window.n_pos, window.n_neg):
            raise DegenerateDataError(f"window {number} has one class only; leave it out")
    return float(np.mean([_binned(sample, window, bins) for window in windows]))


def _binned(sample: Sample, window: Sample, bins: int) -> float:
    total = 0.0
    for counts, seen in ((sample.neg, window.neg), (sample.pos, window.pos)):
        ends = _bin_ends(sample.score, counts, bins)
        share = _binned_shares(sample.score, counts, ends)
        new = _binned_shares(window.score, seen, ends)
        filled = new > 0
        total += float(np.sum(new[filled] * np.log(new[filled] / share[filled])))
    return max(total, 0.0)


def _bin_ends(score: Floats, counts: Counts, bins: int) -> Floats:
    """Upper ends of all bins but the last: each bin holds some of the counts."""
    reached = np.cumsum(counts) * bins
    position = np.searchsorted(reached, np.arange(1, bins) * counts.sum())
    ends: Floats = np.unique(score[position])
    inner: Floats = ends[ends < score[np.flatnonzero(counts)[-1]]]
    return inner


def _binned_shares(score: Floats, counts: Counts, ends: Floats) -> Floats:
    number = np.bincount(np.searchsorted(ends, score), weights=counts, minlength=len(ends) + 1)
    share: Floats = number / counts.sum()
    return share


def _window_distances(
    reference: Sample, windows: list[Sample], method: str, inside: bool
) -> tuple[tuple[float, ...], list[str]]:
    """The distance of every usable window, and a caveat that counts the others."""
    distances: list[float] = []
    one_class: list[int] = []
    alone: list[int] = []
    for number, window in enumerate(windows, 1):
        if not min(window.n_pos, window.n_neg):
            one_class.append(number)
            continue
        rest = _without(reference, window) if inside else reference
        if not min(rest.n_pos, rest.n_neg):
            alone.append(number)
        elif method == "binned":
            distances.append(_binned(reference, window, BINS))
        else:
            distances.append(_dual(rest, window, number))
    caveats = _set_aside(one_class, len(windows), "without rows of both classes") + _set_aside(
        alone, len(windows), "without which the reference lacks a class"
    )
    if not distances:
        raise DegenerateDataError(
            f"none of the {len(windows)} windows can be used ({'; '.join(caveats)}): give more or longer "
            "windows, or a distance with method='fixed'"
        )
    return tuple(distances), caveats


def _dual(reference: Sample, window: Sample, number: int) -> float:
    try:
        return auc_distance(reference, area(window))
    except DegenerateDataError as error:
        raise DegenerateDataError(f"window {number}: {error}") from error


def _contained(windows: list[Sample], reference: Sample) -> bool:
    """Whether all windows together are part of the reference, at every score and in both classes."""
    together = Sample.merge(windows)
    at, known = _positions(reference, together)
    return bool(
        known.all()
        and (together.pos <= reference.pos[at]).all()
        and (together.neg <= reference.neg[at]).all()
    )


def _without(reference: Sample, window: Sample) -> Sample:
    """The reference less one of its parts."""
    at, _ = _positions(reference, window)
    pos, neg = reference.pos.copy(), reference.neg.copy()
    pos[at] -= window.pos
    neg[at] -= window.neg
    return Sample.from_counts(reference.score, pos, neg)


def _positions(reference: Sample, window: Sample) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where the window's scores are in the reference, and whether they are there at all."""
    at = np.minimum(np.searchsorted(reference.score, window.score), len(reference.score) - 1)
    return at, reference.score[at] == window.score


def _conformal(distances: Sequence[float], confidence_level: float) -> tuple[float, float]:
    """The conformal quantile of n distances, or the largest of them, with its level."""
    n = len(distances)
    rank = min(_rank(n, confidence_level), n)
    return sorted(distances)[rank - 1], rank / (n + 1)


def windows_needed(confidence_level: float) -> int:
    """Past windows from which on a calibrated interval can have this level.

    Examples
    --------
    >>> windows_needed(0.95)
    19
    """
    return math.ceil(round(1 / (1 - confidence_level), 9)) - 1


def _rank(n: int, confidence_level: float) -> int:
    return math.ceil(round((n + 1) * confidence_level, 9))  # 20 * 0.95 may come out just above 19


def _level_caveats(n: int, confidence_level: float, inside: bool) -> list[str]:
    caveats = []
    if _rank(n, confidence_level) > n:
        needed = windows_needed(confidence_level)
        caveats.append(
            f"{n} past windows cannot give the level {confidence_level:g}: the widest observed distance is "
            f"used, whose level is {n}/{n + 1} = {n / (n + 1):.3f}; {needed} windows are needed"
        )
    if inside and n < ENOUGH_PARTS:
        caveats.append(
            f"the windows are parts of the reference: with fewer than {ENOUGH_PARTS} the true level is "
            "lower than that"
        )
    return caveats


def _set_aside(numbers: list[int], total: int, why: str) -> list[str]:
    if not numbers:
        return []
    return [f"{len(numbers)} of {total} windows set aside, {why}: number {', '.join(map(str, numbers))}"]


def _require_sample(value: object, name: str) -> None:
    if not isinstance(value, Sample):
        raise InputError(f"{name} must be a Sample, not a {type(value).__name__}")


def _require_arguments(method: str, windows: Sequence[Sample] | None, distance: float | None) -> None:
    if method == "fixed":
        if distance is None:
            raise InputError("method 'fixed' needs distance")
        if windows is not None:
            raise InputError("method 'fixed' does not use windows; leave them out, or choose another method")
        return
    if distance is not None:
        raise InputError(f"method {method!r} finds the distance itself; leave it out, or use method='fixed'")
    if not windows:
        raise InputError(f"method {method!r} needs windows: past windows as a sequence of Sample")
    for number, window in enumerate(windows, 1):
        _require_sample(window, f"window {number}")
