"""Rows and labels that stop arriving are sent once, with since when, and so is that they arrive again."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from commands import Rocmonitor
from scenario import World, week
from service.test_arrival import KNOWN, dated  # noqa: F401 a fixture
from sqlalchemy import select

from rocmonitor import store
from rocmonitor.alerts import Context, compose_stop
from rocmonitor.policy.stops import Stop
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import tables

DAY = timedelta(days=1)
RULES = {"rules": "[{kind: floor, value: 0.6}]"}


def tick(here: World, now, **changes):
    with here.runtime(now, **RULES | changes) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        assert found.error is None
        return found


def execute(here: World, statement: str) -> None:
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql(statement)


def sent(here: World) -> list[str]:
    """The subjects of the messages on stops that wait to be delivered or were."""
    with here.runtime(**RULES) as runtime, runtime.store.reading() as connection:
        rows = (
            connection.execute(select(tables.outbox.c.payload).order_by(tables.outbox.c.id)).scalars().all()
        )
    stops = [Stop.from_dict(payload["stop"]) for payload in rows if "stop" in payload]
    return [compose_stop(each, Context(zone=ZoneInfo("UTC"))).title for each in stops]


@pytest.mark.slow
def test_rows_that_stop_are_sent_before_any_label_is_due_and_once(here, rocmonitor: Rocmonitor):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    assert sent(here) == []
    assert tick(here, week(22) + timedelta(hours=23)).waiting != []
    assert sent(here) == []  # the last rows of a window may take a day
    for hours in (24, 30):
        tick(here, week(22) + timedelta(hours=hours))
    assert sent(here) == ["STOPPED credit: no rows arrived, usually 400 or more"]
    with here.runtime(week(23), **RULES) as runtime:
        drain(runtime)
    assert here.alarms.count("STOPPED credit: no rows arrived") == 1
    assert "Rows stopped arriving: window 2026-06-01 to 2026-06-08 has no rows" in here.alarms
    assert "Too few since 2026-06-01 (UTC)." in here.alarms
    assert "rows stopped arriving: too few since 2026-06-01" in rocmonitor("status", code=4).stdout
    here.score(21)
    for hours in (40, 47):
        tick(here, week(22) + timedelta(hours=hours))
    assert sent(here)[1:] == ["RESOLVED credit: rows arrive again"]
    with here.runtime(week(23), **RULES) as runtime:
        drain(runtime)
    assert "stopped" not in rocmonitor("status", code=4).stdout


def test_since_is_when_rows_stopped_and_not_the_oldest_window_that_was_counted(two_weeks: World):
    here, long_after = two_weeks, week(22) + timedelta(days=4 * 365)
    for now in (long_after, long_after + DAY):
        tick(here, now)
        with here.runtime(**RULES) as runtime:
            [found] = store.open_stops(runtime.store)["credit"]
        assert (found.kind, found.start) == ("rows", week(22))


@pytest.mark.slow
def test_a_table_that_is_empty_for_a_day_is_seen_in_daily_windows(here):
    daily = {"window": "{every: 1d, label_delay: 2d, start: 2026-05-25}", "min_per_class": "5"}
    here.score(20)
    execute(here, "DELETE FROM scored WHERE scored_at >= '2026-05-28' AND scored_at < '2026-05-29'")
    tick(here, week(20) + 4 * DAY, **daily)  # the empty day has just ended
    assert sent(here) == []
    tick(here, week(20) + 5 * DAY, **daily)
    assert sent(here) == ["STOPPED credit: no rows arrived, usually 57 or more"]
    tick(here, week(20) + 6 * DAY, **daily)
    assert sent(here)[1:] == ["RESOLVED credit: rows arrive again"]


@pytest.mark.parametrize(("kept", "stops"), [(399, False), (200, False), (199, True)])
def test_fewer_rows_than_half_of_the_lowest_are_a_stop(here, kept, stops):
    here.score(20)
    execute(here, f"DELETE FROM scored WHERE id >= {2_043_000 + kept}")
    tick(here, week(21) + 2 * DAY)
    assert bool(sent(here)) is stops


def test_labels_that_stop_without_instants_are_seen_when_a_window_is_due(here):
    here.score(20)
    here.score(21, labelled=0.02)
    tick(here, week(22) + DAY)
    assert sent(here) == []
    tick(here, week(22) + 2 * DAY)
    assert sent(here) == ["STOPPED credit: labels for 2 % of the rows, usually 100 %"]
    here.label_late(21)
    tick(here, week(22) + 3 * DAY)
    assert sent(here)[1:] == ["RESOLVED credit: labels arrive again"]


@pytest.mark.slow
def test_labels_that_stop_are_seen_early_where_ticks_have_counted_enough_windows(here):
    """Half of the labels come within a day of the end of a window: eight such windows show that."""
    for number in range(20, 29):
        here.score(number, labelled=0.5)
        tick(here, week(number + 1) + DAY)
        here.label_late(number)
    assert sent(here) == []
    here.score(29, labelled=0.1)
    tick(here, week(30) + DAY)
    assert sent(here) == ["STOPPED credit: labels for 10 % of the rows, usually 50 % or more"]


@pytest.mark.slow
def test_labels_that_stop_are_seen_by_their_age_where_instants_are_known(dated):  # noqa: F811
    """No label becomes known after the middle of week 53, a month before the first window without is due."""
    for number in range(48, 56):
        dated.score(number)
    at = week(53) + 3 * DAY
    changes = {
        "window": "{every: 7d, label_delay: 30d, revise_for: 70d, start: 2026-12-07}",
        "known": f"CASE WHEN {KNOWN} <= '{at:%Y-%m-%d %H:%M:%S}' THEN {KNOWN} ELSE '2099-01-01' END",
    }
    tick(dated, at, **changes)
    assert sent(dated) == []
    days = next(day for day in range(2, 30, 2) if tick(dated, at + day * DAY, **changes) and sent(dated))
    assert days <= 14  # not after label_delay, 30 days
    assert sent(dated)[0].startswith("STOPPED credit: labels for ")
    tick(dated, at + (days + 1) * DAY, window=changes["window"])
    assert sent(dated)[1:] == ["RESOLVED credit: labels arrive again"]


def test_while_it_is_muted_nothing_is_sent_and_afterwards_what_still_holds(here):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    with here.runtime() as runtime:
        store.mute(runtime.store, "credit", by="anna", until=week(22) + DAY + timedelta(hours=2))
    tick(here, week(22) + DAY)
    assert sent(here) == []
    tick(here, week(22) + DAY + timedelta(hours=3))
    assert len(sent(here)) == 1


def test_a_tick_for_an_earlier_time_and_a_dry_run_send_nothing(here):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    for now, dry_run in ((week(22) + DAY, False), (week(23), True)):
        with here.runtime(week(23), **RULES) as runtime:
            run_monitor(runtime, runtime.config.monitors["credit"], now=now, dry_run=dry_run)
            assert store.open_stops(runtime.store) == {}
