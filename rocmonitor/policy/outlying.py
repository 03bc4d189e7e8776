"""Reference windows that are no example of a good one: they are left out of what a reference learns.

A window far below the others would itself have been an alarm. One far above them stays in the reference, and
only the upper end of a normal range reaches up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rocmonitor.policy.left_out import LEFT_OUT
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules.evidence import ABOVE
from rocmonitor.stats import AucResult
from rocmonitor.stats.outlying import Outlying, outlying_windows, sampling_errors, sampling_skewness
from rocmonitor.stats.series import wave_of


class Far(NamedTuple):
    """Windows far from the others."""

    low: frozenset[int] = frozenset()  # their places
    high: frozenset[int] = frozenset()
    outliers: Outlying | None = None  # None where none could be looked for


def far_from_others(windows: Sequence[Window], areas: Sequence[AucResult | None]) -> Far:
    """Return the windows far from the others; `areas` has None for one without enough rows.

    The season that the windows show is no reason to lie far from them.
    """
    placed = [(place, area) for place, area in enumerate(areas) if area is not None]
    if not placed:
        return Far()
    measured = [area for _, area in placed]
    values = [area.auc for area in measured]
    errors = sampling_errors(measured)
    wave = wave_of(values, [day_of(windows[place]) for place, _ in placed])
    plain = values if wave is None else wave.left.tolist()
    outliers = outlying_windows(plain, errors, sampling_skewness(measured, errors))
    low, high = (frozenset(placed[at][0] for at in side.places) for side in (outliers.low, outliers.high))
    return Far(low, high, outliers)


def marked(windows: Sequence[dict[str, Any]], far: Far) -> list[dict[str, Any]]:
    """Return the windows of a reference, with what they say of the far ones.

    The AUROC of a window that is left out has a place of its own: whoever learns from AUROCs finds none.
    """
    if far.outliers is None:
        return list(windows)
    marks = []
    for place, window in enumerate(windows):
        if place in far.low:
            own = {name: value for name, value in window.items() if name.startswith("auc")}
            rest = {name: value for name, value in window.items() if name not in own}
            marks.append(rest | {LEFT_OUT: own | {"chance": far.outliers.low.chance}})
        else:
            marks.append(window | ({ABOVE: far.outliers.high.chance} if place in far.high else {}))
    return marks
