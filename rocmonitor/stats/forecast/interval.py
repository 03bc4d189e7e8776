"""Forecast intervals: how far the AUC of a coming window may lie from that of the reference.

The interval holds every AUC that some reweighting of the reference reaches within a distance [M18].
How the distance is chosen decides what the interval means: only the calibrated one
has a confidence level.

References
----------
.. [M18] L. Morin (2018). Forecast intervals for the area under the ROC curve with a time-varying population.
   Working paper, University of Central Florida.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.area.variances import moments
from rocmonitor.stats.caveat import Caveat
from rocmonitor.stats.forecast.arguments import require_arguments, valid_batch, valid_weights, valid_windows
from rocmonitor.stats.forecast.calibration import (
    Alternative,
    Noise,
    conformal_root,
    sampling_root,
)
from rocmonitor.stats.forecast.caveats import level_caveats, size_caveats
from rocmonitor.stats.forecast.distance import require_sample, resampled_distance
from rocmonitor.stats.forecast.kld import AucBounds, area, auc_bounds
from rocmonitor.stats.forecast.windows import EXACT_BOUNDS, carried, grid, mean_sizes, used_windows
from rocmonitor.stats.proportion import require_level, require_method
from rocmonitor.stats.resampling import Rng
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Sample

ForecastMethod = Literal["calibrated", "binned", "dual", "bootstrap", "fixed"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastInterval(Result):
    """The AUCs to be expected of a coming window.

    Attributes
    ----------
    auc : float
        Of the reference.
    low, high : float
        Ends of the interval, both included. `high` is 1 when only losses count (``alternative="less"``).
    distance : float
        The Kullback-Leibler distance, in nats, that the interval allows.
    method : str
        How the distance was chosen.
    confidence_level : float
        As asked for.
    alternative : str
        "two-sided" or "less".
    achieved_level : float or None
        The level that the distance has. None for the methods without one.
    batch : tuple of int or None
        Positives and negatives of the coming window; None: as the past windows.
    sampling_distance, drift_distance : float or None
        What `distance` consists of: the part that the sampling noise of the batch and of the reference alone
        takes at this level, and the rest. None without a batch.
    sampling_low, sampling_high : float or None
        The ends that `sampling_distance` alone gives: how much of the interval's width is sampling; the rest
        is drift. `sampling_high` is 1 when only losses count. None without a batch.
    n_windows : int
        Past windows that were used.
    window_distances : tuple of float
        The distance of each of them, in the order given.
    window_shifts : tuple of float
        Roots sqrt(2 D) of the dual distances, negative where the window's AUC was below the reference's.
    window_n_pos, window_n_neg : tuple of int
        Their class sizes.
    weights : tuple of float
        Their weights; empty when all count alike.
    set_aside : tuple of Caveat
        Caveats on windows that were given and not used.
    inside : bool
        Whether they were parts of the reference.
    n_pos, n_neg : int
        Class sizes of the reference.
    pair_variances : tuple of float or None
        zeta10, zeta01 and the variance of psi over all pairs of the reference; sampling noise follows.
    caveats : tuple of Caveat
        What a reader of the numbers must know; empty when there is nothing.
    """

    auc: float
    low: float
    high: float
    distance: float
    method: str
    confidence_level: float
    alternative: Alternative = "two-sided"
    achieved_level: float | None
    batch: tuple[int, int] | None = None
    sampling_distance: float | None = None
    drift_distance: float | None = None
    sampling_low: float | None = None
    sampling_high: float | None = None
    n_windows: int
    window_distances: tuple[float, ...]
    window_shifts: tuple[float, ...] = ()
    window_n_pos: tuple[int, ...] = ()
    window_n_neg: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    set_aside: tuple[Caveat, ...] = ()
    inside: bool = False
    n_pos: int
    n_neg: int
    pair_variances: tuple[float, float, float] | None = None
    caveats: tuple[Caveat, ...] = ()

    def contains(self, auc: float) -> bool:
        """Whether an AUC lies within the interval."""
        return bool(self.low <= auc <= self.high)

    def margin(self, auc: float) -> float:
        """How far an AUC is inside the nearer end that can be left; negative outside."""
        below = float(auc - self.low)
        return below if self.alternative == "less" else min(below, float(self.high - auc))

    def for_batch(self, reference: Sample, batch: tuple[int, int]) -> ForecastInterval:
        """The same interval for a batch of other sizes, without the past windows.

        Parameters
        ----------
        reference : Sample
            The one that the interval was computed from, or what `condensed` left of it: the bounds are then
            carried to the AUC of the full one.
        batch : tuple of int
            Positives and negatives of the coming window.

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
        >>> past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
        >>> reference = Sample.merge(past)
        >>> interval = forecast_interval(reference, windows=past, confidence_level=0.6)
        >>> small = interval.for_batch(reference, (2, 2))
        >>> bool(small.low < interval.low), small.batch
        (True, (2, 2))
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
        return _finished(replace(self, batch=sizes), reference)

    def __str__(self) -> str:
        level = "no level" if self.achieved_level is None else f"level {self.achieved_level:.3f}"
        text = (
            f"AUC forecast {self._ends(self.low, self.high)} around {self.auc:.4f} "
            f"({self.method}, {level}, distance {self.distance:.4g}, {self.n_windows} windows)"
        )
        if self.batch is None or self.sampling_low is None or self.sampling_high is None:
            return text
        return (
            f"{text} for a batch of {self.batch[0]} positives and {self.batch[1]} negatives; "
            f"sampling alone: {self._ends(self.sampling_low, self.sampling_high)}"
        )

    def _ends(self, low: float, high: float) -> str:
        return f"{low:.4f} or more" if self.alternative == "less" else f"{low:.4f} to {high:.4f}"


def forecast_interval(
    reference: Sample,
    *,
    windows: Sequence[Sample] | None = None,
    distance: float | None = None,
    method: ForecastMethod = "calibrated",
    confidence_level: float = 0.95,
    batch: tuple[int, int] | None = None,
    alternative: Alternative = "two-sided",
    weights: ArrayLike | None = None,
    symmetric: bool = False,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ForecastInterval:
    """The interval in which the AUC of a coming window is to be expected.

    Parameters
    ----------
    reference : Sample
        What the model is judged against.
    windows : sequence of Sample
        Past windows. Needed by "calibrated", "dual" and "binned"; "bootstrap" takes their mean sizes unless
        it has a batch. When all of them together are contained in the reference (at every score, in both
        classes) they are taken as its parts, otherwise as being outside of it.
    distance : float
        For "fixed" only: D >= 0, in nats.
    method : {"calibrated", "binned", "dual", "bootstrap", "fixed"}
        How the distance is chosen:

        - "calibrated": the conformal quantile of the windows' dual distances (the smallest at which a
          reweighting of the reference has the window's AUC; parts of the reference are taken out of it
          first): of n, the ceil((n + 1) confidence_level)-th smallest. The only one with a level.
        - "dual": the mean dual distance to the whole reference.
        - "binned": `binned_distance`, as in the simulation of [M18].
        - "bootstrap": the mean binned distance of resamples of the reference ([M18] section 3): as far as
          sampling alone goes, without any drift.
        - "fixed": as given.
    confidence_level : float
        Level of "calibrated", and of the part that sampling takes; the other methods have none.
    batch : tuple of int
        Positives and negatives of the coming window, expected or seen. "calibrated" then adds to every window
        the sampling noise that the batch has more. Without it the coming window is taken to be as large as
        the past ones.
    alternative : {"two-sided", "less"}
        "less" looks for losses only: the level is that of `low`, and `high` is 1.
    weights : array_like, shape (number of windows,)
        Within [0, 1], for "calibrated", "dual" and "binned": how much each window counts beside the coming
        one, 0.5 ** (age / half_life) for instance.
    symmetric : bool
        For "binned" and "bootstrap": eq. 13 in place of eq. 12 (see `binned_distance`).
    n_resamples, rng
        For "bootstrap": number of resamples, and a seed or a numpy Generator.

    Returns
    -------
    ForecastInterval
        ``.low .high .auc .distance .method .confidence_level .achieved_level .sampling_distance
        .drift_distance .sampling_low .sampling_high .caveats`` and more; ``.for_batch()``, ``.contains()``,
        ``.margin()``, ``.to_dict()``.

    Raises
    ------
    InputError
        Unknown method or alternative, a level outside (0, 1), a distance that is negative or not finite,
        impossible sizes or weights, something that is no `Sample`, an argument that is missing or given to
        a method that does not use it.
    DegenerateDataError
        A reference of one class; no window with both classes; a window whose AUC no reweighting of
        the reference reaches.

    Notes
    -----
    The coming window's AUC lies in the calibrated interval exactly when its own dual distance is at most
    the quantile. If the windows are outside the reference and exchangeable with the coming one, that
    has probability >= `achieved_level`, whatever the distributions ([VGS05]; with weights, [BCRT23]).
    If they are parts of it, each is judged by a reference that is smaller by one window, and no theorem
    holds: the true level is lower with few windows, and within 0.005 of the nominal one from 9 on
    (docs/coverage.md). Below 9 a caveat says so.

    With fewer than ceil(1 / (1 - confidence_level)) - 1 windows the widest observed distance is used, with a
    batch no less than sampling alone takes, `achieved_level` is n / (n + 1) and a caveat says so.

    With a batch of other sizes, windows with the missing noise added are exchangeable with it as far as
    sampling noise is normal: see `conformal_root`, and docs/coverage.md for the levels that were measured.
    Windows that are smaller than the batch stay as they are: their noise cannot be told from drift, the
    interval is conservative, and a caveat says so.

    Cost: one `auc_distance` a window, one `auc_bounds` (two with a batch), and one look-up of the windows'
    scores in the reference. Distances are found on 2,048 joined cells where the reference has more than
    20,000 scores, bounds where it has more than a million: the error is far below that of sampling (see
    `condensed`).

    References
    ----------
    .. [M18] L. Morin (2018). Forecast intervals for the area under the ROC curve with a time-varying
       population. Working paper, University of Central Florida.
    .. [VGS05] V. Vovk, A. Gammerman and G. Shafer (2005). Algorithmic Learning in a Random World. Springer.
    .. [BCRT23] R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2023). Conformal prediction
       beyond exchangeability. Annals of Statistics 51, 816-845.

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
    if alternative not in get_args(Alternative):
        raise InputError(f"alternative must be 'two-sided' or 'less'; it is {alternative!r}")
    require_sample(reference, "reference")
    reference.require_both_classes()
    given = valid_windows(windows)
    require_arguments(method, given, windows, distance, weights, symmetric, batch)
    sizes = None if batch is None else valid_batch(batch)
    past = used_windows(reference, given, method, symmetric)
    worth = None if weights is None else valid_weights(weights, len(given), past.kept)
    if method == "bootstrap":
        mean = sizes or mean_sizes([given[place] for place in past.kept])
        distance = resampled_distance(reference, mean, symmetric=symmetric, n_resamples=n_resamples, rng=rng)
    elif method in ("binned", "dual"):
        distance = float(np.average(past.distances, weights=worth))
    pairs = moments(reference)
    own = area(reference)
    draft = ForecastInterval(
        auc=own,
        low=own,
        high=own,
        distance=0.0 if distance is None else float(distance),
        method=method,
        confidence_level=float(confidence_level),
        alternative=alternative,
        achieved_level=None,
        batch=sizes,
        n_windows=len(past.kept),
        window_distances=past.distances,
        window_shifts=past.shifts,
        window_n_pos=tuple(given[place].n_pos for place in past.kept),
        window_n_neg=tuple(given[place].n_neg for place in past.kept),
        weights=() if worth is None else tuple(worth.tolist()),
        set_aside=past.caveats,
        inside=past.inside,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        pair_variances=(pairs.zeta10, pairs.zeta01, pairs.kernel),
    )
    return _finished(draft, reference)


def _finished(draft: ForecastInterval, reference: Sample) -> ForecastInterval:
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
    few = grid(reference, EXACT_BOUNDS).sample
    bounds = auc_bounds(few, distance)
    low, high = _carried_ends(bounds, draft)
    done = replace(draft, low=low, high=high, distance=distance, achieved_level=level)
    if sampling is not None:
        part = min(sampling * sampling / 2, distance)
        alone = (low, high) if part == distance else _carried_ends(auc_bounds(few, part), draft)
        done = replace(
            done,
            sampling_distance=part,
            drift_distance=distance - part,
            sampling_low=alone[0],
            sampling_high=alone[1],
        )
    caveats = [*done.set_aside, *_level_caveats(done, noise)]
    if distance == 0:
        caveats.append(Caveat("zero-distance"))
    return replace(done, caveats=(*caveats, *bounds.caveats))


def _level_caveats(done: ForecastInterval, noise: Noise) -> Iterator[Caveat]:
    if done.achieved_level is None:
        yield Caveat("no-confidence-level", method=done.method, batch=done.batch is not None)
        return
    yield from level_caveats(
        n_windows=done.n_windows,
        confidence_level=done.confidence_level,
        achieved_level=done.achieved_level,
        inside=done.inside,
        weights=done.weights,
        batch=done.batch is not None,
    )
    yield from size_caveats(
        noise,
        reference=(done.n_pos, done.n_neg),
        windows=list(zip(done.window_n_pos, done.window_n_neg, strict=True)),
        inside=done.inside,
        batch=done.batch,
    )


def _carried_ends(bounds: AucBounds, draft: ForecastInterval) -> tuple[float, float]:
    """The bounds beside the reference's own AUC; no upper one where only losses count."""
    low = carried(bounds.low, bounds.auc, draft.auc)
    return low, carried(bounds.high, bounds.auc, draft.auc) if draft.alternative == "two-sided" else 1.0


def _calibrated(draft: ForecastInterval, noise: Noise, sampling: float) -> tuple[float, float]:
    """The conformal distance and its level."""
    shifts = np.array(draft.window_shifts)
    weights = np.array(draft.weights) if draft.weights else np.ones(len(shifts))
    missing = np.zeros(len(shifts))
    if draft.batch is not None:
        sizes = zip(draft.window_n_pos, draft.window_n_neg, strict=True)
        past = np.array([noise.variance(*rows) for rows in sizes])
        missing = np.maximum(noise.variance(*draft.batch) - past, 0.0)
    root, level = conformal_root(shifts, missing, weights, draft.confidence_level, draft.alternative)
    if level < draft.confidence_level - 1e-9:  # too few windows to know: at least the noise, which is known
        root = max(root, sampling)
    # A window's own distance to its last digit: complete separation is reached at it, not just below it.
    distances = np.array(draft.window_distances)
    nearest = float(distances[np.argmin(np.abs(distances - root * root / 2))])
    same = math.isclose(nearest, root * root / 2, rel_tol=1e-14)
    return (nearest if same else root * root / 2), level
