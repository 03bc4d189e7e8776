"""What a reader of a forecast interval should know about its level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.stats.forecast.calibration import Noise, windows_needed

ENOUGH_PARTS = 9
"""Windows inside the reference from which on leaving one out costs less than 0.005 of the level."""

ENOUGH_ROWS = 10
"""Rows of a class from which on the noise of an AUC is taken as normal (see `forecast_interval`)."""

_SHORTFALL = 0.02  # of the misses that the level allows: 0.949 for 0.95 is as good

_NOISIER = 1.2  # times the variance: smaller differences are normal from week to week


def level_caveats(
    *,
    n_windows: int,
    confidence_level: float,
    achieved_level: float,
    inside: bool,
    weights: Sequence[float] = (),
    batch: bool = False,
) -> Iterator[Caveat]:
    """Caveats on the level of a calibrated interval.

    Parameters
    ----------
    n_windows : int
        Past windows that were used.
    confidence_level, achieved_level : float
        The level that was asked for and the one that the windows give.
    inside : bool
        Whether the windows are parts of the reference.
    weights : sequence of float
        Of the windows; empty when all count alike.
    batch : bool
        Whether the interval is for a batch of given sizes.
    """
    if confidence_level - achieved_level > _SHORTFALL * (1 - confidence_level):
        yield Caveat(
            "too-few-windows",
            n_windows=n_windows,
            weight=float(sum(weights)) if weights else None,
            confidence_level=confidence_level,
            achieved_level=achieved_level,
            needed=windows_needed(confidence_level),
            batch=batch,
        )
    if inside and n_windows < ENOUGH_PARTS:
        yield Caveat("windows-inside-reference", n_windows=n_windows, enough=ENOUGH_PARTS)


def size_caveats(
    noise: Noise,
    *,
    reference: tuple[int, int],
    windows: Sequence[tuple[int, int]],
    inside: bool,
    batch: tuple[int, int] | None,
) -> Iterator[Caveat]:
    """Caveats on the sizes (positives, negatives) of the reference, the past windows and the batch."""
    past = [noise.variance(*sizes) for sizes in windows]
    if not inside and noise.variance(*reference) > _NOISIER * np.median(past):
        yield Caveat("reference-smaller-than-windows", n_pos=reference[0], n_neg=reference[1])
    if batch is None:
        return
    coming = noise.variance(*batch)
    smaller = sum(variance > _NOISIER * coming for variance in past)
    if 2 * smaller > len(past):
        yield Caveat("windows-smaller-than-batch", smaller=smaller, n_windows=len(past))
    if min(batch) < ENOUGH_ROWS:
        yield Caveat("small-batch", rows=min(batch), enough=ENOUGH_ROWS)
