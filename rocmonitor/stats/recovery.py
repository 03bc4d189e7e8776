"""The end of a drop: the windows since then show that it is over, or they do not show it yet.

"Lower until then, and back since" is compared with "lower until now": docs/method.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rocmonitor.conventions import NORMAL_95

_EVIDENCE = 1.0  # log likelihood ratio beyond that of chance; chosen by simulation
_FEWEST, _WEEKS = 10, 10  # windows, or weeks of windows, in which the smallest drop can be told from none
_SHARED = 1.5  # least variance of that drop over that of the reference's mean, or no window excludes it
_MOST_STARTS = 60  # latest windows among which the start of the drop is looked for


class Change(NamedTuple):
    """The AUROC of a window less that of the reference; negative is lower."""

    value: float
    error: float  # standard deviation while nothing has changed: sampling, and the scatter of true values
    reference_error: float  # standard error of the reference's mean, which all windows share


class Recovery(NamedTuple):
    """The most probable end of a drop."""

    shown: bool  # the windows show that the drop is over
    since: int  # place of the first window after it
    change: float  # mean of the windows since then less the reference, with its 95 % interval
    low: float
    high: float


def recovery(changes: Sequence[Change], alarm: int, *, per_year: float) -> Recovery | None:
    """Return the most probable end of a drop, and whether the windows show it: docs/method.md, section 4.

    changes: Windows in order, up to the newest; the first is the earliest with which the drop may have begun.
    alarm: Place of the window that raised the alarm. None before the first window after it.
    per_year: Windows in a year: the more of them, the more often chance has its try.

    The reference's error, which all windows share, may explain a part of either. Cost: O(k).
    """
    if alarm + 1 >= len(changes):
        return None
    values, errors, _ = np.array(changes).T.copy()
    shared = changes[-1].reference_error ** 2
    weights = 1 / errors**2
    # The most probable first window of a drop that lasts until the alarm.
    sums, square = np.cumsum((weights * values)[alarm::-1]), np.cumsum(weights[alarm::-1])
    gain = np.where(sums < 0, sums**2 / square, 0.0)[:_MOST_STARTS]
    start = alarm - int(np.argmax(gain))
    total = np.concatenate([[0.0], np.cumsum(weights)])
    moment = np.concatenate([[0.0], np.cumsum(weights * values)])
    ends = np.arange(alarm + 1, len(changes))
    before, since = total[ends] - total[start], total[-1] - total[ends]
    lower, mean = (moment[ends] - moment[start]) / before, (moment[-1] - moment[ends]) / since
    needed = 2 * math.log(max(per_year, 1.0)) + _EVIDENCE
    enough = max(_FEWEST, per_year * _WEEKS / 52)
    smallest = math.sqrt(2 * needed * max(float(np.median(errors)) ** 2 / enough, _SHARED * shared))
    least = np.maximum(smallest, -lower - NORMAL_95 * np.sqrt(1 / before + shared))
    both = before + since
    level = (before * lower + since * mean) / both
    if shared:
        level = np.where(level > -least, (both * level - least / shared) / (both + 1 / shared), level)
        beyond = np.maximum(level + least, 0.0) ** 2 / shared
    else:
        level, beyond = np.minimum(level, -least), 0.0
    still = before * (lower - level) ** 2 + since * (mean - level) ** 2 + beyond
    ratio = (still - mean**2 / (1 / since + shared)) / 2
    reach = NORMAL_95 * np.sqrt(1 / since + shared)
    shown = (ratio >= needed) & (mean >= -reach)
    best = int(np.argmax(np.where(shown, ratio, -np.inf) if shown.any() else ratio))
    change, half = float(mean[best]), float(reach[best])
    return Recovery(bool(shown.any()), int(ends[best]), change, change - half, change + half)
