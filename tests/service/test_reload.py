"""Reading the configuration again: a wrong file changes nothing, a right one all at once."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from urllib.request import urlopen

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from process import serving, wait_for
from scenario import FIRST, Clock, World, runtime_of, until, week
from servers import free_port

from rocmonitor import config, store
from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.health import Service, service_health
from rocmonitor.service.reload import end_alarms_of_removed
from rocmonitor.service.scheduler import reload, scheduled
from rocmonitor.service.tick import run_monitor

LATER = FIRST + timedelta(hours=1)


@contextmanager
def at_work(here: World, head: str = "") -> Iterator[tuple[Service, BackgroundScheduler, Clock]]:
    """A service whose jobs wait, an hour after its start."""
    here.configure()
    edit(here, "", "", head)
    known, clock = config.load(here.folder / "rocmonitor.yaml"), Clock(FIRST)
    with store.open_store(known.store_url) as kept:
        service = Service.of(runtime_of(known, kept, clock))
        scheduler = scheduled(service.runtime)
        scheduler.start(paused=True)
        clock.now = LATER
        try:
            yield service, scheduler, clock
        finally:
            scheduler.shutdown(wait=False)


def edit(here: World, old: str, new: str, head: str = "") -> None:
    path = here.folder / "rocmonitor.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(head + (text.replace(old, new) if old else text))


def jobs(scheduler: BackgroundScheduler) -> dict[str, object]:
    return {job.id: job.next_run_time for job in scheduler.get_jobs()}


def again(here: World, service: Service, scheduler: BackgroundScheduler) -> None:
    reload(scheduler, service, here.folder / "rocmonitor.yaml")


def test_a_changed_monitor_is_due_at_once_and_the_others_stay(here: World) -> None:
    with at_work(here) as (service, scheduler, _):
        text = (here.folder / "rocmonitor.yaml").read_text()
        second = text[text.index("  credit:") :].replace("  credit:", "  second:")
        edit(here, "", "")
        (here.folder / "rocmonitor.yaml").write_text(text + second)
        again(here, service, scheduler)
        assert jobs(scheduler) == {"credit": FIRST, "keep": FIRST, "outbox": FIRST, "second": LATER}
        edit(here, "value: 0.02", "value: 0.03")
        (here.folder / "rocmonitor.yaml").write_text(
            (here.folder / "rocmonitor.yaml").read_text().replace("  second:", "  third:")
        )
        again(here, service, scheduler)
        assert jobs(scheduler) == {"credit": LATER, "keep": FIRST, "outbox": FIRST, "third": LATER}
        monitor = scheduler.get_job("credit").args[2]
        assert monitor == service.runtime.config.monitors["credit"]
        assert monitor.rules[1].value == 0.03


def test_an_outage_of_the_store_is_not_forgotten(here: World) -> None:
    with at_work(here) as (service, scheduler, _):
        watch = scheduler.get_job("outbox").args[1]
        watch.note(StoreError("disk is full"))
        edit(here, "file://alarms.log", "file://others.log")
        again(here, service, scheduler)
        after = scheduler.get_job("outbox").args[1]
        assert after.outage is not None
        assert after.runtime is service.runtime


def test_every_job_works_with_the_new_sources_and_channels(here: World) -> None:
    with at_work(here) as (service, scheduler, _):
        edit(here, "file://alarms.log", "file://others.log")
        again(here, service, scheduler)
        assert jobs(scheduler) == {"credit": FIRST, "keep": FIRST, "outbox": FIRST}
        assert scheduler.get_job("outbox").args[0].runtime == service.runtime
        assert scheduler.get_job("credit").args[1] is service.runtime
        assert service.runtime.config.channels["log"].url == "file://others.log"
        edit(here, "timezone: UTC", "timezone: UTC, timeout: 5s")
        again(here, service, scheduler)
        assert jobs(scheduler)["credit"] == LATER


def test_a_review_comes_and_goes_with_its_schedule(here: World) -> None:
    with at_work(here) as (service, scheduler, _):
        path = here.folder / "rocmonitor.yaml"
        plain = path.read_text()
        path.write_text(f"{plain}    review: {{schedule: '0 7 * * 1'}}\n")
        again(here, service, scheduler)
        assert jobs(scheduler)["credit review"] == LATER
        path.write_text(plain)
        again(here, service, scheduler)
        assert set(jobs(scheduler)) == {"credit", "keep", "outbox"}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("every: 7d", "every: 7x", "window.every: must be a whole number"),
        ("notify: [log]", "notify: [nobody]", "'nobody' is not defined under channels"),
        (
            "url_env: SCENARIO_SOURCE_URL",
            "url_env: UNSET_URL",
            "sources.here.url_env: .*UNSET_URL is not set",
        ),
        ("mlflow: {}", "mlflow: {tracking_uri_env: UNSET_URI}", "UNSET_URI is not set"),
        (
            "sources:",
            "heartbeat: {url_file: gone}\nsources:",
            "heartbeat.url_file: cannot read the file named there",
        ),
        ("sources:", "store: {url: 'sqlite:///another.db'}\nsources:", "store: changes only at a start"),
        ("sources:", "listen: 127.0.0.1:1\nsources:", "listen: changes only at a start"),
        ("sources:", "webhook: {secret_file: rocmonitor.yaml}\nsources:", "webhook.listen: changes only at"),
        ("monitors:", "monitors: [", "is not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_changes_nothing_and_health_says_why(
    here: World, old: str, new: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with at_work(here) as (service, scheduler, _):
        before, known = jobs(scheduler), service.runtime
        edit(here, "value: 0.02", "value: 0.03")  # what is right in it does not count either
        edit(here, old, new)
        again(here, service, scheduler)
        assert service.runtime is known
        assert jobs(scheduler) == before
        said = service_health(service).to_dict()["configuration"]
        assert said["loaded_at"] == "2026-01-05T00:00:00Z"
        assert re.search(why, said["refused"])
        assert re.search(why, caplog.text)
        here.configure()
        again(here, service, scheduler)
        assert service_health(service).to_dict()["configuration"] == {
            "loaded_at": "2026-01-05T01:00:00Z",
            "refused": None,
        }


@pytest.mark.slow
def test_sighup_reads_the_configuration_and_a_wrong_one_leaves_the_service_alone(here: World) -> None:
    here.score(20)
    here.configure(window=until("2026-06-01"))
    port = free_port()
    edit(here, "", "", f"listen: 127.0.0.1:{port}\n")
    with serving(here) as process:
        wait_for(process, "credit: next check at")
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            assert answer.status == 200
        edit(here, "name: credit,", "name: other-name,")
        process.send_signal(signal.SIGHUP)
        wait_for(process, "the configuration was read again: changed credit")
        wait_for(process, "credit: next check at")
        edit(here, "every: 7d", "every: often")
        process.send_signal(signal.SIGHUP)
        wait_for(process, "the configuration was not read again, the one in use stays: .*window.every")
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            assert b"window.every: must be a whole number" in answer.read()
        process.send_signal(signal.SIGTERM)
        wait_for(process, "stopped; what is undone is due at the next start")
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("restarted", [False, True])
def test_the_open_alarm_of_a_monitor_that_is_renamed_ends_with_a_word(here: World, restarted: bool) -> None:
    """Once, through the channels that the monitor had; a restart, which does not know them, tells all."""
    with at_work(here) as (service, scheduler, clock):
        here.score(20, shift=0.0)
        clock.now = week(21) + timedelta(days=3)
        run_monitor(service.runtime, service.runtime.config.monitors["credit"], now=clock.now)
        edit(here, "  credit:", "  credit-renamed:")
        if restarted:
            new = replace(service.runtime, config=config.load(here.folder / "rocmonitor.yaml"))
            end_alarms_of_removed(new)
            service.runtime = new
        else:
            again(here, service, scheduler)
        end_alarms_of_removed(service.runtime)  # nothing is told twice
        drain(service.runtime)
        assert here.alarms.count("No longer watched") == 1
        assert "its alarm (degraded) ends with it" in here.alarms
        last = store.last_transition(service.runtime.store, "credit", "")
        assert last is not None
        assert (last.after, last.notified) == (Status.INSUFFICIENT, True)
