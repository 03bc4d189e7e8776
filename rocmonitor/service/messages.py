"""Messages to channels: which of those that wait are one, and the text of each.

Channels take seconds to import: they are imported when there is something to send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from rocmonitor import store
from rocmonitor.config import Config
from rocmonitor.errors import AlertError
from rocmonitor.policy.episode import Decline, in_doubt
from rocmonitor.policy.evaluation import Evaluation, Status, Transition
from rocmonitor.policy.outages import Notice
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.status import Revised, is_alarm
from rocmonitor.policy.stops import Stop
from rocmonitor.policy.windows import Window
from rocmonitor.service.outages import outage_message
from rocmonitor.service.publishing import story, zone_of
from rocmonitor.service.runtime import Runtime
from rocmonitor.wording.format import page_address

if TYPE_CHECKING:
    from rocmonitor.alerts import Message

Found = Evaluation | Outlook | Review | None

_UNCONFIRMED = "unconfirmed"


def together(config: Config, rows: Sequence[store.Delivery]) -> list[store.Delivery]:
    """Return the first of the rows, and the later ones that are one message with it.

    All revisions of a monitor; what has stopped arriving, with the change of status that follows from it; and
    the same news, since the same instant, of monitors that read the same source or watch the same model, but
    of each only what comes first for it: nobody reads of a recovery before its alarm. `rows` are those to one
    channel, oldest first.
    """
    first = rows[0]
    if "revised" in first.payload:
        return [row for row in rows if "revised" in row.payload and row.monitor == first.monitor]
    events: dict[str, list[store.Delivery]] = {}
    complete = set[str]()
    for row in rows:
        event = events.setdefault(row.monitor, [])
        if not event or (row.monitor not in complete and len(event) == 1 and _is_one_event(event[0], row)):
            event.append(row)
        else:
            complete.add(row.monitor)
    news = _news(events[first.monitor])
    if news is None:
        return events[first.monitor]
    own = _place(config, first.monitor)
    alike = [(name, event) for name, event in events.items() if _news(event) == news]
    by_source = [event for name, event in alike if _place(config, name)[0] == own[0]]
    by_model = [event for name, event in alike if _place(config, name)[1] == own[1]]
    return [row for event in max(by_source, by_model, key=len) for row in event]


def send(runtime: Runtime, rows: Sequence[store.Delivery]) -> None:
    """Hand the message that the rows are to its channel."""
    from rocmonitor import alerts

    config, name = runtime.config, rows[0].destination.removeprefix("channel:")
    if name not in config.channels:
        raise AlertError(
            f"channel {name} is no longer configured; define channels.{name} and the message goes out",
            transient=False,
        )
    monitors = list(dict.fromkeys(row.monitor for row in rows))
    picture: Callable[[], bytes] | None = None
    if len(monitors) > 1:
        message = _of_several(runtime, monitors, rows)
    else:
        subject, change = _found(runtime, rows[0]), rows[0].payload.get("transition")
        message = _of_one(runtime, rows, subject)
        if isinstance(subject, Evaluation | Outlook) and change and not _stop(rows):
            picture = partial(_picture, runtime, rows[0], change["segment"], subject.window)
    if unconfirmed := max(row.payload.get(_UNCONFIRMED, 0) for row in rows):
        message = alerts.repeated(message, unconfirmed)
    alerts.send(config.channel_url(name), message, folder=config.folder, picture=picture)


def with_unconfirmed(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be delivered, with one more send that was not answered in time."""
    return payload | {_UNCONFIRMED: payload.get(_UNCONFIRMED, 0) + 1}


def _picture(runtime: Runtime, row: store.Delivery, segment: str, window: Window) -> bytes:
    decline = _decline(runtime, row)
    until = None if decline is not None and decline.is_open else window
    return story(runtime, row.monitor, segment, until).picture(last=26)


def _is_one_event(one: store.Delivery, other: store.Delivery) -> bool:
    """Return True if a change of status only says once more that something stopped, or arrives again."""
    stop, change = sorted((one.payload, other.payload), key=lambda payload: "stop" not in payload)
    if "stop" not in stop or "transition" not in change:
        return False
    before, after = (change["transition"][side] for side in ("before", "after"))
    if stop["stop"]["end"]:
        return bool(before == Status.INSUFFICIENT and after == Status.OK)
    return bool(after == Status.INSUFFICIENT)


def _stop(rows: Sequence[store.Delivery]) -> dict[str, Any] | None:
    return next((row.payload["stop"] for row in rows if "stop" in row.payload), None)


def _news(rows: Sequence[store.Delivery]) -> tuple[object, ...] | None:
    """Return what a message is about; None where it is not joined with those of other monitors."""
    stop = _stop(rows)
    if stop is not None:
        return ("stop", stop["kind"], stop["end"] is None, stop["start"])
    change = rows[0].payload.get("transition")
    return None if change is None else ("status", change["after"], change["since"])


def _place(config: Config, monitor: str) -> tuple[str, str]:
    """Return source and model of a monitor; of one that is configured no longer, what no other has."""
    configured = config.monitors.get(monitor)
    return (configured.source, configured.model.name) if configured else (f"\0{monitor}", f"\0{monitor}")


def _found(runtime: Runtime, row: store.Delivery) -> Found:
    kept = runtime.store
    if row.evaluation_id is not None:
        return store.evaluation(kept, row.evaluation_id)
    if row.outlook_id is not None:
        return store.outlook(kept, row.outlook_id)
    return None if row.review_id is None else store.review(kept, row.review_id)


def _of_one(runtime: Runtime, rows: Sequence[store.Delivery], subject: Found) -> Message:
    from rocmonitor import alerts

    row = rows[0]
    if "outage" in row.payload:
        return outage_message(runtime.config, Notice.from_dict(row.payload["outage"]))
    monitor = runtime.config.monitors.get(row.monitor)
    context = alerts.Context(
        zone=zone_of(runtime, row.monitor),
        owner=monitor.owner if monitor else None,
        runbook=monitor.runbook if monitor else None,
        run=store.receipt_of(runtime.store, row.evaluation_id, row.review_id, row.outlook_id),
        page=page_address(runtime.config.page, row.monitor, "" if subject is None else subject.segment),
        told=tuple(monitor.notify) if monitor else (),
        configured=monitor is not None,
    )
    if isinstance(subject, Review):
        return alerts.compose_review(subject, before=row.payload["before"], context=context)
    if "revised" in row.payload:
        return alerts.compose_revised(
            [Revised.from_dict(delivery.payload["revised"]) for delivery in rows], context
        )
    changes = _changes(runtime, rows)
    stop = _stop(rows)
    if stop is not None:
        return alerts.compose_stop(Stop.from_dict(stop), context, changes)
    if isinstance(subject, Outlook):
        return alerts.compose_outlook(changes[0], subject, context, changes[1:])
    return alerts.compose(changes[0], subject, context, changes[1:], _decline(runtime, row))


def _decline(runtime: Runtime, row: store.Delivery) -> Decline | None:
    """Return the loss that a message is about; while it is open as it stands now, with the windows since."""
    told = row.payload.get("episode")
    if told is None:
        return None
    decline = Decline.from_dict(told)
    newest = store.last_decline(runtime.store, decline.monitor, decline.segment)
    goes_on = decline.is_open and newest is not None and newest.is_open and newest.alarm == decline.alarm
    return newest if goes_on else decline


def _changes(runtime: Runtime, rows: Sequence[store.Delivery]) -> list[Transition]:
    """Return the changes of status; those of other segments with the status that these have now.

    A later alarm that was told has a message of its own. A segment that is well again is left out.
    """
    changes = list[Transition]()
    for payload in (row.payload for row in rows if "transition" in row.payload):
        changes.append(Transition.from_dict(payload["transition"]))
        for then in map(Transition.from_dict, payload.get("also", ())):
            newest = store.last_transition(runtime.store, then.monitor, then.segment)
            decline = store.last_decline(runtime.store, then.monitor, then.segment)
            now = Status(in_doubt(newest.after if newest else then.after, decline))
            if now is then.after or is_alarm(now):
                told = newest is not None and newest.notified and newest.after is now
                changes.append(then if told else replace(then, after=now))
    return changes


def _of_several(runtime: Runtime, monitors: Sequence[str], rows: Sequence[store.Delivery]) -> Message:
    from rocmonitor import alerts

    config = runtime.config
    named = monitors[: alerts.MOST_NAMED]
    by_monitor = {name: [row for row in rows if row.monitor == name] for name in named}
    sources, models = (
        set(places) for places in zip(*(_place(config, name) for name in monitors), strict=True)
    )
    shared = f"read source {sources.pop()}" if len(sources) == 1 else f"watch model {models.pop()}"
    stop = _stop(rows)
    return alerts.compose_several(
        [_of_one(runtime, by_monitor[name], _found(runtime, by_monitor[name][0])) for name in named],
        [
            alerts.Concerned(monitor=name, owner=monitor.owner, runbook=monitor.runbook)
            for name, monitor in ((key, config.monitors[key]) for key in monitors)
        ],
        also=[len(_changes(runtime, by_monitor[name])) - 1 for name in named],
        shared=shared,
        since=datetime.fromisoformat(stop["start"] if stop else rows[0].payload["transition"]["since"]),
        zone=zone_of(runtime, monitors[0]),
        page=config.page,
        event_parts=[str(row.id) for row in rows],
    )
