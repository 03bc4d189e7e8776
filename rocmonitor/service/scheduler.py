"""The service: every monitor on its schedule, the outbox in between."""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, ExternalError, RocmonitorError, StoreError
from rocmonitor.policy.clock_jump import CONFIRM_AFTER
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.outages import retry_pause
from rocmonitor.service.delivery import Deliveries, Worker
from rocmonitor.service.health import Service
from rocmonitor.service.heartbeat import beating
from rocmonitor.service.jobs import (
    OUTBOX,
    REVIEWS,
    SOURCE,
    WORKERS,
    ClockJumps,
    Crontab,
    Pool,
    all_workers,
    judging,
    start_again,
    start_at,
)
from rocmonitor.service.keep import delete_old
from rocmonitor.service.leases import RENEW_EVERY
from rocmonitor.service.listener import open_listeners
from rocmonitor.service.outages import StoreWatch, note_review, notify
from rocmonitor.service.reload import changed, end_alarms_of_removed, read_again
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import Runtime, leave
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.tick.outcome import save_last
from rocmonitor.service.workers import Workers
from rocmonitor.service.workers.threads import MOST_AT_ONCE
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.review import decision

log = logging.getLogger(__name__)

OUTBOX_EVERY = timedelta(seconds=10)
_REVIEW = " review"


def serve(runtime: Runtime, path: Path) -> None:
    """Run until SIGTERM or SIGINT, then finish the window at hand and return; SIGHUP reads `path` again.

    Jobs live in memory and are made from the configuration: a job means "all windows that are due", so what
    fell due while nothing ran is done at the start, and there is nothing to migrate, to pickle or to miss.
    """
    service, again = Service.of(runtime), threading.Event()
    end_alarms_of_removed(runtime)
    with suppress(StoreError):  # somebody may have mended the configuration
        store.retry_now(runtime.store)

    def stop(number: int, _: FrameType | None) -> None:
        log.info("%s: finishing the window at hand", signal.Signals(number).name)
        runtime.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    if hasattr(signal, "SIGHUP"):  # Windows has none
        signal.signal(signal.SIGHUP, lambda *_: again.set())
    deliveries = Deliveries(runtime, progress=log.info, on_end=_log_undelivered)
    scheduler = scheduled(runtime, deliveries)
    deliveries.judging = partial(judging, scheduler)
    clock_jumps = ClockJumps(runtime)
    with open_listeners(service, lambda *moved: _moved(scheduler, service, *moved)), beating(service):
        scheduler.start()
        log.info("watching %s", ", ".join(runtime.config.monitors))
        while not runtime.stop.wait(timeout=1):  # a signal just before an endless wait would not be noticed
            if again.is_set():
                again.clear()
                reload(scheduler, service, path)
            for workers in all_workers(scheduler):
                workers.attend()
            if clock_jumps.seen():
                start_all_now(scheduler, service.runtime)
    pools = all_workers(scheduler)
    # Not by APScheduler, which would wait for the workers, and holds a lock that a job needs meanwhile.
    scheduler.shutdown(wait=False)
    deliveries.wait()
    leave(runtime, pools)
    log.info("stopped; what is undone is due at the next start")


def reload(scheduler: BackgroundScheduler, service: Service, path: Path) -> None:
    """Work with the configuration in `path` from now on; a file that is wrong changes nothing.

    Ticks that run end with the configuration they began with. New and changed monitors are due at once.
    """
    now = service.runtime.config
    try:
        new = read_again(path, now)
        runtime = replace(service.runtime, config=new)
        added, different, removed = changed(now, new)
        reviews = {name: next_review(runtime, new.monitors[name]) for name in (*added, *different)}
    except (ConfigError, StoreError) as error:
        service.refused = str(error)
        log.error("the configuration was not read again, the one in use stays: %s", error)
        return
    service.runtime, service.loaded_at, service.refused = runtime, runtime.clock(), None
    end_alarms_of_removed(runtime, now)
    with suppress(StoreError):  # what failed before may work with the new configuration
        store.retry_now(runtime.store)
    for name in (*removed, *different):
        for job in (name, _review_of(name)):
            with suppress(JobLookupError):
                scheduler.remove_job(job)
    for name in (*added, *different):
        _add_monitor(scheduler, runtime, new.monitors[name], reviews[name])
    for monitor in new.monitors.values():  # all work with what is new of sources, channels and MLflow
        for job in (monitor.name, _review_of(monitor.name)):
            with suppress(JobLookupError):
                scheduler.modify_job(job, args=(scheduler, runtime, monitor))
    deliveries, watch = scheduler.get_job(OUTBOX).args
    deliveries.runtime = watch.runtime = runtime  # workers at work end with the old one
    scheduler.modify_job("keep", args=(runtime,))
    changes = {"added": added, "changed": different, "removed": removed}
    words = [f"{word} {', '.join(names)}" for word, names in changes.items() if names]
    log.info("the configuration was read again: %s", "; ".join(words) or "the monitors are the same")


def _moved(scheduler: BackgroundScheduler, service: Service, model: str, alias: str) -> None:
    runtime = service.runtime
    for monitor in runtime.config.monitors.values():
        aliases = (monitor.model.champion, monitor.model.challenger)
        if monitor.model.name == model and alias in aliases and monitor.columns.challenger is not None:
            request_review(scheduler, runtime, monitor.name)


def scheduled(runtime: Runtime, deliveries: Deliveries | None = None) -> BackgroundScheduler:
    """Return a scheduler, not started, with a job for each monitor and one for the outbox, all due at once.

    A review is due at once only when one was missed since the last.
    """
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={name: Pool(Workers(runtime.work), runtime) for name in (OUTBOX, REVIEWS)},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    )
    scheduler.add_listener(_unforeseen, EVENT_JOB_ERROR)
    for monitor in runtime.config.monitors.values():
        _add_monitor(scheduler, runtime, monitor, next_review(runtime, monitor))
    scheduler.add_job(
        _deliver,
        IntervalTrigger(seconds=int(OUTBOX_EVERY.total_seconds()), timezone=UTC),
        args=(deliveries or Deliveries(runtime), StoreWatch(runtime)),
        id=OUTBOX,
        executor=OUTBOX,
        next_run_time=runtime.clock(),
    )
    scheduler.add_job(
        _delete_old,
        IntervalTrigger(days=1, timezone=UTC),
        args=(runtime,),
        id="keep",
        executor="reviews",
        next_run_time=runtime.clock(),
    )
    return scheduler


def _add_monitor(
    scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor, review_at: datetime | None
) -> None:
    pool = f"{SOURCE}{monitor.source}"  # of its own: a source that hangs holds up no other
    if pool not in scheduler._executors:
        most = max(WORKERS, min(runtime.executor.width + 1, MOST_AT_ONCE))
        scheduler.add_executor(Pool(Workers(runtime.work, most), runtime), pool)
    scheduler.add_job(
        _tick,
        Crontab(monitor.schedule, monitor.timezone),
        args=(scheduler, runtime, monitor),
        id=monitor.name,
        executor=pool,
        next_run_time=runtime.clock(),
        max_instances=2,  # changed while it is at work, it finds itself busy and comes again
    )
    if review_at is not None:
        _add_review(scheduler, runtime, monitor, review_at)


def next_review(runtime: Runtime, monitor: Monitor) -> datetime | None:
    """When the review of a monitor is due next: now, if one was missed; None without a schedule for it."""
    if monitor.review is None or monitor.review.schedule is None:
        return None
    now, last = runtime.clock(), store.last_reviewed(runtime.store, monitor.name)
    return now if last is None else max(now, next_fire(monitor.review.schedule, monitor.timezone, last))


def request_review(scheduler: BackgroundScheduler, runtime: Runtime, name: str) -> bool:
    """Have a monitor reviewed now, whatever its schedule; False where none is so named.

    Safe from any thread. One that comes while the monitor is being reviewed is done after that.
    """
    monitor = runtime.config.monitors.get(name)
    if monitor is None:
        return False
    try:
        scheduler.modify_job(_review_of(name), next_run_time=runtime.clock())
    except JobLookupError:  # it has no schedule
        _add_review(scheduler, runtime, monitor, runtime.clock())
    return True


def _add_review(scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor, at: datetime) -> None:
    line = monitor.review.schedule if monitor.review else None
    scheduler.add_job(
        _review,
        # Without a schedule: once.
        None if line is None else Crontab(line, monitor.timezone),
        args=(scheduler, runtime, monitor),
        id=_review_of(monitor.name),
        executor=REVIEWS,
        next_run_time=at,
        replace_existing=True,
        max_instances=2,  # a second one waits for the worker, for it was asked for after the first began
    )


def _review_of(monitor: str) -> str:
    return monitor + _REVIEW


def start_all_now(scheduler: BackgroundScheduler, runtime: Runtime) -> None:
    """Start every job now: the times that they wait for are of a clock that was set."""
    for job in scheduler.get_jobs():
        monitor = runtime.config.monitors.get(job.id.removesuffix(_REVIEW))
        at = None
        if monitor is not None and job.id == _review_of(monitor.name):
            at = next_review(runtime, monitor)
        with suppress(JobLookupError):  # it was done meanwhile
            scheduler.modify_job(job.id, next_run_time=at or runtime.clock())


def _tick(scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor) -> None:
    started_at, began = runtime.clock(), time.monotonic()
    progress = partial(log.info, extra={"monitor": monitor.name})
    tick = run_monitor(runtime, monitor, now=started_at, progress=progress)
    seconds = time.monotonic() - began
    for evaluation in tick.evaluations:
        place = {
            "monitor": evaluation.monitor,
            "segment": evaluation.segment,
            "window": str(evaluation.window),
            "status": str(evaluation.status),
        }
        took = round(tick.seconds.get(evaluation.window, 0.0), 3)
        log.info("%s %s %s: %s", *place.values(), extra={**place, "duration_seconds": took})
    extra = {"monitor": monitor.name, "duration_seconds": round(seconds, 3)}
    if tick.error is not None:
        log.error("%s: %s", monitor.name, tick.error, extra=extra)
    if tick.doubt is not None:
        log.warning("%s: %s", monitor.name, words_of(tick.doubt), extra=extra)
    if tick.busy:  # held by another process, or by one that died: its lease ends soon
        following = start_at(scheduler, runtime, monitor.name, RENEW_EVERY)
    elif (error := tick.error) is not None:
        may_pass = error.transient if isinstance(error, ExternalError) else type(error) is RocmonitorError
        following = start_again(scheduler, runtime, monitor.name, transient=may_pass)
    elif tick.doubt is not None:
        following = start_at(scheduler, runtime, monitor.name, CONFIRM_AFTER / 4)
    else:
        runtime.failures.pop(monitor.name, None)
        following = next_fire(monitor.schedule, monitor.timezone, runtime.clock())
        when = f"{following.astimezone(monitor.timezone):%Y-%m-%d %H:%M %Z}"
        log.info("%s: next check at %s", monitor.name, when, extra=extra)
    save_last(runtime, tick, started_at=started_at, seconds=seconds, next_due=following)


def _review(scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor) -> None:
    name = _review_of(monitor.name)
    try:
        progress = partial(log.info, extra={"monitor": monitor.name})
        review = review_monitor(runtime, monitor, now=runtime.clock(), progress=progress)
    except Exception as error:  # one failing review never stops another
        if runtime.stop.is_set():
            log.info("%s", error)
            return
        foreseen = isinstance(error, RocmonitorError)
        note_review(runtime, monitor, error)
        log.error("review of %s: %s", monitor.name, error, exc_info=None if foreseen else error)
        if isinstance(error, ExternalError) or not foreseen:
            runtime.failures[name] += 1
            transient = not isinstance(error, ExternalError) or error.transient
            again = runtime.clock() + retry_pause(runtime.failures[name], transient=transient)
            log.info("review of %s: trying again at %s", monitor.name, f"{again:%Y-%m-%d %H:%M:%S %Z}")
            _add_review(scheduler, runtime, monitor, again)
    else:
        runtime.failures.pop(name, None)
        note_review(runtime, monitor, None)
        log.info("review of %s: %s", monitor.name, decision(review))


def _deliver(deliveries: Deliveries, watch: StoreWatch) -> None:
    """Start what is due; of a store that fails, people are notified without it."""
    try:
        watch.probe()
        notify(deliveries.runtime)
        deliveries.start()
    except StoreError as error:
        log.error("%s", error)
        watch.note(error)
    else:
        watch.note(None)


def _log_undelivered(worker: Worker) -> None:
    for destination, error in (worker.done.refused | worker.done.failed).items():
        log.warning("%s: not delivered yet, kept in the outbox: %s", destination, error)
    if worker.error is not None:
        log.error("delivering to %s ended: %s", worker.destination, worker.error)


def _delete_old(runtime: Runtime) -> None:
    done = delete_old(runtime)
    if done.deliveries or done.tables or done.counts or done.runs:
        log.info(
            "deleted as too old: %d deliveries, tables of %d evaluations, counts of %d windows, "
            "%d runs in MLflow",
            done.deliveries,
            done.tables,
            done.counts,
            done.runs,
        )
    if done.error is not None:
        log.warning("old runs stay for now: %s", done.error)


def _unforeseen(event: JobExecutionEvent) -> None:
    log.error("job %s failed: %s", event.job_id, event.exception)
