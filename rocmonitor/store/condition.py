"""What the store says about the service: who is at work, the alarms so far, its schema and its clock."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select, text

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import is_alarm
from rocmonitor.store import tables
from rocmonitor.store.connection import Store
from rocmonitor.store.migrate import NEWEST, OPTIONS

__all__ = ["NEWEST", "alarms", "at_work", "database_clock", "schema_version"]


def at_work(store: Store, now: datetime) -> frozenset[str]:
    """The monitors whose tick is running, in whichever process: their leases are held.

    Raises
    ------
    StoreError
    """
    lease = tables.lease.c
    query = select(lease.name).where(
        lease.owner.is_not(None), lease.expires_at > now, lease.name.startswith("monitor:", autoescape=True)
    )
    with store.reading() as connection:
        return frozenset(name.removeprefix("monitor:") for name in connection.scalars(query))


def alarms(store: Store) -> dict[tuple[str, str], int]:
    """How many alarms were raised and notified, by monitor and status.

    Raises
    ------
    StoreError
    """
    change = tables.transition.c
    query = (
        select(change.monitor, change.after, func.count().label("number"))
        .where(change.notified, change.after.in_([str(each) for each in Status if is_alarm(each)]))
        .group_by(change.monitor, change.after)
    )
    with store.reading() as connection:
        return {(row.monitor, row.after): row.number for row in connection.execute(query)}


def database_clock(store: Store) -> datetime | None:
    """The time of the database server; None on SQLite, which has no clock of its own.

    Raises
    ------
    StoreError
    """
    if store.engine.dialect.name == "sqlite":
        return None
    with store.reading() as connection:
        found: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return found


def schema_version(store: Store) -> str:
    """The version of the schema now: another process may have upgraded it.

    Raises
    ------
    StoreError
    """
    with store.reading() as connection:
        versions = connection.scalars(text(f"SELECT version_num FROM {OPTIONS['version_table']}"))
        return ", ".join(str(version) for version in versions)
