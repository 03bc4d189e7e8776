"""The windows since the reference, as rule `lasting` reads them.

The rule reads the windows before the one that is judged as numbers, never their rows. It starts anew when
another version becomes the champion, and corrected numbers of an old window change what is found later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Point, known
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.stats import WindowAuc

LONGEST = 520
"""Windows that a chart looks back at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The windows since the reference under one champion, up to the one that is judged; oldest first.

    `numbers` are those of all windows but the last; None for one that could not be measured, or has too few
    labels.
    """

    windows: tuple[Window, ...]
    numbers: tuple[WindowAuc | None, ...] = ()
    zone: ZoneInfo  # in which their starts are written

    def name(self, place: int) -> str:
        """When a window starts, as a person in the zone writes it; a midnight as a plain date."""
        return self.windows[place].name(self.zone)

    @property
    def day(self) -> float:
        """The day on which the judged window starts, for the season."""
        return day_of(self.windows[-1])

    @property
    def unit(self) -> str:
        """The name of one window's length."""
        return self.windows[-1].unit


def course(
    points: Sequence[Point], window: Window, *, champion: str, after: datetime, zone: ZoneInfo
) -> Course:
    """Return the course that leads to a window.

    Of the windows judged so far (newest revisions, oldest first) those before another champion's last one do
    not count, nor those inside the reference period, which ends `after`. At most the latest `LONGEST` do:
    what is older weighs nothing in a chart.
    """
    judged: list[tuple[Window, WindowAuc | None]] = []
    for point in points:
        if point.window.start < after or point.window >= window:
            continue
        if point.champion_version not in ("", champion):
            judged = []
            continue
        values = known(point.metrics, "champion/auc", "data/positives", "data/negatives")
        number = None
        if values is not None and values[0] != point.metrics.get("labelled/auc"):  # else too few labels
            auc, n_pos, n_neg = values
            number = WindowAuc(auc, int(n_pos), int(n_neg), day=day_of(point.window))
        judged.append((point.window, number))
    windows, numbers = list[Window](), list[WindowAuc | None]()
    for following, number in [*judged, (window, None)]:
        if windows and following.start > windows[-1].end:  # with those between that nobody judged
            last, length = windows[-1].end, following.end - following.start
            missing = round((following.start - last) / length)
            windows += [Window(last + n * length, last + (n + 1) * length) for n in range(missing)]
            numbers += [None] * missing
        windows.append(following)
        numbers.append(number)
    return Course(
        windows=tuple(windows[-LONGEST - 1 :]), numbers=tuple(numbers[-LONGEST - 1 : -1]), zone=zone
    )
