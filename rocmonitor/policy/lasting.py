"""The windows since the reference, as rule `lasting` reads them.

The rule reads the windows before the one that is judged as numbers, never their rows. It starts anew when
another version becomes the champion, and corrected numbers of an old window change what is found later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Point
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.stats import WindowAuc

LONGEST = 520
"""Windows that a chart looks back at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The windows since the reference under one champion, up to the one that is judged; oldest first.

    Attributes
    ----------
    windows : tuple of Window
        The last one is judged.
    numbers : tuple of WindowAuc or None
        Of all but the last; None for one that could not be measured, or has too few labels.
    zone : ZoneInfo
        In which their starts are written.
    """

    windows: tuple[Window, ...]
    numbers: tuple[WindowAuc | None, ...] = ()
    zone: ZoneInfo

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

    Parameters
    ----------
    points : sequence of Point
        Windows judged so far (newest revisions), oldest first.
    window : Window
        The one that is judged.
    champion : str
        Its champion's version; windows before another champion's last one do not count.
    after : datetime
        End of the reference period; windows inside it do not count.
    zone : ZoneInfo

    Notes
    -----
    At most the latest `LONGEST` windows: what is older weighs nothing in a chart.
    """
    windows: list[Window] = []
    numbers: list[WindowAuc | None] = []
    for point in points:
        if point.window.start < after or point.window >= window:
            continue
        if point.champion_version not in ("", champion):
            windows, numbers = [], []
            continue
        for missing in _between(windows[-1] if windows else None, point.window):
            windows.append(missing)
            numbers.append(None)
        windows.append(point.window)
        numbers.append(numbers_of(point))
    for missing in _between(windows[-1] if windows else None, window):
        windows.append(missing)
        numbers.append(None)
    windows, numbers = windows[-LONGEST:], numbers[-LONGEST:]
    return Course(windows=(*windows, window), numbers=tuple(numbers), zone=zone)


def numbers_of(point: Point) -> WindowAuc | None:
    """Return the numbers that a chart reads of a window; None with too few labels or without an AUROC."""
    metrics = point.metrics
    auc, n_pos, n_neg = (metrics.get(name) for name in ("champion/auc", "data/positives", "data/negatives"))
    if auc is None or n_pos is None or n_neg is None:
        return None
    if auc == metrics.get("labelled/auc"):  # too few labels to be judged, or to be estimated
        return None
    return WindowAuc(auc, int(n_pos), int(n_neg), day=day_of(point.window))


def _between(last: Window | None, following: Window) -> list[Window]:
    """Windows that nobody judged, between two that somebody did."""
    if last is None or following.start <= last.end:
        return []
    length = following.end - following.start
    missing = round((following.start - last.end) / length)
    return [Window(last.end + n * length, last.end + (n + 1) * length) for n in range(missing)]
