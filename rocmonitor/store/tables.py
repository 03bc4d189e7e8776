"""The tables of rocmonitor's own database, as SQLAlchemy Core metadata.

All names start with ``rocmonitor_``: the database may be shared, for instance with MLflow. JSON is kept as
text (not PostgreSQL's JSONB), so that the columns of tables keep their order and numbers their last bit.
"""

from __future__ import annotations

import json
import zlib
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
    LargeBinary,
    MetaData,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
    text,
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

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """To the database; asked here, for psycopg refuses late. On SQLite `written_json` asks."""
        if dialect.name != "sqlite":
            as_json(value)
        return value


written_json = json.JSONEncoder(allow_nan=False).encode
"""JSON in ASCII of plain types, as the engine writes it; anything else is refused."""


def as_json(value: Any) -> str:
    """JSON of plain types; anything else is refused, NaN and infinity as well."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class Packed(TypeDecorator[Any]):
    """Plain JSON types, compressed: what is large and never searched."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """To the database."""
        return None if value is None else zlib.compress(as_json(value).encode())

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """From the database."""
        return None if value is None else json.loads(zlib.decompress(value))


class PackedTables(Packed):
    """Tables by name, column by column while packed: a third of the size, and as much faster."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """To the database."""
        packed = {}
        for name, rows in (value or {}).items():
            heads = list(rows[0]) if rows else []
            packed[name] = rows
            if all(list(row) == heads for row in rows):
                packed[name] = {"names": heads, "columns": [[row[head] for row in rows] for head in heads]}
        return super().process_bind_param(None if value is None else packed, dialect)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        """From the database."""
        packed = super().process_result_value(value, dialect)
        for name, kept in (packed or {}).items():
            if not isinstance(kept, list):
                lines = zip(*kept["columns"], strict=True)
                packed[name] = [dict(zip(kept["names"], line, strict=True)) for line in lines]
        return packed


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
    Column("labels_digest", String, nullable=False),
    Column("settings_digest", String, nullable=False),
    Column("metrics", Plain, nullable=False),
    Column("result", Plain, nullable=False),  # Evaluation.to_dict() without metrics, tables and reference
    Column("summary_id", Integer, nullable=False),  # of `summary`
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

evaluation_tables = Table(  # in rows of their own, which can be deleted, and are not read with the rest
    PREFIX + "evaluation_tables",
    metadata,
    Column("evaluation_id", ForeignKey(evaluation.c.id), primary_key=True, autoincrement=False),
    Column("saved_at", Instant, nullable=False, index=True),
    Column("content", PackedTables, nullable=False),
)

summary = Table(  # what evaluations were compared with, once for all that have the same
    PREFIX + "summary",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("content", Packed, nullable=False),
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
    Column("acknowledged_at", Instant),  # of an alarm that somebody took on
    Index(None, "monitor", "segment", "id"),
)

episode = Table(
    PREFIX + "episode",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor", String),  # NULL: of several
    Column("segment", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("began", Instant, nullable=False),  # of a decline: start of the window that raised the alarm
    Column("open_as", String, unique=True),  # the cause of an outage while it is open: there is one with it
    Column("closed", Instant, index=True),  # NULL: it is open, or people are to be told of its end
    Column("content", Plain, nullable=False),  # all of Episode.to_dict()
    UniqueConstraint("monitor", "segment", "kind", "began"),
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

_LEFT = text("state != 'delivered'")

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
    # Of what is left to do: delivered rows are a hundred times as many.
    Index(None, "destination", "id", sqlite_where=_LEFT, postgresql_where=_LEFT),
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

counts = Table(  # distinct scores of windows, or groups of a loss, with their rows: they are read once
    PREFIX + "counts",
    metadata,
    Column("reading", String, primary_key=True),  # names what was read, and how
    Column("window_start", Instant, primary_key=True),
    Column("window_end", Instant, primary_key=True),
    Column("data_digest", String, nullable=False),
    Column("labels_digest", String, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("read_at", Instant, nullable=False, index=True),
    Column("content", LargeBinary, nullable=False),  # of `sources.cells` or `service.explaining`
)

tick = Table(
    PREFIX + "tick",
    metadata,
    Column("monitor", String, primary_key=True),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("windows", Integer, nullable=False),  # judged in it
    Column("error", String),  # NULL: it ended well
    Column("next_due", Instant, nullable=False),
    # Since the first tick.
    Column("ticks_total", Integer, nullable=False),
    Column("failures_total", Integer, nullable=False),
    Column("windows_total", Integer, nullable=False),
    Column("seconds_total", Float, nullable=False),
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
    Column("note_by", String),
)

clock = Table(
    PREFIX + "clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    Column("at", Instant, nullable=False),  # the last time that was believed
    Column("boot", String, nullable=False),
    Column("elapsed", Float, nullable=False),
    Column("ahead", Float),  # seconds, while the clock is not believed
    Column("ahead_since", Float),
)

arrival = Table(
    PREFIX + "arrival",
    metadata,
    Column("monitor", String, primary_key=True),
    Column("window_start", Instant, primary_key=True),
    Column("window_end", Instant, primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("labelled", Integer, nullable=False),
)

lease = Table(
    PREFIX + "lease",
    metadata,
    Column("name", String, primary_key=True),
    Column("owner", String),  # NULL: free
    Column("token", Integer, nullable=False),  # one more at every change of hands
    Column("expires_at", Instant, nullable=False),
)
