"""A window of a million rows, from PostgreSQL to a stored evaluation: python tests/benchmarks window.

The server is that of the tests: ``ROCMONITOR_TEST_POSTGRES``, a URL of an account that may create databases.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from uuid import uuid4

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool
from timing import result, show, title

from rocmonitor import config, store
from rocmonitor.service.tick import Runtime, run_monitor
from rocmonitor.sources import open_source

SERVER = os.environ.get("ROCMONITOR_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
ROWS = 1_000_000
ROUNDS = 5
FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
REFERENCE_WEEKS = 20
JUDGED = FIRST + REFERENCE_WEEKS * WEEK
DONE = JUDGED + WEEK

CONFIGURATION = """
sources: {here: {url_env: BENCHMARK_URL, timezone: UTC}}
monitors:
"""
MONITOR = """
  {name}:
    model: {{name: credit, version: 7{version}}}
    source: here
    query: SELECT {columns} FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{{roles}}}
    segments: {segments}
    window: {{every: 7d}}
    reference: {{from: 2026-01-05, to: 2026-05-25}}
    operating_points: {{thresholds: [0.5]}}
    rules: [{{kind: forecast}}, {{kind: drop, value: 0.02}}]
"""
# Scores with all their digits; positives lie above, and both models share half of the noise.
TABLE = """
CREATE TABLE scored AS
SELECT row AS id,
       CAST(:start AS timestamptz) + (row - :first) * CAST(:length AS interval) / :rows AS scored_at,
       1 / (1 + exp(1 - label - (common + own) / 2)) AS p,
       1 / (1 + exp(1 - label - (common + other) / 2)) AS q,
       label, (ARRAY['north', 'east', 'south', 'west'])[1 + row % 4] AS region
FROM (SELECT row, CAST(random() < 0.1 AS int) AS label, random() + random() + random() AS common,
             random() + random() + random() AS own, random() + random() + random() AS other
      FROM generate_series(:first, :first + :rows - 1) AS row) AS drawn
"""


@dataclass(frozen=True)
class Shape:
    """What a monitor reads."""

    what: str
    roles: dict[str, str]
    segments: tuple[str, ...] = ()

    @property
    def columns(self) -> str:
        return ", ".join((*self.roles.values(), *self.segments))


CHAMPION = {"time": "scored_at", "champion": "p", "label": "label"}
PAIR = {"id": "id", **CHAMPION, "challenger": "q"}
SHAPES = {
    "champion": Shape("champion", CHAMPION),
    "challenger": Shape("champion, challenger and ids", PAIR),
    "segments": Shape("the same and four segments", PAIR, ("region",)),
}


def main() -> None:
    """Print, for each shape, the ratio to COPY of the same query, and the memory of the process."""
    title(f"a window of {ROWS:,} rows, PostgreSQL to a stored evaluation, against psql's COPY to a file")
    if shutil.which("psql") is None:
        show("  skipped: psql is not installed")
        return
    try:
        with database() as url, tempfile.TemporaryDirectory() as folder:
            os.environ["BENCHMARK_URL"] = url
            prepare(url, Path(folder))
            for name, shape in SHAPES.items():
                compare(name, shape, url, Path(folder))
    except OperationalError as error:
        show(f"  skipped, no PostgreSQL: {error.orig}")


def compare(name: str, shape: Shape, url: str, folder: Path) -> None:
    query = f"SELECT {shape.columns} FROM scored WHERE scored_at >= '{JUDGED}' AND scored_at < '{DONE}'"
    copies, windows = [], []
    for _ in range(ROUNDS):
        copies.append(copied(url, query, folder / "copy.csv"))
        windows.append(measured(name, folder))
    copy = median(copies)
    seconds, labels, peak = (
        median(window[key] for window in windows) for key in ("seconds", "label_counts", "bytes")
    )
    result(f"{shape.what}: {seconds:.2f} s / COPY {copy:.2f} s", f"{seconds / copy:.2f} x", "3 x")
    result("  of it, counting labels in the database", f"{labels / copy:.2f} x")
    result("  peak memory of the process", f"{peak / 1e6:.0f} MB", "600 MB")


def copied(url: str, query: str, path: Path) -> float:
    """Seconds that the query takes to come to a file here by COPY, in PostgreSQL's own client."""
    address = make_url(url).set(drivername="postgresql", password=None).render_as_string()
    command = rf"\copy ({query}) TO '{path}'"
    start = time.perf_counter()
    subprocess.run(
        ["psql", "--quiet", "--no-psqlrc", f"--command={command}", address],
        env=os.environ | {"PGPASSWORD": make_url(url).password or ""},
        check=True,
    )
    return time.perf_counter() - start


def measured(name: str, folder: Path) -> dict[str, float]:
    """What `judge` prints in a process of its own, with a store of its own."""
    shutil.copy(folder / "frozen.db", folder / "rocmonitor.db")
    done = subprocess.run(
        [sys.executable, __file__, name, str(folder)], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def judge(name: str, folder: Path) -> None:
    """Judge the window, print the seconds and the peak memory."""
    known = config.load(folder / "rocmonitor.yaml")
    monitor = known.monitors[name]
    with store.open_store(known.store_url) as kept:
        start = time.perf_counter()
        tick = run_monitor(Runtime(config=known, store=kept), monitor, now=DONE)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if tick.error is not None or tick.evaluations[0].counts.used != ROWS:
        raise SystemExit(f"not the evaluation that was to be measured: {tick.to_dict()}")
    with open_source(known.sources["here"], folder) as source:
        start = time.perf_counter()
        source.label_counts(monitor, tick.evaluations[0].window)
        label_counts = time.perf_counter() - start
    show(json.dumps({"seconds": seconds, "bytes": peak, "label_counts": label_counts}))


def prepare(url: str, folder: Path) -> None:
    """The table, the configuration, and a store in which the references are frozen."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("SELECT setseed(0.5)"))
        small = REFERENCE_WEEKS * 2_000
        weeks = {"start": FIRST, "length": JUDGED - FIRST, "first": 0, "rows": small}
        connection.execute(text(TABLE), weeks)
        judged = {"start": JUDGED, "length": WEEK, "first": small, "rows": ROWS}
        connection.execute(text(TABLE.replace("CREATE TABLE scored AS", "INSERT INTO scored")), judged)
        connection.execute(text("VACUUM ANALYZE scored"))
    monitors = [
        MONITOR.format(
            name=name,
            columns=shape.columns,
            roles=", ".join(f"{role}: {column}" for role, column in shape.roles.items()),
            segments=f"[{', '.join(shape.segments)}]",
            version=", challenger_version: 8" if "challenger" in shape.roles else "",
        )
        for name, shape in SHAPES.items()
    ]
    path = folder / "rocmonitor.yaml"
    path.write_text(CONFIGURATION + "".join(monitors))
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        for monitor in known.monitors.values():
            # Judging a window of the reference freezes it, and leaves the window of the benchmark open.
            run_monitor(
                Runtime(config=known, store=kept), monitor, now=JUDGED, windows=monitor.reference_windows[:1]
            )
    (folder / "rocmonitor.db").rename(folder / "frozen.db")


@contextmanager
def database() -> Iterator[str]:
    """A new database, dropped afterwards."""
    server, name = make_url(SERVER), f"rocmonitor_bench_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


if __name__ == "__main__":
    judge(sys.argv[1], Path(sys.argv[2])) if len(sys.argv) > 1 else main()
