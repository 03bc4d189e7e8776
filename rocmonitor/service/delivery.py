"""Deliveries: outbox rows go to MLflow and to the channels, and are marked once they have arrived.

Figures and channels take seconds to import: they are imported when there is something to deliver.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal
from urllib.parse import quote
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.errors import AlertError, ConfigError, ExternalError, RocmonitorError
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.rules import Floor
from rocmonitor.policy.windows import Window
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.runtime import Runtime, hold_lease, renew_lease

log = logging.getLogger(__name__)

FIRST_RETRY = timedelta(seconds=10)
LONGEST_RETRY = timedelta(hours=1)

SERIES_FIGURE, PICTURE = "figures/auc_over_time.png", "figures/auc_small.png"


@dataclass(kw_only=True)
class Delivered:
    """What one pass over the outbox did.

    Attributes
    ----------
    sent : int
    failed, refused : dict of str to str
        The error by destination: of those that may pass by themselves, after which the rest of the
        destination is left for later; and of those that somebody must mend. All stay in the outbox.
    busy : bool
        Another process delivers; nothing was done.
    """

    sent: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    busy: bool = False


def drain(runtime: Runtime, *, progress: Progress = lambda _: None) -> Delivered:
    """Deliver what is due, in order for each destination.

    A destination that fails is left alone for the rest of the pass, so a dead MLflow delays no alarm. A row
    is marked after it was sent: a crash in between sends it again, with the same event id.
    """
    done = Delivered()
    with hold_lease(runtime, "outbox") as lease:
        if lease is None:
            done.busy = True
            return done
        attempted = True
        while attempted:
            attempted = False
            rows = store.pending(runtime.store, runtime.clock())
            for number, row in enumerate(rows, 1):
                if runtime.stop.is_set():
                    return done
                if row.destination not in done.failed:
                    words = f"delivering {row.monitor} to {row.destination}"
                    progress(Step(words, number, len(rows)))
                    _attempt(runtime, row, done)
                    lease = renew_lease(runtime, lease)
                    attempted = True
    return done


def _attempt(runtime: Runtime, row: store.Delivery, done: Delivered) -> None:
    try:
        receipt = _deliver(runtime, row)
    except Exception as error:  # one undeliverable row never stops another
        if not isinstance(error, RocmonitorError):
            log.exception("delivering %s to %s failed unexpectedly", row.monitor, row.destination)
        # Refused for good, as far as the destination is concerned: but somebody may mend the configuration.
        refused = isinstance(error, ConfigError) or (isinstance(error, ExternalError) and not error.transient)
        (done.refused if refused else done.failed)[row.destination] = str(error)
        pause = LONGEST_RETRY if refused else min(FIRST_RETRY * 2.0 ** min(row.attempts, 20), LONGEST_RETRY)
        now = runtime.clock()
        store.mark_failed(runtime.store, row.id, now, str(error), now + pause, refused=refused)
    else:
        done.sent += 1
        store.mark_delivered(runtime.store, row.id, runtime.clock(), receipt)


def _deliver(runtime: Runtime, row: store.Delivery) -> str | None:
    """Hand one row to its destination, and give back what the destination answered."""
    evaluation = None if row.evaluation_id is None else store.evaluation(runtime.store, row.evaluation_id)
    review = None if row.review_id is None else store.review(runtime.store, row.review_id)
    outlook = None if row.outlook_id is None else store.outlook(runtime.store, row.outlook_id)
    if row.destination == "mlflow":
        if outlook is not None:
            return _publish_outlook(runtime, outlook, _zone(runtime, row.monitor))
        if review is not None:
            return _publish_review(runtime, review, _zone(runtime, row.monitor))
        assert evaluation is not None
        return _publish(runtime, evaluation)
    _send(runtime, row, evaluation or outlook or review)
    return None


def _send(runtime: Runtime, row: store.Delivery, found: Evaluation | Outlook | Review | None) -> None:
    """Hand a message about what was found to its channel."""
    from rocmonitor import alerts

    monitor = runtime.config.monitors.get(row.monitor)
    name = row.destination.removeprefix("channel:")
    channel = runtime.config.channels.get(name)
    if channel is None:
        raise AlertError(
            f"channel {name} is no longer configured; define channels.{name} and the message goes out",
            transient=False,
        )
    context = alerts.Context(
        zone=_zone(runtime, row.monitor),
        owner=monitor.owner if monitor else None,
        runbook=monitor.runbook if monitor else None,
        run=store.receipt_of(runtime.store, row.evaluation_id, row.review_id, row.outlook_id),
        page=_page(runtime, row.monitor, found),
    )
    folder, picture = runtime.config.folder, None
    if isinstance(found, Review):
        message = alerts.compose_review(found, before=row.payload["before"], context=context)
    else:
        change = Transition.from_dict(row.payload["transition"])
        if isinstance(found, Outlook):
            message = alerts.compose_outlook(change, found, context)
        else:
            message = alerts.compose(change, found, context)
        if found is not None:
            picture = _story(runtime, row.monitor, change.segment, found.window).draw("small")
    alerts.send(channel.read(folder), message, folder=folder, picture=picture)


def _page(runtime: Runtime, name: str, found: Evaluation | Outlook | Review | None) -> str | None:
    """Where rocmonitor's own page shows the monitor, or its segment."""
    if runtime.config.page is None:
        return None
    segment = f"?segment={quote(found.segment, safe='')}" if found is not None and found.segment else ""
    return f"{runtime.config.page.rstrip('/')}/monitors/{quote(name)}{segment}"


def _publish(runtime: Runtime, evaluation: Evaluation) -> str:
    """The window's run, and the series run of its monitor and segment."""
    from rocmonitor.report import figures
    from rocmonitor.report.shift import shift

    instance = store.instance_id(runtime.store)
    newest = store.newest_revision(runtime.store, evaluation) == evaluation.revision
    drawn = {"figures/roc.png": figures.roc(evaluation)}
    if evaluation.tables.get("shift"):
        drawn["figures/shift.png"] = shift(evaluation)
    link = runtime.tracking.publish_window(instance, evaluation, newest=newest, artifacts=drawn)
    story = _story(runtime, evaluation.monitor, evaluation.segment)
    runtime.tracking.publish_series(
        instance,
        evaluation.monitor,
        evaluation.segment,
        story.points,
        lambda: {SERIES_FIGURE: story.draw("history"), PICTURE: story.draw("small")},
        outcomes=story.outcomes,
        zone=story.zone,
        picture=PICTURE,
    )
    return link


def _publish_outlook(runtime: Runtime, outlook: Outlook, zone: ZoneInfo) -> str:
    """The outlook's point in the series of outlooks of its monitor and segment."""
    monitor, segment = outlook.monitor, outlook.segment
    return runtime.tracking.publish_series(
        store.instance_id(runtime.store),
        monitor,
        segment,
        store.outlook_series(runtime.store, monitor, segment),
        kind="outlook",
        zone=zone,
    )


def _publish_review(runtime: Runtime, review: Review, zone: ZoneInfo) -> str:
    """The review's run, with the report and its figures, and the verdict on both versions."""
    from rocmonitor.report import review as reviewed

    figures = reviewed.drawn(review, zone)
    report = {"report.html": reviewed.page(review, zone=zone, figures=figures)}
    drawn = {f"figures/{name}.png": figure for name, figure in reviewed.files(figures).items()}
    return runtime.tracking.publish_review(
        store.instance_id(runtime.store), review, artifacts={**report, **drawn}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Story:
    """The windows of a monitor and segment so far, and how they are drawn."""

    title: str
    points: Sequence[Point]
    outcomes: Mapping[Window, Status]
    floor: float | None
    zone: ZoneInfo

    def draw(self, figure: Literal["history", "small"]) -> bytes:
        """A figure of `rocmonitor.report.timeline`, as PNG."""
        from rocmonitor.report import timeline

        return getattr(timeline, figure)(  # type: ignore[no-any-return]
            self.title, self.points, outcomes=self.outcomes, floor=self.floor, zone=self.zone
        )


def _story(runtime: Runtime, name: str, segment: str, until: Window | None = None) -> _Story:
    """The windows of a monitor and segment, up to the one given."""
    monitor = runtime.config.monitors.get(name)
    floors = [rule.value for rule in monitor.rules if isinstance(rule, Floor)] if monitor else []
    return _Story(
        title=f"{name}, {segment or 'all rows'}",
        points=[
            point
            for point in store.series(runtime.store, name, segment)
            if until is None or point.window.start <= until.start
        ],
        outcomes=dict(store.outcomes(runtime.store, name, segment)),
        floor=max(floors, default=None),
        zone=_zone(runtime, name),
    )


def _zone(runtime: Runtime, name: str) -> ZoneInfo:
    """The zone of a monitor's dates; UTC for one that is no longer configured."""
    monitor = runtime.config.monitors.get(name)
    return monitor.timezone if monitor else ZoneInfo("UTC")
