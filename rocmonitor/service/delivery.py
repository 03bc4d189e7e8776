"""Deliveries: outbox rows go to MLflow and to the channels, and are marked once they have arrived.

Each destination has a worker of its own, so one that is slow or hangs delays no other.

One outbox row on its way: to MLflow as a run, to a channel as a message.

Channels take seconds to import: they are imported when there is something to send.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocmonitor import store
from rocmonitor.errors import (
    AlertError,
    ConfigError,
    ExternalError,
    RocmonitorError,
    StoreError,
    TrackingError,
)
from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outages import Notice
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.revised import Revised
from rocmonitor.policy.stops import Stop
from rocmonitor.service.outages import note_delivery, notify, outage_message
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.publishing import publish_evaluation, publish_outlook, publish_review, story, zone_of
from rocmonitor.service.runtime import Runtime, hold_lease, renew_lease
from rocmonitor.store.outbox import LONGEST_PAUSE

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
    if name not in runtime.config.channels:
        raise AlertError(
            f"channel {name} is no longer configured; define channels.{name} and the message goes out",
            transient=False,
        )
    folder, picture = runtime.config.folder, None
    if "outage" in row.payload:
        message = outage_message(runtime.config, Notice.from_dict(row.payload["outage"]))
        alerts.send(runtime.config.channel_url(name), message, folder=folder)
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
        _send_revised(runtime, row, context, runtime.config.channel_url(name))
        return
    else:
        change = Transition.from_dict(row.payload["transition"])
        also = [Transition.from_dict(each) for each in row.payload.get("also", ())]
        if isinstance(found, Outlook):
            message = alerts.compose_outlook(change, found, context, also)
        else:
            message = alerts.compose(change, found, context, also)
        if found is not None:
            picture = story(runtime, row.monitor, change.segment, found.window).draw("small")
    alerts.send(runtime.config.channel_url(name), message, folder=folder, picture=picture)


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
    """Return where rocmonitor's own page shows the monitor, or its segment."""
    if runtime.config.page is None:
        return None
    segment = f"?segment={quote(found.segment, safe='')}" if found is not None and found.segment else ""
    return f"{runtime.config.page.rstrip('/')}/monitors/{quote(name)}{segment}"


log = logging.getLogger(__name__)

FIRST_RETRY = timedelta(seconds=10)
LONGEST_RETRY = LONGEST_PAUSE

MLFLOW = "mlflow"
MLFLOW_SECONDS, CHANNEL_SECONDS = 300.0, 60.0
"""Seconds for one delivery. MLflow takes many requests for one, and the first makes its database."""
ALARMS_FIRST_SECONDS = 5.0
"""Seconds each run in MLflow waits for alarms being sent: both take processor time for figures."""
SECONDS_AFTER_STOP = 5.0
"""Seconds that a delivery may still take when the process is asked to stop."""
MOST_HANGING = 3
"""The number of abandoned sends that may hang on a destination; at this number sends wait until one ends."""

_BEAT, _PAUSE = 0.5, 0.05


@dataclass(kw_only=True)
class Delivered:
    """The result of one pass over the outbox.

    Attributes
    ----------
    sent : int
    failed, refused : dict of str to str
        The error by destination: of those that may pass by themselves, after which the rest of the
        destination is left for later; and of those that somebody must mend. All stay in the outbox.
    busy : bool
        Another process delivers to a destination; nothing was done there.
    """

    sent: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    busy: bool = False

    def add(self, other: Delivered) -> None:
        """Count what another one did."""
        self.sent += other.sent
        self.failed |= other.failed
        self.refused |= other.refused
        self.busy = self.busy or other.busy


@dataclass(kw_only=True)
class Patience:
    """Seconds that one delivery may take: to MLflow, to a channel, and once the process is to stop."""

    mlflow: float = MLFLOW_SECONDS
    channel: float = CHANNEL_SECONDS
    after_stop: float = SECONDS_AFTER_STOP

    def of(self, destination: str) -> float:
        """Return the seconds for a delivery to this destination."""
        return self.mlflow if destination == MLFLOW else self.channel


def drain(
    runtime: Runtime, *, progress: Progress = lambda _: None, patience: Patience | None = None
) -> Delivered:
    """Deliver what is due, in order for each destination, to all destinations at once.

    First, people are notified of what fails. A destination that fails is left alone for the rest of the pass.
    A row is marked after it was sent: a crash in between sends it again, with the same event id.
    """
    deliveries = Deliveries(runtime, progress=progress, patience=patience)
    done, met = Delivered(), set[str]()
    while True:
        notify(runtime, settled=True)
        workers = deliveries.start(but=met)
        if not workers:
            return done
        for worker in workers:
            worker.join()
            done.add(worker.done)
        for worker in workers:
            if worker.error is not None:
                raise worker.error
        met = {*done.failed, *(worker.destination for worker in workers if worker.done.busy), *met}


class Deliveries:
    """The workers of one process: a thread for each destination while something is due for it.

    Parameters
    ----------
    runtime : Runtime
    progress : callable
    on_end : callable
        Called with each worker at its end: it has done all that is due, failed, or is to stop.
    patience : Patience
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        progress: Progress = lambda _: None,
        on_end: Callable[[Worker], None] = lambda _: None,
        patience: Patience | None = None,
    ) -> None:
        self.runtime, self.progress, self.on_end = runtime, progress, on_end
        self.patience = patience or Patience()
        self.hanging: dict[str, list[threading.Thread]] = {}
        self._workers: dict[str, Worker] = {}

    def start(self, but: Collection[str] = ()) -> list[Worker]:
        """Start a worker for each destination that something is due for and that has none; channels first.

        Raises
        ------
        StoreError
        """
        if self.runtime.stop.is_set():
            return []
        started = []
        for destination in store.destinations_due(self.runtime.store, self.runtime.clock()):
            worker = self._workers.get(destination)
            if destination not in but and (worker is None or not worker.is_alive()):
                worker = self._workers[destination] = Worker(self, destination)
                worker.start()
                started.append(worker)
        return started

    def let_alarms_pass(self) -> None:
        """Wait until the channels have what is due, but not for long: one of them may hang."""
        until = time.monotonic() + ALARMS_FIRST_SECONDS
        while any(worker.is_alive() for name, worker in list(self._workers.items()) if name != MLFLOW):
            if time.monotonic() >= until or self.runtime.stop.wait(_PAUSE):
                return

    def wait(self) -> None:
        """Wait until the workers have ended; for those that hang only as long as `patience` says."""
        until = time.monotonic() + self.patience.after_stop + 2 * _BEAT
        for worker in self._workers.values():
            worker.join(max(0.0, until - time.monotonic()))


class Worker(threading.Thread):
    """Delivers what is due to one destination, under a lease of its own.

    Attributes
    ----------
    destination : str
    done : Delivered
    error : BaseException or None
        What ended the worker: the store failed, for instance.
    """

    def __init__(self, deliveries: Deliveries, destination: str) -> None:
        # No end of the process waits for a thread that hangs.
        super().__init__(name=f"outbox {destination}", daemon=True)
        self.destination, self.done = destination, Delivered()
        self.error: BaseException | None = None
        self._all, self._runtime = deliveries, deliveries.runtime

    def run(self) -> None:
        """Deliver until nothing is due, or the destination fails."""
        try:
            self._work()
        except StoreError as error:  # for whoever waits
            self.error = error
        except Exception as error:  # a row that cannot be read, for instance, which holds up all others
            log.exception("delivering to %s failed unexpectedly", self.destination)
            self.done.failed[self.destination] = str(_unforeseen(error))
            with suppress(StoreError):
                note_delivery(self._runtime, self.destination, _unforeseen(error))
        except BaseException as error:
            self.error = error
        self._all.on_end(self)

    def _work(self) -> None:
        runtime, destination = self._runtime, self.destination
        with hold_lease(runtime, f"outbox:{destination}") as lease:
            if lease is None:
                self.done.busy = True
                return
            while rows := store.pending(runtime.store, runtime.clock(), destination=destination):
                for number, row in enumerate(rows, 1):
                    if destination == MLFLOW:
                        self._all.let_alarms_pass()
                    if runtime.stop.is_set() or self.done.failed:
                        return
                    words = f"delivering {row.monitor or 'the message about an outage'} to {destination}"
                    self._all.progress(Step(words, number, len(rows)))
                    lease = self._attempt(row, lease)
            if self.done.sent and not self.done.failed:
                note_delivery(runtime, destination, None)

    def _attempt(self, row: store.Delivery, lease: store.Lease) -> store.Lease:
        """Send one row and mark it; gives back the lease, which is renewed meanwhile."""
        runtime, patience = self._runtime, self._all.patience
        hanging = [each for each in self._all.hanging.get(self.destination, []) if each.is_alive()]
        if len(hanging) >= MOST_HANGING:
            self._failed(row, _no_end(self.destination, f"{len(hanging)} earlier deliveries still hang"))
            return lease
        send = _Send(runtime, row)
        send.start()
        lease = self._wait_for(send, lease)
        if send.give_up():
            self._all.hanging[self.destination] = [*hanging, send]
            if not runtime.stop.is_set():
                longest = f"it took longer than {patience.of(self.destination):g} seconds"
                self._failed(row, _no_end(self.destination, longest))
        elif send.error is None:
            self.done.sent += 1
            store.mark_delivered(runtime.store, row.id, runtime.clock(), send.receipt)
        elif isinstance(send.error, Exception):  # one undeliverable row never stops another
            self._failed(row, send.error)
        else:
            raise send.error
        return lease

    def _wait_for(self, send: _Send, lease: store.Lease) -> store.Lease:
        """Wait until a send ends or its time is over."""
        began, stopped = time.monotonic(), None
        while not send.finished.wait(_BEAT):
            lease = renew_lease(self._runtime, lease)
            now = time.monotonic()
            if self._runtime.stop.is_set():
                stopped = stopped or now
            if now - began >= self._all.patience.of(self.destination):
                break
            if stopped is not None and now - stopped >= self._all.patience.after_stop:
                break
        return lease

    def _failed(self, row: store.Delivery, error: Exception) -> None:
        if not isinstance(error, RocmonitorError):
            log.error("delivering %s to %s failed unexpectedly", row.monitor, row.destination, exc_info=error)
            error = _unforeseen(error)
        # Refused for good, as far as the destination is concerned: but somebody may mend the configuration.
        refused = isinstance(error, ConfigError) or (isinstance(error, ExternalError) and not error.transient)
        (self.done.refused if refused else self.done.failed)[row.destination] = str(error)
        pause = LONGEST_RETRY if refused else min(FIRST_RETRY * 2.0 ** min(row.attempts, 20), LONGEST_RETRY)
        now = self._runtime.clock()
        store.mark_failed(self._runtime.store, row.id, now, str(error), now + pause, refused=refused)
        note_delivery(self._runtime, row.destination, error)


class _Send(threading.Thread):
    """Sends one row. One that was given up and arrives all the same is marked by itself."""

    def __init__(self, runtime: Runtime, row: store.Delivery) -> None:
        super().__init__(name=f"sending to {row.destination}", daemon=True)
        self._runtime, self._row = runtime, row
        self._given_up, self._ending = False, threading.Lock()
        self.finished = threading.Event()
        self.receipt: str | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Send it."""
        try:
            self.receipt = deliver(self._runtime, self._row)
        except BaseException as error:  # for the worker
            self.error = error
        with self._ending:
            self.finished.set()
            late = self._given_up
        if late and self.error is None:
            try:  # else a destination that is always slow would get it again and again
                store.mark_delivered(self._runtime.store, self._row.id, self._runtime.clock(), self.receipt)
            except StoreError as error:
                log.warning("%s has arrived, but is sent again: %s", self._row.destination, error)

    def give_up(self) -> bool:
        """Wait no longer; False where it has ended."""
        with self._ending:
            self._given_up = not self.finished.is_set()
            return self._given_up


def _unforeseen(error: Exception) -> RocmonitorError:
    return RocmonitorError(f"unforeseen {type(error).__name__}: {error}")


def _no_end(destination: str, why: str) -> ExternalError:
    text = f"{destination} does not answer in time: {why}; it is tried again later"
    return TrackingError(text) if destination == MLFLOW else AlertError(text)
