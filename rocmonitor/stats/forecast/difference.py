"""Forecast interval of the difference of two AUCs on the same rows, as far as drift can move it.

As `rocmonitor.stats.forecast.interval` for one AUC ([M18] section 3), with weights u on the negatives and v
on the positives that are the same for both models. What is maximised has the kernel psi_1 - psi_2 of
`rocmonitor.stats.forecast.tilting`; the other end is that of the models swapped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.calibration import conformal_root, own_distance
from rocmonitor.stats.forecast.climbing import Extreme, optimum
from rocmonitor.stats.forecast.interval import WindowForecast, level_caveats
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.paired_rows import PairedRows, Reach, furthest, past_differences
from rocmonitor.stats.forecast.windows import UsedWindows, valid_windows
from rocmonitor.stats.proportion import is_number, require_level
from rocmonitor.stats.sample import PairedSample, on_pair

EXACT_CELLS = 50_000  # pairs of scores up to which the ends are found on all of them: a second or two


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastDifference(WindowForecast):
    """The differences of two AUCs that are expected of a coming window.

    Attributes
    ----------
    auc_1, auc_2: Of the reference.
    difference: ``auc_1 - auc_2``.
    low_aucs, high_aucs: The two AUCs of the least favourable population at either end.
    method: "calibrated" by past windows, or "fixed".
    window_distances, window_shifts: The distance D of each window in the order given, and its root sqrt(2 D),
        negative where the window was below the reference.
    inside: Whether the windows were parts of the reference.
    residual: Of the first-order conditions, the larger of the two ends (see `AucBounds`).
    optimum: "proven" if no weights within the distance do better, "searched" if none better were found.
    """

    _estimate: ClassVar[str | None] = "difference"
    _flat: ClassVar[bool] = True

    auc_1: float
    auc_2: float
    difference: float
    low_aucs: tuple[float, float]
    high_aucs: tuple[float, float]
    window_distances: tuple[float, ...]
    window_shifts: tuple[float, ...] = ()
    inside: bool = False
    residual: float
    optimum: str

    def contains(self, difference: float) -> bool:
        """Return True if a difference lies within the interval."""
        return bool(self.low <= difference <= self.high)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        plotting.rows(
            ax,
            ["forecast"],
            [(self.difference, self.low, self.high)],
            x="AUROC difference of a coming window, first minus second",
            note=f"{self.method}, {self._level()}; the point is the reference",
            label=label,
            sign="+",
        )

    def __str__(self) -> str:
        windows = f", {self.n_windows} windows" if self.n_windows else ""
        return (
            f"AUC difference forecast {self.low:+.4f} to {self.high:+.4f} around {self.difference:+.4f} "
            f"({self.method}, {self._level()}, distance {self.distance:.4g}{windows})"
        )


@on_pair
def forecast_difference(
    reference: PairedSample,
    /,
    *,
    distance: float | None = None,
    windows: Sequence[PairedSample] | None = None,
    inside: bool | None = None,
    confidence_level: float = 0.95,
) -> ForecastDifference:
    """Return the interval in which the difference of two AUCs is expected in a coming window.

    Parameters
    ----------
    y_true, score_1, score_2, shape (n,): The reference: labels 0 and 1, and finite scores of the two models.
        Or one `PairedSample`.
    distance: D >= 0, in nats: allow so much, without a level. Else give `windows`.
    windows: Past windows of the same two models, about as large as the coming one: D is the conformal
        quantile of their distances, each the smallest at which a reweighting of the reference has the
        window's difference.
    inside: Whether the windows are parts of the reference, which are taken out of it one by one; without it
        they are if all of them together are contained in it (both scores, both classes).
    confidence_level: Of an interval from windows, within (0, 1).

    Raises
    ------
    InputError: Unusable data (see `PairedSample`); both or none of `distance` and `windows`; a distance that
        is negative or no finite number; something that is no `PairedSample`; a level outside (0, 1).
    DegenerateDataError: A class without rows; no window with both classes; a window whose difference no
        reweighting of the reference reaches.

    Notes
    -----
    The largest sum of u_i v_j (psi_1 - psi_2) over KL(u||f) + KL(v||g) <= D is *the* maximum where its
    multiplier is at most 2, else the best of several starts, in which SLSQP found none better on small
    samples with ties. From the distance on at which the first model orders all pairs of some rows and the
    second turns them round, `high` is exactly 1.

    The level is that of `forecast_interval`. There is no correction for a coming window of another size.
    Cost: O(n log n) to sort the pairs of scores, then O(c) a sweep for c different ones. With more than
    20,000 of them (ends: 50,000) at most 128 by 128 joined cells take their place, and the result is moved to
    the difference of all rows (docs/coverage.md). A million rows take 1 to 3 s for two ends, and 20 windows
    of 50,000 another 4 s.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> first, second = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 6, 5, 3, 4, 9, 10, 8, 7]
    >>> print(forecast_difference(y, first, second, distance=0.05))
    AUC difference forecast +0.0362 to +0.2030 around +0.1200 (fixed, no level, distance 0.05)
    """
    level = require_level(confidence_level)
    reference.require_both_classes()
    past = _past(reference, distance, windows, inside)
    distance, achieved = _chosen(past, distance, level)
    auc_1, auc_2 = area(reference.first), area(reference.second)
    difference = auc_1 - auc_2
    kernel, moved = _kernel(PairedRows.of(reference), difference)
    high, low = furthest(kernel, distance), furthest(kernel.swapped(), distance)
    method, n_windows = "fixed" if achieved is None else "calibrated", len(past.shifts)
    shown = level_caveats(method, level, achieved, n_windows, past.inside)
    return ForecastDifference(
        auc_1=auc_1,
        auc_2=auc_2,
        difference=difference,
        low=min(max(moved - low.value, -1.0), difference),
        high=max(min(high.value + moved, 1.0), difference),
        low_aucs=kernel.areas(kernel.shares * low.tilt),
        high_aucs=kernel.areas(kernel.shares * high.tilt),
        distance=float(distance),
        method=method,
        confidence_level=level,
        achieved_level=achieved,
        n_windows=n_windows,
        window_distances=past.distances,
        window_shifts=past.shifts,
        inside=past.inside,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        residual=max(low.residual, high.residual),
        optimum=optimum(kernel.unique, low, high),
        caveats=(*past.caveats, *shown, *_caveats(distance, reference, (low, high))),
    )


def _past(
    reference: PairedSample,
    distance: float | None,
    windows: Sequence[PairedSample] | None,
    inside: bool | None,
) -> UsedWindows:
    """Return the windows' distances, none for a fixed distance; refuses all that is neither."""
    if (distance is None) == (windows is None):
        given = "both were" if distance is not None else "none was"
        raise InputError(
            f"forecast_difference needs distance or windows, one of them; {given} given: past windows give "
            "the interval a level"
        )
    if windows is None:
        if distance is None or not is_number(distance) or not 0 <= distance < math.inf:
            raise InputError(f"distance must be a finite number >= 0; it is {distance}")
        return UsedWindows()
    given_windows = valid_windows(windows, PairedSample)
    if not given_windows:
        raise InputError("windows is empty; give past windows, or a fixed distance")
    return past_differences(reference, given_windows, inside=inside)


def _chosen(past: UsedWindows, distance: float | None, level: float) -> tuple[float, float | None]:
    """Return the distance and the level that it has: the conformal quantile of the windows, or the fixed
    one.
    """
    if distance is not None:
        return distance, None
    ones = np.ones(len(past.shifts))
    root, achieved = conformal_root(np.array(past.shifts), 0 * ones, ones, level, "two-sided")
    return own_distance(past.distances, root), achieved


def _kernel(rows: PairedRows, difference: float) -> tuple[Reach, float]:
    """Return the statistic on all cells or on joined ones, and what joining took from the difference."""
    kernel = rows.kernel(EXACT_CELLS)
    if kernel.shares.shape[1] == len(rows.first):
        return kernel, 0.0
    joined = kernel.areas(kernel.shares)
    return kernel, difference - (joined[0] - joined[1])


def _caveats(distance: float, reference: PairedSample, ends: tuple[Extreme, Extreme]) -> Iterator[Caveat]:
    if distance == 0:
        yield Caveat("zero-distance")
    if np.array_equal(reference.index_1, reference.index_2):
        yield Caveat("same-ranking")
        return
    for name, end in zip(("low", "high"), ends, strict=True):
        if math.isinf(end.multiplier):
            yield Caveat("end-at-limit", end=name)
