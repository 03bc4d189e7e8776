"""Limits that learn from what came of earlier windows: a margin tracked online, whatever the windows do."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple


class JudgedOutlook(NamedTuple):
    """A window that was foreseen from its scores, and judged with its labels since.

    Attributes
    ----------
    expected : float
        The AUC that its scores led to.
    rows : int
        Number of scores.
    low, high : float
        Of its outlook, before any margin was learned.
    auc : float
        With its labels.
    good : bool
        Whether no rule found the window degraded.
    warned : bool
        Whether its outlook warned.
    """

    expected: float
    rows: int
    low: float
    high: float
    auc: float
    good: bool
    warned: bool


def tracked_margin(
    shortfalls: Iterable[float], tail: float, step: float, good: Iterable[bool] = repeat(True)
) -> float:
    """Return the margin that a limit needs after windows lay beyond it by so much.

    Parameters
    ----------
    shortfalls : iterable of float
        By how much each window lay beyond the limit without a margin, oldest first; negative within it.
    tail : float
        The share of windows that may lie beyond, within (0, 1).
    step : float
        By how much the margin grows at least, > 0, in the unit of the shortfalls.
    good : iterable of bool
        Whether each window was wrongly beyond the limit, if it was. One that was rightly so does not count,
        but takes off a step where the margin hid it.

    Notes
    -----
    After a window beyond the limit and its margin the margin is that window's shortfall and one step;
    every other window takes off ``tail * step``, down to 0. So of T windows at most ``tail * T + margin /
    step`` lay beyond, for every sequence of windows (quantile tracking, [GC21], [ACT23]): each of them
    adds at least one step, each of the others takes off at most ``tail * step``. The margin never exceeds
    the largest shortfall by more than a step. So in the long run at most the share `tail` lies beyond,
    whatever the limit was learned from and however the windows have changed. Cost: O(T).

    T counts the windows that are `good`; to the bound those of the others are added that the margin hid.

    References
    ----------
    .. [GC21] Gibbs and Candès (2021). Adaptive conformal inference under distribution shift. NeurIPS 34.
    .. [ACT23] Angelopoulos, Candès and Tibshirani (2023). Conformal PID control for time series prediction.
       NeurIPS 36.

    Examples
    --------
    >>> round(tracked_margin([-0.1, 0.03, 0.02, 0.05], 0.05, 0.01), 6)
    0.06
    """
    margin = 0.0
    for shortfall, wrong in zip(shortfalls, good, strict=False):  # `good` may have no end
        if wrong:
            margin = shortfall + step if shortfall > margin else max(margin - tail * step, 0.0)
        elif 0 < shortfall <= margin:
            margin = max(margin - step, 0.0)
    return margin
