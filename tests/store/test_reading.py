from dataclasses import asdict
from datetime import timedelta

import pytest
from sqlalchemy import select
from store.examples import NOW, a_lease, a_transition, an_evaluation, window

from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition
from rocmonitor.policy.status import Said
from rocmonitor.store import (
    Evaluated,
    Store,
    WindowRecord,
    evaluated,
    evaluation,
    evaluations,
    last_said,
    last_transition,
    newest_revision,
    outcomes,
    remember_labels,
    save,
    save_transition,
    series,
    tables,
    transitions,
)

NORTH = "region=north"


def put(store: Store, *saved: Evaluation) -> None:
    # Backwards: nothing may rest on the order in which rows were saved.
    results = [
        WindowRecord(
            evaluation=each, label_counts={"1": each.revision}, labels_digest="l", settings_digest="s"
        )
        for each in reversed(saved)
    ]
    save(store, results, lease=a_lease(store))


def change(store: Store, *changes: tuple[Transition, bool]) -> None:
    lease = a_lease(store)
    for transition, is_told in changes:
        save_transition(store, transition, is_told, [], lease=lease)


def test_an_evaluation_comes_back_as_it_was(store: Store) -> None:
    full = an_evaluation(segment="region=Île-de-France|a=b", revision=2)
    bare = Evaluation(
        monitor="credit",
        model="m",
        window=window(1),
        champion_version="1",
        at=NOW,
        evaluated_at=NOW,
        outcome=Status.INSUFFICIENT,
        status=Status.INSUFFICIENT,
        counts=full.counts,
    )
    put(store, full, bare)
    found = evaluations(store, "credit")
    assert found == [full, bare]
    assert list(found[0].metrics) == list(full.metrics)
    assert list(found[0].tables["roc"][0]) == ["fpr", "tpr", "tpr_low", "tpr_high"]


def test_reading_gives_the_newest_revision_oldest_window_first(store: Store) -> None:
    first, revised, second = (
        an_evaluation(0),
        an_evaluation(0, revision=1, outcome=Status.OK, metrics={"champion/auc": 0.8}),
        an_evaluation(1),
    )
    north = an_evaluation(0, segment=NORTH)
    put(store, first, revised, north, second, an_evaluation(0, monitor="other", revision=5))
    assert evaluations(store, "credit") == [revised, north, second]
    assert evaluations(store, "credit", segment="") == [revised, second]
    assert evaluations(store, "credit", segment="", every_revision=True) == [first, revised, second]
    assert outcomes(store, "credit", "") == [(window(0), Status.OK), (window(1), Status.DEGRADED)]
    assert series(store, "credit", "") == [
        Point(
            window=each.window,
            revision=each.revision,
            at=each.at,
            metrics=each.metrics,
            champion_version=each.champion_version,
            outcome=each.outcome,
        )
        for each in (revised, second)
    ]
    assert [newest_revision(store, each) for each in (first, revised, second)] == [1, 1, 0]


def test_a_span_takes_whole_windows(store: Store) -> None:
    put(store, *(an_evaluation(number) for number in range(4)))
    start, end = window(1).start, window(2).end
    found = evaluations(store, "credit", start=start, end=end)
    assert [each.window for each in found] == [window(1), window(2)]
    short = timedelta(microseconds=1)
    found = evaluations(store, "credit", start=start + short, end=end - short)
    assert found == []


def test_evaluated_says_what_each_window_rests_on(store: Store) -> None:
    put(
        store,
        an_evaluation(0),
        an_evaluation(0, revision=1, provenance={"data_digest": "late labels"}),
        an_evaluation(1, segment=NORTH, challenger_version=None),
    )
    found = evaluated(store, "credit")
    newest = Evaluated(
        revision=1,
        digest="late labels",
        label_counts={"1": 1},
        outcome=Status.DEGRADED,
        labels_digest="l",
        settings_digest="s",
        champion_version="7",
        challenger_version="8",
    )
    north = Evaluated(
        revision=0,
        digest="digest-1",
        label_counts={"1": 0},
        outcome=Status.DEGRADED,
        labels_digest="l",
        settings_digest="s",
        champion_version="7",
        challenger_version=None,
    )
    assert found == {("", window(0)): newest, (NORTH, window(1)): north}


def test_one_evaluation_is_found_by_its_number(store: Store) -> None:
    put(store, an_evaluation())
    with store.reading() as connection:
        number = connection.execute(select(tables.evaluation.c.id)).scalar_one()
    assert evaluation(store, number) == an_evaluation()
    with pytest.raises(StoreError, match="there is no evaluation 99") as caught:
        evaluation(store, 99)
    assert not caught.value.transient


def test_transitions_come_in_the_order_they_were_saved(store: Store) -> None:
    worse, better = a_transition(), a_transition(before=Status.DEGRADED, after=Status.OK, at=NOW)
    north = a_transition(segment=NORTH)
    assert last_transition(store, "credit", "") is None
    change(store, (worse, True), (better, False), (north, False), (a_transition(monitor="other"), True))
    found = transitions(store, "credit")
    assert [asdict(each) for each in found] == [
        {**asdict(worse), "notified": True},
        {**asdict(better), "notified": False},
        {**asdict(north), "notified": False},
    ]
    assert transitions(store, "credit", NORTH) == found[2:]
    assert last_transition(store, "credit", "") == found[1]
    assert found[0].after is Status.DEGRADED


def test_told_is_what_people_heard_last(store: Store) -> None:
    assert last_said(store, "credit") == {}
    later = NOW + timedelta(days=1)
    change(
        store,
        (a_transition(after=Status.INSUFFICIENT), True),
        (a_transition(after=Status.IMPROVED, at=later), True),
        (a_transition(after=Status.DEGRADED, at=later), False),
        (a_transition(after=Status.ERROR, segment=NORTH, at=later), True),
    )
    # Improved is no alarm, and of degraded nobody was told.
    assert last_said(store, "credit") == {
        "": Said(status=Status.DEGRADED, notified=Status.IMPROVED, alarmed_at=NOW),
        NORTH: Said(status=Status.ERROR, notified=Status.ERROR, alarmed_at=later),
    }


def test_how_a_window_is_labelled_is_noted_of_its_newest_revision_of_all_rows(store: Store) -> None:
    put(store, an_evaluation(0), an_evaluation(0, revision=1), an_evaluation(0, revision=2, segment=NORTH))
    lease = a_lease(store, "another")
    remember_labels(store, "credit", window(0), label_counts={"1": 9}, labels_digest="new", lease=lease)
    found = evaluated(store, "credit")
    assert (found["", window(0)].revision, found["", window(0)].label_counts) == (1, {"1": 9})
    assert found["", window(0)].labels_digest == "new"
    assert found[NORTH, window(0)].labels_digest == "l"
    query = select(tables.evaluation.c.labels_digest).order_by(tables.evaluation.c.id)
    with store.reading() as connection:
        assert connection.execute(query).scalars().all() == ["l", "new", "l"]
