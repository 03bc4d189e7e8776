"""The tables of rocmonitor's own database, as SQLAlchemy Core metadata.

All names start with ``rocmonitor_``: the database may be shared, for instance with MLflow. JSON is kept as
text (not PostgreSQL's JSONB), so that the columns of tables keep their order and numbers their last bit.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
)

PREFIX = "rocmonitor_"

GLANCE = {
    "auc": "champion/auc",
    "auc_low": "champion/auc_low",
    "auc_high": "champion/auc_high",
    "expected_low": "forecast/low",
    "expected_high": "forecast/high",
    "labelled_share": "data/labelled_share",
}
"""Columns of an evaluation that repeat a metric, and which."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


class Instant(TypeDecorator[datetime]):
    """An aware instant, given back in UTC; SQLite keeps it without its zone. A naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """To the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"an instant needs a time zone: {value}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Plain(TypeDecorator[Any]):
    """Plain JSON types; anything else is refused, NaN and infinity as well."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        """To the database; asked here, for drivers differ in what they refuse and how."""
        json.dumps(value, allow_nan=False)
        return value


instance = Table(
    PREFIX + "instance",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    Column("uuid", String, nullable=False),
)

evaluation = Table(
    PREFIX + "evaluation",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String, nullable=False),
    Column("segment", String, nullable=False),
    Column("window_start", Instant, nullable=False),
    Column("window_end", Instant, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("model_version", String, nullable=False),
    Column("challenger_version", String),
    Column("at", Instant, nullable=False),
    Column("outcome", String, nullable=False),
    Column("data_digest", String, nullable=False),
    Column("label_counts", Plain, nullable=False),
    Column("metrics", Plain, nullable=False),
    Column("result", Plain, nullable=False),  # all of Evaluation.to_dict() but the metrics
    *(Column(name, Float) for name in GLANCE),  # some metrics once more: the overview reads no JSON
    # In this order the key also serves every look-up by monitor and segment, oldest window first.
    UniqueConstraint("monitor", "segment", "window_start", "window_end", "revision", "model_version"),
    # All that the overview shows: it never reads the wide rows.
    Index(
        None,
        *("monitor", "segment", "window_start", "window_end", "revision", "model_version", "outcome"),
        *GLANCE,
    ),
)

outlook = Table(
    PREFIX + "outlook",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String, nullable=False),
    Column("segment", String, nullable=False),
    Column("window_start", Instant, nullable=False),
    Column("window_end", Instant, nullable=False),
    Column("model_version", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("outcome", String),  # NULL: nothing warns
    Column("metrics", Plain, nullable=False),
    Column("result", Plain, nullable=False),  # all of Outlook.to_dict() but the metrics
    UniqueConstraint("monitor", "segment", "window_start", "window_end"),
)

transition = Table(
    PREFIX + "transition",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String, nullable=False),
    Column("segment", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("before", String, nullable=False),
    Column("after", String, nullable=False),
    Column("reasons", Plain, nullable=False),
    Column("since", Instant, nullable=False),
    Column("notified", Boolean, nullable=False),
    Column("evaluation_id", ForeignKey(evaluation.c.id)),  # NULL: an outlook, or an error
    Column("outlook_id", ForeignKey(outlook.c.id)),
    Index(None, "monitor", "segment", "id"),
)

review = Table(
    PREFIX + "review",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String, nullable=False),
    Column("key", String, nullable=False, unique=True),
    Column("champion_version", String, nullable=False),
    Column("challenger_version", String, nullable=False),
    Column("period_start", Instant, nullable=False),
    Column("period_end", Instant, nullable=False),
    Column("reviewed_at", Instant, nullable=False),
    Column("decision", String, nullable=False),
    Column("rule_digest", String, nullable=False),
    Column("result", Plain, nullable=False),  # all of Review.to_dict()
    Index(None, "monitor", "id"),
)

outbox = Table(
    PREFIX + "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String, nullable=False),
    Column("evaluation_id", ForeignKey(evaluation.c.id), index=True),
    Column("review_id", ForeignKey(review.c.id), index=True),
    Column("outlook_id", ForeignKey(outlook.c.id), index=True),
    Column("destination", String, nullable=False),
    Column("payload", Plain, nullable=False),
    Column("state", String, nullable=False),  # pending, delivered or refused
    Column("attempts", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("next_attempt_at", Instant, nullable=False),
    Column("attempted_at", Instant),
    Column("error", String),  # of the last attempt
    Column("receipt", String),  # what the destination answered: where the run is
    Index(None, "state", "destination", "id"),
)

reference = Table(
    PREFIX + "reference",
    metadata,
    Column("monitor", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("content", Plain, nullable=False),
)

alias = Table(
    PREFIX + "alias",
    metadata,
    Column("model", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("version", String, nullable=False),
    Column("seen_at", Instant, nullable=False),
)

attention = Table(
    PREFIX + "attention",
    metadata,
    Column("monitor", String, primary_key=True),
    Column("acknowledged_by", String),
    Column("acknowledged_at", Instant),
    Column("muted_by", String),
    Column("muted_until", Instant),
    Column("note", String, nullable=False),
)

lease = Table(
    PREFIX + "lease",
    metadata,
    Column("name", String, primary_key=True),
    Column("owner", String),  # NULL: free
    Column("token", Integer, nullable=False),  # one more at every change of hands
    Column("expires_at", Instant, nullable=False),
)
