"""The last tick of each monitor, and what the store says of the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert
from store.examples import NOW, runs_out

from rocmonitor.policy.evaluation import Status
from rocmonitor.store import (
    LastTick,
    Store,
    acquire,
    backlog,
    database_time,
    glance,
    migrate,
    release,
    save_tick,
    tables,
    ticks,
)

MINUTE = timedelta(minutes=1)


def test_the_last_tick_replaces_the_one_before_and_the_totals_grow(store: Store) -> None:
    assert ticks(store) == {}
    for number, error in enumerate((None, "no answer", None)):
        at = NOW + number * MINUTE
        save_tick(
            store,
            "credit",
            started_at=at,
            ended_at=at + MINUTE / 2,
            seconds=30.0,
            windows=number,
            error=error,
            next_due=at + MINUTE,
        )
    last = NOW + 2 * MINUTE
    assert ticks(store) == {
        "credit": LastTick(
            monitor="credit",
            started_at=last,
            ended_at=last + MINUTE / 2,
            seconds=30.0,
            windows=2,
            error=None,
            next_due=last + MINUTE,
            ticks_total=3,
            failures_total=1,
            windows_total=3,
            seconds_total=90.0,
        )
    }


def test_what_waits_is_counted_by_destination(store: Store) -> None:
    row = {"monitor": "credit", "payload": {}, "attempts": 0, "next_attempt_at": NOW}
    with store.writing() as connection:
        for age, destination, state in (
            (9, "mlflow", "delivered"),
            (5, "mlflow", "pending"),
            (3, "channel:ops", "refused"),
            (1, "mlflow", "refused"),
        ):
            connection.execute(
                insert(tables.outbox).values(
                    **row,
                    destination=destination,
                    state=state,
                    created_at=NOW - age * MINUTE,
                    error="down" if age == 5 else None,
                )
            )
    found = backlog(store)
    assert {name: (each.waiting, each.refused, each.oldest, each.error) for name, each in found.items()} == {
        "mlflow": (2, 1, NOW - 5 * MINUTE, "down"),
        "channel:ops": (1, 1, NOW - 3 * MINUTE, None),
    }


def test_who_is_at_work_is_seen_by_its_lease(store: Store) -> None:
    lease = acquire(store, "monitor:credit", "here", NOW, MINUTE)
    acquire(store, "review:credit", "here", NOW, MINUTE)
    acquire(store, "monitor:dead", "there", NOW - MINUTE, MINUTE)
    for name, at in (
        ("monitor:credit", NOW + MINUTE),
        ("review:credit", NOW + MINUTE),
        ("monitor:dead", NOW),
    ):
        runs_out(store, name, at)
    assert glance.at_work(store, NOW) == {"credit"}
    assert lease is not None
    release(store, lease)
    assert glance.at_work(store, NOW) == set()


def test_alarms_are_counted_once_somebody_was_notified(store: Store) -> None:
    row = {"segment": "", "at": NOW, "before": "ok", "reasons": [], "since": NOW}
    with store.writing() as connection:
        for monitor, after, notified in (
            ("credit", "degraded", True),
            ("credit", "degraded", True),
            ("credit", "degraded", False),
            ("credit", "ok", True),
            ("churn", "error", True),
        ):
            connection.execute(
                insert(tables.transition).values(**row, monitor=monitor, after=after, notified=notified)
            )
    assert glance.alarms(store) == {("credit", Status.DEGRADED): 2, ("churn", Status.ERROR): 1}


def test_the_schema_and_the_clock_of_the_database(store: Store) -> None:
    assert migrate.schema_version(store) == migrate.NEWEST
    clock = database_time(store)
    if store.engine.dialect.name == "sqlite":
        assert clock is None
    else:
        assert clock is not None
        assert abs(clock - datetime.now(UTC)) < timedelta(minutes=1)  # the server runs on this machine


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e7])
def test_seconds_are_kept_as_they_are(store: Store, seconds: float) -> None:
    save_tick(store, "a", started_at=NOW, ended_at=NOW, seconds=seconds, windows=0, error=None, next_due=NOW)
    assert ticks(store)["a"].seconds == seconds
