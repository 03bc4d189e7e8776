from dataclasses import replace
from datetime import timedelta

import pytest
from store.examples import NOW

from rocmonitor.policy.windows import Window
from rocmonitor.store import KeptCounts, Store, counts, delete_counts, save_reference, windows_counted

DAY = timedelta(days=1)


def kept(number: int, days: int = 1, **changes: object) -> KeptCounts:
    start = NOW + number * DAY
    made = KeptCounts(
        reading="all",
        window=Window(start, start + days * DAY),
        data_digest="d1",
        labels_digest="l1",
        rows=7,
        read_at=NOW,
        content=bytes(range(256)),
    )
    return replace(made, **changes)


def save(store: Store, *parts: KeptCounts) -> None:
    save_reference(store, "credit", "r", {}, counts=parts)


def test_counts_come_back_and_the_last_ones_count(store: Store) -> None:
    first = kept(0)
    assert counts(store, "all", first.window) is None
    save(store, first)
    assert counts(store, "all", first.window) == first
    again = replace(first, data_digest="d2", labels_digest="l2", rows=8, read_at=NOW + DAY, content=b"\0")
    save(store, again)
    assert counts(store, "all", first.window) == again
    assert counts(store, "others", first.window) is None


def test_windows_of_a_period_with_the_longest_first(store: Store) -> None:
    whole, days = kept(0, days=3), [kept(number) for number in range(4)]
    save(store, *days, whole, kept(0, reading="others"), kept(-1, days=2))
    inside = windows_counted(store, "all", whole.window)
    assert inside == [whole.window, *(each.window for each in days[:3])]
    assert windows_counted(store, "all", days[1].window) == [days[1].window]


def test_old_counts_are_deleted_some_at_a_time(store: Store) -> None:
    save(store, *(kept(number, read_at=NOW + number * DAY) for number in range(5)))
    assert delete_counts(store, NOW + 3 * DAY, 2) == 2
    assert delete_counts(store, NOW + 3 * DAY, 2) == 1
    left = windows_counted(store, "all", Window(NOW, NOW + 9 * DAY))
    assert left == [kept(3).window, kept(4).window]


@pytest.mark.parametrize("number", [0, 5])
def test_nothing_is_kept_with_a_reference_that_is_not_saved(store: Store, number: int) -> None:
    with pytest.raises(Exception, match="JSON"):
        save_reference(store, "credit", "r", {"auc": float("nan")}, counts=[kept(number)])
    assert counts(store, "all", kept(number).window) is None
