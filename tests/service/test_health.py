"""What the health says of ticks, deliveries, hung work and clocks; the clock is a controlled one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from scenario import FIRST, Clock, World, runtime_of
from sqlalchemy import insert, text

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.policy.crontab import next_fire
from rocmonitor.service import health
from rocmonitor.service.delivery import Deliveries
from rocmonitor.service.health import (
    OVERDUE,
    OVERDUE_BUSY,
    STUCK,
    Asking,
    Service,
    service_health,
    store_health,
)
from rocmonitor.service.outages import StoreWatch
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.scheduler import _deliver
from rocmonitor.service.tick import Tick
from rocmonitor.service.tick.outcome import save_last
from rocmonitor.service.workers.threads import HUNG_AFTER, AtWork
from rocmonitor.store import migrate, tables
from rocmonitor.wording.caveats import words_of


@dataclass
class Seconds:
    """A clock that nobody sets, but the test."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(FIRST)


@pytest.fixture
def runtime(here: World, clock: Clock) -> Iterator[Runtime]:
    with here.runtime(clock) as runtime:
        yield runtime


@pytest.fixture
def service(runtime: Runtime) -> Service:
    return Service.of(runtime)


def ticked(runtime: Runtime, *, due: timedelta, error: str | None = None) -> None:
    now = runtime.clock()
    store.save_tick(
        runtime.store,
        "credit",
        started_at=now,
        ended_at=now,
        seconds=1.5,
        windows=2,
        error=error,
        next_due=now + due,
    )


def codes(service: Service) -> list[str]:
    return [problem.code for problem in service_health(service).problems]


def test_a_service_that_has_just_started_is_healthy_for_a_while(service: Service, clock: Clock) -> None:
    assert codes(service) == []
    clock.now = FIRST + OVERDUE
    assert codes(service) == []
    clock.now += SECOND
    assert codes(service) == ["never-ticked"]


def test_a_tick_that_does_not_end_in_time_is_a_problem(service: Service, clock: Clock) -> None:
    ticked(service.runtime, due=60 * MINUTE)
    clock.now = FIRST + 60 * MINUTE + OVERDUE
    assert codes(service) == []
    clock.now += SECOND
    assert codes(service) == ["tick-overdue"]
    assert not service_health(service).alive
    lease = store.acquire(service.runtime.store, "monitor:credit", "another", clock.now, MINUTE)
    assert codes(service) == []  # it is at work
    assert lease is not None
    store.release(service.runtime.store, lease)
    store.acquire(service.runtime.store, "monitor:other", "another", clock.now, 24 * 60 * MINUTE)
    assert codes(service) == []  # it waits for its turn
    clock.now = FIRST + 60 * MINUTE + OVERDUE_BUSY + SECOND
    assert codes(service) == ["tick-overdue"]


def test_what_fell_due_while_nothing_ran_is_counted_from_the_start(runtime: Runtime, clock: Clock) -> None:
    ticked(runtime, due=60 * MINUTE)
    clock.now = FIRST + timedelta(days=40)
    assert [each.code for each in store_health(runtime.store, runtime.config, clock.now).problems] == [
        "tick-overdue"
    ]
    service = Service.of(runtime)
    assert codes(service) == []
    clock.now += OVERDUE + SECOND
    assert codes(service) == ["tick-overdue"]


def test_a_run_from_outside_is_expected_when_the_schedule_says_so(service: Service, clock: Clock) -> None:
    runtime = service.runtime
    save_last(runtime, Tick(monitor="credit"), started_at=clock.now, seconds=1.0)
    monitor = runtime.config.monitors["credit"]
    clock.now = next_fire(monitor.schedule, monitor.timezone, FIRST) + OVERDUE
    assert codes(service) == []
    clock.now += SECOND
    assert codes(service) == ["tick-overdue"]


def test_a_failed_tick_is_shown_and_no_problem_of_the_service(service: Service) -> None:
    ticked(service.runtime, due=MINUTE, error="the source is down")
    found = service_health(service)
    assert found.healthy
    [(name, shown)] = found.to_dict()["monitors"].items()
    assert name == "credit"
    assert shown["last_tick"] == {
        "started_at": "2026-01-05T00:00:00Z",
        "ended_at": "2026-01-05T00:00:00Z",
        "seconds": 1.5,
        "outcome": "error",
        "error": "the source is down",
        "windows": 2,
        "next_due": "2026-01-05T00:01:00Z",
    }


def test_work_without_a_step_hangs(here: World, clock: Clock) -> None:
    seconds = Seconds()
    with here.runtime(clock) as made:
        service = Service.of(replace(made, work=AtWork(seconds)))
        with service.runtime.work.on("monitor:credit"):
            seconds.now = HUNG_AFTER.total_seconds()
            assert codes(service) == []
            seconds.now += 1
            [problem] = service_health(service).problems
            assert (problem.code, problem.values["minutes"]) == ("work-hung", 10)
            assert "without progress for 10 minutes; restart the service" in words_of(problem)
            assert not service_health(service).alive
            service.runtime.work.beat()
            assert codes(service) == []


@pytest.mark.parametrize(
    ("destination", "patience"), [("channel:log", timedelta(minutes=5)), ("mlflow", STUCK)]
)
def test_a_delivery_that_waits_is_a_problem_that_no_restart_mends(
    service: Service, clock: Clock, destination: str, patience: timedelta
) -> None:
    with service.runtime.store.writing() as connection:
        connection.execute(
            insert(tables.outbox).values(
                monitor="credit",
                destination=destination,
                payload={},
                state="pending",
                attempts=7,
                created_at=FIRST,
                next_attempt_at=FIRST,
                error="no answer",
            )
        )
    ticked(service.runtime, due=24 * 60 * MINUTE)
    clock.now = FIRST + patience
    assert codes(service) == []
    clock.now += SECOND
    found = service_health(service)
    assert [words_of(problem) for problem in found.problems] == [
        f"{destination}: 1 delivery undelivered since 2026-01-05T00:00:00Z: no answer"
    ]
    assert found.alive
    assert found.to_dict()["outbox"][destination]["oldest_seconds"] == patience.total_seconds() + 1


def test_another_schema_is_a_problem(service: Service) -> None:
    with service.runtime.store.writing() as connection:
        connection.execute(text("UPDATE rocmonitor_alembic_version SET version_num = '9999'"))
    [problem] = service_health(service).problems
    assert (problem.code, problem.values["found"]) == ("schema-differs", "9999")


@pytest.fixture
def on_postgres(here: World, clock: Clock, postgres_url: str) -> Iterator[Service]:
    """A service on a PostgreSQL store, its clock that of the database."""
    migrate.upgrade(postgres_url)
    with here.runtime(clock) as runtime, store.open_store(postgres_url) as kept:
        real = store.database_time(kept)
        assert real is not None
        clock.now = real
        yield Service.of(runtime_of(runtime.config, kept, clock))


def test_the_clocks_of_process_and_database_are_compared(on_postgres: Service, clock: Clock) -> None:
    assert codes(on_postgres) == []
    clock.now = on_postgres.started_at = clock.now + timedelta(days=40)
    found = service_health(on_postgres)
    assert [problem.code for problem in found.problems] == ["clock-differs"]
    assert found.to_dict()["clock"]["offset_seconds"] == pytest.approx(40 * 86_400, abs=60)
    assert "ahead of that of the store" in words_of(found.problems[0])


def test_a_store_that_hangs_keeps_one_thread(on_postgres: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "STORE_SECONDS", 0.1)
    threads = []
    with on_postgres.runtime.store.writing() as connection:
        connection.execute(text("LOCK TABLE rocmonitor_tick"))
        for _ in range(3):
            [problem] = service_health(on_postgres).problems
            assert problem.code == "store-unreachable"
            threads.append(threading.active_count())
        assert threads[2] <= threads[0]
        assert "earlier question" in words_of(problem)
    monkeypatch.undo()
    [thread] = [each for each in threading.enumerate() if each.name == "health"]
    thread.join(30)
    assert codes(on_postgres) == []


def test_a_store_that_fails_is_a_problem(service: Service) -> None:
    with service.runtime.store.writing() as connection:
        connection.execute(text("DROP TABLE rocmonitor_tick"))
    found = service_health(service)
    assert [problem.code for problem in found.problems] == ["store-unreachable"]
    assert found.alive
    assert found.to_dict()["monitors"] == {"credit": None}


FULL = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"


def test_a_store_that_can_be_read_and_not_written_is_a_problem(service: Service) -> None:
    """As on a full disk, or while another program holds a lock."""
    kept = service.runtime.store
    deliveries, watch = Deliveries(service.runtime), StoreWatch(service.runtime)
    with kept.writing() as connection:
        for kind in ("INSERT", "UPDATE"):
            connection.execute(text(f"CREATE TRIGGER no_{kind} BEFORE {kind} ON rocmonitor_lease {FULL}"))
    _deliver(deliveries, watch)
    found = service_health(service)
    assert [problem.code for problem in found.problems] == ["store-unwritable"]
    assert "database or disk is full" in words_of(found.problems[0])
    assert found.alive  # a restart would mend nothing
    with kept.writing() as connection:
        for kind in ("INSERT", "UPDATE"):
            connection.execute(text(f"DROP TRIGGER no_{kind}"))
    _deliver(deliveries, watch)
    assert codes(service) == []


def test_a_store_whose_file_is_gone_is_a_problem(service: Service, here: World) -> None:
    deliveries, watch = Deliveries(service.runtime), StoreWatch(service.runtime)
    file = here.folder / "rocmonitor.db"
    file.rename(here.folder / "moved.db")
    _deliver(deliveries, watch)
    [problem] = service_health(service).problems
    assert problem.code == "store-unwritable"
    assert "rocmonitor.db: the file is gone; put it back" in words_of(problem)
    (here.folder / "moved.db").rename(file)
    _deliver(deliveries, watch)
    assert codes(service) == []


def test_an_error_of_the_question_is_raised() -> None:
    def fail() -> None:
        raise StoreError("gone")

    with pytest.raises(StoreError, match="gone"):
        Asking().within(10, fail)
    assert Asking().within(10, lambda: 7) == 7


def test_all_of_it_is_plain_json(service: Service) -> None:
    ticked(service.runtime, due=MINUTE)
    with service.runtime.work.on("monitor:credit"):
        said = json.loads(json.dumps(service_health(service).to_dict(), allow_nan=False))
    assert said["status"] == "ok"
    assert said["schema"] == migrate.NEWEST
    assert [(work["name"], work["hung"]) for work in said["work"]] == [("monitor:credit", False)]
    assert said["configuration"] == {"loaded_at": "2026-01-05T00:00:00Z", "refused": None}
