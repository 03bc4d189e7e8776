"""Outages: what fails now, since when, and whether people were notified of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from rocmonitor.policy.outages import Member, Outage
from rocmonitor.policy.stops import Arrived, Stop
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.tables import outage as table

OPEN, ENDED, CLOSED = "open", "ended", "closed"

_FORGOTTEN = timedelta(days=2)


def open_outages(store: Store) -> list[Outage]:
    """Return what fails now, and what works again without people being notified of that yet; oldest first.

    Raises
    ------
    StoreError
    """
    with store.reading() as connection:
        return _unclosed(connection)


def add_failure(store: Store, cause: str, member: str, at: datetime, *, error: str, lasting: bool) -> None:
    """Note that a member failed: it joins the outage with this cause, and leaves any other.

    One that comes from another outage fails since it failed there; when it was the last there, that outage is
    closed without a message, for it goes on in this one.

    Raises
    ------
    StoreError
    """
    with store.writing() as connection:
        since = at
        for outage in _unclosed(connection, lock=True):
            if member in outage.about and outage.ended_at is None:
                since = min(since, outage.members[member].since)
                if outage.cause != cause:
                    left = {name: each for name, each in outage.members.items() if name != member}
                    _save_members(connection, outage, left, at, quietly=True)
        # Another process may open it in the same moment: there is one with a cause.
        connection.execute(
            insert(connection, table)
            .values(
                cause=cause,
                open_cause=cause,
                state=OPEN,
                since=since,
                error=error,
                lasting=lasting,
                members={},
            )
            .on_conflict_do_nothing(index_elements=[table.c.open_cause])
        )
        [outage] = [each for each in _unclosed(connection, lock=True) if _is_open(each, cause)]
        members = {**outage.members, member: Member(since=since, seen=at)}
        connection.execute(
            update(table)
            .where(table.c.id == outage.id)
            .values(members=_plain(members), since=min(since, outage.since), error=error, lasting=lasting)
        )


def end_failure(store: Store, member: str, at: datetime, *, known: Collection[str] | None = None) -> None:
    """Note that a member works: outages in which nothing else fails end. Nothing is written if it did before.

    Parameters
    ----------
    store : Store
    member : str
    at : datetime
    known : collection of str, optional
        Members that there are: others leave when they have not failed for two days.

    Raises
    ------
    StoreError
    """
    with store.reading() as connection:
        if not any(_fails(outage, member) for outage in _unclosed(connection)):
            return
    with store.writing() as connection:
        for outage in _unclosed(connection, lock=True):
            if _fails(outage, member):
                left = {
                    name: replace(each, works_at=at) if name == member else each
                    for name, each in outage.members.items()
                    if known is None or name in known or at - each.seen <= _FORGOTTEN
                }
                _save_members(connection, outage, left, at)


def notify_outage(store: Store, outage: Outage, at: datetime, outgoing: Sequence[Outgoing]) -> bool:
    """Put messages about an outage into the outbox, unless another process was faster; whether it was done.

    Raises
    ------
    StoreError
    """
    before = table.c.notified_at
    unchanged = before.is_(None) if outage.notified_at is None else before == outage.notified_at
    state = OPEN if outage.ended_at is None else ENDED
    done = {"notified_at": at, "state": OPEN if outage.ended_at is None else CLOSED}
    with store.writing() as connection:
        taken = connection.execute(
            update(table).where(table.c.id == outage.id, table.c.state == state, unchanged).values(done)
        )
        if taken.rowcount:
            put(connection, "", outgoing, at)
        return bool(taken.rowcount)


def _unclosed(connection: Connection, *, lock: bool = False) -> list[Outage]:
    query = select(table).where(table.c.state.in_((OPEN, ENDED))).order_by(table.c.id)
    # SQLite has no FOR UPDATE and needs none: it lets one transaction write at a time.
    rows = connection.execute(query.with_for_update() if lock else query).mappings()
    return [_outage(row) for row in rows]


def _outage(row: RowMapping) -> Outage:
    members = {
        name: Member(**{key: value and datetime.fromisoformat(value) for key, value in each.items()})
        for name, each in row["members"].items()
    }
    names = [name for name in Outage.__dataclass_fields__ if name != "members"]
    return Outage(**{name: row[name] for name in names}, members=members)


def _is_open(outage: Outage, cause: str) -> bool:
    return outage.cause == cause and outage.ended_at is None


def _fails(outage: Outage, member: str) -> bool:
    return outage.ended_at is None and member in outage.about


def _plain(members: Mapping[str, Member]) -> dict[str, dict[str, str | None]]:
    return {
        name: {
            "since": each.since.isoformat(),
            "seen": each.seen.isoformat(),
            "works_at": None if each.works_at is None else each.works_at.isoformat(),
        }
        for name, each in members.items()
    }


def _save_members(
    connection: Connection,
    outage: Outage,
    members: Mapping[str, Member],
    at: datetime,
    *,
    quietly: bool = False,
) -> None:
    """Keep who failed and who works again; when nobody fails any more, the outage has ended."""
    values: dict[str, Any] = {"members": _plain(members)}
    if all(each.works_at is not None for each in members.values()):
        silent = outage.notified_at is None or (quietly and not members)
        values |= {"ended_at": at, "open_cause": None, "state": CLOSED if silent else ENDED}
    connection.execute(update(table).where(table.c.id == outage.id).values(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStop:
    """A stop in the store.

    Attributes
    ----------
    stop : Stop
    notified : bool
        Whether somebody was notified.
    id : int or None
        None before it is saved.
    """

    stop: Stop
    notified: bool
    id: int | None = None


def arrivals(store: Store, monitor: str, since: datetime) -> list[Arrived]:
    """Return what was counted of the windows that start at or after `since`, oldest count first.

    Raises
    ------
    StoreError
    """
    table = tables.arrival.c
    query = (
        select(table.window_start, table.window_end, table.at, table.rows, table.labelled)
        .where(table.monitor == monitor, table.window_start >= since)
        .order_by(table.window_start, table.window_end, table.at)
    )
    with store.reading() as connection:
        return [
            Arrived(window=Window(start, end), at=at, rows=rows, labelled=labelled)
            for start, end, at, rows, labelled in connection.execute(query)
        ]


def open_stops(store: Store) -> dict[str, list[SavedStop]]:
    """Return what has stopped and does not arrive again yet, by monitor.

    Raises
    ------
    StoreError
    """
    table = tables.stop.c
    query = (
        select(table.id, table.monitor, table.notified, table.result)
        .where(table.ended_at.is_(None))
        .order_by(table.id)
    )
    found: dict[str, list[SavedStop]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            saved = SavedStop(id=row.id, notified=row.notified, stop=Stop.from_dict(row.result))
            found.setdefault(row.monitor, []).append(saved)
    return found


def save_arrivals(
    store: Store,
    monitor: str,
    counted: Sequence[Arrived],
    stops: Sequence[SavedStop],
    outbox: Sequence[Outgoing],
    *,
    at: datetime,
    lease: Lease,
) -> None:
    """Save what a tick counted, the stops that began, ended or were notified, and their messages, or nothing.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    with store.writing() as connection:
        require(connection, lease)
        for each in counted:
            connection.execute(
                insert(connection, tables.arrival)
                .values(
                    monitor=monitor,
                    window_start=each.window.start,
                    window_end=each.window.end,
                    at=each.at,
                    rows=each.rows,
                    labelled=each.labelled,
                )
                .on_conflict_do_nothing()
            )
        for saved in stops:
            values = {
                "monitor": monitor,
                "kind": saved.stop.kind,
                "since": saved.stop.since,
                "ended_at": at if saved.stop.ended else None,
                "notified": saved.notified,
                "result": saved.stop.to_dict(),
            }
            table = tables.stop
            if saved.id is None:
                connection.execute(table.insert().values(values))
            else:
                connection.execute(table.update().where(table.c.id == saved.id).values(values))
        put(connection, monitor, outbox, at)
