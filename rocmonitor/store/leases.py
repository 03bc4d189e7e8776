"""Leases: one process at a time, for a limited time. By compare-and-set: no process waits for another.

A lease that ran out may be taken over, so its former holder must not write: `rocmonitor.store.save` looks
whether the lease is still the one it was given (fencing).

PostgreSQL measures the time by its own clock, the same for all processes; on SQLite they are on one machine
and share its clock. A lease that would last far longer than any is given, because a clock was wrong, is free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, DateTime, and_, bindparam, func, or_, select, update

from rocmonitor.errors import StoreError
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.tables import lease as table

_HELD = and_(
    table.c.name == bindparam("holding"),
    table.c.owner == bindparam("holder"),
    table.c.token == bindparam("fence"),
)
_FIND_HELD = select(table.c.name).where(_HELD).with_for_update()

LEASE = timedelta(seconds=20)
"""Time a monitor stays taken when the process that works on it dies; renewed while the process lives."""
_LONGEST = timedelta(minutes=5)
"""Longer than any lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of an `owner` to work on `name`; `token` tells it from every earlier one."""

    name: str
    owner: str
    token: int
    expires_at: datetime


def acquire(store: Store, name: str, owner: str, now: datetime, ttl: timedelta) -> Lease | None:
    """Return the lease on `name` for the time `ttl`; None while anybody holds it (`owner` as well).

    `now` is this process's clock: what a store without a clock goes by, and what ``expires_at`` is told in.
    """
    clock = _clock(store, now)
    free = or_(table.c.owner.is_(None), table.c.expires_at <= clock, table.c.expires_at > clock + _LONGEST)
    taken = {"owner": owner, "expires_at": clock + ttl}
    with store.writing() as connection:
        token = connection.scalar(
            insert(connection, table)
            .values(name=name, token=1, **taken)
            .on_conflict_do_update(
                index_elements=[table.c.name], set_={**taken, "token": table.c.token + 1}, where=free
            )
            .returning(table.c.token)
        )
    return None if token is None else Lease(name=name, owner=owner, token=token, expires_at=now + ttl)


def renew(store: Store, lease: Lease, now: datetime, ttl: timedelta) -> Lease | None:
    """Return the same lease until ``now + ttl``; None when another has taken it over."""
    longer = update(table).where(_HELD).values(expires_at=_clock(store, now) + ttl)
    with store.writing() as connection:
        renewed = connection.execute(longer, _named(lease))
    return replace(lease, expires_at=now + ttl) if renewed.rowcount else None


def release(store: Store, lease: Lease) -> None:
    """Give the lease back; nothing happens when another has taken it over."""
    with store.writing() as connection:
        # The row stays, for its token must never come a second time.
        connection.execute(update(table).where(_HELD).values(owner=None), _named(lease))


def release_all(store: Store, owner: str) -> None:
    """Give back all that a process holds, because it ends."""
    with store.writing() as connection:
        connection.execute(update(table).where(table.c.owner == owner).values(owner=None))


def require(connection: Connection, lease: Lease) -> None:
    """See that the lease was not taken over, and keep it so until the transaction ends."""
    # SQLite has no FOR UPDATE and needs none: it lets one transaction write at a time.
    if connection.scalar(_FIND_HELD, _named(lease)) is None:
        raise StoreError(
            f"the lease on {lease.name} is no longer held by {lease.owner}: it ran out at "
            f"{lease.expires_at.isoformat()} and another process took it over; nothing was saved"
        )


def _clock(store: Store, now: datetime) -> Any:
    """Return the store's own clock, else `now`: an instant that durations can be added to."""
    if store.engine.dialect.name == "postgresql":
        return func.clock_timestamp(type_=DateTime(timezone=True))
    return now


def _named(lease: Lease) -> dict[str, Any]:
    return {"holding": lease.name, "holder": lease.owner, "fence": lease.token}
