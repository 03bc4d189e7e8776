"""``rocmonitor serve`` as a process: it catches up, stops on SIGTERM; a SIGKILL loses and doubles nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from mlflow import MlflowClient
from scenario import Clock, World, week

from rocmonitor import store
from rocmonitor.delivery import LONGEST_RETRY, drain
from rocmonitor.desk import LEASE
from rocmonitor.runner import run_monitor
from rocmonitor.scheduler import next_tick, scheduled

LAST = 26
PARTS = {
    "window": "{every: 7d, label_delay: 2d, end: 2026-07-06}",
    "rules": "[{kind: forecast}]",
}


@pytest.fixture
def here(here: World) -> World:
    for number in range(20, LAST):
        here.score(number, shift=0.2 if number % 2 else 1.2)  # an alarm or a recovery at every window
    here.configure(**PARTS)
    return here


@contextmanager
def serving(here: World) -> Iterator[subprocess.Popen[str]]:
    """The service, as systemd would start it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rocmonitor", "serve"], cwd=here.folder, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read the service's log up to a line; fail when it ends before."""
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if re.search(pattern, line):
            return seen
    pytest.fail(f"the service ended without {pattern!r}: {seen}")


def settle(here: World) -> None:
    """A later process finishes what a killed one has left."""
    clock = Clock(datetime.now(UTC) + 2 * LEASE)
    with here.desk(clock, **PARTS) as desk:
        tick = run_monitor(desk, desk.config.monitors["credit"], now=clock.now)
        assert tick.error is None
        assert not tick.busy
        for _ in range(2):
            drain(desk)
            clock.now += LONGEST_RETRY


def assert_all_there_once(here: World) -> None:
    with here.desk(**PARTS) as desk:
        judged = [
            evaluation.window.start
            for evaluation in store.evaluations(desk.store, "credit", every_revision=True)
        ]
        changes = store.transitions(desk.store, "credit")
        waiting = store.outbox_summary(desk.store)
        uri = desk.config.tracking_uri
    assert judged == [week(number) for number in range(20, LAST)]
    assert len(changes) == 5
    assert waiting.waiting == 0
    client = MlflowClient(uri)
    found = client.get_experiment_by_name("rocmonitor/credit")
    assert found is not None
    kinds = Counter(run.data.tags["rocmonitor.kind"] for run in client.search_runs([found.experiment_id]))
    assert kinds == {"window": 6, "series": 1}
    events = re.findall(r"^Event (\w+)", here.alarms, re.MULTILINE)
    assert len(set(events)) == 5


def test_serve_catches_up_and_stops_cleanly_on_sigterm(here):
    with serving(here) as process:
        wait_for(process, r"credit .*2026-06-29.*: degraded")
        process.send_signal(signal.SIGTERM)
        wait_for(process, r"stopped; what is undone is due at the next start")
        assert process.wait(timeout=60) == 0
    settle(here)
    assert_all_there_once(here)
    assert len(re.findall(r"^Event", here.alarms, re.MULTILINE)) == 5  # a clean stop repeats nothing


@pytest.mark.parametrize("moment", [r"2026-06-15 to", r"telling mlflow", r"telling channel"])
def test_a_killed_service_loses_and_doubles_nothing(here, moment):
    with serving(here) as process:
        wait_for(process, moment)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    settle(here)
    assert_all_there_once(here)


def test_every_monitor_has_a_job_that_is_due_at_once(here):
    now = datetime(2026, 7, 1, tzinfo=UTC)
    with here.desk(now, **PARTS) as desk:
        jobs = scheduled(desk, {}).get_jobs()
    assert {job.id: job.next_run_time for job in jobs} == {"credit": now, "outbox": now}


def test_the_schedule_is_in_the_zone_of_the_monitor(here):
    known = here.configure()
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text() + "    timezone: Europe/Berlin\n    schedule: '30 6 * * 1'\n")
    from rocmonitor import config

    monitor = config.load(path).monitors["credit"]
    fires = next_tick(monitor, datetime(2026, 3, 28, tzinfo=UTC))
    assert fires == datetime(2026, 3, 30, 4, 30, tzinfo=UTC)  # Monday, the day after the clocks went forward
    assert next_tick(known.monitors["credit"], fires) - fires < timedelta(days=1)
