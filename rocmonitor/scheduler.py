"""The service: every monitor on its schedule, the outbox in between."""

from __future__ import annotations

import logging
import signal
from datetime import UTC, datetime, timedelta
from types import FrameType

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from rocmonitor.config import Monitor
from rocmonitor.delivery import drain
from rocmonitor.errors import ExternalError
from rocmonitor.runner import LEASE, Desk, run_monitor

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
    scheduler = scheduled(desk)
    scheduler.start()
    log.info("watching %s", ", ".join(desk.config.monitors))
    while not desk.stop.wait(timeout=3600):
        pass
    scheduler.shutdown(wait=True)
    log.info("stopped; what is undone is due at the next start")


def scheduled(desk: Desk) -> BackgroundScheduler:
    """A scheduler, not started, with a job for each monitor and one for the outbox, all due at once."""
    scheduler = BackgroundScheduler(
        timezone=UTC,
        executors={"default": ThreadPoolExecutor(WORKERS), "outbox": ThreadPoolExecutor(1)},
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
        drain,
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
    if tick.busy:
        # Held by another process, or by one that died: look again when its lease has run out.
        scheduler.modify_job(monitor.name, next_run_time=desk.clock() + LEASE)
        log.info("%s is being worked on by another process; looking again in %s", monitor.name, LEASE)
    elif tick.error is not None:
        log.error("%s: %s", monitor.name, tick.error)
        if isinstance(tick.error, ExternalError) and tick.error.transient:
            soon = desk.clock() + RETRY_AFTER
            scheduler.modify_job(monitor.name, next_run_time=min(soon, next_tick(monitor, desk.clock())))
    for evaluation in tick.evaluations:
        log.info("%s %s %s: %s", evaluation.monitor, evaluation.segment, evaluation.window, evaluation.status)


def _unforeseen(event: JobExecutionEvent) -> None:
    log.error("job %s failed: %s", event.job_id, event.exception)
