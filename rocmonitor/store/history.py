"""A monitor's windows with all revisions, and its segments; alarms, and who looks after them; reviews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, case, func, select, update

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.review.document import BY_HAND, Review
from rocmonitor.policy.status import Attention
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, columns_of, fields_of, having, insert, put_row, window_key
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.reading import point_of
from rocmonitor.store.tables import outbox
from rocmonitor.store.tables import review as _reviews
from rocmonitor.store.tables import transition as table

_evaluation = tables.evaluation.c


def history(store: Store, monitor: str, segment: str) -> list[list[Point]]:
    """Return the windows of a segment, oldest first, each with its revisions, newest last."""
    windows: dict[Window, list[Point]] = {}
    for one in _kept(store, monitor, segment):
        windows.setdefault(one.window, []).append(one)
    return list(windows.values())


def newest_in_window(store: Store, monitor: str, segment: str, window: Window) -> Point | None:
    """Return the newest revision of one window; None where it was not evaluated."""
    return next(reversed(_kept(store, monitor, segment, **window_key(window))), None)


def _kept(store: Store, monitor: str, segment: str, **key: datetime) -> list[Point]:
    """Return revisions of windows, oldest window and revision first."""
    order = ("window_start", "window_end", "revision", "id")
    columns = columns_of(tables.evaluation, Point, "window")
    query = select(*columns, _evaluation.window_start, _evaluation.window_end)
    chosen = query.where(*having(tables.evaluation, monitor=monitor, segment=segment, **key))
    rows = store.rows(chosen.order_by(*(_evaluation[name] for name in order)))
    return list(map(point_of, rows))


def segments(store: Store, monitor: str) -> list[str]:
    """Return the segments of a monitor that were evaluated, without all rows."""
    query = select(_evaluation.segment).where(_evaluation.monitor == monitor, _evaluation.segment != "")
    return [row["segment"] for row in store.rows(query.distinct().order_by(_evaluation.segment))]


_ALARMS = (Status.DEGRADED, Status.AT_RISK)
"""The statuses an alarm budget counts; an error or a window without labels is no false alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmCount:
    """The alarms of a monitor and its segments: changes to ``degraded`` or ``at-risk``.

    Of those sent, some were acknowledged; those not sent came while it was muted or during a cool-down.
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
    """Return the alarms at or after `start`, by monitor; only of monitors that have one."""
    sent = table.c.notified
    taken = and_(sent, table.c.acknowledged_at.is_not(None))
    which = {"sent": sent, "acknowledged": taken, "not_sent": ~sent}
    counts = [func.sum(case((among, 1), else_=0)).label(name) for name, among in which.items()]
    query = (
        select(table.c.monitor, *counts)
        .where(table.c.at >= start, table.c.after.in_(_ALARMS))
        .group_by(table.c.monitor)
    )
    rows = store.rows(query)
    return {row["monitor"]: AlarmCount(**{name: int(row[name]) for name in which}) for row in rows}


def attention(store: Store, monitor: str) -> Attention:
    """Return what people said about a monitor."""
    return attentions(store).get(monitor, Attention())


def attentions(store: Store) -> dict[str, Attention]:
    """Return what people said, by monitor; only of those about which something was said."""
    rows = map(dict, store.rows(select(tables.attention)))
    return {row.pop("monitor"): Attention(**row) for row in rows}


def acknowledge(store: Store, monitor: str, *, by: str, at: datetime, note: str = "") -> None:
    """Somebody takes on the alarm of a monitor, and with it of each segment the last change, if it is one."""
    change = table.c
    last = select(func.max(change.id)).where(change.monitor == monitor).group_by(change.segment)
    with store.writing() as connection:
        newest = change.id.in_(list(connection.scalars(last)))
        alarms = (newest, change.notified, change.after.in_(_ALARMS), change.acknowledged_at.is_(None))
        connection.execute(update(table).where(*alarms).values(acknowledged_at=at))
        _put(connection, monitor, {"acknowledged_by": by, "acknowledged_at": at}, by, note)


def mute(store: Store, monitor: str, *, by: str | None, until: datetime | None, note: str = "") -> None:
    """Send nothing about a monitor until then; None sends again from now on."""
    with store.writing() as connection:
        _put(connection, monitor, {"muted_by": by if until else None, "muted_until": until}, by, note)


def _put(connection: Connection, monitor: str, values: dict[str, Any], by: str | None, note: str) -> None:
    values |= {"note": note, "note_by": by} if note else {}  # an earlier one stays
    put_row(connection, tables.attention, {"monitor": monitor}, {"note": "", **values}, changed=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBrief:
    """A review in a list."""

    id: int
    champion_version: str
    challenger_version: str
    decision: str
    period: Window
    reviewed_at: datetime
    margin: float | None  # the smallest difference that matters
    episodes: list[dict[str, Any]]  # the difference before, in and after a loss


def review_list(store: Store, monitor: str) -> list[ReviewBrief]:
    """Return the reviews of a monitor, newest first."""
    query = select(
        *columns_of(_reviews, ReviewBrief, "period", "margin", "episodes"),
        _reviews.c.period_start,
        _reviews.c.period_end,
        _reviews.c.result["rule", "margin"].label("margin"),
        _reviews.c.result["tables", "episodes"].label("episodes"),
    )
    rows = store.rows(query.where(_reviews.c.monitor == monitor).order_by(_reviews.c.id.desc()))
    return [
        ReviewBrief(
            **fields_of(row, ReviewBrief, "period", "episodes"),
            period=Window(row["period_start"], row["period_end"]),
            episodes=row["episodes"] or [],
        )
        for row in rows
    ]


def save_review(store: Store, review: Review, outbox: Sequence[Outgoing], *, lease: Lease) -> Review:
    """Save a review and its notifications, both or neither; return the one in the store with its key."""
    with store.writing() as connection:
        require(connection, lease)
        review_id = connection.scalar(
            insert(connection, _reviews)
            .values(
                monitor=review.monitor,
                key=review.key,
                champion_version=review.champion_version,
                challenger_version=review.challenger_version,
                period_start=review.period.start,
                period_end=review.period.end,
                reviewed_at=review.reviewed_at,
                decision=review.decision,
                rule_digest=review.rule["digest"],
                result=review.to_dict(),
            )
            .on_conflict_do_nothing()
            .returning(_reviews.c.id)
        )
        if review_id is not None:
            put(connection, review.monitor, outbox, review.reviewed_at, review_id=review_id)
            return review
        kept = connection.execute(select(_reviews).where(_reviews.c.key == review.key)).mappings().one()
    return _review(kept)


def reviews(store: Store, monitor: str, versions: tuple[str, str] | None = None) -> list[Review]:
    """Return the reviews of a monitor, or of two versions (champion, challenger), in the order saved."""
    query = select(_reviews).where(_reviews.c.monitor == monitor).order_by(_reviews.c.id)
    if versions is not None:
        query = query.where(
            _reviews.c.champion_version == versions[0], _reviews.c.challenger_version == versions[1]
        )
    return [_review(row) for row in store.rows(query)]


def last_reviewed(store: Store, monitor: str) -> datetime | None:
    """Return the time of the last review whose period the configuration gave; None if there is none."""
    query = (
        select(_reviews.c.reviewed_at)
        .where(_reviews.c.monitor == monitor, _reviews.c.key.not_like(f"%{BY_HAND}"))
        .order_by(_reviews.c.id.desc())
        .limit(1)
    )
    reviewed_at: datetime | None = store.scalar(query)
    return reviewed_at


def review(store: Store, id: int) -> Review:
    """Return one review, by its number in a delivery; a StoreError if there is none."""
    return _review(store.row("review", id, select(_reviews).where(_reviews.c.id == id)))


def review_with_key(store: Store, key: str) -> Review | None:
    """Return the review of the same rows by the same rule, if it was saved."""
    return next(map(_review, store.rows(select(_reviews).where(_reviews.c.key == key))), None)


def channels_of(store: Store, key: str, *, after: int) -> list[str]:
    """Return the channels that a review goes to with deliveries of a number above `after`."""
    query = (
        select(outbox.c.destination)
        .join_from(outbox, _reviews, _reviews.c.id == outbox.c.review_id)
        .where(_reviews.c.key == key, outbox.c.id > after, outbox.c.destination.startswith("channel:"))
        .order_by(outbox.c.id)
    )
    return [row["destination"].removeprefix("channel:") for row in store.rows(query)]


def _review(row: RowMapping) -> Review:
    return Review.from_dict(row["result"])
