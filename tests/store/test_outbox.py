from datetime import timedelta

from sqlalchemy import select
from store.examples import NOW, a_lease, a_result, a_transition

from rocmonitor.store import (
    OutboxSummary,
    Outgoing,
    Store,
    mark_delivered,
    mark_failed,
    outbox_summary,
    pending,
    receipt_of,
    save,
    save_transition,
    tables,
)

MINUTE = timedelta(minutes=1)


def fill(store: Store, *destinations: str) -> None:
    save_transition(
        store,
        a_transition(),
        True,
        [Outgoing(destination=name, payload={"number": n}) for n, name in enumerate(destinations)],
        lease=a_lease(store),
    )


def numbers(store: Store, minutes: int = 0, limit: int = 100) -> list[int]:
    return [due.payload["number"] for due in pending(store, NOW + minutes * MINUTE, limit)]


def ids(store: Store) -> list[int]:
    return [due.id for due in pending(store, NOW)]


def test_what_is_due_comes_in_the_order_it_was_saved(store: Store) -> None:
    fill(store, "mlflow", "channel:ops", "mlflow", "channel:mail")
    assert numbers(store) == [0, 1, 2, 3]
    assert numbers(store, limit=3) == [0, 1, 2]
    assert pending(store, NOW - MINUTE) == []


def test_a_delivery_names_what_it_came_with(store: Store) -> None:
    save(
        store, [a_result(outbox=(Outgoing(destination="mlflow", payload={"ä": [1]}),))], lease=a_lease(store)
    )
    (due,) = pending(store, NOW)
    with store.reading() as connection:
        assert due.evaluation_id == connection.scalar(select(tables.evaluation.c.id))
    assert (due.monitor, due.destination, due.payload) == ("credit", "mlflow", {"ä": [1]})
    assert (due.attempts, due.created_at) == (0, NOW)


def test_what_arrived_is_not_delivered_again(store: Store) -> None:
    fill(store, "mlflow", "mlflow")
    first, second = ids(store)
    mark_delivered(store, first, NOW, "http://mlflow/run/1")
    mark_failed(store, first, NOW, "late answer", NOW)
    assert ids(store) == [second]
    assert outbox_summary(store) == OutboxSummary(waiting=1, refused=0, next_attempt_at=NOW, errors={})


def test_nothing_overtakes_what_waits_for_the_same_destination(store: Store) -> None:
    fill(store, "mlflow", "channel:ops", "mlflow", "channel:mail")
    first, *_ = ids(store)
    mark_failed(store, first, NOW, "503", NOW + 2 * MINUTE)
    assert numbers(store) == [1, 3]
    assert numbers(store, 1) == [1, 3]
    assert numbers(store, 2) == [0, 1, 2, 3]
    assert pending(store, NOW + 2 * MINUTE)[0].attempts == 1


def test_what_waits_holds_up_only_what_came_later(store: Store) -> None:
    fill(store, "mlflow", "mlflow", "mlflow")
    mark_failed(store, ids(store)[1], NOW, "503", NOW + MINUTE)
    assert numbers(store) == [0]


def test_what_was_refused_holds_up_nothing_and_is_tried_again(store: Store) -> None:
    fill(store, "mlflow", "mlflow")
    first = ids(store)[0]
    mark_failed(store, first, NOW, "503", NOW + MINUTE)
    mark_failed(store, first, NOW + MINUTE, "400 no such experiment", NOW + 60 * MINUTE, refused=True)
    assert numbers(store, minutes=1) == [1]
    assert numbers(store, minutes=60) == [0, 1]
    summary = outbox_summary(store)
    assert (summary.waiting, summary.refused, summary.next_attempt_at) == (2, 1, NOW)
    assert summary.errors == {"mlflow": "400 no such experiment"}
    with store.reading() as connection:
        row = connection.execute(select(tables.outbox).where(tables.outbox.c.id == first)).one()
    assert (row.state, row.attempts) == ("refused", 2)
    mark_delivered(store, first, NOW + 60 * MINUTE)
    assert numbers(store, minutes=60) == [1]


def test_the_receipt_is_of_the_first_mlflow_delivery(store: Store) -> None:
    sent = tuple(Outgoing(destination=name, payload={}) for name in ("channel:ops", "mlflow", "mlflow"))
    save(store, [a_result(0, outbox=sent), a_result(1, outbox=sent)], lease=a_lease(store))
    ops, run, series, _, other, _ = pending(store, NOW)
    assert run.evaluation_id is not None
    assert receipt_of(store, run.evaluation_id) is None
    mark_delivered(store, ops.id, NOW, "sent")
    mark_delivered(store, other.id, NOW, "run of the other window")
    mark_delivered(store, run.id, NOW, "window run")
    mark_delivered(store, series.id, NOW, "series run")
    assert receipt_of(store, run.evaluation_id) == "window run"
