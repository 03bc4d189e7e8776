"""``rocmonitor serve`` as a process: it catches up, stops on SIGTERM; a SIGKILL loses and doubles nothing."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from mlflow import MlflowClient
from process import serving, wait_for
from scenario import Clock, World, runtime_of, week
from sqlalchemy import update

from rocmonitor import config, store
from rocmonitor.config import Config
from rocmonitor.errors import InputError
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.outages import FIRST_PAUSE
from rocmonitor.policy.review.document import Decision
from rocmonitor.service import scheduler
from rocmonitor.service.delivery import LONGEST_RETRY, drain
from rocmonitor.service.jobs import all_workers
from rocmonitor.service.leases import LEASE, hold_lease
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import Runtime, leave
from rocmonitor.service.scheduler import next_review, request_review, scheduled
from rocmonitor.service.tick import run_monitor
from rocmonitor.store.tables import lease

LAST = 24  # each window more is told to MLflow, which takes seconds
PARTS = {
    "window": "{every: 7d, label_delay: 2d, end: 2026-06-22}",
    "rules": "[{kind: forecast}]",
}
TWO_WEEKS = "{every: 7d, label_delay: 2d, end: 2026-06-08}"


@pytest.fixture
def here(here: World) -> World:
    for number in range(20, LAST):
        here.score(number, shift=0.2 if number % 2 else 1.2)  # an alarm or a recovery at every window
    here.configure(**PARTS)
    return here


def settle(here: World) -> None:
    """A later process finishes what a killed one has left."""
    clock = Clock(datetime.now(UTC) + 2 * LEASE)
    with here.runtime(clock, **PARTS) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        assert tick.error is None
        assert not tick.busy
        for _ in range(2):
            drain(runtime)
            clock.now += LONGEST_RETRY


def assert_all_there_once(here: World) -> None:
    with here.runtime(**PARTS) as runtime:
        judged = [
            evaluation.window.start
            for evaluation in store.evaluations(runtime.store, "credit", every_revision=True)
        ]
        changes = store.transitions(runtime.store, "credit")
        waiting = store.outbox_summary(runtime.store)
        uri = runtime.config.tracking_uri
    assert judged == [week(number) for number in range(20, LAST)]
    assert len(changes) == LAST - 21
    assert waiting.waiting == 0
    client = MlflowClient(uri)
    found = client.get_experiment_by_name("rocmonitor/credit")
    assert found is not None
    kinds = Counter(run.data.tags["rocmonitor.kind"] for run in client.search_runs([found.experiment_id]))
    assert kinds == {"window": LAST - 20, "series": 1}
    events = re.findall(r"\(event (\w+)\)", here.alarms)
    assert len(set(events)) == LAST - 21


@pytest.mark.slow
def test_serve_catches_up_and_stops_cleanly_on_sigterm(here):
    with serving(here) as process:
        wait_for(process, r"credit .*2026-06-15.*: degraded")
        process.send_signal(signal.SIGTERM)
        wait_for(process, r"stopped; what is undone is due at the next start")
        assert process.wait(timeout=60) == 0
    settle(here)
    assert_all_there_once(here)
    assert len(re.findall(r"\(event ", here.alarms)) == LAST - 21  # a clean stop repeats nothing


@pytest.mark.parametrize("moment", [r"2026-06-08 to", r"to mlflow \(", r"to channel:"])
@pytest.mark.slow
def test_a_killed_service_loses_and_doubles_nothing(here, moment):
    with serving(here) as process:
        wait_for(process, moment)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    settle(here)
    assert_all_there_once(here)


def test_every_monitor_has_a_job_that_is_due_at_once(here):
    now = datetime(2026, 7, 1, tzinfo=UTC)
    with here.runtime(now, **PARTS) as runtime:
        jobs = scheduled(runtime).get_jobs()
    assert {job.id: job.next_run_time for job in jobs} == dict.fromkeys(("credit", "outbox", "keep"), now)


def test_the_schedule_is_in_the_zone_of_the_monitor(here):
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text() + "    timezone: Europe/Berlin\n    schedule: '30 6 * * 1'\n")
    known = config.load(path)
    monitor = known.monitors["credit"]
    fires = next_fire(monitor.schedule, monitor.timezone, datetime(2026, 3, 28, tzinfo=UTC))
    assert fires == datetime(2026, 3, 30, 4, 30, tzinfo=UTC)  # Monday, the day after the clocks went forward
    with here.runtime(fires) as runtime:
        trigger = scheduled(replace(runtime, config=known)).get_job("credit").trigger
    # Times that have passed are one.
    assert trigger.get_next_fire_time(fires - timedelta(weeks=3), fires) == fires + timedelta(weeks=1)


def test_a_tick_says_when_the_next_one_is(here, caplog):
    caplog.set_level(logging.INFO, "rocmonitor")
    with at_work(here, Clock(datetime(2026, 5, 30, 12, tzinfo=UTC)), "{n_resamples: 99}") as (runtime, made):
        scheduler._tick(made, runtime, runtime.config.monitors["credit"])
    assert "credit: next check at 2026-05-31 06:00 UTC" in caplog.text


def test_the_end_of_a_tick_is_recorded_and_logged_with_its_duration(here, caplog):
    caplog.set_level(logging.INFO, "rocmonitor")
    now = datetime(2026, 6, 3, 12, tzinfo=UTC)
    with at_work(here, Clock(now), "{n_resamples: 99}") as (runtime, made):
        monitor = runtime.config.monitors["credit"]
        scheduler._tick(made, runtime, monitor)
        [last] = store.ticks(runtime.store).values()
        assert (last.monitor, last.started_at, last.error, last.windows) == ("credit", now, None, 1)
        assert last.next_due == next_fire(monitor.schedule, monitor.timezone, now)
        [judged] = [record for record in caplog.records if hasattr(record, "window")]
        assert (judged.monitor, judged.segment) == ("credit", "")
        assert judged.window == "2026-05-25T00:00Z/2026-06-01T00:00Z"
        assert 0 < judged.duration_seconds <= last.seconds
        with hold_lease(runtime, "monitor:credit"):  # whoever is at work records it
            scheduler._tick(made, runtime, monitor)
        assert store.ticks(runtime.store)["credit"].ticks_total == 1
        (here.folder / "source.db").unlink()
        scheduler._tick(made, runtime, monitor)
        failed = store.ticks(runtime.store)["credit"]
        assert (failed.ticks_total, failed.failures_total, failed.windows_total) == (2, 1, 1)
        assert failed.error is not None
        assert now < failed.next_due <= next_fire(monitor.schedule, monitor.timezone, now)


def reviewing(
    here: World, section: str = "{schedule: '0 7 * * 1', n_resamples: 99}", **changes: str
) -> Config:
    """The configuration with a section `review`."""
    here.configure(**{**PARTS, **changes})
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"{path.read_text()}    review: {section}\n")
    return config.load(path)


@contextmanager
def at_work(here: World, clock: Clock, section: str) -> Iterator[tuple[Runtime, BackgroundScheduler]]:
    """A runtime, and a scheduler that has taken its jobs and waits."""
    known = reviewing(here, section)
    with store.open_store(known.store_url) as kept:
        runtime = Runtime(
            config=known, store=kept, clock=clock, elapsed=lambda: clock().timestamp(), boot="a scenario"
        )
        made = scheduled(runtime)
        made.start(paused=True)
        yield runtime, made
        workers = all_workers(made)
        made.shutdown(wait=False)
        leave(runtime, workers)


@pytest.mark.slow
def test_a_review_has_a_job_of_its_own_where_it_has_a_schedule(here):
    clock = Clock(datetime(2026, 7, 10, tzinfo=UTC))  # a Friday
    with at_work(here, clock, "{schedule: '0 7 * * 1', n_resamples: 99}") as (runtime, made):
        assert {job.id for job in made.get_jobs()} == {"credit", "credit review", "outbox", "keep"}
        monitor = runtime.config.monitors["credit"]
        assert next_review(runtime, monitor) == clock.now  # none yet
        review_monitor(runtime, monitor, now=clock.now, start=week(20), end=week(22))
        assert next_review(runtime, monitor) == clock.now  # chosen by hand, so still none
        review_monitor(runtime, monitor, now=clock.now)
        monday = datetime(2026, 7, 13, 7, tzinfo=UTC)
        assert next_review(runtime, monitor) == monday
        clock.now = monday + timedelta(days=3)
        assert next_review(runtime, monitor) == clock.now  # one was missed
    with at_work(here, clock, "{n_resamples: 99}") as (_, made):
        assert {job.id for job in made.get_jobs()} == {"credit", "outbox", "keep"}


@pytest.mark.parametrize("section", ["{schedule: '0 7 * * 1'}", "{}"])
def test_a_review_can_be_asked_for_sooner(here, section):
    clock = Clock(datetime(2026, 7, 10, tzinfo=UTC))
    with at_work(here, clock, section) as (runtime, made):
        clock.now += timedelta(hours=1)
        assert request_review(made, runtime, "credit")
        assert request_review(made, runtime, "credit")
        assert made.get_job("credit review").next_run_time == clock.now
        assert not request_review(made, runtime, "nobody")


@pytest.mark.parametrize("section", ["{schedule: '0 7 * * 1'}", "{}"])
def test_a_review_that_is_asked_for_during_another_is_done_after_it(here, monkeypatch, section):
    begun, may_end = threading.Semaphore(0), threading.Event()

    def slow(*_: object, **__: object) -> None:
        begun.release()
        may_end.wait(60)
        raise InputError("which is not tried again")

    monkeypatch.setattr(scheduler, "review_monitor", slow)
    with at_work(here, Clock(datetime.now(UTC)), section) as (runtime, made):
        for other in ("credit", "outbox"):
            made.remove_job(other)
        request_review(made, runtime, "credit")
        made.resume()
        assert begun.acquire(timeout=60)
        request_review(made, runtime, "credit")
        may_end.set()
        assert begun.acquire(timeout=60)


@pytest.mark.parametrize("section", ["{schedule: '0 7 * * 1', n_resamples: 99}", "{n_resamples: 99}"])
def test_a_review_that_fails_for_now_is_tried_again(here, section, caplog):
    clock = Clock(datetime(2026, 7, 10, tzinfo=UTC))
    with at_work(here, clock, section) as (runtime, made):
        monitor = runtime.config.monitors["credit"]
        with hold_lease(runtime, "review:credit"):
            scheduler._review(made, runtime, monitor)
        assert made.get_job("credit review").next_run_time == clock.now + FIRST_PAUSE
        assert "another rocmonitor process is reviewing credit" in caplog.text
        scheduler._review(made, runtime, monitor)
        assert len(store.reviews(runtime.store, "credit")) == 1


def test_a_review_that_cannot_be_waits_for_its_schedule(here, caplog):
    clock = Clock(week(20))  # no window yet
    with at_work(here, clock, "{schedule: '0 7 * * 1'}") as (runtime, made):
        before = made.get_job("credit review").next_run_time
        scheduler._review(made, runtime, runtime.config.monitors["credit"])
        assert made.get_job("credit review").next_run_time == before
        assert "no window from 2026-05-25 00:00" in caplog.text


def let_leases_end(known: Config) -> None:
    """Those of a killed process, which would be waited for."""
    with store.open_store(known.store_url) as kept, kept.writing() as connection:
        connection.execute(update(lease).values(expires_at=week(0)))


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)


@pytest.mark.slow
def test_a_killed_review_is_begun_anew_and_kept_once(here):
    known = reviewing(here, window=TWO_WEEKS)  # each is told to MLflow too, which takes seconds
    with serving(here) as process:
        wait_for(process, r"credit review: reference .*\(1 of 20\)")
        kill(process)
    with store.open_store(known.store_url) as kept:
        assert store.reviews(kept, "credit") == []
    let_leases_end(known)
    with serving(here) as process:  # the missed review is due at once
        wait_for(process, r"review of credit: (challenger|champion|trade|no decision)")
        kill(process)  # whatever has been told of it by now
    let_leases_end(known)
    clock = Clock(datetime.now(UTC) + 2 * LEASE)
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, clock)
        [found] = store.reviews(kept, "credit")
        assert review_monitor(runtime, known.monitors["credit"], now=clock.now) == found
        for _ in range(3):
            drain(runtime)
            clock.now += LONGEST_RETRY
        assert store.outbox_summary(kept).waiting == 0
    client = MlflowClient(known.tracking_uri)
    experiment = client.get_experiment_by_name("rocmonitor/credit")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "tags.`rocmonitor.kind` = 'review'")
    assert len(runs) == 1
    events = re.findall(r"^REVIEW credit: .*", here.alarms, re.MULTILINE)
    assert len(set(events)) == (found.decision is not Decision.UNDECIDED)


@pytest.mark.slow
def test_serve_reviews_by_itself(here):
    reviewing(here, window=TWO_WEEKS)
    with serving(here) as process:
        wait_for(process, r"review of credit: (challenger|champion|trade|no decision)")
        process.send_signal(signal.SIGTERM)
        wait_for(process, r"stopped; what is undone is due at the next start")
        assert process.wait(timeout=60) == 0
    with here.runtime(**PARTS) as runtime:
        [review] = store.reviews(runtime.store, "credit")
    assert review.registered
