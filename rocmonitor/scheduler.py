"""The service: every monitor on its schedule, the outbox in between."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import FrameType

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import BasePoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from rocmonitor.config import Monitor
from rocmonitor.delivery import drain
from rocmonitor.desk import LEASE, Desk
from rocmonitor.errors import ExternalError
from rocmonitor.runner import Tick, run_monitor

log = logging.getLogger(__name__)

OUTBOX_EVERY = timedelta(seconds=10)
RETRY_AFTER = timedelta(minutes=10)
"""After a failure that may pass by itself the next attempt does not wait for the schedule."""

WORKERS = 4
"""Monitors judged at the same time; numpy and the databases do their work outside Python's lock."""


def serve(desk: Desk) -> None:
    """Run until SIGTERM or SIGINT, then finish the window at hand and return.

    Jobs live in memory and are made from the configuration: a job means "all windows that are due", so what
    fell due while nothing ran is done at the start, and there is nothing to migrate, to pickle or to miss.
    """

    def stop(number: int, _: FrameType | None) -> None:
        log.info("%s: finishing the window at hand", signal.Signals(number).name)
        desk.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    pools = {"default": ThreadPoolExecutor(WORKERS), "outbox": ThreadPoolExecutor(1)}
    scheduler = scheduled(desk, pools)
    scheduler.start()
    log.info("watching %s", ", ".join(desk.config.monitors))
    while not desk.stop.wait(timeout=1):  # a signal just before an endless wait would not be noticed
        pass
    # APScheduler's own waiting holds a lock that a job needs to change its next time: the pools are ours.
    scheduler.shutdown(wait=False)
    for pool in pools.values():
        pool.shutdown(wait=True)
    log.info("stopped; what is undone is due at the next start")


class _Pool(BasePoolExecutor):  # type: ignore[misc]  # APScheduler has no types
    """Lets APScheduler use a pool that is ours to close."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        super().__init__(pool)


def scheduled(desk: Desk, pools: Mapping[str, ThreadPoolExecutor]) -> BackgroundScheduler:
    """A scheduler, not started, with a job for each monitor and one for the outbox, all due at once."""
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={name: _Pool(pool) for name, pool in pools.items()},
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    )
    scheduler.add_listener(_unforeseen, EVENT_JOB_ERROR)
    for monitor in desk.config.monitors.values():
        scheduler.add_job(
            _tick,
            CronTrigger.from_crontab(monitor.schedule, timezone=monitor.timezone),
            args=(scheduler, desk, monitor),
            id=monitor.name,
            next_run_time=desk.clock(),
        )
    scheduler.add_job(
        _tell,
        IntervalTrigger(seconds=int(OUTBOX_EVERY.total_seconds()), timezone=UTC),
        args=(desk,),
        id="outbox",
        executor="outbox",
        next_run_time=desk.clock(),
    )
    return scheduler


def next_tick(monitor: Monitor, now: datetime) -> datetime:
    """When the schedule of a monitor fires next."""
    fires: datetime = CronTrigger.from_crontab(
        monitor.schedule, timezone=monitor.timezone
    ).get_next_fire_time(None, now)
    return fires


def _tick(scheduler: BackgroundScheduler, desk: Desk, monitor: Monitor) -> None:
    tick = run_monitor(desk, monitor, now=desk.clock(), progress=log.info)
    for evaluation in tick.evaluations:
        log.info("%s %s %s: %s", evaluation.monitor, evaluation.segment, evaluation.window, evaluation.status)
    if tick.error is not None:
        log.error("%s: %s", monitor.name, tick.error)
    pause = _pause(tick)
    if pause is not None:
        again = min(desk.clock() + pause, next_tick(monitor, desk.clock()))
        log.info("%s: looking again at %s", monitor.name, again)
        with suppress(JobLookupError):  # the scheduler is being shut down
            scheduler.modify_job(monitor.name, next_run_time=again)


def _pause(tick: Tick) -> timedelta | None:
    """How long to wait before trying again, when that is not left to the schedule."""
    if tick.busy:  # held by another process, or by one that died: its lease ends by then
        return LEASE
    passing = isinstance(tick.error, ExternalError) and tick.error.transient
    return RETRY_AFTER if passing else None


def _tell(desk: Desk) -> None:
    done = drain(desk, progress=log.info)
    for destination, error in (done.refused | done.failed).items():
        log.warning("%s: not delivered yet, kept in the outbox: %s", destination, error)


def _unforeseen(event: JobExecutionEvent) -> None:
    log.error("job %s failed: %s", event.job_id, event.exception)
