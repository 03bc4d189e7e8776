"""The people who look after an alarm, and the monitors that are muted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select, update

from rocmonitor.policy.status import Attention
from rocmonitor.store.connection import Store, put_row
from rocmonitor.store.history import ALARMS
from rocmonitor.store.tables import attention as table
from rocmonitor.store.tables import transition


def attention(store: Store, monitor: str) -> Attention:
    """Return what people said about a monitor."""
    return attentions(store).get(monitor, Attention())


def attentions(store: Store) -> dict[str, Attention]:
    """Return what people said, by monitor; only of those about which something was said."""
    rows = map(dict, store.rows(select(table)))
    return {row.pop("monitor"): Attention(**row) for row in rows}


def acknowledge(store: Store, monitor: str, *, by: str, at: datetime, note: str = "") -> None:
    """Somebody takes on the alarm of a monitor, and with it of each segment the last change, if it is one."""
    change = transition.c
    last = select(func.max(change.id)).where(change.monitor == monitor).group_by(change.segment)
    with store.writing() as connection:
        newest = change.id.in_(list(connection.scalars(last)))
        alarms = (newest, change.notified, change.after.in_(ALARMS), change.acknowledged_at.is_(None))
        connection.execute(update(transition).where(*alarms).values(acknowledged_at=at))
        _put(connection, monitor, {"acknowledged_by": by, "acknowledged_at": at}, by, note)


def mute(store: Store, monitor: str, *, by: str | None, until: datetime | None, note: str = "") -> None:
    """Send nothing about a monitor until then; None sends again from now on."""
    with store.writing() as connection:
        _put(connection, monitor, {"muted_by": by if until else None, "muted_until": until}, by, note)


def _put(connection: Connection, monitor: str, values: dict[str, Any], by: str | None, note: str) -> None:
    values |= {"note": note, "note_by": by} if note else {}  # an earlier one stays
    put_row(connection, table, {"monitor": monitor}, {"note": "", **values}, changed=values)
