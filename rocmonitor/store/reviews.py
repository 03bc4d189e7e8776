"""Reviews: each saved once, with its notifications, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import RowMapping, select

from rocmonitor.policy.review.document import BY_HAND, Review
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.tables import outbox
from rocmonitor.store.tables import review as table


def save_review(store: Store, review: Review, outbox: Sequence[Outgoing], *, lease: Lease) -> Review:
    """Save a review and its notifications, both or neither; return the one in the store with its key."""
    with store.writing() as connection:
        require(connection, lease)
        review_id = connection.scalar(
            insert(connection, table)
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
            .returning(table.c.id)
        )
        if review_id is not None:
            put(connection, review.monitor, outbox, review.reviewed_at, review_id=review_id)
            return review
        kept = connection.execute(select(table).where(table.c.key == review.key)).mappings().one()
    return _review(kept)


def reviews(store: Store, monitor: str, versions: tuple[str, str] | None = None) -> list[Review]:
    """Return the reviews of a monitor, or of two versions (champion, challenger), in the order saved."""
    query = select(table).where(table.c.monitor == monitor).order_by(table.c.id)
    if versions is not None:
        query = query.where(
            table.c.champion_version == versions[0], table.c.challenger_version == versions[1]
        )
    return [_review(row) for row in store.rows(query)]


def last_reviewed(store: Store, monitor: str) -> datetime | None:
    """Return the time of the last review whose period the configuration gave; None if there is none."""
    query = (
        select(table.c.reviewed_at)
        .where(table.c.monitor == monitor, table.c.key.not_like(f"%{BY_HAND}"))
        .order_by(table.c.id.desc())
        .limit(1)
    )
    reviewed_at: datetime | None = store.scalar(query)
    return reviewed_at


def review(store: Store, id: int) -> Review:
    """Return one review, by its number in a delivery; a StoreError if there is none."""
    return _review(store.row("review", id, select(table).where(table.c.id == id)))


def review_with_key(store: Store, key: str) -> Review | None:
    """Return the review of the same rows by the same rule, if it was saved."""
    return next(map(_review, store.rows(select(table).where(table.c.key == key))), None)


def channels_of(store: Store, key: str, *, after: int) -> list[str]:
    """Return the channels that a review goes to with deliveries of a number above `after`."""
    query = (
        select(outbox.c.destination)
        .join_from(outbox, table, table.c.id == outbox.c.review_id)
        .where(table.c.key == key, outbox.c.id > after, outbox.c.destination.startswith("channel:"))
        .order_by(outbox.c.id)
    )
    return [row["destination"].removeprefix("channel:") for row in store.rows(query)]


def _review(row: RowMapping) -> Review:
    return Review.from_dict(row["result"])
