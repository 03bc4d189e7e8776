"""Searching where a condition begins to hold; SciPy's searches ask for a function that is continuous."""

from __future__ import annotations

from collections.abc import Callable


def halved(low: float, high: float, holds: Callable[[float], bool], times: int) -> tuple[float, float]:
    """Return the ends between which a condition begins to hold: not at the lower one, but at the upper one.

    Examples
    --------
    >>> halved(0.0, 8.0, lambda number: number > 3, 3)
    (3.0, 4.0)
    """
    for _ in range(times):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
