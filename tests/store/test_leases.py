from datetime import UTC, datetime, timedelta

import pytest
from store.examples import NOW, a_lease, a_result, a_transition, claim, race, runs_out

from rocmonitor.errors import StoreError
from rocmonitor.store import (
    Lease,
    Store,
    acquire,
    database_time,
    evaluations,
    migrate,
    open_store,
    release,
    release_all,
    renew,
    save,
    save_transition,
    transitions,
)

MINUTE = timedelta(minutes=1)


def test_a_lease_is_held_by_one_until_it_runs_out(store: Store) -> None:
    first = acquire(store, "credit", "a", NOW, MINUTE)
    assert first == Lease(name="credit", owner="a", token=1, expires_at=NOW + MINUTE)
    assert acquire(store, "credit", "b", NOW, MINUTE) is None
    assert acquire(store, "credit", "a", NOW, MINUTE) is None  # another thread of the same process
    assert acquire(store, "other", "b", NOW, MINUTE) is not None
    runs_out(store)
    taken_over = acquire(store, "credit", "b", NOW + MINUTE, MINUTE)
    assert taken_over == Lease(name="credit", owner="b", token=2, expires_at=NOW + 2 * MINUTE)


def test_on_sqlite_the_clock_of_the_machine_counts(sqlite_url: str) -> None:
    with open_store(sqlite_url) as store:
        acquire(store, "credit", "a", NOW, MINUTE)
        assert acquire(store, "credit", "b", NOW + MINUTE - timedelta(microseconds=1), MINUTE) is None
        assert acquire(store, "credit", "b", NOW + MINUTE, MINUTE) is not None


@pytest.mark.parametrize("days", [-40, 40])
def test_on_postgresql_the_clock_of_the_process_does_not_count(postgres_url: str, days: int) -> None:
    migrate.upgrade(postgres_url)
    with open_store(postgres_url) as store:
        there = database_time(store)
        assert there is not None
        acquire(store, "credit", "a", there, MINUTE)
        assert acquire(store, "credit", "b", there + timedelta(days=days), MINUTE) is None
        acquire(store, "other", "a", there + timedelta(days=days), MINUTE)
        assert acquire(store, "other", "b", there, MINUTE) is None


def test_a_lease_of_a_clock_that_was_far_ahead_holds_up_nobody(store: Store) -> None:
    ahead = acquire(store, "credit", "a", NOW, MINUTE)
    assert ahead is not None
    runs_out(store, at=datetime(2126, 1, 1, tzinfo=UTC))
    assert acquire(store, "credit", "b", NOW, MINUTE) is not None
    assert renew(store, ahead, NOW, MINUTE) is None


def test_renewing_puts_off_the_end(store: Store) -> None:
    lease = a_lease(store)
    runs_out(store)
    lease = renew(store, lease, NOW + MINUTE, 3 * MINUTE)
    assert lease is not None
    assert lease.expires_at == NOW + 4 * MINUTE
    assert acquire(store, "credit", "b", NOW + 3 * MINUTE, MINUTE) is None


def test_a_process_that_ends_gives_back_all_that_it_holds(store: Store) -> None:
    for name, owner in (("credit", "a"), ("review:credit", "a"), ("fraud", "b")):
        assert acquire(store, name, owner, NOW, MINUTE) is not None
    release_all(store, "a")
    assert acquire(store, "credit", "c", NOW, MINUTE) is not None
    assert acquire(store, "review:credit", "c", NOW, MINUTE) is not None
    assert acquire(store, "fraud", "c", NOW, MINUTE) is None


def test_a_lease_given_back_is_free_at_once(store: Store) -> None:
    release(store, a_lease(store, owner="a"))
    lease = acquire(store, "credit", "b", NOW, MINUTE)
    assert lease is not None
    assert lease.owner == "b"


def test_the_former_holder_can_do_nothing_any_more(store: Store) -> None:
    late = acquire(store, "credit", "a", NOW, MINUTE)
    runs_out(store)
    # The same owner: a token tells the two holdings apart.
    current = acquire(store, "credit", "a", NOW + MINUTE, MINUTE)
    assert late is not None
    assert current is not None
    assert renew(store, late, NOW + MINUTE, MINUTE) is None
    release(store, late)
    assert acquire(store, "credit", "b", NOW + MINUTE, MINUTE) is None
    with pytest.raises(StoreError, match="another process took it over; nothing was saved") as caught:
        save(store, [a_result()], lease=late)
    assert caught.value.transient
    with pytest.raises(StoreError, match="no longer held by a"):
        save_transition(store, a_transition(), True, [], lease=late)
    assert evaluations(store, "credit") == []
    assert transitions(store, "credit") == []
    save(store, [a_result()], lease=current)
    assert len(evaluations(store, "credit")) == 1


def test_a_lease_that_ran_out_but_was_not_taken_over_is_still_good(store: Store) -> None:
    lease = acquire(store, "credit", "a", NOW, MINUTE)
    assert lease is not None
    runs_out(store)
    save(store, [a_result()], lease=lease)
    assert renew(store, lease, NOW + 5 * MINUTE, MINUTE) is not None


def test_a_lease_given_back_is_good_for_nothing(store: Store) -> None:
    lease = a_lease(store)
    release(store, lease)
    with pytest.raises(StoreError, match="no longer held"):
        save(store, [a_result()], lease=lease)


def test_of_processes_that_race_for_a_lease_one_wins(store: Store, migrated_url: str) -> None:
    won = race(claim, migrated_url)
    assert sorted(won[0] + won[1]) == sorted(f"window {number}" for number in range(50))
