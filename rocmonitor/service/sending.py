"""One outbox row on its way: to MLflow as a run, to a channel as a message.

Channels take seconds to import: they are imported when there is something to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmonitor import store
from rocmonitor.errors import AlertError
from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outages import Notice
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.revised import Revised
from rocmonitor.policy.stops import Stop
from rocmonitor.service.outages import outage_message
from rocmonitor.service.publishing import publish_evaluation, publish_outlook, publish_review, story, zone_of
from rocmonitor.service.runtime import Runtime

if TYPE_CHECKING:
    from rocmonitor.alerts import Context


def deliver(runtime: Runtime, row: store.Delivery) -> str | None:
    """Hand one row to its destination, and give back what the destination answered."""
    evaluation = None if row.evaluation_id is None else store.evaluation(runtime.store, row.evaluation_id)
    review = None if row.review_id is None else store.review(runtime.store, row.review_id)
    outlook = None if row.outlook_id is None else store.outlook(runtime.store, row.outlook_id)
    if row.destination == "mlflow":
        receipt = _publish(runtime, evaluation or outlook or review)
        if row.attempts:  # what an earlier try asked for may have been carried out all the same
            runtime.tracking.delete_doubles(store.instance_id(runtime.store), row.monitor)
        return receipt
    _send(runtime, row, evaluation or outlook or review)
    return None


def _publish(runtime: Runtime, found: Evaluation | Outlook | Review | None) -> str:
    if isinstance(found, Outlook):
        return publish_outlook(runtime, found)
    if isinstance(found, Review):
        return publish_review(runtime, found)
    assert found is not None
    return publish_evaluation(runtime, found)


def _send(runtime: Runtime, row: store.Delivery, found: Evaluation | Outlook | Review | None) -> None:
    """Hand a message about what was found to its channel."""
    from rocmonitor import alerts

    name = row.destination.removeprefix("channel:")
    channel = runtime.config.channels.get(name)
    if channel is None:
        raise AlertError(
            f"channel {name} is no longer configured; define channels.{name} and the message goes out",
            transient=False,
        )
    folder, picture = runtime.config.folder, None
    if "outage" in row.payload:
        message = outage_message(runtime.config, Notice.from_dict(row.payload["outage"]))
        alerts.send(channel.read(folder), message, folder=folder)
        return
    monitor = runtime.config.monitors.get(row.monitor)
    context = alerts.Context(
        zone=zone_of(runtime, row.monitor),
        owner=monitor.owner if monitor else None,
        runbook=monitor.runbook if monitor else None,
        run=store.receipt_of(runtime.store, row.evaluation_id, row.review_id, row.outlook_id),
        page=_page(runtime, row.monitor, found),
    )
    if isinstance(found, Review):
        message = alerts.compose_review(found, before=row.payload["before"], context=context)
    elif "stop" in row.payload:
        message = alerts.compose_stop(Stop.from_dict(row.payload["stop"]), context)
    elif "revised" in row.payload:
        _send_revised(runtime, row, context, channel.read(folder))
        return
    else:
        change = Transition.from_dict(row.payload["transition"])
        if isinstance(found, Outlook):
            message = alerts.compose_outlook(change, found, context)
        else:
            message = alerts.compose(change, found, context)
        if found is not None:
            picture = story(runtime, row.monitor, change.segment, found.window).draw("small")
    alerts.send(channel.read(folder), message, folder=folder, picture=picture)


def _send_revised(runtime: Runtime, row: store.Delivery, context: Context, url: str) -> None:
    """One message on all revisions of a monitor that wait: a correction of many rows sends no flood."""
    from rocmonitor import alerts

    together = store.pending_revised(runtime.store, row)
    if row.id not in {each.id for each in together}:
        return
    found = [Revised.from_dict(each.payload["revised"]) for each in together]
    alerts.send(url, alerts.compose_revised(found, context), folder=runtime.config.folder)
    for each in together:
        if each.id != row.id:
            store.mark_delivered(runtime.store, each.id, runtime.clock())


def _page(runtime: Runtime, name: str, found: Evaluation | Outlook | Review | None) -> str | None:
    """Where rocmonitor's own page shows the monitor, or its segment."""
    if runtime.config.page is None:
        return None
    segment = f"?segment={quote(found.segment, safe='')}" if found is not None and found.segment else ""
    return f"{runtime.config.page.rstrip('/')}/monitors/{quote(name)}{segment}"
