"""What a reader of a forecast interval must know, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rocmonitor.stats.forecast.calibration import Noise, windows_needed

if TYPE_CHECKING:
    from rocmonitor.stats.forecast.interval import ForecastInterval

ENOUGH_PARTS = 9
"""Windows inside the reference from which on leaving one out costs less than 0.005 of the level."""

ENOUGH_ROWS = 10
"""Rows of a class from which on the noise of an AUC is taken as normal (see `forecast_interval`)."""

_SHORTFALL = 0.02  # of the misses that the level allows: 0.949 for 0.95 is as good

_LOUDER = 1.2  # times the variance: what sizes vary by from week to week is not worth a caveat


def level_caveats(interval: ForecastInterval, noise: Noise) -> Iterator[str]:
    """On the level of an interval."""
    if interval.achieved_level is None:
        same = " and is the same for a batch of any size" if interval.batch else ""
        yield f"a {interval.method} distance has no confidence level{same}"
        return
    if interval.confidence_level - interval.achieved_level > _SHORTFALL * (1 - interval.confidence_level):
        yield _too_few(interval)
    if interval.inside and interval.n_windows < ENOUGH_PARTS:
        yield (
            f"the windows are parts of the reference: with fewer than {ENOUGH_PARTS} the true level is "
            "lower than that"
        )
    past = [
        noise.variance(*sizes) for sizes in zip(interval.window_n_pos, interval.window_n_neg, strict=True)
    ]
    if not interval.inside and noise.variance(interval.n_pos, interval.n_neg) > _LOUDER * np.median(past):
        yield (
            f"the reference ({interval.n_pos} positives, {interval.n_neg} negatives) is smaller than its "
            "windows: its own error is in the distance of each of them and makes the interval wider"
        )
    if interval.batch is not None:
        yield from _batch_caveats(interval, past, noise.variance(*interval.batch))


def _too_few(interval: ForecastInterval) -> str:
    assert interval.achieved_level is not None
    n, needed = interval.n_windows, windows_needed(interval.confidence_level)
    weight, weighing, most = str(n), "", f"{needed} windows are"
    if interval.weights:
        weight = f"{sum(interval.weights):.3g}"
        weighing, most = f", which weigh {weight} together,", f"a weight of {needed} is"
    used = "the widest observed distance"
    if interval.batch is not None:
        used += ", and no less than sampling alone takes,"
    return (
        f"{n} past windows{weighing} cannot give the level {interval.confidence_level:g}: {used} is used, "
        f"whose level is {weight}/{_one_more(weight)} = "
        f"{_told_apart(interval.achieved_level, interval.confidence_level)}; {most} needed"
    )


def _one_more(weight: str) -> str:
    return str(int(weight) + 1) if weight.isdigit() else f"{float(weight) + 1:.3g}"


def _told_apart(level: float, wanted: float) -> str:
    """The level with as many decimals, at least three, as show that it is not the one that was wanted."""
    digits = next((each for each in range(3, 9) if f"{level:.{each}f}" != f"{wanted:.{each}f}"), 9)
    return f"{level:.{digits}f}"


def _batch_caveats(interval: ForecastInterval, past: list[float], coming: float) -> Iterator[str]:
    assert interval.batch is not None
    louder = sum(variance > _LOUDER * coming for variance in past)
    if 2 * louder > len(past):
        yield (
            f"{louder} of {len(past)} past windows are smaller than the batch: their sampling noise cannot "
            "be told from drift, so the interval is wider than the batch needs; join neighbouring windows"
        )
    few = min(interval.batch)
    if few < ENOUGH_ROWS:
        yield (
            f"the batch has {few} rows of a class: with fewer than {ENOUGH_ROWS} sampling noise is not "
            "normal and the level is rough"
        )
