"""The service: every monitor on its schedule, the outbox in between."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from types import FrameType

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import BasePoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.errors import ExternalError, RocmonitorError
from rocmonitor.service.delivery import drain
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import LEASE, Runtime
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.service.webhook import listening

log = logging.getLogger(__name__)

OUTBOX_EVERY = timedelta(seconds=10)
RETRY_AFTER = timedelta(minutes=10)
"""After a failure that may pass by itself the next attempt does not wait for the schedule."""

WORKERS = 4
"""Monitors judged at the same time; numpy and the databases do their work outside Python's lock."""


def serve(runtime: Runtime) -> None:
    """Run until SIGTERM or SIGINT, then finish the window at hand and return.

    Jobs live in memory and are made from the configuration: a job means "all windows that are due", so what
    fell due while nothing ran is done at the start, and there is nothing to migrate, to pickle or to miss.
    """

    def stop(number: int, _: FrameType | None) -> None:
        log.info("%s: finishing the window at hand", signal.Signals(number).name)
        runtime.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    pools = {"default": ThreadPoolExecutor(WORKERS)}
    pools |= {name: ThreadPoolExecutor(1) for name in ("outbox", "reviews")}  # one of these at a time
    scheduler = scheduled(runtime, pools)
    with _webhook(scheduler, runtime):
        scheduler.start()
        log.info("watching %s", ", ".join(runtime.config.monitors))
        while not runtime.stop.wait(timeout=1):  # a signal just before an endless wait would not be noticed
            pass
    # APScheduler's own waiting holds a lock that a job needs to change its next time: the pools are ours.
    scheduler.shutdown(wait=False)
    for pool in pools.values():
        pool.shutdown(wait=True)
    log.info("stopped; what is undone is due at the next start")


def _webhook(scheduler: BackgroundScheduler, runtime: Runtime) -> AbstractContextManager[object]:
    """Listens to MLflow's registry, where configured: a monitor whose alias moves is reviewed at once."""
    webhook = runtime.config.webhook
    if webhook is None:
        return nullcontext()

    def moved(model: str, alias: str) -> None:
        for monitor in runtime.config.monitors.values():
            known = (monitor.model.champion, monitor.model.challenger)
            if monitor.model.name == model and alias in known and monitor.columns.challenger is not None:
                request_review(scheduler, runtime, monitor.name)

    return listening(*webhook.address, webhook.read(runtime.config.folder), moved, runtime.clock)


class _Pool(BasePoolExecutor):  # type: ignore[misc]  # APScheduler has no types
    """Lets APScheduler use a pool that is ours to close."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        super().__init__(pool)


def scheduled(runtime: Runtime, pools: Mapping[str, ThreadPoolExecutor]) -> BackgroundScheduler:
    """A scheduler, not started, with a job for each monitor and one for the outbox, all due at once.

    A review is due at once only when one was missed since the last.
    """
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={name: _Pool(pool) for name, pool in pools.items()},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    )
    scheduler.add_listener(_unforeseen, EVENT_JOB_ERROR)
    for monitor in runtime.config.monitors.values():
        scheduler.add_job(
            _tick,
            CronTrigger.from_crontab(monitor.schedule, timezone=monitor.timezone),
            args=(scheduler, runtime, monitor),
            id=monitor.name,
            next_run_time=runtime.clock(),
        )
        if monitor.review is not None and monitor.review.schedule is not None:
            _add_review(scheduler, runtime, monitor, next_review(runtime, monitor))
    scheduler.add_job(
        _tell,
        IntervalTrigger(seconds=int(OUTBOX_EVERY.total_seconds()), timezone=UTC),
        args=(runtime,),
        id="outbox",
        executor="outbox",
        next_run_time=runtime.clock(),
    )
    return scheduler


def next_tick(monitor: Monitor, now: datetime) -> datetime:
    """When the schedule of a monitor fires next."""
    return _fires(monitor.schedule, monitor, now)


def next_review(runtime: Runtime, monitor: Monitor) -> datetime:
    """When the review of a monitor that has a schedule for it is due next: now, if one was missed."""
    assert monitor.review is not None
    assert monitor.review.schedule is not None
    now, last = runtime.clock(), store.last_reviewed(runtime.store, monitor.name)
    return now if last is None else max(now, _fires(monitor.review.schedule, monitor, last))


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
        None if line is None else CronTrigger.from_crontab(line, timezone=monitor.timezone),
        args=(scheduler, runtime, monitor),
        id=_review_of(monitor.name),
        executor="reviews",
        next_run_time=at,
        replace_existing=True,
        max_instances=2,  # a second one waits for the worker, for it was asked for after the first began
    )


def _review_of(monitor: str) -> str:
    return f"{monitor} review"


def _fires(line: str, monitor: Monitor, after: datetime) -> datetime:
    fires: datetime = CronTrigger.from_crontab(line, timezone=monitor.timezone).get_next_fire_time(
        None, after
    )
    return fires


def _tick(scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor) -> None:
    tick = run_monitor(runtime, monitor, now=runtime.clock(), progress=log.info)
    for evaluation in tick.evaluations:
        log.info("%s %s %s: %s", evaluation.monitor, evaluation.segment, evaluation.window, evaluation.status)
    if tick.error is not None:
        log.error("%s: %s", monitor.name, tick.error)
    pause = _pause(tick)
    if pause is None:
        following = next_tick(monitor, runtime.clock()).astimezone(monitor.timezone)
        log.info("%s: next tick at %s", monitor.name, f"{following:%Y-%m-%d %H:%M %Z}")
    else:
        again = min(runtime.clock() + pause, next_tick(monitor, runtime.clock()))
        log.info("%s: looking again at %s", monitor.name, again)
        with suppress(JobLookupError):  # the scheduler is being shut down
            scheduler.modify_job(monitor.name, next_run_time=again)


def _review(scheduler: BackgroundScheduler, runtime: Runtime, monitor: Monitor) -> None:
    now = runtime.clock()
    try:
        review = review_monitor(runtime, monitor, now=now, progress=log.info)
    except RocmonitorError as error:
        if runtime.stop.is_set():
            log.info("%s", error)
            return
        log.error("review of %s: %s", monitor.name, error)
        if isinstance(error, ExternalError) and error.transient:
            log.info("review of %s: trying again at %s", monitor.name, now + RETRY_AFTER)
            _add_review(scheduler, runtime, monitor, now + RETRY_AFTER)
    else:
        log.info("review of %s: %s", monitor.name, review.decision)


def _pause(tick: Tick) -> timedelta | None:
    """How long to wait before trying again, when that is not left to the schedule."""
    if tick.busy:  # held by another process, or by one that died: its lease ends by then
        return LEASE
    passing = isinstance(tick.error, ExternalError) and tick.error.transient
    return RETRY_AFTER if passing else None


def _tell(runtime: Runtime) -> None:
    done = drain(runtime, progress=log.info)
    for destination, error in (done.refused | done.failed).items():
        log.warning("%s: not delivered yet, kept in the outbox: %s", destination, error)


def _unforeseen(event: JobExecutionEvent) -> None:
    log.error("job %s failed: %s", event.job_id, event.exception)
