import re
from datetime import timedelta

from sqlalchemy import Connection, event, select
from store.examples import NOW, a_lease, a_result, a_transition

from rocmonitor.service.delivery import LONGEST_RETRY
from rocmonitor.store import (
    Backlog,
    OutboxSummary,
    Outgoing,
    Store,
    backlog,
    destinations_due,
    mark_delivered,
    mark_failed,
    outbox_summary,
    pending,
    receipt_of,
    save,
    save_transition,
    tables,
)
from rocmonitor.store.outbox import LONGEST_PAUSE

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
    assert numbers(store, minutes=-60) == [0, 1, 2, 3]  # a clock that was ahead holds nothing back


def test_nothing_but_a_failure_holds_a_row_back(store: Store) -> None:
    """Rows that were saved while the clock was ahead are due, and so is what then failed."""
    fill(store, "mlflow", "mlflow", "channel:ops")
    assert numbers(store, minutes=-60 * 24 * 40) == [0, 1, 2]
    mark_failed(store, ids(store)[0], NOW, "503", NOW + LONGEST_PAUSE)
    assert numbers(store) == [2]
    assert numbers(store, minutes=-1) == [0, 1, 2]


def test_no_failure_puts_off_a_row_for_longer() -> None:
    assert LONGEST_RETRY <= LONGEST_PAUSE


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


def test_who_is_due_comes_with_channels_first(store: Store) -> None:
    fill(store, "mlflow", "channel:ops", "mlflow", "channel:mail")
    assert destinations_due(store, NOW) == ["channel:mail", "channel:ops", "mlflow"]
    for due in pending(store, NOW, destination="channel:ops"):
        mark_delivered(store, due.id, NOW)
    run, later = pending(store, NOW, destination="mlflow")
    mark_failed(store, run.id, NOW, "503", NOW + MINUTE)
    assert destinations_due(store, NOW) == ["channel:mail"]  # the later run waits for the first
    assert pending(store, NOW, destination="mlflow") == []
    mark_failed(store, run.id, NOW, "400", NOW + MINUTE, refused=True)
    assert destinations_due(store, NOW) == ["channel:mail", "mlflow"]
    assert [due.id for due in pending(store, NOW, destination="mlflow")] == [later.id]
    mark_delivered(store, later.id, NOW)
    assert destinations_due(store, NOW) == ["channel:mail"]
    assert destinations_due(store, NOW + MINUTE) == ["channel:mail", "mlflow"]


def test_what_is_left_is_known_by_destination(store: Store) -> None:
    assert backlog(store) == {}
    fill(store, "mlflow", "mlflow", "mlflow", "channel:ops")
    first, second, third, alarm = pending(store, NOW)
    mark_delivered(store, first.id, NOW)
    mark_failed(store, second.id, NOW, "400", NOW + 60 * MINUTE, refused=True)
    mark_failed(store, third.id, NOW, "503", NOW + MINUTE)
    assert backlog(store) == {
        "channel:ops": Backlog(
            waiting=1, refused=0, oldest=alarm.created_at, next_attempt_at=NOW, error=None
        ),
        "mlflow": Backlog(
            waiting=2, refused=1, oldest=second.created_at, next_attempt_at=NOW + MINUTE, error="400"
        ),
    }


def test_what_was_delivered_costs_nothing(store: Store) -> None:
    """Every few seconds somebody asks; delivered rows are there by the hundred thousand."""
    fill(store, *["mlflow"] * 3000)
    with store.writing() as connection:
        delivered = tables.outbox.update().where(tables.outbox.c.id > 2)
        connection.execute(delivered.values(state="delivered"))
    with store.writing() as connection:
        connection.exec_driver_sql("ANALYZE")
    seen: list[str] = []

    def explain(connection: Connection, _: object, statement: str, values: object, *__: object) -> None:
        if statement.startswith("SELECT"):
            how = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
            cursor = connection.connection.cursor()
            cursor.execute(how + statement, values)
            seen.extend(" ".join(map(str, row)) for row in cursor.fetchall())

    event.listen(store.engine, "before_cursor_execute", explain)
    destinations_due(store, NOW)
    pending(store, NOW, destination="mlflow")
    outbox_summary(store)
    backlog(store)
    assert any("ix_rocmonitor_outbox_destination" in line for line in seen)
    whole = re.compile("SCAN rocmonitor_outbox$|Seq Scan on rocmonitor_outbox")
    assert [line for line in seen if whole.search(line)] == []
