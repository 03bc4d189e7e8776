"""Databases that keep us waiting: real ones, behind a server that goes silent or drips."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest
from scored import NOON, WEEK, fill, monitor, opened, pull, writing
from sqlalchemy import text
from stalling import stalling

from rocmonitor.deadline import Guard, Limits, Overdue, cut
from rocmonitor.errors import SourceError
from rocmonitor.sources import connect

MANY = [(n, NOON + timedelta(seconds=n), n / 4000, 1 - n / 4000, n % 2, "north") for n in range(4000)]
SILENT = r"sources\.warehouse: the database sent nothing for longer than 1 s and was stopped"


@pytest.fixture(params=["postgres", "mariadb"])
def server_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    fill(url, MANY)
    return url


@pytest.mark.parametrize("how", ["silent", "drip"])
def test_a_server_that_accepts_and_says_nothing_ends_the_wait(
    server_url: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_CONNECT_SECONDS", 0.2)
    with (
        stalling(server_url, 0, how) as (url, _),
        pytest.raises(SourceError, match=r"sources\.warehouse: the database cannot be reached") as caught,
    ):
        opened(url)
    assert caught.value.transient


@pytest.mark.parametrize("mode", ["raw", "database"])
@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_ends_the_wait(server_url: str, mode: str) -> None:
    """Also the next reading of the same source, which must not get the connection that was cut."""
    with stalling(server_url) as (url, stall), opened(url, timeout="1s") as source:
        source._sessions.engine.dispose()
        stall.after = 20_000
        watched = monitor(grouped=mode)
        with pytest.raises(SourceError, match=SILENT) as caught:
            source.pull(watched, WEEK)
        assert caught.value.transient
        stall.resume()
        assert source.pull(watched, WEEK).segments[""].counts.rows == len(MANY)


@pytest.mark.slow
def test_a_libpq_that_cannot_stop_asking_is_not_used_for_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before version 17 its request to stop holds all threads while the server is silent."""
    fill(postgres_url, MANY)
    asked: list[object] = []
    monkeypatch.setattr(psycopg.Connection, "cancel_safe", lambda *_, **__: asked.append(None))
    monkeypatch.setattr(psycopg.capabilities, "has_cancel_safe", lambda: False)
    with stalling(postgres_url) as (url, stall), opened(url, timeout="1s") as source:
        source._sessions.engine.dispose()
        stall.after = 20_000
        with pytest.raises(SourceError, match=SILENT):
            source.pull(monitor(), WEEK)
    assert asked == []


@pytest.mark.slow
def test_a_server_that_drips_ends_with_the_deadline(server_url: str) -> None:
    with stalling(server_url) as (url, stall), opened(url, timeout="5s", deadline="1s") as source:
        source._sessions.engine.dispose()
        stall.after, stall.how = 20_000, "drip"
        with pytest.raises(SourceError, match=r"took longer than 1 s in all.* raise .*\.deadline") as caught:
            source.pull(monitor(), WEEK)
    assert caught.value.transient


@pytest.mark.slow
def test_a_query_that_is_given_up_does_not_go_on_at_the_server(server_url: str) -> None:
    """Or else every new attempt would leave one more behind."""
    on_mariadb = server_url.startswith("mysql")
    slow = "sleep(60)" if on_mariadb else "length(pg_sleep(60)::text)"
    query = (
        f"SELECT loan_id, scored_at, p1, p2 + {slow} AS p2, defaulted, region FROM scored WHERE loan_id = 1"
    )
    with pytest.raises(SourceError, match=SILENT):
        pull(server_url, monitor(query=f"{query} AND scored_at >= :start AND scored_at < :end"), timeout="1s")
    running = (
        "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%%sleep(60)%%' "
        "AND db = database()"
        if on_mariadb
        else "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active' "
        "AND datname = current_database()"
    )
    with writing(server_url) as connection:
        assert connection.execute(text(running)).scalar() == 1  # this question itself


@pytest.mark.slow
def test_a_long_answer_that_keeps_coming_is_no_silence(postgres_url: str) -> None:
    """The limit is on the pauses: 60 s in all would be too short for 10,000,000 rows."""
    fill(postgres_url, MANY[:100])  # nine rows fill a packet
    query = (
        "SELECT loan_id || repeat('x', 900) AS loan_id, scored_at, p1, p2 + length(pg_sleep(0.03)::text) "
        "AS p2, defaulted FROM scored WHERE scored_at >= :start AND scored_at < :end"
    )
    read = pull(postgres_url, monitor(query=query, segments=[]), timeout="1s")
    assert read.segments[""].counts.rows == 100


class Slow:
    """The connection of a driver that has nothing to stop it with but closing."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_any_other_driver_is_stopped_by_closing_its_connection() -> None:
    slow = Slow()
    cut(slow)
    assert slow.closed


def test_what_connects_too_late_is_closed() -> None:
    may_connect, was_closed = threading.Event(), threading.Event()

    class Late:
        @property
        def connection(self) -> Late:
            return self

        driver_connection = None

        def invalidate(self) -> None:
            pass

        def close(self) -> None:
            was_closed.set()

    def connected() -> Late:
        may_connect.wait()
        return Late()

    with pytest.raises(Overdue), Guard(connected, Limits(connect=0.01, silence=1)):
        pass
    may_connect.set()
    assert was_closed.wait(10)


def test_no_thread_holds_a_connection_that_was_given_back() -> None:
    """One that the end of the program met made DuckDB complain of leaked instances."""

    class Connection:
        driver_connection = None

        @property
        def connection(self) -> Connection:
            return self

        def close(self) -> None:
            pass

    before, left = set(threading.enumerate()), 0
    for _ in range(200):
        with Guard(Connection, Limits(connect=5, silence=60)):
            pass
        left += len(set(threading.enumerate()) - before)
    assert left == 0
