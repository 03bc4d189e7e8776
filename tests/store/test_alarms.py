"""Counting the alarms of a year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rocmonitor import store
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.store.history import AlarmCount, alarms_since

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


def put(kept: store.Store, day: int, after: Status, *, notified: bool = True, monitor="credit", segment=""):
    at = START + day * DAY
    change = Transition(
        monitor=monitor, segment=segment, at=at, before=Status.OK, after=after, reasons=(), since=at
    )
    lease = store.acquire(kept, f"monitor:{monitor}", "test", at, DAY)
    assert lease is not None
    store.save_transition(kept, change, notified, [], lease=lease)
    store.release(kept, lease)


@pytest.fixture
def kept(migrated_url: str):
    with store.open_store(migrated_url) as opened:
        yield opened


def test_alarms_are_counted_by_monitor_with_what_became_of_them(kept: store.Store) -> None:
    put(kept, 0, Status.DEGRADED)  # before the year
    put(kept, 10, Status.DEGRADED)
    store.acknowledge(kept, "credit", by="anna", at=START + 11 * DAY)
    put(kept, 12, Status.OK)
    put(kept, 13, Status.AT_RISK, segment="region=north")
    put(kept, 14, Status.DEGRADED, notified=False)
    put(kept, 15, Status.ERROR)  # no false alarm
    put(kept, 16, Status.INSUFFICIENT, monitor="other")
    put(kept, 17, Status.DEGRADED, monitor="third")
    found = alarms_since(kept, START + DAY)
    assert found == {"credit": AlarmCount(sent=2, acknowledged=1, not_sent=1), "third": AlarmCount(sent=1)}
    assert alarms_since(kept, START)["credit"] == AlarmCount(sent=3, acknowledged=1, not_sent=1)
    assert sum(found.values(), AlarmCount()) == AlarmCount(sent=3, acknowledged=1, not_sent=1)


def test_only_alarms_that_stand_are_taken_on(kept: store.Store) -> None:
    put(kept, 0, Status.DEGRADED)
    put(kept, 1, Status.OK)
    put(kept, 2, Status.DEGRADED, segment="region=north")
    store.acknowledge(kept, "credit", by="anna", at=START + 3 * DAY)
    assert alarms_since(kept, START)["credit"] == AlarmCount(sent=2, acknowledged=1)
