"""Outages: failures are noted where they happen, and people are notified of what lasts.

A monitor that fails has the status ``error`` at once. Messages wait: for failures that pass by themselves as
long as ``errors.notify_after`` says, and one message names all monitors that fail for the same reason.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import DegenerateDataError, RocmonitorError, StoreError
from rocmonitor.policy.outages import (
    MLFLOW,
    REVIEW,
    STORE,
    WORKS,
    Member,
    Notice,
    Outage,
    Phase,
    cause_of,
    is_lasting,
    phase_due,
    place_of,
)
from rocmonitor.service.runtime import Runtime
from rocmonitor.store.connection import sqlite_file
from rocmonitor.wording.outages import in_log

if TYPE_CHECKING:
    from rocmonitor.alerts import Message

log = logging.getLogger(__name__)

_LONGEST_ERROR = 2000


def note_tick(runtime: Runtime, monitor: Monitor, error: RocmonitorError | None) -> None:
    """Note that a tick of a monitor failed, or worked. A store that fails meanwhile is only logged."""
    try:
        if error is not None or not runtime.stop.is_set():  # a tick that was stopped may have read nothing
            _note(runtime, monitor.name, error, monitor)
    except StoreError as failure:
        log.warning("%s: whether it failed is not noted: %s", monitor.name, failure)


def note_review(runtime: Runtime, monitor: Monitor, error: Exception | None) -> None:
    """Note that a review failed, or worked; too few data are no failure, and the store is watched."""
    if isinstance(error, StoreError):
        return
    failed = None if isinstance(error, DegenerateDataError) else error
    try:
        _note(runtime, f"{REVIEW}{monitor.name}", failed, monitor)
    except StoreError as failure:
        log.warning("review of %s: whether it failed is not noted: %s", monitor.name, failure)


def note_delivery(runtime: Runtime, destination: str, error: Exception | None) -> None:
    """Note that a delivery failed, or worked; a fault of the store is not the destination's failure.

    A destination works again once none of its failed deliveries is left.
    """
    if isinstance(error, StoreError):
        return
    left = store.backlog(runtime.store).get(destination) if error is None else None
    if left is None or left.error is None:
        _note(runtime, f"outbox:{destination}", error)


def _note(runtime: Runtime, member: str, error: Exception | None, monitor: Monitor | None = None) -> None:
    """Add the failure of a member of an outage, or end it where there is none."""
    if error is None:
        config = runtime.config
        reviews = (f"{REVIEW}{name}" for name in config.monitors)
        channels = (f"outbox:channel:{name}" for name in config.channels)
        known = {*config.monitors, *reviews, f"outbox:{MLFLOW}", *channels}  # by this configuration
        store.end_failure(runtime.store, member, runtime.clock(), known=known)
        return
    # The next delivery may fail for another reason: all to one destination are one outage.
    cause = member.removeprefix("outbox:")
    if monitor is not None:
        cause = cause_of(error, place_of(error, monitor.source), monitor.name)
    text = str(error)[:_LONGEST_ERROR]
    store.add_failure(runtime.store, cause, member, runtime.clock(), error=text, lasting=is_lasting(error))


def notify(runtime: Runtime, *, settled: bool = False, tolerance: timedelta | None = None) -> int:
    """Put the messages that are due into the outbox; how many outages they are about.

    If `settled`, all monitors that are due have been judged: nothing else is about to join an outage.
    `tolerance` takes the place of ``errors.notify_after``.
    """
    outages = store.open_outages(runtime.store)
    if not outages:
        return 0
    config, now, notified = runtime.config, runtime.clock(), 0
    tolerance = config.errors.notify_after if tolerance is None else tolerance
    attentions = store.attentions(runtime.store)
    muted = {name for name, attention in attentions.items() if attention.is_muted(now)}
    for outage in outages:
        phase = phase_due(outage, now, tolerance=tolerance, settled=settled)
        touched = [] if phase is None else _touched(config, outage)
        audience = [monitor for monitor in touched if monitor.name not in muted]
        if phase is None or not touched or (not audience and phase != "ended"):
            continue  # nothing is due, it is another configuration's, or it waits until somebody listens
        names = tuple(monitor.name for monitor in touched)
        whole = Notice(outage=outage, phase=phase, at=outage.end or now, monitors=names)
        notices = _notices(config, whole, audience)
        outgoing = [
            store.Outgoing(destination=f"channel:{channel}", payload={"outage": notice.to_dict()})
            for channel, notice in notices.items()
        ]
        if store.notify_outage(runtime.store, outage, now, outgoing):
            notified += 1
            log.log(logging.INFO if phase == "ended" else logging.ERROR, "%s", in_log(whole, list(notices)))
    return notified


@dataclass(slots=True)
class StoreWatch:
    """An outage of the store, which cannot be kept in it: this process notifies people of it, and daily."""

    runtime: Runtime
    outage: Outage | None = None

    def probe(self) -> None:
        """Write to the store: one that is full, locked or read-only can be read, and still nothing is judged.

        A SQLite file that was moved or deleted is written all the same, where nobody will find it.
        """
        runtime = self.runtime
        file = sqlite_file(runtime.store.engine.url)
        if file is not None and not file.exists():
            raise StoreError(f"store {file}: the file is gone; put it back, then restart the service")
        store.acquire(runtime.store, "store", runtime.owner, runtime.clock(), timedelta())

    def note(self, error: StoreError | None) -> list[threading.Thread]:
        """Note that the store failed, or works; return the threads that send the message, if it is due."""
        config, now, outage = self.runtime.config, self.runtime.clock(), self.outage
        if error is not None:
            self.runtime.failing[STORE] = str(error)
            since, notified_at = (now, None) if outage is None else (outage.start, outage.last_message)
            outage = store_outage(config, error, since, now, notified_at)
        else:
            self.runtime.failing.pop(STORE, None)
            if outage is None:
                return []
            outage = outage.closed(now, WORKS)
        phase = phase_due(outage, now, tolerance=config.errors.notify_after)
        threads = [] if phase is None else send_directly(config, outage, phase, now)
        if phase is not None:
            outage = outage.told(now, config.channels)
        self.outage = outage if outage.is_open else None
        return threads


def store_outage(
    config: Config, error: StoreError | None, since: datetime, now: datetime, notified_at: datetime | None
) -> Outage:
    """Return an outage of the store, which concerns all monitors; without an error it is over now."""
    return Outage(
        kind=STORE,
        cause=STORE,
        start=since,
        error="" if error is None else str(error)[:_LONGEST_ERROR],
        lasting=error is not None and is_lasting(error),
        members={name: Member(since=since, seen=now) for name in config.monitors},
        first_message=notified_at,
        last_message=notified_at,
        end=now if error is None else None,
    )


def send_directly(config: Config, outage: Outage, phase: Phase, now: datetime) -> list[threading.Thread]:
    """Send a message about an outage of all monitors without the outbox; the threads that do it."""
    whole = Notice(outage=outage, phase=phase, at=outage.end or now, monitors=tuple(config.monitors))
    notices = _notices(config, whole, list(config.monitors.values()))
    log.log(logging.INFO if phase == "ended" else logging.ERROR, "%s", in_log(whole, list(notices)))
    threads = [
        threading.Thread(target=_send_now, args=(config, channel, notice), daemon=True)
        for channel, notice in notices.items()
    ]
    for thread in threads:
        thread.start()
    return threads


def outage_message(config: Config, notice: Notice) -> Message:
    """Return the message about an outage, with the people whom the configuration names."""
    from rocmonitor import alerts

    monitors = [monitor for monitor in config.monitors.values() if monitor.name in notice.monitors]
    zones = {monitor.timezone for monitor in monitors}
    return alerts.compose_outage(
        notice,
        [
            alerts.Concerned(monitor=monitor.name, owner=monitor.owner, runbook=monitor.runbook)
            for monitor in monitors
        ],
        zone=zones.pop() if len(zones) == 1 else ZoneInfo("UTC"),
        page=config.page,
    )


def _touched(config: Config, outage: Outage) -> list[Monitor]:
    """Return the monitors that cannot be judged, and those whose results or messages do not arrive."""
    everybody = list(config.monitors.values())
    if f"outbox:{MLFLOW}" in outage.about:
        return everybody
    if outage.place.startswith("channel:"):
        name = outage.place.removeprefix("channel:")
        return [monitor for monitor in everybody if name in monitor.notify] or everybody
    failing = {*outage.monitors, *outage.reviews}
    return [monitor for monitor in everybody if monitor.name in failing]


def _notices(config: Config, whole: Notice, audience: Sequence[Monitor]) -> dict[str, Notice]:
    """Return what each channel gets: its own monitors. A channel that fails is not asked to say so."""
    notices = {}
    for channel in config.channels:
        mine = tuple(monitor.name for monitor in audience if channel in monitor.notify)
        if mine and whole.outage.place != f"channel:{channel}":
            notices[channel] = replace(whole, monitors=mine)
    return notices


def _send_now(config: Config, channel: str, notice: Notice) -> None:
    """Send a message without the outbox, which is in the store."""
    from rocmonitor import alerts

    try:
        message = outage_message(config, notice)
        alerts.send(config.channel_url(channel), message, folder=config.folder)
    except RocmonitorError as error:
        log.error("channel %s: the message about the outage of the store was not sent: %s", channel, error)
