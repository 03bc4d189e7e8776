"""The message about something that fails, or works again: a source, MLflow, a channel, the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.alerts.message import (
    Context,
    Kind,
    Line,
    Message,
    assemble,
    event,
    labelled,
    looking,
    titled,
    where_to_look,
)
from rocmonitor.policy.evaluation import Transition
from rocmonitor.policy.outages import Notice
from rocmonitor.policy.stops import Stop
from rocmonitor.wording import outages as words
from rocmonitor.wording import stops
from rocmonitor.wording.format import count, first_few, instant
from rocmonitor.wording.status import also as also_changed

_MOST_OWNERS, _MOST_RUNBOOKS = 5, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """A monitor that an outage concerns, with what its configuration says of people, as in `Context`."""

    monitor: str
    owner: str | None = None
    runbook: str | None = None


def compose_outage(
    notice: Notice, concerned: Sequence[Concerned], *, zone: ZoneInfo, page: str | None = None
) -> Message:
    """Return the message about an outage, with owners and runbooks of its configured monitors."""
    # What to do when a model is worse than expected: of no use to a channel or to MLflow.
    unjudged = [entry for entry in concerned if entry.monitor in notice.unjudged]
    ended = notice.phase == "ended"
    outage = notice.outage
    times = (outage.start.isoformat(), notice.at.isoformat())
    named = event(str(outage.id), outage.place, notice.phase, *times)
    lines = [
        Line("", f"{words.headline(notice, zone)}."),
        *labelled("Last error" if ended else "Why", outage.error),
        *labelled("Monitors", words.more_names(notice)),
        *labelled("Check", words.advice(notice)),
        *_people("Owner", [(entry.owner, entry.monitor) for entry in concerned], _MOST_OWNERS),
        *_people("Runbook", [(entry.runbook, entry.monitor) for entry in unjudged], _MOST_RUNBOOKS),
        *labelled("Page", page),
        Line("Look", f"rocmonitor status ({named})"),
    ]
    kind: Kind = "recovery" if ended else "alarm"
    title = titled("RESOLVED" if ended else "ERROR", words.subject(notice), words.title(notice))
    return assemble(title, kind, lines)


MOST_NAMED = 3
"""Monitors that have a line each in a message on several."""


def compose_several(
    messages: Sequence[Message],
    concerned: Sequence[Concerned],
    *,
    also: Sequence[int],
    shared: str,
    since: datetime,
    zone: ZoneInfo,
    page: str | None,
    event_parts: Sequence[str],
) -> Message:
    """Return one message that takes the place of several with the same news since an instant.

    `messages` are of one monitor each, the first `MOST_NAMED` of the `concerned`; `also` says how many
    segments changed with each, `shared` what all have in common, such as ``read source warehouse``.
    """
    head, monitors = messages[0].title.split(" ", 1)[0], [entry.monitor for entry in concerned]
    rest = monitors[len(messages) :]
    lines = [
        Line("", f"{len(monitors)} monitors that {shared}, since {instant(since, zone)} ({zone.key})."),
        *(
            Line("", message.title + (f", and {count(more, 'segment')}" if more > 0 else ""))
            for message, more in zip(messages, also, strict=True)
        ),
        *labelled("Also", first_few(rest, MOST_NAMED)),
        *labelled("Page", page),
        *_people("Owner", [(entry.owner, entry.monitor) for entry in concerned], _MOST_OWNERS),
        Line("Look", f"rocmonitor status ({event(*event_parts)})"),
    ]
    title = titled(head, f"{len(monitors)} monitors", ", ".join(monitors))
    return assemble(title, messages[0].kind, lines)


def _people(label: str, entries: Sequence[tuple[str | None, str]], most: int) -> list[Line]:
    """Return a line on owners or runbooks, with their monitors where there are several; none if too many."""
    by: dict[str, list[str]] = {}
    for what, monitor in entries:
        if what:
            by.setdefault(what, []).append(monitor)
    if len(by) > most:
        return []
    if len(by) < 2:
        return [Line(label, what) for what in by]
    parts = [f"{what} ({first_few(monitors, words.FEW_NAMES)})" for what, monitors in by.items()]
    return [Line(f"{label}s", "; ".join(parts))]


def compose_stop(stop: Stop, context: Context, also: Sequence[Transition] = ()) -> Message:
    """Return the message about a stop, or its end, and `also` the changes of status that follow from it."""
    zone = context.zone
    kind: Kind = "recovery" if not stop.is_open else "notice" if stop.kind == "watch" else "alarm"
    phase = "begin" if stop.is_open else "end"
    lines = [
        Line("", f"{stops.headline(stop, zone)}."),
        Line("", f"{stops.since(stop, zone)}."),
        *labelled("Also", also_changed(also)),
        *(
            [Line("How sure", stops.how_sure(stop)), Line("Check", stops.CHECK[stop.kind])]
            if stop.is_open
            else []
        ),
        *where_to_look(context),
        looking("rocmonitor status", context, stop.monitor, stop.kind, stop.start.isoformat(), phase),
    ]
    heads = {"usable": "UNUSABLE", "judged": "NOT JUDGED", "watch": "ENDED"}
    head = heads.get(stop.kind, "STOPPED") if stop.is_open else "RESOLVED"
    title = titled(head, stop.monitor, stops.title(stop))
    return assemble(title, kind, lines)
