import pytest
from sqlalchemy import func, select
from store.examples import NOW, a_lease, a_result, a_transition, an_evaluation, race, save_all, window

from rocmonitor.caveat import Caveat
from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Status
from rocmonitor.store import (
    Outgoing,
    Store,
    WindowRecord,
    evaluations,
    outcomes,
    pending,
    save,
    save_transition,
    tables,
    transitions,
)

TOLD = Outgoing(destination="channel:ops", payload={"title": "credit is degraded"})


def rows(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        return {
            table.name.removeprefix("rocmonitor_"): connection.execute(
                select(func.count()).select_from(table)
            ).scalar_one()
            for table in (tables.evaluation, tables.transition, tables.outbox)
        }


def result(number: int = 0, **changes: object) -> WindowRecord:
    return WindowRecord(
        evaluation=an_evaluation(number, **changes),
        label_counts={"1": 4},
        labels_digest="labels",
        settings_digest="settings",
        transition=a_transition(),
        notified=True,
        outbox=[TOLD],
    )


def test_a_repeat_changes_nothing(store: Store) -> None:
    lease = a_lease(store)
    save(store, [result()], lease=lease)
    save(store, [result(outcome=Status.OK), result(1)], lease=lease)
    assert rows(store) == {"evaluation": 2, "transition": 2, "outbox": 2}
    assert outcomes(store, "credit", "") == [(window(0), Status.DEGRADED), (window(1), Status.DEGRADED)]


@pytest.mark.parametrize(
    "change",
    [
        {"monitor": "other"},
        {"champion_version": "8"},
        {"segment": "region=north"},
        {"window": window(1)},
        {"revision": 1},
    ],
)
def test_each_part_of_the_key_tells_evaluations_apart(store: Store, change: dict[str, object]) -> None:
    save(store, [result(), result(**change)], lease=a_lease(store))
    assert rows(store) == {"evaluation": 2, "transition": 2, "outbox": 2}


@pytest.mark.parametrize("payload", [{"when": NOW}, {"auc": float("nan")}], ids=["no JSON", "NaN"])
def test_a_failure_at_the_last_row_leaves_nothing(store: Store, payload: dict[str, object]) -> None:
    lease = a_lease(store)
    bad = a_result(1, outbox=(TOLD, Outgoing(destination="mlflow", payload=payload)))
    with pytest.raises(StoreError, match="JSON") as caught:
        save(store, [result(), bad], lease=lease)
    assert not caught.value.transient
    assert rows(store) == {"evaluation": 0, "transition": 0, "outbox": 0}
    save(store, [result()], lease=lease)
    assert rows(store) == {"evaluation": 1, "transition": 1, "outbox": 1}


def test_an_error_is_a_transition_without_an_evaluation(store: Store) -> None:
    failed = a_transition(after=Status.ERROR, reasons=(Caveat("error", text="no such table: scored"),))
    save_transition(store, failed, True, [TOLD], lease=a_lease(store))
    assert evaluations(store, "credit") == []
    assert [change.after for change in transitions(store, "credit")] == [Status.ERROR]
    (due,) = pending(store, NOW)
    assert (due.monitor, due.evaluation_id, due.payload) == ("credit", None, TOLD.payload)


def test_processes_that_save_the_same_save_it_once(store: Store, migrated_url: str) -> None:
    race(save_all, migrated_url)
    assert rows(store) == {"evaluation": 30, "transition": 0, "outbox": 30}
    assert sorted(due.payload["number"] for due in pending(store, NOW)) == list(range(30))
