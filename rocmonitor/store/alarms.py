"""How many alarms were sent, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, case, func, select, update

from rocmonitor.policy.evaluation import Status
from rocmonitor.store.connection import Store
from rocmonitor.store.tables import transition as table

_ALARMS = (Status.DEGRADED, Status.AT_RISK)
"""What an alarm budget is about; an error or a window without labels is no false alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmCount:
    """The alarms of a monitor and its segments: changes to ``degraded`` or ``at-risk``.

    Attributes
    ----------
    sent : int
    acknowledged : int
        Of these, those that somebody took on.
    not_sent : int
        Others, that came while the monitor was muted or during a cool-down.
    """

    sent: int = 0
    acknowledged: int = 0
    not_sent: int = 0

    def __add__(self, other: AlarmCount) -> AlarmCount:
        return AlarmCount(
            sent=self.sent + other.sent,
            acknowledged=self.acknowledged + other.acknowledged,
            not_sent=self.not_sent + other.not_sent,
        )


def alarms_since(store: Store, start: datetime) -> dict[str, AlarmCount]:
    """The alarms at or after `start`, by monitor; only of monitors that have one.

    Raises
    ------
    StoreError
    """
    sent = table.c.notified
    taken = and_(sent, table.c.acknowledged_at.is_not(None))
    counts = [func.sum(case((which, 1), else_=0)) for which in (sent, taken, ~sent)]
    query = (
        select(table.c.monitor, *counts)
        .where(table.c.at >= start, table.c.after.in_(_ALARMS))
        .group_by(table.c.monitor)
    )
    with store.reading() as connection:
        return {
            monitor: AlarmCount(sent=int(told), acknowledged=int(known), not_sent=int(others))
            for monitor, told, known, others in connection.execute(query)
        }


def mark_acknowledged(connection: Connection, monitor: str, at: datetime) -> None:
    """Somebody takes on the alarms of a monitor: of each segment the last change, if it is one."""
    last = select(func.max(table.c.id)).where(table.c.monitor == monitor).group_by(table.c.segment)
    newest = list(connection.scalars(last))
    connection.execute(
        update(table)
        .where(
            table.c.id.in_(newest),
            table.c.notified,
            table.c.after.in_(_ALARMS),
            table.c.acknowledged_at.is_(None),
        )
        .values(acknowledged_at=at)
    )
