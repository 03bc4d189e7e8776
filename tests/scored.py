"""A table of scored rows in any database, and a monitor that reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    create_engine,
)
from sqlalchemy.pool import NullPool

from rocmonitor.config import Database, Files, Monitor, Spark
from rocmonitor.policy.windows import Window
from rocmonitor.sources import Batch, SqlSource, open_source

WEEK = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC))
NOON = datetime(2026, 1, 7, 12, tzinfo=UTC)
MODES = ("raw", "database")
FILES = "files://"
SPARK = "spark://"
"""How addresses of folders and of Spark's tables begin; only the tests have such addresses."""

Row = tuple[Any, ...]


def monitor(**changes: Any) -> Monitor:
    plain: dict[str, Any] = {
        "name": "credit",
        "model": {"name": "credit", "version": 1},
        "source": "warehouse",
        "query": "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end",
        "columns": {
            "id": "loan_id",
            "time": "scored_at",
            "champion": "p1",
            "challenger": "p2",
            "label": "defaulted",
        },
        "segments": ["region"],
        "window": {"every": "7d"},
        "reference": {"from": "2026-01-01", "to": "2026-02-01"},
        "rules": [{"kind": "floor", "value": 0.5, "confidence_level": 0.9}],
    }
    return Monitor.model_validate(plain | changes)


@contextmanager
def writing(url: str) -> Iterator[Any]:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def fill(url: str, rows: Iterable[Row], **types: Any) -> None:
    """Table `scored`: loan_id, scored_at (in UTC), p1, p2, defaulted, region."""
    kinds = {
        "loan_id": BigInteger,
        "scored_at": DateTime(timezone=True),
        "p1": Double,
        "p2": Double,
        "defaulted": Integer,
        "region": String(20),
    }
    table = Table("scored", MetaData(), *(Column(name, kind) for name, kind in (kinds | types).items()))
    put(url, table, rows)


def put(url: str, table: Table, rows: Iterable[Row]) -> None:
    """A table with these rows alone, in a database or as a Parquet file."""
    if url.startswith((FILES, SPARK)):
        path = Path(url.removeprefix(FILES).removeprefix(SPARK)) / "scored.parquet"
        write_parquet(path, table, rows)
        if url.startswith(SPARK):
            spark_view(path)
        return
    with writing(url) as connection:
        table.metadata.drop_all(connection)
        table.create(connection)
        connection.execute(
            table.insert(), [dict(zip(table.columns.keys(), row, strict=True)) for row in rows]
        )


def spark_view(path: Path) -> None:
    from pyspark.sql import SparkSession  # an extra

    session = SparkSession.builder.getOrCreate()
    session.catalog.clearCache()
    session.read.parquet(str(path)).createOrReplaceTempView("scored")


def write_parquet(path: Path, table: Table, rows: Iterable[Row]) -> None:
    fields = [pa.field(column.name, arrow_type(column.type)) for column in table.columns]
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    parquet.write_table(pa.table(arrays, schema=pa.schema(fields)), path)


def arrow_type(kind: Any) -> Any:
    match kind:
        case DateTime():
            return pa.timestamp("us", tz="UTC" if kind.timezone else None)
        case Double():
            return pa.float64()
        case Numeric():
            return pa.decimal128(kind.precision, kind.scale)
        case String():
            return pa.string()
        case Boolean():
            return pa.bool_()
        case BigInteger():
            return pa.int64()
        case _:
            return pa.int32()


def opened(url: str, **spec: Any) -> SqlSource:
    spec.setdefault("timezone", "UTC")
    if url.startswith(FILES):
        files = Files.model_validate({"path": url.removeprefix(FILES)} | spec)
        return open_source(files, Path(), name="warehouse")
    if url.startswith(SPARK):
        spec.setdefault("timeout", "10m")
        return open_source(Spark.model_validate(spec), Path(), name="warehouse")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAREHOUSE_URL", url)
        return open_source(
            Database.model_validate({"url_env": "WAREHOUSE_URL"} | spec), Path(), name="warehouse"
        )


def pull(url: str, watched: Monitor, window: Window = WEEK, **spec: Any) -> Batch:
    with opened(url, **spec) as source:
        return source.pull(watched, window)


def both(url: str, window: Window = WEEK, spec: Mapping[str, Any] | None = None, **changes: Any) -> Batch:
    """The batch of rows, after seeing that groups give the same one."""
    rows, groups = (pull(url, monitor(grouped=mode, **changes), window, **(spec or {})) for mode in MODES)
    assert (rows.grouped, groups.grouped) == (False, True)
    same(rows, groups)
    return rows


def same(one: Batch, other: Batch) -> None:
    assert one.digest == other.digest
    assert list(one.segments) == list(other.segments)
    for name, rows in one.segments.items():
        twin = other.segments[name]
        assert rows.counts == twin.counts, name
        assert rows.challenger_only == twin.challenger_only, name
        assert rows.caveats == twin.caveats, name
        for column in ("score", "pos", "neg"):
            np.testing.assert_array_equal(getattr(rows.champion, column), getattr(twin.champion, column))
        assert cells(rows.pair) == cells(twin.pair)
        for one_column, other_column in zip(rows.unlabelled, twin.unlabelled, strict=True):
            np.testing.assert_array_equal(one_column, other_column)


def cells(pair: Any) -> list[Row]:
    """Distinct pairs (champion, challenger) with their positives and negatives, by plain counting."""
    if pair is None:
        return []
    found: dict[Row, list[int]] = {}
    for challenger, champion, pos, neg in zip(pair.index_1, pair.index_2, pair.pos, pair.neg, strict=True):
        cell = found.setdefault((pair.second.score[champion], pair.first.score[challenger]), [0, 0])
        cell[0] += pos
        cell[1] += neg
    return sorted((*scores, *counts) for scores, counts in found.items())


MESSY: list[Row] = [
    (1, NOON, 0.25, 0.5, 0, "north"),
    (2, NOON, 0.25, 0.5, 1, "north"),
    (3, NOON, 0.25, 0.75, 1, "south"),
    (4, WEEK.start, 0.5, None, 1, "south"),  # no challenger; the first instant is inside
    (5, WEEK.end - timedelta(seconds=1), -0.0, 0.0, 0, None),
    (6, NOON, None, 0.5, 1, "north"),  # bad score
    (7, NOON, 0.5, 0.5, None, "north"),  # unlabelled
    (8, NOON, 0.5, 0.5, 2, "south"),  # bad label
    (2, NOON - timedelta(hours=1), 0.9, 0.9, 0, "south"),  # repeats 2, earlier
    (9, NOON, None, None, None, None),  # bad score comes before unlabelled
    (None, NOON, 0.75, 0.25, 1, "north"),  # no ids are no repeats
    (None, NOON, 0.75, 0.25, 1, "north"),
    (10, WEEK.end, 0.5, 0.5, 1, "north"),  # outside, if the query lets it through
    (1, WEEK.end + timedelta(days=1), 0.5, 0.5, 1, "north"),  # outside, so no repeat of 1
]
LOOSE = "SELECT * FROM scored WHERE :start < :end OR :start >= :end -- all of them"
