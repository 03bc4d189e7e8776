"""Deliveries: outbox rows go to MLflow and to the channels, and are marked once they have arrived.

Each destination has a worker of its own, so one that is slow or hangs delays no other.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from rocmonitor import store
from rocmonitor.errors import (
    AlertError,
    ConfigError,
    ExternalError,
    RocmonitorError,
    StoreError,
    TrackingError,
    unforeseen,
)
from rocmonitor.service import messages
from rocmonitor.service.leases import hold_lease, renew_lease
from rocmonitor.service.outages import note_delivery, notify
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.publishing import publish_evaluation, publish_outlook, publish_review
from rocmonitor.service.runtime import Runtime
from rocmonitor.store.outbox import LONGEST_PAUSE

log = logging.getLogger(__name__)

FIRST_RETRY = timedelta(seconds=10)
LONGEST_RETRY = timedelta(minutes=10)
"""The longest pause after a failure that may pass by itself; what is refused waits for `LONGEST_PAUSE`. Both
end at once when something shows that the destination works: `store.retry_now`."""

MLFLOW = "mlflow"
MLFLOW_SECONDS, CHANNEL_SECONDS = 300.0, 60.0
"""Seconds for one delivery. MLflow takes many requests for one, and the first makes its database."""
TOGETHER_SECONDS = 60.0
"""Seconds that the channels wait at most for monitors that are being judged."""
ALARMS_FIRST_SECONDS = 5.0
"""Seconds each run in MLflow waits for alarms being sent: both take processor time for figures."""
SECONDS_AFTER_STOP = 5.0
"""Seconds that a delivery may still take when the process is asked to stop."""
MOST_ROWS = 1000
"""The number of rows looked at together, for what is one message."""
MOST_HANGING = 3
"""The number of abandoned sends that may hang on a destination; at this number sends wait until one ends."""

_BEAT, _PAUSE = 0.5, 0.05


def deliver(runtime: Runtime, rows: Sequence[store.Delivery]) -> str | None:
    """Hand rows to their destination, several as one message; give back what the destination answered."""
    row = rows[0]
    if row.destination != MLFLOW:
        messages.send(runtime, rows)
        return None
    if row.outlook_id is not None:
        receipt = publish_outlook(runtime, store.outlook(runtime.store, row.outlook_id))
    elif row.review_id is not None:
        receipt = publish_review(runtime, store.review(runtime.store, row.review_id))
    else:
        assert row.evaluation_id is not None
        receipt = publish_evaluation(runtime, row.id, row.evaluation_id)
    if row.attempts:  # what an earlier try asked for may have been carried out all the same
        runtime.tracking.delete_doubles(store.instance_id(runtime.store), row.monitor)
    return receipt


@dataclass(kw_only=True)
class Delivered:
    """The result of one pass over the outbox; errors are by destination, and what failed stays there."""

    sent: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """Errors that may pass by themselves: the rest of the destination is left for later."""
    refused: dict[str, str] = field(default_factory=dict)
    """Errors that somebody must mend."""
    busy: bool = False
    """Another process delivers to a destination; nothing was done there."""


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
    runtime: Runtime,
    *,
    progress: Progress = lambda _: None,
    patience: Patience | None = None,
    tolerance: timedelta | None = None,
) -> Delivered:
    """Deliver what is due, in order for each destination, to all destinations at once.

    First, people are notified of what fails, after `tolerance` in place of ``errors.notify_after``. A
    destination that fails is left alone for the rest of the pass. A row is marked after it was sent: a crash
    in between sends it again, with the same event id.
    """
    deliveries = Deliveries(runtime, progress=progress, patience=patience or Patience())
    done, met = Delivered(), set[str]()
    while True:
        notify(runtime, settled=True, tolerance=tolerance)
        workers = deliveries.start(but=met)
        if not workers:
            return done
        _join(runtime, workers)
        for worker in workers:
            done.sent += worker.done.sent
            done.failed |= worker.done.failed
            done.refused |= worker.done.refused
            done.busy = done.busy or worker.done.busy
        for worker in workers:
            if worker.error is not None:
                raise worker.error
        met = {*done.failed, *(worker.destination for worker in workers if worker.done.busy), *met}


def _join(runtime: Runtime, workers: Sequence[Worker]) -> None:
    """Wait for the end of workers, and report each step of one: a long delivery does not hang."""
    seen = 0
    for worker in workers:
        while worker.is_alive():
            worker.join(_BEAT)
            if (steps := sum(other.steps for other in workers)) != seen:
                seen = steps
                runtime.work.beat()


@dataclass(slots=True)
class Deliveries:
    """The workers of one process: a thread for each destination while something is due for it."""

    runtime: Runtime
    progress: Progress = field(default=lambda _: None, kw_only=True)
    on_end: Callable[[Worker], None] = field(default=lambda _: None, kw_only=True)
    """Called with each worker at its end: it has done all that is due, failed, or is to stop."""
    patience: Patience = field(default_factory=Patience, kw_only=True)
    judging: Callable[[], bool] = field(default=lambda: False, kw_only=True)
    """True while monitors are judged: what they find at the same time is one message, so channels wait for
    them, though not for long."""
    hanging: dict[str, list[threading.Thread]] = field(default_factory=dict)
    _awaited_since: float | None = None
    _workers: dict[str, Worker] = field(default_factory=dict)

    def start(self, but: Collection[str] = ()) -> list[Worker]:
        """Start a worker for each destination that something is due for and that has none; channels first."""
        if self.runtime.stop.is_set():
            return []
        started = []
        due = store.destinations_due(self.runtime.store, self.runtime.clock())
        if not self.judging() or all(destination == MLFLOW for destination in due):
            self._awaited_since = None
        else:
            now = self.runtime.elapsed()
            self._awaited_since = now if self._awaited_since is None else self._awaited_since
            if now - self._awaited_since < TOGETHER_SECONDS:
                due = [destination for destination in due if destination == MLFLOW]
        for destination in due:
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
    """Delivers what is due to one destination, under a lease of its own."""

    def __init__(self, deliveries: Deliveries, destination: str) -> None:
        # No end of the process waits for a thread that hangs.
        super().__init__(name=f"outbox {destination}", daemon=True)
        self.destination, self.done = destination, Delivered()
        self.steps = 0  # deliveries that were begun
        self.error: BaseException | None = None  # what ended it: the store failed, for instance
        self._all, self._runtime = deliveries, deliveries.runtime

    def run(self) -> None:
        """Deliver until nothing is due, or the destination fails."""
        try:
            self._work()
        except StoreError as error:  # for whoever waits
            self.error = error
        except Exception as error:  # a row that cannot be read, for instance, which holds up all others
            log.exception("delivering to %s failed unexpectedly", self.destination)
            self.done.failed[self.destination] = str(unforeseen(error))
            with suppress(StoreError):
                note_delivery(self._runtime, self.destination, unforeseen(error))
        except BaseException as error:
            self.error = error
        self._all.on_end(self)

    def _work(self) -> None:
        runtime, destination = self._runtime, self.destination
        with hold_lease(runtime, f"outbox:{destination}") as lease:
            if lease is None:
                self.done.busy = True
                return
            while rows := store.pending(runtime.store, runtime.clock(), MOST_ROWS, destination=destination):
                whole = len(rows)
                while rows:
                    if destination == MLFLOW:
                        self._all.let_alarms_pass()
                    if runtime.stop.is_set() or self.done.failed:
                        return
                    row = rows[0]
                    self.steps += 1
                    words = f"delivering {row.monitor or 'the message about an outage'} to {destination}"
                    self._all.progress(Step(words, whole - len(rows) + 1, whole))
                    one = [row] if destination == MLFLOW else messages.together(runtime.config, rows)
                    lease, done = self._attempt(one, lease)
                    rows = [row for row in rows if row not in done]
            if self.done.sent and not self.done.failed:
                note_delivery(runtime, destination, None)

    def _attempt(
        self, rows: list[store.Delivery], lease: store.Lease
    ) -> tuple[store.Lease, list[store.Delivery]]:
        """Send rows as one and mark them; give back the lease, which is renewed meanwhile, and those tried.

        Of a message that fails the first row is marked: the others wait for it, and may join another.
        """
        row = rows[0]
        runtime, patience = self._runtime, self._all.patience
        hanging = [earlier for earlier in self._all.hanging.get(self.destination, []) if earlier.is_alive()]
        if len(hanging) >= MOST_HANGING:
            self._failed(row, _no_end(self.destination, f"{len(hanging)} earlier deliveries still hang"))
            return lease, rows[:1]
        send = _Send(runtime, rows)
        send.start()
        lease = self._wait_for(send, lease)
        if send.give_up():
            self._all.hanging[self.destination] = [*hanging, send]
            if not runtime.stop.is_set():
                longest = f"it took longer than {patience.of(self.destination):g} seconds"
                error = _no_end(self.destination, longest)
                error.unconfirmed = True
                self._failed(row, error)
        elif send.error is None:
            self.done.sent += 1
            send.mark()
            if self.done.sent == 1:  # it works: what it refused before may be taken now
                store.retry_now(runtime.store, self.destination)
            return lease, rows
        elif isinstance(send.error, Exception):  # one undeliverable row never stops another
            self._failed(row, send.error)
        else:
            raise send.error
        return lease, rows[:1]

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
            error = unforeseen(error)
        # Refused for good, as far as the destination is concerned: but somebody may mend the configuration.
        refused = isinstance(error, ConfigError) or (isinstance(error, ExternalError) and not error.transient)
        (self.done.refused if refused else self.done.failed)[row.destination] = str(error)
        pause = LONGEST_PAUSE if refused else min(FIRST_RETRY * 2.0 ** min(row.attempts, 20), LONGEST_RETRY)
        asked = error.retry_after if isinstance(error, ExternalError) else None
        if asked is not None:
            pause = min(max(pause, asked), LONGEST_PAUSE)
        now = self._runtime.clock()
        unconfirmed = isinstance(error, ExternalError) and error.unconfirmed
        store.mark_failed(
            self._runtime.store,
            row.id,
            now,
            str(error),
            now + pause,
            refused=refused,
            payload=messages.with_unconfirmed(row.payload) if unconfirmed else None,
        )
        if asked is None or row.attempts:  # who asks to be tried later has not failed until it was
            note_delivery(self._runtime, row.destination, error)


class _Send(threading.Thread):
    """Sends rows as one. What was given up and arrives all the same is marked by itself."""

    def __init__(self, runtime: Runtime, rows: Sequence[store.Delivery]) -> None:
        super().__init__(name=f"sending to {rows[0].destination}", daemon=True)
        self._runtime, self._rows = runtime, rows
        self._given_up, self._ending = False, threading.Lock()
        self.finished = threading.Event()
        self.receipt: str | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Send it."""
        try:
            self.receipt = deliver(self._runtime, self._rows)
        except BaseException as error:  # for the worker
            self.error = error
        with self._ending:
            self.finished.set()
            late = self._given_up
        if late and self.error is None:
            try:  # else a destination that is always slow would get it again and again
                self.mark()
            except StoreError as error:
                log.warning("%s has arrived, but is sent again: %s", self._rows[0].destination, error)

    def mark(self) -> None:
        """Mark all rows as arrived, in one transaction."""
        first, *others = (row.id for row in self._rows)
        store.mark_delivered(self._runtime.store, first, self._runtime.clock(), self.receipt, also=others)

    def give_up(self) -> bool:
        """Wait no longer; False where it has ended."""
        with self._ending:
            self._given_up = not self.finished.is_set()
            return self._given_up


def _no_end(destination: str, why: str) -> ExternalError:
    text = f"{destination} does not answer in time: {why}; it is tried again later"
    return TrackingError(text) if destination == MLFLOW else AlertError(text)
