from dataclasses import replace
from datetime import timedelta

import pytest
from store.examples import NOW, WEEK, a_lease, a_review, race, runs_out, save_reviews, window

from rocmonitor.errors import StoreError
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.windows import Window
from rocmonitor.store import (
    Outgoing,
    Store,
    acquire,
    channels_of,
    last_reviewed,
    mark_delivered,
    pending,
    receipt_of,
    review,
    review_with_key,
    reviews,
    save_review,
)

TOLD = [
    Outgoing(destination="mlflow", payload={}),
    Outgoing(destination="channel:ops", payload={"before": "x"}),
]


def test_a_review_comes_back_as_it_was_with_what_is_to_be_told(store: Store) -> None:
    kept = save_review(store, a_review(), TOLD, lease=a_lease(store))
    assert kept == a_review()
    due = pending(store, NOW)
    assert [(each.monitor, each.destination, each.evaluation_id) for each in due] == [
        ("credit", "mlflow", None),
        ("credit", "channel:ops", None),
    ]
    for each in due:
        assert each.review_id is not None
        assert review(store, each.review_id) == a_review()
    assert reviews(store, "credit") == [a_review()]
    assert review_with_key(store, a_review().key) == a_review()
    assert review_with_key(store, "another") is None
    assert channels_of(store, a_review().key, after=0) == ["ops"]
    assert channels_of(store, a_review().key, after=due[-1].id) == []
    assert channels_of(store, "another", after=0) == []


def test_a_repeat_changes_nothing_and_gives_the_first(store: Store) -> None:
    lease = a_lease(store)
    save_review(store, a_review(), TOLD, lease=lease)
    later = a_review(reviewed_at=NOW + WEEK, decision=Decision.UNDECIDED)
    assert save_review(store, later, TOLD, lease=lease) == a_review()
    assert reviews(store, "credit") == [a_review()]
    assert len(pending(store, NOW + WEEK)) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"monitor": "other"},
        {"champion_version": "9"},
        {"challenger_version": "9"},
        {"period": Window(window(0).start, window(5).end)},
        {"registered": False},
        {"rule": {"digest": "another"}},
        {"provenance": {"data_digest": "another"}},
        {"provenance": {"data_digest": "digest-0", "settings_digest": "another"}},
    ],
)
def test_each_part_of_the_key_tells_reviews_apart(store: Store, change: dict[str, object]) -> None:
    lease = a_lease(store)
    for each in (a_review(), a_review(**change)):
        assert save_review(store, each, TOLD, lease=lease) == each
    assert len(pending(store, NOW)) == 4


def test_they_are_read_in_order_and_by_pair_of_versions(store: Store) -> None:
    lease = a_lease(store)
    saved = [a_review(2), a_review(1), a_review(3, challenger_version="9"), a_review(4, monitor="other")]
    for each in saved:
        save_review(store, each, [], lease=lease)
    assert reviews(store, "credit") == saved[:3]
    assert reviews(store, "credit", ("7", "8")) == saved[:2]
    assert reviews(store, "credit", ("8", "7")) == []


def test_the_last_one_is_the_last_that_was_not_chosen_by_hand(store: Store) -> None:
    assert last_reviewed(store, "credit") is None
    lease = a_lease(store)
    for each in (a_review(1), a_review(2), a_review(3, registered=False), a_review(4, monitor="other")):
        save_review(store, each, [], lease=lease)
    assert last_reviewed(store, "credit") == a_review(2).reviewed_at


@pytest.mark.parametrize("payload", [{"when": NOW}, {"auc": float("nan")}], ids=["no JSON", "NaN"])
def test_a_failure_at_the_last_row_leaves_nothing(store: Store, payload: dict[str, object]) -> None:
    lease = a_lease(store)
    with pytest.raises(StoreError, match="JSON"):
        save_review(store, a_review(), [*TOLD, Outgoing(destination="mlflow", payload=payload)], lease=lease)
    assert reviews(store, "credit") == []
    assert pending(store, NOW) == []


def test_who_has_lost_the_lease_saves_nothing(store: Store) -> None:
    lost = a_lease(store)
    runs_out(store)
    assert acquire(store, "credit", "there", NOW + timedelta(hours=1), timedelta(minutes=5)) is not None
    with pytest.raises(StoreError, match="no longer held") as caught:
        save_review(store, a_review(), TOLD, lease=lost)
    assert caught.value.transient
    assert reviews(store, "credit") == []
    assert pending(store, NOW) == []


def test_the_receipt_of_a_review_is_not_that_of_an_evaluation(store: Store) -> None:
    lease = a_lease(store)
    for number in (0, 1):
        save_review(store, a_review(number), TOLD, lease=lease)
    first, _, second, _ = pending(store, NOW + WEEK)
    mark_delivered(store, second.id, NOW, "run of the second")
    assert receipt_of(store, None, first.review_id) is None
    assert receipt_of(store, None, second.review_id) == "run of the second"
    assert receipt_of(store, None) is None
    assert receipt_of(store, second.review_id) is None  # an evaluation of that number


def test_a_number_that_nothing_has_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError, match="no review 7"):
        review(store, 7)


@pytest.mark.slow
def test_processes_that_save_the_same_save_it_once(store: Store, migrated_url: str) -> None:
    race(save_reviews, migrated_url)
    assert reviews(store, "credit") == [a_review(number) for number in range(30)]
    told = pending(store, NOW + 60 * WEEK)
    assert sorted(each.payload["number"] for each in told) == list(range(30))


def test_a_review_without_a_decision_has_no_day_of_it(store: Store) -> None:
    undecided = replace(a_review(), decision=Decision.UNDECIDED, decided_at=None)
    save_review(store, undecided, [], lease=a_lease(store))
    assert reviews(store, "credit") == [undecided]
