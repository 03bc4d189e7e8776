"""Publishing in MLflow: the runs of windows, series, outlooks and reviews, with their figures.

Figures take seconds to import: they are imported when one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.rules import highest_floor
from rocmonitor.service.runtime import Runtime

SERIES_FIGURE, PICTURE = "figures/auc_over_time.png", "figures/auc_small.png"


_NOTABLE = (Status.DEGRADED, Status.IMPROVED)
_EVERY = 8
"""Windows after which the pictures of a series are drawn anew when nothing happens."""


def publish_evaluation(runtime: Runtime, number: int, evaluation_id: int) -> str:
    """Publish an evaluation, with its page if something happened; return its run.

    `number` is that of its delivery. With the last one that waits, the series run of its monitor and segment
    is published too.
    """
    evaluation = store.evaluation(runtime.store, evaluation_id)
    instance = store.instance_id(runtime.store)
    newest = store.newest_revision(runtime.store, evaluation) == evaluation.revision
    every = runtime.config.mlflow.detail == "all"
    full = every or evaluation.outcome in _NOTABLE
    link = runtime.tracking.publish_window(
        instance,
        evaluation,
        newest=newest,
        artifacts={"window.html": _window_page(runtime, evaluation)} if full else {},
        full=full,
        number=(number, store.last_number(runtime.store)),
    )
    if store.more_to_publish(runtime.store, evaluation):
        return link
    windows = story(runtime, evaluation.monitor, evaluation.segment)
    runtime.tracking.publish_series(
        instance,
        evaluation.monitor,
        evaluation.segment,
        windows.points,
        lambda done: windows.pictures() if every or windows.happened(done) else {},
        full=every,
        outcomes=windows.outcomes,
        zone=windows.zone,
        picture=PICTURE,
    )
    return link


def _window_page(runtime: Runtime, evaluation: Evaluation) -> str:
    from rocmonitor.report.window import window_page

    zone = zone_of(runtime, evaluation.monitor)
    return window_page(evaluation, zone, store.reference_of(runtime.store, evaluation))


def publish_outlook(runtime: Runtime, outlook: Outlook) -> str:
    """Return the outlook's point in the series of outlooks of its monitor and segment."""
    monitor, segment = outlook.monitor, outlook.segment
    return runtime.tracking.publish_series(
        store.instance_id(runtime.store),
        monitor,
        segment,
        store.outlook_series(runtime.store, monitor, segment),
        kind="outlook",
        zone=zone_of(runtime, monitor),
    )


def publish_review(runtime: Runtime, review: Review) -> str:
    """Return the review's run, with the report and its figures, and the verdict on both versions."""
    from rocmonitor.report.review import figures, page

    zone = zone_of(runtime, review.monitor)
    report = {"report.html": page(review, zone=zone)}
    drawn = {f"figures/{name}.png": figure for name, figure in figures.drawn(review, zone).items()}
    return runtime.tracking.publish_review(
        store.instance_id(runtime.store), review, artifacts={**report, **drawn}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The windows of a monitor and segment so far, and how they are drawn.

    Attributes
    ----------
    title, segment : str
    points : sequence of Point
    outcomes : dict of Window to Status
    waiting : frozenset of Window
        Windows whose labels may still come.
    floor : float or None
    zone : ZoneInfo
    """

    title: str
    segment: str
    points: Sequence[Point]
    outcomes: Mapping[Window, Status]
    waiting: frozenset[Window]
    floor: float | None
    zone: ZoneInfo

    def happened(self, done: int) -> bool:
        """Return True if pictures of the first `done` windows are to be drawn anew now that there are
        more.
        """
        new = (self.outcomes.get(point.window) for point in self.points[max(done - 1, 0) :])
        return done == 0 or len(self.points) // _EVERY > done // _EVERY or any(o in _NOTABLE for o in new)

    def pictures(self) -> dict[str, bytes]:
        """Return the figures of a series run; the small one is for the description of the experiment."""
        small = {} if self.segment else {PICTURE: self.draw("small")}
        return {SERIES_FIGURE: self.draw("history")} | small

    def draw(self, figure: Literal["history", "small"]) -> bytes:
        """Return a figure of `rocmonitor.report.timeline`, as PNG."""
        from rocmonitor.report import timeline

        return getattr(timeline, figure)(  # type: ignore[no-any-return]
            self.title,
            self.points,
            outcomes=self.outcomes,
            floor=self.floor,
            zone=self.zone,
            waiting=self.waiting,
        )


def story(runtime: Runtime, name: str, segment: str, until: Window | None = None) -> Story:
    """Return the windows of a monitor and segment, up to the one given."""
    monitor = runtime.config.monitors.get(name)
    points = [
        point
        for point in store.series(runtime.store, name, segment)
        if until is None or point.window.start <= until.start
    ]
    return Story(
        title=f"{name}, {segment or 'all rows'}",
        segment=segment,
        points=points,
        waiting=_waiting(monitor, points, runtime.clock()),
        outcomes=dict(store.outcomes(runtime.store, name, segment)),
        floor=highest_floor(monitor.rules) if monitor else None,
        zone=zone_of(runtime, name),
    )


def _waiting(monitor: Monitor | None, points: Sequence[Point], now: datetime) -> frozenset[Window]:
    if monitor is None:
        return frozenset()
    shares = {point.window: point.metrics.get("data/labelled_share", 0.0) for point in points}
    return frozenset(each for each, share in shares.items() if monitor.labels.may_come(each, now, share))


def zone_of(runtime: Runtime, name: str) -> ZoneInfo:
    """Return the zone of a monitor's dates; UTC for one that is no longer configured."""
    monitor = runtime.config.monitors.get(name)
    return monitor.timezone if monitor else ZoneInfo("UTC")
