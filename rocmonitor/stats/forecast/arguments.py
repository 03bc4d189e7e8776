"""The arguments of a forecast interval, checked."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.forecast.calibration import Alternative
from rocmonitor.stats.forecast.distance import require_sample
from rocmonitor.stats.sample import Floats, Sample


def valid_windows(windows: object) -> list[Sample]:
    """The windows as a list, empty when there are none."""
    if windows is None:
        return []
    if not isinstance(windows, Iterable):
        raise InputError(f"windows must be a list of Sample, not a {type(windows).__name__}")
    given = list(windows)
    for number, window in enumerate(given, 1):
        require_sample(window, f"window {number}")
    return given


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


def valid_weights(weights: ArrayLike, n: int, kept: Sequence[int]) -> Floats:
    """Weights of the windows that are kept of `n`."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers: {error}") from error
    if values.shape != (n,):
        raise InputError(
            f"weights must be one number for each of the {n} windows; its shape is {values.shape}"
        )
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError("weights must lie within [0, 1], where 1 is what the coming window weighs")
    used: Floats = values[list(kept)]
    if not used.any():
        raise InputError("weights are all 0 on the windows that can be used; give one of them a weight")
    return used


def require_arguments(
    method: str,
    alternative: str,
    windows: list[Sample],
    given: Sequence[Sample] | None,
    distance: float | None,
    weights: ArrayLike | None,
    symmetric: bool,
    batch: object,
) -> None:
    """Refuse an argument that a method does not use, and what it cannot do without."""
    if alternative not in get_args(Alternative):
        raise InputError(f"alternative must be 'two-sided' or 'less'; it is {alternative!r}")
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
