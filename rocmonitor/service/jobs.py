"""Workers for the scheduler's jobs, and jobs that start again before their schedule says so."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.outages import retry_pause
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.workers import Workers

log = logging.getLogger(__name__)

WORKERS = 4
"""Least number of monitors of a source that are judged at the same time: databases work meanwhile."""

OUTBOX, REVIEWS = "outbox", "reviews"
SOURCE = "source "
_JUMP = timedelta(seconds=30)
"""A clock that differs by more, from one second to the next, was set."""


class Pool(BaseExecutor):  # type: ignore[misc]  # APScheduler has no types
    """An executor for APScheduler that uses our workers; a job that hangs may start again."""

    def __init__(self, workers: Workers, runtime: Runtime) -> None:
        super().__init__()
        self.workers, self._runtime = workers, runtime

    def _do_submit_job(self, job: Job, run_times: Sequence[datetime]) -> None:
        self.workers.submit(
            job.id,
            partial(run_job, job, job._jobstore_alias, run_times, self._logger.name),
            partial(self._run_job_success, job.id),
            partial(self._given_up, job),
        )

    def _given_up(self, job: Job) -> None:
        self._run_job_success(job.id, [])
        start_again(self._scheduler, self._runtime, job.id, transient=True)


def all_workers(scheduler: BackgroundScheduler) -> list[Workers]:
    """Return the workers of all sources, of the outbox and of the reviews."""
    return [pool.workers for pool in list(scheduler._executors.values()) if isinstance(pool, Pool)]


def judging(scheduler: BackgroundScheduler) -> bool:
    """Return True while monitors are judged, or wait to be."""
    pools = list(scheduler._executors.items())
    return any(
        name.startswith(SOURCE) and not pool.workers.idle() for name, pool in pools if isinstance(pool, Pool)
    )


class Crontab(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """A trigger for APScheduler that fires as cron does."""

    def __init__(self, line: str, zone: ZoneInfo) -> None:
        self._line, self._zone = line, zone

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:  # noqa: ARG002
        """Return the next time to fire; times that have passed are one."""
        return next_fire(self._line, self._zone, now)


class ClockJumps:
    """A comparison of the clock with one that nobody sets."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._offset = self._now()

    def _now(self) -> float:
        return self._runtime.clock().timestamp() - self._runtime.elapsed()

    def seen(self) -> bool:
        """Return True if the clock was set since the last look."""
        jump, self._offset = self._now() - self._offset, self._now()
        if abs(jump) < _JUMP.total_seconds():
            return False
        log.warning(
            "the clock was set %s by %s: all monitors are looked at now",
            "forward" if jump > 0 else "back",
            timedelta(seconds=round(abs(jump))),
        )
        return True


def start_again(scheduler: BackgroundScheduler, runtime: Runtime, name: str, *, transient: bool) -> datetime:
    """Start a job again that has failed, after a pause that grows."""
    runtime.failures[name] += 1
    return start_at(scheduler, runtime, name, retry_pause(runtime.failures[name], transient=transient))


def start_at(scheduler: BackgroundScheduler, runtime: Runtime, name: str, pause: timedelta) -> datetime:
    """Start a job after a pause, if its schedule does not come sooner."""
    again, monitor = runtime.clock() + pause, runtime.config.monitors.get(name)
    if monitor is not None:
        again = min(again, next_fire(monitor.schedule, monitor.timezone, runtime.clock()))
    log.info("%s: looking again at %s", name, f"{again:%Y-%m-%d %H:%M:%S %Z}")
    with suppress(JobLookupError):  # the scheduler is being shut down
        scheduler.modify_job(name, next_run_time=again)
    return again
