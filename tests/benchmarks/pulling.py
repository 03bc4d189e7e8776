"""What it takes to read rows into samples, against the database's own way to hand them out."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool
from timing import cpu, result, seconds, skipped
from window import TABLE, database

from rocmonitor import config
from rocmonitor.sources import open_source

FIRST, WEEK = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
CONFIGURATION = """
sources: {{here: {{{url}, timezone: UTC}}}}
monitors:
  m:
    model: {{name: credit, version: 7, challenger_version: 8}}
    source: here
    query: SELECT scored_at, p, q, label FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{time: scored_at, champion: p, challenger: q, label: label}}
    window: {{every: 7d}}
    reference: {{from: 2026-01-05, to: 2026-05-25}}
    rules: [{{kind: forecast}}]
"""


def from_sqlite(rows: int) -> None:
    """Against fetching all tuples."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scored.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            fill(connection, rows)
        with closing(sqlite3.connect(path)) as connection:
            pull = _pull(Path(folder), 'url: "sqlite:///scored.db"', rows)
            show_ratio("SQLite's own cursor", pull, lambda: _fetched(connection))


def fill(connection: sqlite3.Connection, rows: int) -> None:
    """Scores with all their digits, times to the microsecond."""
    rng = np.random.default_rng(1)
    label = (rng.random(rows) < 0.1).astype(np.int64)
    p, q = (1 / (1 + np.exp(-(gap * label + rng.normal(size=rows)))) for gap in (1.0, 1.1))
    start = np.datetime64(FIRST.replace(tzinfo=None), "us")
    times = start + np.arange(rows) * np.timedelta64(int(WEEK.total_seconds() * 1e6) // rows, "us")
    written = [each.replace("T", " ") for each in np.datetime_as_string(times).tolist()]
    connection.execute("CREATE TABLE scored (scored_at DATETIME, p DOUBLE, q DOUBLE, label INTEGER)")
    lines = zip(written, p.tolist(), q.tolist(), label.tolist(), strict=True)
    connection.executemany("INSERT INTO scored VALUES (?, ?, ?, ?)", lines)


def from_postgresql(rows: int) -> None:
    """Against psql's COPY to a file."""
    if shutil.which("psql") is None:
        skipped("PostgreSQL: psql is not installed")
        return
    try:
        with database() as url, TemporaryDirectory() as folder:
            os.environ["BENCHMARK_URL"] = url
            engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
            with engine.connect() as connection:
                week = {"start": FIRST, "length": WEEK, "first": 0, "rows": rows}
                connection.execute(text(TABLE), week)
                connection.execute(text("VACUUM ANALYZE scored"))
            pull = _pull(Path(folder), "url_env: BENCHMARK_URL", rows)
            show_ratio("psql's COPY to a file", pull, lambda: _copied(url, Path(folder) / "copy.csv"))
    except OperationalError as error:
        skipped(f"PostgreSQL: {error.orig}")


def _fetched(connection: sqlite3.Connection) -> None:
    cursor = connection.execute("SELECT scored_at, p, q, label FROM scored")
    while cursor.fetchmany(50_000):
        pass


def _copied(url: str, path: Path) -> None:
    address = make_url(url).set(drivername="postgresql", password=None).render_as_string()
    command = rf"\copy (SELECT scored_at, p, q, label FROM scored) TO '{path}'"
    subprocess.run(
        ["psql", "--quiet", "--no-psqlrc", f"--command={command}", address],
        env=os.environ | {"PGPASSWORD": make_url(url).password or ""},
        check=True,
    )


def _pull(folder: Path, url: str, rows: int) -> Callable[[], None]:
    (folder / "rocmonitor.yaml").write_text(CONFIGURATION.format(url=url))
    known = config.load(folder / "rocmonitor.yaml")
    monitor = known.monitors["m"]

    def pull() -> None:
        with open_source(known.sources["here"], folder) as source:
            found = source.pull(monitor, monitor.reference_windows[0])
        if found.segments[""].counts.used != rows:
            raise SystemExit(f"not the rows that were to be read: {found.segments[''].counts}")

    return pull


def show_ratio(what: str, pull: Callable[[], None], own: Callable[[], None]) -> None:
    """By the clock, in turn, the server's work included; and processor seconds of the clients alone."""
    ours, theirs = seconds(pull, own)
    result(f"{ours:.2f} s / {what} {theirs:.2f} s, by the clock", f"{ours / theirs:.2f} x", "1.5 x")
    ours, theirs = cpu(pull), cpu(own)
    result(f"{ours:.2f} s / {what} {theirs:.2f} s, processor", f"{ours / theirs:.2f} x")
