"""The windows before the one that is judged, during one tick: what the store has, and what the tick added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation, Point
from rocmonitor.policy.rules import Lasting
from rocmonitor.policy.windows import Window

if TYPE_CHECKING:
    from rocmonitor.policy.lasting import Course


class Courses:
    """The courses of one monitor's segments; empty without a rule that reads them.

    Parameters
    ----------
    kept : Store
        Only read, each segment once.
    monitor : Monitor
    """

    def __init__(self, kept: store.Store, monitor: Monitor) -> None:
        self._store, self._monitor = kept, monitor
        self._wanted = any(isinstance(rule, Lasting) for rule in monitor.rules)
        self._points: dict[str, dict[Window, Point]] = {}

    def leading_to(self, segment: str, window: Window, champion: str) -> Course | None:
        """What came before a window under its champion; None when no rule asks."""
        if not self._wanted:
            return None
        from rocmonitor.policy.lasting import course

        return course(
            [point for _, point in sorted(self._of(segment).items())],
            window,
            champion=champion,
            after=self._monitor.reference_period.end,
            zone=self._monitor.timezone,
        )

    def add(self, evaluation: Evaluation) -> None:
        """Count a window that was judged, or judged anew."""
        if self._wanted:
            self._of(evaluation.segment)[evaluation.window] = Point(
                window=evaluation.window,
                revision=evaluation.revision,
                at=evaluation.at,
                metrics=evaluation.metrics,
                champion_version=evaluation.champion_version,
            )

    def _of(self, segment: str) -> dict[Window, Point]:
        if segment not in self._points:
            points = store.series(self._store, self._monitor.name, segment)
            self._points[segment] = {point.window: point for point in points}
        return self._points[segment]
