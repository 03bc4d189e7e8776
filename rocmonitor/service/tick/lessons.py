"""The outlooks of windows that were judged since the reference, during one tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.policy.windows import Window

if TYPE_CHECKING:
    from rocmonitor.stats.forecast.learning import JudgedOutlook

LONGEST = 104
"""Judged windows that an outlook learns from."""


class Lessons:
    """The outlooks of one monitor's segments that were judged.

    Parameters
    ----------
    kept : Store
        Only read.
    monitor : Monitor
    """

    def __init__(self, kept: store.Store, monitor: Monitor) -> None:
        self._store, self._monitor = kept, monitor
        self._found: dict[str, dict[Window, tuple[Point, Status]]] = {}

    def before(self, segment: str, window: Window, champion: str) -> list[JudgedOutlook]:
        """Return what came of outlooks since the reference, as known when that of a window falls due.

        Oldest first. A window counts if its labels had to be in by then, and if the same champion scored
        it: so an outlook that is made late is the one that would have been made in time.
        """
        from rocmonitor.policy.lessons import judged_outlook

        at = self._monitor.outlook_at(window)
        if at is None:
            return []
        known = self._of(segment)
        chosen = [
            known[each]
            for each in sorted(known)
            if each.start >= self._monitor.reference_period.end and self._monitor.labels.due_at(each) <= at
        ]
        found = [
            judged_outlook(point.metrics, outcome)
            for point, outcome in chosen[-LONGEST:]
            if point.champion_version == champion
        ]
        return [each for each in found if each is not None]

    def add(self, evaluation: Evaluation) -> None:
        """Count a window that was judged, or judged anew."""
        if evaluation.segment in self._found:
            point = Point(
                window=evaluation.window,
                revision=evaluation.revision,
                at=evaluation.at,
                metrics=evaluation.metrics,
                champion_version=evaluation.champion_version,
            )
            self._found[evaluation.segment][evaluation.window] = point, evaluation.outcome

    def _of(self, segment: str) -> dict[Window, tuple[Point, Status]]:
        if segment not in self._found:
            name = self._monitor.name
            outcomes = dict(store.outcomes(self._store, name, segment))
            points = store.series(self._store, name, segment)
            self._found[segment] = {
                each.window: (each, outcomes[each.window]) for each in points if each.window in outcomes
            }
        return self._found[segment]
