from datetime import timedelta

import pytest
from store.examples import NOW, a_lease, a_result, a_transition, claim, race

from rocmonitor.errors import StoreError
from rocmonitor.store import (
    Lease,
    Store,
    acquire,
    evaluations,
    release,
    renew,
    save,
    save_transition,
    transitions,
)

MINUTE = timedelta(minutes=1)


def test_a_lease_is_held_by_one_until_it_runs_out(store: Store) -> None:
    first = acquire(store, "credit", "a", NOW, MINUTE)
    assert first == Lease(name="credit", owner="a", token=1, expires_at=NOW + MINUTE)
    assert acquire(store, "credit", "b", NOW + MINUTE - timedelta(microseconds=1), MINUTE) is None
    assert acquire(store, "credit", "a", NOW, MINUTE) is None  # another thread of the same process
    assert acquire(store, "other", "b", NOW, MINUTE) is not None
    taken_over = acquire(store, "credit", "b", NOW + MINUTE, MINUTE)
    assert taken_over == Lease(name="credit", owner="b", token=2, expires_at=NOW + 2 * MINUTE)


def test_renewing_puts_off_the_end(store: Store) -> None:
    lease = renew(store, a_lease(store), NOW + MINUTE, 10 * MINUTE)
    assert lease is not None
    assert lease.expires_at == NOW + 11 * MINUTE
    assert acquire(store, "credit", "b", NOW + 10 * MINUTE, MINUTE) is None


def test_a_lease_given_back_is_free_at_once(store: Store) -> None:
    release(store, a_lease(store, owner="a"))
    lease = acquire(store, "credit", "b", NOW, MINUTE)
    assert lease is not None
    assert lease.owner == "b"


def test_the_former_holder_can_do_nothing_any_more(store: Store) -> None:
    late = acquire(store, "credit", "a", NOW, MINUTE)
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
