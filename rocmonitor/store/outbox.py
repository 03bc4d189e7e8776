"""The outbox: what still has to reach MLflow and the channels. Nothing leaves it before it has arrived."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, func, literal_column, not_, or_, select, union, update

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, columns_of, fields_of, having, window_key
from rocmonitor.store.tables import outbox

PENDING, DELIVERED, REFUSED = "pending", "delivered", "refused"

LONGEST_PAUSE = timedelta(hours=1)
"""No failure puts off the next attempt for longer: a later time was set by a clock that was ahead."""

Row: TypeAlias = dict[str, Any]

_NEW = outbox.insert()

# Written out, for an index has such rows only: delivered ones are a hundred times as many.
_LEFT = outbox.c.state != literal_column("'delivered'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Something to be delivered to ``mlflow`` or ``channel:<name>``, as plain JSON types."""

    destination: str
    payload: dict[str, Any]


def to_channels(names: Iterable[str], payload: dict[str, Any]) -> list[Outgoing]:
    """Return the same for each of some channels."""
    return [Outgoing(destination=f"channel:{name}", payload=payload) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Something to be delivered now, with what it was saved with, and how often it has failed."""

    id: int
    monitor: str
    evaluation_id: int | None
    review_id: int | None
    outlook_id: int | None
    destination: str
    payload: dict[str, Any]
    attempts: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSummary:
    """The deliveries that have not arrived yet.

    The `refused` ones fail until somebody mends something; they are tried again all the same. By destination
    there is the last error of its oldest delivery that has failed.
    """

    waiting: int
    refused: int
    next_attempt_at: datetime | None
    errors: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """The deliveries to one destination that have not arrived yet, as in `OutboxSummary`."""

    waiting: int
    refused: int
    oldest: datetime
    next_attempt_at: datetime
    error: str | None


def destinations_due(store: Store, now: datetime) -> list[str]:
    """Return the destinations with something due, channels first; asked every few seconds, so cheap."""
    first = (
        select(func.min(outbox.c.id).label("id"))
        .where(_LEFT, outbox.c.state == PENDING)
        .group_by(outbox.c.destination)
        .subquery()
    )
    due = not_(_put_off(now))
    heads = select(outbox.c.destination).join_from(first, outbox, outbox.c.id == first.c.id).where(due)
    refused = select(outbox.c.destination).where(_LEFT, outbox.c.state == REFUSED, due)
    return sorted(row["destination"] for row in store.rows(union(heads, refused)))


def pending(
    store: Store, now: datetime, limit: int = 100, *, destination: str | None = None
) -> list[Delivery]:
    """Return what is due, to all destinations or to one, oldest first.

    A destination gets things in the order they were saved: while one waits for its next attempt, nothing
    later goes to the same destination, unless that one was refused. (So a caller that fails at one must
    also leave out the destination's later ones.)

    Only a failure puts anything off: what was never tried is due whatever its time says, and so is what would
    wait longer than any failure lets it, because a clock was wrong when its time was set.
    """
    there = [] if destination is None else [outbox.c.destination == destination]
    waiting = (
        select(outbox.c.destination, func.min(outbox.c.id).label("first"))
        .where(_LEFT, outbox.c.state == PENDING, _put_off(now), *there)
        .group_by(outbox.c.destination)
        .subquery()
    )
    query = (
        select(*columns_of(outbox, Delivery))
        .join_from(outbox, waiting, outbox.c.destination == waiting.c.destination, isouter=True)
        .where(
            _LEFT,
            *there,
            not_(_put_off(now)),
            or_(waiting.c.first.is_(None), outbox.c.id < waiting.c.first),
        )
        .order_by(outbox.c.id)
        .limit(limit)
    )
    return [Delivery(**row) for row in store.rows(query)]


def mark_delivered(
    store: Store, id: int, now: datetime, receipt: str | None = None, *, also: Collection[int] = ()
) -> None:
    """Mark a row as arrived, and those of the same message; `receipt` is the destination's answer."""
    _attempted(store, (id, *also), now, state=DELIVERED, receipt=receipt, error=None)


def mark_failed(
    store: Store,
    id: int,
    now: datetime,
    error: str,
    retry_at: datetime,
    *,
    refused: bool = False,
    payload: dict[str, Any] | None = None,
) -> None:
    """Mark a row as failed, to be tried again then; when refused, later ones do not wait for it."""
    state = REFUSED if refused else PENDING
    more = {} if payload is None else {"payload": payload}
    _attempted(store, (id,), now, state=state, next_attempt_at=retry_at, error=error, **more)


def retry_now(store: Store, destination: str | None = None) -> None:
    """End the pauses after failures, of one destination or of all, because something shows that it works."""
    there = [] if destination is None else [outbox.c.destination == destination]
    failed = (_LEFT, outbox.c.error.is_not(None), outbox.c.next_attempt_at > outbox.c.attempted_at, *there)
    if store.scalar(select(outbox.c.id).where(*failed).limit(1)) is None:
        return
    with store.writing() as connection:
        connection.execute(update(outbox).where(*failed).values(next_attempt_at=outbox.c.attempted_at))


def receipt_of(
    store: Store,
    evaluation_id: int | None = None,
    review_id: int | None = None,
    outlook_id: int | None = None,
) -> str | None:
    """Return what MLflow first answered for one of these: where its run is; None before that."""
    ids = {"evaluation_id": evaluation_id, "review_id": review_id, "outlook_id": outlook_id}
    conditions = [outbox.c[name] == id for name, id in ids.items() if id is not None]
    if not conditions:
        return None
    query = (
        select(outbox.c.receipt)
        .where(*conditions, outbox.c.destination == "mlflow", outbox.c.receipt.is_not(None))
        .order_by(outbox.c.id)
        .limit(1)
    )
    receipt: str | None = store.scalar(query)
    return receipt


def more_to_publish(store: Store, evaluation: Evaluation) -> bool:
    """Return True if a later result of the same monitor and segment still waits for MLflow."""
    table = tables.evaluation
    same = {"monitor": evaluation.monitor, "segment": evaluation.segment}
    this = {"revision": evaluation.revision, **window_key(evaluation.window)}
    own = select(table.c.id).where(*having(table, **same, **this)).scalar_subquery()
    query = (
        select(outbox.c.id)
        .join_from(outbox, table, table.c.id == outbox.c.evaluation_id)
        .where(
            outbox.c.state == PENDING,
            outbox.c.destination == "mlflow",
            outbox.c.evaluation_id > own,
            *having(table, **same),
        )
        .limit(1)
    )
    return store.scalar(query) is not None


def last_number(store: Store) -> int:
    """Return the highest number of a delivery, 0 without any."""
    return store.scalar(select(func.max(outbox.c.id))) or 0


def outbox_summary(store: Store) -> OutboxSummary:
    """Return what waits, since when it fails, and why; what has failed longest first."""
    left = _left(store)
    return OutboxSummary(
        waiting=sum(backlog.waiting for backlog in left.values()),
        refused=sum(backlog.refused for backlog in left.values()),
        next_attempt_at=min((backlog.next_attempt_at for backlog in left.values()), default=None),
        errors={name: backlog.error for name, backlog in left.items() if backlog.error is not None},
    )


def backlog(store: Store) -> dict[str, Backlog]:
    """Return what has not arrived yet, by destination; empty when all has."""
    return dict(sorted(_left(store).items()))


def _left(store: Store) -> dict[str, Backlog]:
    """Return what has not arrived yet, by destination, in the order of the oldest deliveries that failed."""
    instant, failed = outbox.c.created_at.type, outbox.c.error.is_not(None)
    totals = (
        select(
            outbox.c.destination,
            func.count().label("waiting"),
            func.count().filter(outbox.c.state == REFUSED).label("refused"),
            func.min(outbox.c.created_at, type_=instant).label("oldest"),
            func.min(outbox.c.next_attempt_at, type_=instant).label("next_attempt_at"),
            func.min(outbox.c.id).filter(failed).label("failed"),
        )
        .where(_LEFT)
        .group_by(outbox.c.destination)
        .subquery()
    )
    first = outbox.c.id == totals.c.failed
    query = select(totals, outbox.c.error).join_from(totals, outbox, first, isouter=True)
    rows = store.rows(query.order_by(totals.c.failed))
    return {row["destination"]: Backlog(**fields_of(row, Backlog)) for row in rows}


def put(
    connection: Connection, monitor: str, outgoing: Sequence[Outgoing], now: datetime, **ids: int | None
) -> None:
    """`rows_of` and `put_all` together."""
    put_all(connection, rows_of(monitor, outgoing, now, **ids))


def rows_of(monitor: str, outgoing: Sequence[Outgoing], now: datetime, **ids: int | None) -> list[Row]:
    """Return rows of the outbox; `ids`: ``evaluation_id`` or another number of what they are about."""
    return [
        {
            "monitor": monitor,
            "evaluation_id": None,
            "review_id": None,
            "outlook_id": None,
            **ids,
            "destination": message.destination,
            "payload": message.payload,
            "state": PENDING,
            "attempts": 0,
            "created_at": now,
            "next_attempt_at": now,
        }
        for message in outgoing
    ]


def put_all(connection: Connection, rows: Sequence[Row]) -> None:
    """Add rows of the outbox in their order, within the transaction that saves what they are about."""
    if rows:
        connection.execute(_NEW, rows)


def _put_off(now: datetime) -> ColumnElement[bool]:
    return and_(
        outbox.c.attempts > 0,
        outbox.c.next_attempt_at > now,
        outbox.c.next_attempt_at <= now + LONGEST_PAUSE,
    )


def _attempted(store: Store, ids: Collection[int], now: datetime, **outcome: Any) -> None:
    # What was delivered stays so, whoever comes late.
    with store.writing() as connection:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_(ids), outbox.c.state != DELIVERED)
            .values(attempted_at=now, attempts=outbox.c.attempts + 1, **outcome)
        )
