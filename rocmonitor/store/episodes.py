"""Episodes: one row each, of a decline, of what has stopped arriving, or of an outage.

A decline is written with the window that began, changed or ended it, a stop with the counts that show it, an
outage when something fails or works again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

from sqlalchemy import Connection, func, select, update

from rocmonitor.policy.episode import Decline, Episode, Warned
from rocmonitor.policy.evaluation import Status, Transition, Verdict
from rocmonitor.policy.outages import REVIEW, WORKS, Member, Outage, place_in
from rocmonitor.policy.stops import Kind, Stop
from rocmonitor.store.connection import Store, insert, put_row
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.tables import episode as table

_STOPS = get_args(Kind)
_CLASSES: dict[str, type[Episode]] = {"performance": Decline, "outlook": Warned}
_DECLINE = table.c.kind == "performance"
_OUTAGE = table.c.monitor.is_(None)
_OPEN = table.c.closed.is_(None)
_FORGOTTEN = timedelta(days=2)


def declines(store: Store, monitor: str, segment: str | None = None) -> list[Decline]:
    """Return the declines of a monitor, or of one segment, oldest first."""
    query = select(table.c.content).where(_DECLINE, table.c.monitor == monitor)
    if segment is not None:
        query = query.where(table.c.segment == segment)
    return [Decline.from_dict(row["content"]) for row in store.rows(query.order_by(table.c.began))]


def last_decline(store: Store, monitor: str, segment: str) -> Decline | None:
    """Return the newest decline of a segment; None where it had none."""
    return next(reversed(declines(store, monitor, segment)), None)


def last_declines(store: Store) -> dict[tuple[str, str], Decline]:
    """Return the newest decline of every monitor and segment that has had one."""
    newest = select(table.c.monitor, table.c.segment, func.max(table.c.began).label("start")).where(_DECLINE)
    last = newest.group_by(table.c.monitor, table.c.segment).subquery()
    same = (table.c[name] == last.c[name] for name in ("monitor", "segment"))
    query = select(table.c.content).where(_DECLINE, *same, table.c.began == last.c.start)
    declines = [Decline.from_dict(row["content"]) for row in store.rows(query)]
    return {(decline.monitor, decline.segment): decline for decline in declines}


def episodes(store: Store, monitor: str) -> list[Episode]:
    """Return all episodes of a monitor, with the outages that it was in, by their start."""
    names = {monitor, f"{REVIEW}{monitor}"}
    query = select(table.c.kind, table.c.content).where(table.c.monitor == monitor)
    with store.reading() as connection:
        own = [_CLASSES.get(kind, Stop).from_dict(content) for kind, content in connection.execute(query)]
        outages = (outage for outage in _outages(connection) if not outage.members.keys().isdisjoint(names))
        return sorted([*own, *outages], key=lambda episode: episode.start)


def open_stops(store: Store) -> dict[str, list[Stop]]:
    """Return what has stopped and does not arrive again yet, by monitor."""
    query = select(table.c.content).where(_OPEN, table.c.kind.in_(_STOPS)).order_by(table.c.id)
    stops: dict[str, list[Stop]] = {}
    for row in store.rows(query):
        stop = Stop.from_dict(row["content"])
        stops.setdefault(stop.monitor, []).append(stop)
    return stops


def put_episodes(connection: Connection, episodes: Iterable[Decline | Warned | Stop]) -> None:
    """Write declines, warnings and stops, each over what is known of it."""
    for episode in episodes:
        began = episode.alarm.start if isinstance(episode, Decline) else episode.start
        key = {"monitor": episode.monitor, "segment": episode.segment, "kind": episode.kind, "began": began}
        values = {"closed": episode.end, "content": episode.to_dict()}
        put_row(connection, table, key, values)


def put_warning(
    connection: Connection, change: Transition, notified: bool, outgoing: Sequence[Outgoing]
) -> None:
    """Begin, repeat or end a warning with a change of status and its messages."""
    if Status.AT_RISK not in (change.before, change.after):
        return
    this = (table.c.monitor == change.monitor, table.c.segment == change.segment)
    stored = connection.scalar(select(table.c.content).where(table.c.kind == "outlook", *this, _OPEN))
    if stored is None and change.after is not Status.AT_RISK:
        return
    new = Warned(monitor=change.monitor, segment=change.segment, start=change.since)
    warning = new if stored is None else Warned.from_dict(stored)
    if change.after is not Status.AT_RISK:
        put_episodes(connection, [warning.closed(change.at, str(change.after))])
        return
    rules = [*warning.rules, *(reason.rule for reason in change.reasons if isinstance(reason, Verdict))]
    warning = replace(warning, rules=tuple(dict.fromkeys(rules)))
    put_episodes(connection, [warning.told(change.at, _channels(outgoing)) if notified else warning])


def open_outages(store: Store) -> list[Outage]:
    """Return what fails now, and what works again without people being notified of that yet; oldest first."""
    with store.reading() as connection:
        return _outages(connection, _OPEN)


def add_failure(store: Store, cause: str, member: str, at: datetime, *, error: str, lasting: bool) -> None:
    """Note that a member failed: it joins the outage with this cause, and leaves any other.

    One that comes from another outage fails since it failed there; when it was the last there, that outage is
    closed without a message, for it goes on in this one.
    """
    with store.writing() as connection:
        since = at
        for outage in _outages(connection, _OPEN, lock=True):
            if _fails(outage, member):
                since = min(since, outage.members[member].since)
                if outage.cause != cause:
                    left = {name: membership for name, membership in outage.members.items() if name != member}
                    _save_members(connection, outage, left, at, quietly=True)
        kind = place_in(cause).partition(":")[0]
        new = Outage(kind=kind, cause=cause, start=since, error=error, lasting=lasting)
        # Another process may open it in the same moment: there is one with a cause.
        connection.execute(
            insert(connection, table)
            .values(segment="", kind=kind, began=at, open_as=cause, content=new.to_dict())
            .on_conflict_do_nothing(index_elements=[table.c.open_as])
        )
        [stored] = _outages(connection, table.c.open_as == cause, lock=True)
        changed = replace(
            stored,
            start=min(since, stored.start),
            failures=stored.failures + 1,
            error=error,
            lasting=lasting,
            members={**stored.members, member: Member(since=since, seen=at)},
        )
        _save(connection, changed)


def end_failure(store: Store, member: str, at: datetime, *, known: Collection[str] | None = None) -> None:
    """Note that a member works: outages in which nothing else fails end. Nothing is written if it did before.

    Of members that are not `known` to be there, those leave that have not failed for two days.
    """
    with store.reading() as connection:
        if not any(_fails(outage, member) for outage in _outages(connection, _OPEN)):
            return
    with store.writing() as connection:
        for outage in _outages(connection, _OPEN, lock=True):
            if _fails(outage, member):
                left = {
                    name: replace(membership, works_at=at) if name == member else membership
                    for name, membership in outage.members.items()
                    if known is None or name in known or at - membership.seen <= _FORGOTTEN
                }
                _save_members(connection, outage, left, at)


def notify_outage(store: Store, outage: Outage, at: datetime, outgoing: Sequence[Outgoing]) -> bool:
    """Put messages about an outage into the outbox; return False if another process did so."""
    with store.writing() as connection:
        stored_outages = _outages(connection, _OPEN, table.c.id == outage.id, lock=True)
        if [(stored.end, stored.last_message) for stored in stored_outages] != [
            (outage.end, outage.last_message)
        ]:
            return False
        _save(
            connection,
            stored_outages[0].told(at, _channels(outgoing)),
            closed=None if outage.is_open else at,
        )
        put(connection, "", outgoing, at)
        return True


def _channels(outgoing: Sequence[Outgoing]) -> list[str]:
    pairs = (message.destination.partition(":") for message in outgoing)
    return [name for kind, _, name in pairs if kind == "channel"]


def _outages(connection: Connection, *which: Any, lock: bool = False) -> list[Outage]:
    query = select(table.c.id, table.c.content).where(_OUTAGE, *which).order_by(table.c.id)
    # SQLite has no FOR UPDATE and needs none: it lets one transaction write at a time.
    rows = connection.execute(query.with_for_update() if lock else query)
    return [replace(Outage.from_dict(row.content), id=row.id) for row in rows]


def _fails(outage: Outage, member: str) -> bool:
    return outage.is_open and member in outage.about


def _save(connection: Connection, outage: Outage, *, closed: datetime | None = None) -> None:
    values: dict[str, Any] = {"content": outage.to_dict(), "closed": closed}
    if not outage.is_open:
        values["open_as"] = None
    connection.execute(update(table).where(table.c.id == outage.id).values(values))


def _save_members(
    connection: Connection,
    outage: Outage,
    members: Mapping[str, Member],
    at: datetime,
    *,
    quietly: bool = False,
) -> None:
    """Keep who failed and who works again; when nobody fails any more, the outage has ended."""
    outage = replace(outage, members=members)
    over = all(member.works_at is not None for member in members.values())
    silent = outage.first_message is None or (quietly and not members)
    _save(connection, outage.closed(at, WORKS) if over else outage, closed=at if over and silent else None)
