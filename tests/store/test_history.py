"""What the page of one monitor reads."""

from __future__ import annotations

from store.examples import a_lease, a_result, a_review, window

from rocmonitor.policy.evaluation import Status
from rocmonitor.store import Store, save, save_review
from rocmonitor.store.history import history, newest_in_window, review_list, segments


def fill(store: Store, monitor: str, segment: str, numbers: range, revision: int = 0) -> None:
    results = [
        a_result(number, monitor=monitor, segment=segment, revision=revision, outcome=Status.OK)
        for number in numbers
    ]
    save(store, results, lease=a_lease(store, f"{monitor}{segment}{revision}{numbers}"))


def test_history_has_every_revision(store: Store) -> None:
    fill(store, "credit", "", range(3))
    fill(store, "credit", "", range(1, 2), revision=1)
    found = history(store, "credit", "")
    assert [[one.revision for one in revisions] for revisions in found] == [[0], [0, 1], [0]]
    one = newest_in_window(store, "credit", "", window(1))
    assert one == found[1][-1]
    assert newest_in_window(store, "credit", "", window(9)) is None


def test_segments_are_listed_once(store: Store) -> None:
    for segment in ("", "a=2", "a=1"):
        fill(store, "credit", segment, range(2))
    assert segments(store, "credit") == ["a=1", "a=2"]
    assert segments(store, "other") == []


def test_reviews_are_listed_newest_first(store: Store) -> None:
    lease = a_lease(store)
    for number in (1, 2):
        save_review(store, a_review(number), [], lease=lease)
    found = review_list(store, "credit")
    assert [one.period.end for one in found] == [window(2).end, window(1).end]
    assert found[0].id > found[1].id
    assert review_list(store, "other") == []
