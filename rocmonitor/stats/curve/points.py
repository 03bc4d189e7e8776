"""The points of the curve that are asked for: thresholds, pairs of them, and rates, valid and as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def valid_thresholds(values: ArrayLike) -> Floats:
    """Thresholds as an array of its own, shape (h,); infinite ones are allowed."""
    try:
        at = np.array(values, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"thresholds must be numbers: {error}") from error
    if at.ndim != 1 or not len(at):
        raise InputError(f"thresholds must be a list of at least one number; its shape is {at.shape}")
    _no_nan(at, "thresholds")
    return at


def threshold_pairs(values: ArrayLike) -> Floats:
    """Pairs of thresholds as an array of its own, shape (h, 2)."""
    try:
        at = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"pairs must be (t1, t2) pairs of numbers, as many of one as of the other: {error}"
        ) from error
    if at.ndim != 2 or at.shape[1] != 2 or not len(at):
        raise InputError(
            f"pairs must be at least one (t1, t2) pair of thresholds, shape (h, 2); its shape is {at.shape}"
        )
    _no_nan(at, "pairs")
    return at


def require_rates(m_neg: int) -> None:
    """Refuse a resample whose negatives are too few for a false positive rate within (0, 1)."""
    if m_neg < 2:
        raise DegenerateDataError(
            f"a false positive rate within (0, 1) needs at least 2 negatives; a resample has {m_neg}"
        )


def nearest_ranks(fpr: ArrayLike, m: int, name: str = "fpr") -> tuple[Counts, tuple[str, ...]]:
    """The nearest r of each rate, and a caveat about the rates that are no r / m."""
    try:
        rates = np.array(fpr, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
    if rates.ndim != 1 or not len(rates):
        raise InputError(f"{name} must be a list of at least one rate; its shape is {rates.shape}")
    bad = len(rates) - np.count_nonzero((rates > 0) & (rates < 1))
    if bad:
        raise InputError(
            f"{name} must lie within (0, 1): {bad} of {len(rates)} rates do not; leave out NaN, 0 and 1"
        )
    r = np.clip(np.rint(rates * m), 1, m - 1).astype(np.int64)
    moved = np.count_nonzero(~np.isclose(r, rates * m, rtol=1e-9, atol=1e-9))
    if not moved:
        return r, ()
    return r, (f"{moved} of {len(r)} rates are not multiples of 1/{m} within (0, 1): the nearest were used",)


def _no_nan(values: Floats, name: str) -> None:
    bad = np.count_nonzero(np.isnan(values))
    if bad:
        raise InputError(f"{name} must not be NaN: {bad} of {values.size} are; leave them out")
