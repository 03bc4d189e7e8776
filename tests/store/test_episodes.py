"""Episodes are written with the window that changes them, over what was known, and once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from store.examples import NOW, a_lease, a_transition, an_evaluation, window

from rocmonitor.errors import StoreError
from rocmonitor.policy.episode import RECOVERED, Decline
from rocmonitor.store import Store, WindowRecord, declines, last_declines, release, save, save_transition


def loss(number: int = 0, segment: str = "", **changes: object) -> Decline:
    begun = window(number)
    plain = Decline(
        monitor="credit",
        segment=segment,
        champion_version="7",
        alarm=begun,
        start=begun.start,
        start_low=begun.start,
        start_high=begun.end,
    )
    return replace(plain, **changes)


def record(number: int, *found: Decline) -> WindowRecord:
    return WindowRecord(
        evaluation=an_evaluation(number),
        label_counts={"1": 4},
        labels_digest="labels",
        settings_digest="settings",
        episodes=found,
    )


def test_the_newest_knowledge_of_an_episode_counts(store: Store) -> None:
    lease = a_lease(store)
    save(store, [record(0, loss())], lease=lease)
    grown = loss(windows=2, size=-0.02, size_low=-0.03, size_high=-0.01, groups=({"group": "Broker"},))
    save(store, [record(1, grown)], lease=lease)
    assert declines(store, "credit") == [grown]
    over = replace(grown, end=window(2).start, end_why=RECOVERED, ended_with=window(2))
    save(store, [record(2, over, loss(2))], lease=lease)
    assert declines(store, "credit") == [over, loss(2)]
    assert declines(store, "other") == []


def test_a_repeat_of_a_window_changes_no_episode(store: Store) -> None:
    lease = a_lease(store)
    save(store, [record(0, loss())], lease=lease)
    save(store, [record(0, loss(windows=9))], lease=lease)
    assert declines(store, "credit") == [loss()]


def test_the_last_of_each_segment_is_found(store: Store) -> None:
    north = loss(segment="region=north")
    save(store, [record(0, loss(), loss(3), north)], lease=a_lease(store))
    assert last_declines(store) == {("credit", ""): loss(3), ("credit", "region=north"): north}
    assert declines(store, "credit", "region=north") == [north]


def test_without_the_lease_nothing_is_written(store: Store) -> None:
    lease = a_lease(store)
    release(store, lease)
    with pytest.raises(StoreError):
        save(store, [record(0, loss())], lease=lease)
    with pytest.raises(StoreError):
        save_transition(store, a_transition(), True, (), lease=lease, episodes=[loss().closed(NOW, "closed")])
    assert declines(store, "credit") == []
