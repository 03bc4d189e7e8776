from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

from sqlalchemy import select
from store.examples import NOW

from rocmonitor.policy.outages import Member
from rocmonitor.store import (
    Outgoing,
    Store,
    add_failure,
    end_failure,
    episodes,
    notify_outage,
    open_outages,
    pending,
    tables,
)

MINUTE = timedelta(minutes=1)
MESSAGE = [Outgoing(destination="channel:ops", payload={})]


def fail(store: Store, member: str, minutes: int = 0, cause: str = "source:dwh", error: str = "down") -> None:
    add_failure(store, cause, member, NOW + minutes * MINUTE, error=error, lasting=False)


def test_what_fails_for_one_reason_is_one_outage(store: Store) -> None:
    fail(store, "credit")
    fail(store, "fraud", 2)
    fail(store, "credit", 5, error="still down")
    fail(store, "churn", 6, cause="mlflow")
    first, second = open_outages(store)
    assert (first.cause, first.start, first.error, first.last_message, first.failures) == (
        "source:dwh",
        NOW,
        "still down",
        None,
        3,
    )
    assert first.members == {
        "credit": Member(since=NOW, seen=NOW + 5 * MINUTE),
        "fraud": Member(since=NOW + 2 * MINUTE, seen=NOW + 2 * MINUTE),
    }
    assert (second.cause, second.monitors) == ("mlflow", ["churn"])


def test_it_has_ended_when_nothing_fails_any_more(store: Store) -> None:
    fail(store, "credit")
    fail(store, "fraud")
    end_failure(store, "credit", NOW + MINUTE)
    [outage] = open_outages(store)
    assert outage.monitors == ["fraud"]
    assert notify_outage(store, outage, NOW + 2 * MINUTE, MESSAGE)
    end_failure(store, "fraud", NOW + 3 * MINUTE)
    [ended] = open_outages(store)
    assert (ended.end, ended.monitors) == (NOW + 3 * MINUTE, ["credit", "fraud"])  # all who failed
    assert notify_outage(store, ended, NOW + 4 * MINUTE, MESSAGE)
    assert open_outages(store) == []
    assert len(pending(store, NOW + 5 * MINUTE)) == 2
    fail(store, "fraud", 6)  # another one
    assert [outage.start for outage in open_outages(store)] == [NOW + 6 * MINUTE]


def test_what_failed_is_told_of_each_monitor_that_it_hit(store: Store) -> None:
    fail(store, "credit")
    fail(store, "review:fraud", 1)
    end_failure(store, "credit", NOW + 2 * MINUTE)
    assert [each.failures for each in episodes(store, "fraud")] == [2]
    assert [each.is_open for each in episodes(store, "credit")] == [True]  # it works, the other still fails
    end_failure(store, "review:fraud", NOW + 3 * MINUTE)
    fail(store, "credit", 9)
    assert [(each.start, each.end) for each in episodes(store, "credit")] == [
        (NOW, NOW + 3 * MINUTE),
        (NOW + 9 * MINUTE, None),
    ]


def test_one_that_fails_again_fails_since_then(store: Store) -> None:
    fail(store, "credit")
    fail(store, "fraud")
    end_failure(store, "credit", NOW + MINUTE)
    fail(store, "credit", 5)
    [outage] = open_outages(store)
    assert outage.members["credit"] == Member(since=NOW + 5 * MINUTE, seen=NOW + 5 * MINUTE)
    assert (outage.start, outage.monitors) == (NOW, ["credit", "fraud"])


def test_a_blip_that_nobody_heard_of_ends_without_a_word(store: Store) -> None:
    fail(store, "credit")
    end_failure(store, "credit", NOW + MINUTE)
    end_failure(store, "credit", NOW + MINUTE)
    assert open_outages(store) == []


def test_one_message_however_many_processes_see_it(store: Store) -> None:
    fail(store, "credit")
    [outage] = open_outages(store)
    assert notify_outage(store, outage, NOW, MESSAGE)
    assert not notify_outage(store, outage, NOW, MESSAGE)
    [known] = open_outages(store)
    assert notify_outage(store, known, NOW + 24 * 60 * MINUTE, MESSAGE)  # the reminder
    assert not notify_outage(store, known, NOW + 24 * 60 * MINUTE, MESSAGE)
    end_failure(store, "credit", NOW)
    assert not notify_outage(store, replace(known, last_message=NOW), NOW, MESSAGE)
    assert len(pending(store, NOW + 24 * 60 * MINUTE)) == 2


def test_a_failure_that_changes_its_reason_goes_on(store: Store) -> None:
    fail(store, "credit")
    fail(store, "fraud", 1)
    fail(store, "credit", 5, cause="monitor#1", error="no column")
    first, second = open_outages(store)
    assert (first.monitors, second.monitors) == (["fraud"], ["credit"])
    assert (first.start, second.start) == (NOW, NOW)
    assert notify_outage(store, first, NOW + 30 * MINUTE, MESSAGE)
    fail(store, "fraud", 40, cause="monitor#1")
    [left] = open_outages(store)  # no message that the source works: nothing works yet
    assert left.monitors == ["credit", "fraud"]


def test_a_monitor_that_is_gone_does_not_keep_an_outage_open(store: Store) -> None:
    fail(store, "gone")
    fail(store, "credit", 3 * 24 * 60)
    end_failure(store, "credit", NOW + 4 * 24 * 60 * MINUTE, known={"credit"})
    assert open_outages(store) == []


def test_those_that_fail_at_once_open_one_outage(store: Store) -> None:
    ready = Barrier(3)

    def failing(number: int) -> None:
        ready.wait()
        for cause in ("source:dwh", "mlflow"):
            fail(store, f"{cause} {number}", cause=cause)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(failing, range(3)))
    assert sorted((outage.cause, len(outage.members)) for outage in open_outages(store)) == [
        ("mlflow", 3),
        ("source:dwh", 3),
    ]
    with store.reading() as connection:
        assert len(connection.execute(select(tables.episode)).all()) == 2
