"""Ten million rows condensed in PostgreSQL, beside reading them all: python tests/benchmarks condensed.

Each way has a process of its own, so that the memory is its own. The server is that of the tests.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool
from timing import result, show, title

from rocmonitor.config import Database, Monitor
from rocmonitor.policy.windows import Window
from rocmonitor.sources import open_source
from rocmonitor.stats import auc, auc_bounds, condensed_error, vertical_intervals
from rocmonitor.stats.condensed import extremes

SERVER = os.environ.get("ROCMONITOR_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
ROWS = 10_000_000
WEEK = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC))
FPRS = [0.001, 0.01, 0.1]
DISTANCE = 0.005
# 2 % positive, 1.5 standard deviations above the negatives on the scale of log-odds.
TABLE = """
CREATE UNLOGGED TABLE scored AS
SELECT t, y, 1 / (1 + exp(4.0 - 1.5 * y - sqrt(-2 * ln(u)) * cos(2 * pi() * v))) AS p FROM (
  SELECT timestamptz '2026-01-05' + mod(k, 600000) * interval '1 second' AS t, (random() < 0.02)::int AS y,
         1 - random() AS u, random() AS v
  FROM generate_series(1, {rows}) AS k
) AS drawn
"""


@contextmanager
def table(rows: int) -> Iterator[str]:
    """A database with the rows, dropped afterwards."""
    server, name = make_url(SERVER), f"rocmonitor_bench_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = server.set(database=name).render_as_string(hide_password=False)
    try:
        own = create_engine(url, poolclass=NullPool)
        with own.begin() as connection:
            connection.execute(text("SELECT setseed(0.5)"))
            connection.exec_driver_sql(TABLE.format(rows=rows))
        yield url
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def pulled(mode: str) -> dict[str, Any]:
    """Read the week and measure it; what that took and found."""
    monitor = Monitor.model_validate(
        {
            "name": "big",
            "model": {"name": "big", "version": 1},
            "source": "here",
            "query": "SELECT t, p, y FROM scored WHERE t >= :start AND t < :end",
            "columns": {"time": "t", "champion": "p", "label": "y"},
            "window": {"every": "7d"},
            "reference": {"from": "2026-01-05", "to": "2026-01-12"},
            "rules": [{"kind": "floor", "value": 0.5}],
            "grouped": mode,
        }
    )
    spec = Database.model_validate({"url_env": "BENCHMARK_URL", "timeout": "600s", "deadline": "1200s"})
    with open_source(spec, Path(), name="here") as source:
        cpu, wall = time.process_time(), time.perf_counter()
        sample = source.pull(monitor, WEEK).segments[""].champion
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    area, error, bounds = auc(sample), condensed_error(sample), auc_bounds(sample, DISTANCE)
    return {
        "cpu": cpu,
        "wall": wall,
        "memory": memory,
        "cells": len(sample.score),
        "auc": area.auc,
        "se": area.se,
        # Halfway between the extreme orders, as windows report it.
        "tpr": (sum(vertical_intervals(each, FPRS).tpr for each in extremes(sample)) / 2).tolist(),
        "bounds": [bounds.low, bounds.high],
        "error": {"auc": error.auc, "se": error.se, "tpr": error.tpr, "bounds": bounds.error},
    }


def main() -> None:
    """Print the table of docs/how-to/big-tables.md."""
    if len(sys.argv) > 1 and sys.argv[1] in ("raw", "condensed"):
        show(json.dumps(pulled(sys.argv[1])))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with table(rows) as url:
        found = {}
        for mode in ("raw", "condensed"):
            command = [sys.executable, __file__, mode]
            done = subprocess.run(
                command, env=os.environ | {"BENCHMARK_URL": url}, check=True, capture_output=True, text=True
            )
            found[mode] = json.loads(done.stdout)
    exact, few = found["raw"], found["condensed"]
    title(f"{rows:,} rows, 2 % positive, from PostgreSQL")
    for mode, each in found.items():
        result(f"{mode}: processor seconds of the client", f"{each['cpu']:.2f}")
        result(f"{mode}: seconds", f"{each['wall']:.1f}")
        result(f"{mode}: memory, MB", f"{each['memory']:.0f}")
        result(f"{mode}: distinct scores or cells", f"{each['cells']:,}")
    off = {
        "auc": abs(few["auc"] - exact["auc"]),
        "se": abs(few["se"] - exact["se"]),
        "tpr": max(abs(a - b) for a, b in zip(few["tpr"], exact["tpr"], strict=True)),
        "bounds": max(abs(a - b) for a, b in zip(few["bounds"], exact["bounds"], strict=True)),
    }
    for name, value in off.items():
        result(f"error of {name}", f"{value:.1e}", f"{few['error'][name]:.1e} (guaranteed)")


if __name__ == "__main__":
    main()
