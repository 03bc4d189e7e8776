"""Publishing in MLflow: the runs of windows, series, outlooks and reviews, with their pages and pictures.

What draws takes seconds to import: it is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.rules import highest_floor
from rocmonitor.service.runtime import Runtime
from rocmonitor.wording.episode import brief_since

PICTURE = "auc_over_time.png"

_NOTABLE = (Status.DEGRADED, Status.IMPROVED)
_EVERY = 8
"""Windows after which the picture of a series is drawn anew when nothing happens."""


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
    artifacts = {}
    if full:
        from rocmonitor.report.pages import window_page

        zone, reference = zone_of(runtime, evaluation.monitor), store.reference_of(runtime.store, evaluation)
        artifacts = {"window.html": window_page(evaluation, zone, reference)}
    link = runtime.tracking.publish_window(
        instance,
        evaluation,
        newest=newest,
        artifacts=artifacts,
        full=full,
        number=(number, store.last_number(runtime.store)),
    )
    if store.more_to_publish(runtime.store, evaluation):
        return link
    windows = story(runtime, evaluation.monitor, evaluation.segment)
    decline = None if evaluation.segment else store.last_decline(runtime.store, evaluation.monitor, "")
    runtime.tracking.publish_series(
        instance,
        evaluation.monitor,
        evaluation.segment,
        windows.points,
        lambda done: {PICTURE: windows.picture()} if every or windows.happened(done) else {},
        full=every,
        zone=windows.zone,
        picture=PICTURE,
        model=evaluation.model,
        loss=brief_since(decline, windows.zone),
    )
    return link


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
    """Return the review's run, with its report, and the verdict on both versions."""
    from rocmonitor.report.review import page

    report = page(review, zone=zone_of(runtime, review.monitor))
    return runtime.tracking.publish_review(
        store.instance_id(runtime.store), review, artifacts={"report.html": report}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The windows of a monitor and segment so far, and how they are drawn."""

    title: str
    points: Sequence[Point]
    waiting: frozenset[Window]
    """Windows whose labels may still come."""
    floor: float | None
    zone: ZoneInfo

    def happened(self, done: int) -> bool:
        """Return True if the picture of the first `done` windows is to be drawn anew now that there are
        more.
        """
        new = (point.outcome for point in self.points[max(done - 1, 0) :])
        return done == 0 or len(self.points) // _EVERY > done // _EVERY or any(o in _NOTABLE for o in new)

    def picture(self, last: int = 0) -> bytes:
        """Return the AUROC over time as PNG: of all windows, or of the last ones."""
        from rocmonitor.report.timeline import timeline

        return timeline(
            self.title,
            self.points[-last:],
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
    shares = {point.window: point.metrics.get("data/labelled_share", 0.0) for point in points}
    now = runtime.clock()
    return Story(
        title=f"{name}, {segment or 'all rows'}",
        points=points,
        waiting=frozenset(
            window
            for window, share in shares.items()
            if monitor and monitor.labels.may_come(window, now, share)
        ),
        floor=highest_floor(monitor.rules) if monitor else None,
        zone=zone_of(runtime, name),
    )


def zone_of(runtime: Runtime, name: str) -> ZoneInfo:
    """Return the zone of a monitor's dates; UTC for one that is no longer configured."""
    monitor = runtime.config.monitors.get(name)
    return monitor.timezone if monitor else ZoneInfo("UTC")
