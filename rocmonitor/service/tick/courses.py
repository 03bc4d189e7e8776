"""The windows before the one that is judged, during one tick: what the store has, and what the tick added."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.episode import CHALLENGER, CHANGE
from rocmonitor.policy.evaluation import Evaluation, Point
from rocmonitor.policy.lasting import LONGEST, course
from rocmonitor.policy.lessons import LESSONS, judged_outlook
from rocmonitor.policy.windows import Window
from rocmonitor.rules import by_name

if TYPE_CHECKING:
    from rocmonitor.policy.lasting import Course
    from rocmonitor.stats.forecast.learning import JudgedOutlook

_NEEDED = {
    *("champion/auc", "champion/auc_low", "champion/auc_high", "reference/auc"),
    *("labelled/auc", "data/positives", "data/negatives"),
    *CHANGE,
    *CHALLENGER,
}


class Courses:
    """The courses of one monitor's segments, for rules that read them and for outlooks that learn from them.

    The store is only read: of each segment the newest windows, and all once an older one is judged again. In
    a dry run nothing is saved: what is added stays here.
    """

    def __init__(self, kept: store.Store, monitor: Monitor, *, dry_run: bool = False) -> None:
        self._store, self._monitor, self._dry_run = kept, monitor, dry_run
        self.wanted = any(rule.needs.chart for rule in by_name(monitor.rules).values())  # by a rule
        self._points: dict[str, dict[Window, Point]] = {}
        self._windows: dict[str, list[Window]] = {}  # in order
        self._cut: set[str] = set()  # segments of which the store has older windows
        self._whole: set[str] = set()  # segments of which all are kept

    def leading_to(
        self, segment: str, window: Window, champion: str, ends: Sequence[datetime] = ()
    ) -> Course:
        """Return what came before a window under its champion.

        A chart begins anew at each of `ends`, when an episode ended: it would remember a loss that is over.
        """
        before = [end for end in ends if end <= window.start]
        return course(
            self._before(segment, LONGEST, lambda windows: bisect_left(windows, window)),
            window,
            champion=champion,
            after=max([self._monitor.reference_period.end, *before]),
            zone=self._monitor.timezone,
        )

    def outlooks_before(self, segment: str, window: Window, champion: str) -> list[JudgedOutlook]:
        """Return what came of outlooks since the reference, as known when that of a window falls due.

        Oldest first. A window counts if its labels had to be in by then, and if the same champion scored
        it: so an outlook that is made late is the one that would have been made in time.
        """
        monitor, at = self._monitor, self._monitor.outlook_at(window)
        if at is None:
            return []
        due = monitor.labels.due_at
        outlooks = [
            judged_outlook(point)
            for point in self._before(segment, LESSONS, lambda windows: bisect_right(windows, at, key=due))
            if point.window.start >= monitor.reference_period.end and point.champion_version == champion
        ]
        return [outlook for outlook in outlooks if outlook is not None]

    def add(self, evaluation: Evaluation) -> None:
        """Count a window that was judged, or judged anew."""
        if self.wanted or self._monitor.outlook is not None:
            self._put(evaluation.segment, _point(evaluation))

    def up_to(self, evaluation: Evaluation, after: datetime | None) -> list[Point]:
        """Return the windows from an instant on, up to the one of an evaluation."""
        self._of(evaluation.segment)
        self._put(evaluation.segment, _point(evaluation))
        before = self._before(
            evaluation.segment, LONGEST, lambda windows: bisect_right(windows, evaluation.window)
        )
        return [point for point in before if after is None or point.window.start >= after]

    def _before(self, segment: str, most: int, place_in: Callable[[list[Window]], int]) -> list[Point]:
        points = self._of(segment)
        place = place_in(self._windows[segment])
        if place < most and segment in self._cut:
            points = self._read(segment, None)
            place = place_in(self._windows[segment])
        return [points[window] for window in self._windows[segment][max(place - most, 0) : place]]

    def _of(self, segment: str) -> dict[Window, Point]:
        if segment in self._points:
            return self._points[segment]
        # Those that late labels revise, and those before each of them.
        return self._read(segment, None if self._dry_run else 2 * LONGEST)

    def _read(self, segment: str, newest: int | None) -> dict[Window, Point]:
        self._points[segment], self._windows[segment] = {}, []
        points = store.series(self._store, self._monitor.name, segment, newest=newest)
        self._cut.discard(segment)
        if newest is None:
            self._whole.add(segment)
        elif len(points) >= newest:
            self._cut.add(segment)
        for point in points:
            self._put(segment, point)
        return self._points[segment]

    def _put(self, segment: str, point: Point) -> None:
        points = self._of(segment)
        if point.window not in points:
            insort(self._windows[segment], point.window)
        needed = {
            name: value
            for name, value in point.metrics.items()
            if name in _NEEDED or name.startswith("outlook/")
        }
        points[point.window] = replace(point, metrics=needed)
        windows = self._windows[segment]
        # A tick that catches up with years must not keep them all.
        if segment not in self._whole and len(windows) > 3 * LONGEST:
            for old in windows[: -2 * LONGEST]:
                del points[old]
            del windows[: -2 * LONGEST]
            self._cut.add(segment)


def _point(evaluation: Evaluation) -> Point:
    return Point(
        window=evaluation.window,
        revision=evaluation.revision,
        at=evaluation.at,
        metrics=evaluation.metrics,
        champion_version=evaluation.champion_version,
        outcome=evaluation.outcome,
    )
