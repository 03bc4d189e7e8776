# ruff: noqa: E501
"""A year of 100 daily monitors with five segments, and of catching up: python tests/benchmarks year."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from timing import result, title

from rocmonitor import config, store
from rocmonitor.service.delivery import drain
from rocmonitor.service.keep import delete_old
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site

FIRST, HOUR = datetime(2024, 1, 1, tzinfo=UTC), timedelta(hours=1)
REFERENCE, ROWS = 30, 1000
MONITORS, DAYS = 100, 365
CONFIGURATION = """
sources: {{here: {{url: "sqlite:///scored.db", timezone: UTC}}}}
channels: {{log: {{url: "file://alarms.log"}}}}
monitors:
"""
MONITOR = """
  {name}:
    model: {{name: credit, version: 7{challenger_version}}}
    source: here
    query: SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{id: id, time: scored_at, champion: p, {challenger}label: label}}
    {segments}
    window: {{every: 1h, label_delay: 1h{end}}}
    reference: {{from: 2024-01-01, to: 2024-01-02T06:00}}
    min_per_class: 10
    rules: [{{kind: forecast}}, {{kind: drop, value: 0.02}}]
    schedule: 0 6 1 1 *
    notify: [log]
"""


def main() -> None:
    """Print what a year costs: catching up, delivery, the store and its pages, an idle service."""
    sizes = {"windows": 300, "monitors": MONITORS, "days": DAYS, "idle": 500}
    sizes |= {name: int(value) for name, _, value in (given.partition("=") for given in sys.argv[1:])}
    with tempfile.TemporaryDirectory() as folder:
        catch_up(Path(folder), sizes["windows"], segments=2, challenger=False)
    with tempfile.TemporaryDirectory() as folder:
        catch_up(Path(folder), sizes["windows"], segments=2, challenger=True)
    with tempfile.TemporaryDirectory() as folder:
        a_year(Path(folder), sizes["monitors"], sizes["days"])
    with tempfile.TemporaryDirectory() as folder:
        idle(Path(folder), sizes["idle"])


def catch_up(folder: Path, windows: int, *, segments: int, challenger: bool) -> None:
    """Judge many due windows, then deliver some of them to MLflow in a SQLite file."""
    what = "champion and challenger" if challenger else "champion"
    title(f"catching up with {windows:,} windows of {ROWS:,} rows, {segments} segments, {what}")
    runtime = opened(folder, windows, segments, challenger)
    run_monitor(runtime, runtime.config.monitors["m0"], now=at(3))  # imports, the reference
    memory: list[float] = []
    start, began = time.process_time(), time.perf_counter()
    tick = run_monitor(
        runtime, runtime.config.monitors["m0"], now=at(windows), progress=lambda _: memory.append(resident())
    )
    assert tick.error is None
    taken = time.process_time() - start
    result("windows a processor second", f"{(windows - 2) / taken:.1f}", "20")
    result("  by the clock", f"{(windows - 2) / (time.perf_counter() - began):.1f}")
    half = len(memory) // 2
    result(
        "memory at half, and growth from there to the end",
        f"{memory[half]:.0f} MB, {memory[-1] / memory[half] - 1:+.1%}",
    )
    with runtime.store.reading() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
    if challenger:
        delivery(folder, runtime)


def delivery(folder: Path, runtime: Runtime, waiting: int = 150) -> None:
    """What 150 windows cost, of which some are degraded; the rest of the outbox is passed over."""
    with runtime.store.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE rocmonitor_outbox SET state = 'delivered' WHERE destination != 'mlflow' OR id NOT IN "
            f"(SELECT id FROM rocmonitor_outbox WHERE destination = 'mlflow' ORDER BY id LIMIT {waiting + 9})"
        )
    ids = [each.id for each in store.pending(runtime.store, runtime.clock(), limit=1000)]
    later = f"id > {ids[8]} AND id <= {ids[-1]}"  # the first nine make MLflow's database, and import it
    with runtime.store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE rocmonitor_outbox SET state = 'delivered' WHERE {later}")
    drain(runtime)
    before = (folder / "mlflow.db").stat().st_size
    files = {path for path in (folder / "mlartifacts").rglob("*") if path.is_file()}
    with runtime.store.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE rocmonitor_outbox SET state = 'pending' WHERE destination = 'mlflow' AND {later}"
        )
    start = time.process_time()
    sent = drain(runtime).sent
    taken = time.process_time() - start
    made = [p for p in (folder / "mlartifacts").rglob("*") if p.is_file() and p not in files]
    result("delivery to MLflow, processor seconds a window", f"{taken / sent:.3f}", "0.15")
    result("  files a window", f"{len(made) / sent:.1f}")
    result("  bytes of files a window", f"{sum(p.stat().st_size for p in made) / sent:,.0f}", "25,000")
    grown = (folder / "mlflow.db").stat().st_size - before
    result("  bytes of MLflow's database a window", f"{grown / sent:,.0f}")


def a_year(folder: Path, monitors: int, days: int) -> None:
    """Fill a store with copies of real evaluations, and use it."""
    runtime = opened(folder, 12, 5, challenger=True, monitors=monitors)
    run_monitor(runtime, runtime.config.monitors["m0"], now=at(12))
    count = fill(folder, monitors, days)
    title(f"a store with {count:,} evaluations: {monitors} monitors, {days} days, all rows and 5 segments")
    size = (folder / "rocmonitor.db").stat().st_size
    result("bytes of an evaluation in the store", f"{size / count:,.0f}")
    result("all of it", f"{size / 1e9:.2f} GB")
    client = create_app(Site(path=folder / "rocmonitor.yaml")).test_client()
    for what, page in (("overview", "/"), ("page of a monitor", "/monitors/m1")):
        assert client.get(page).status_code == 200
        result(f"{what}, processor seconds", f"{cpu(lambda page=page: client.get(page)):.3f}")
    result("history of a segment", f"{cpu(lambda: store.series(runtime.store, 'm7', '')):.3f}")
    result(
        "all evaluations of a monitor with their tables",
        f"{cpu(lambda: store.evaluations(runtime.store, 'm7')):.3f}",
    )
    result("a look at the outbox", f"{cpu(lambda: store.pending(runtime.store, runtime.clock())):.4f}")
    result("the daily look for what is too old", f"{cpu(lambda: delete_old(runtime)):.3f}")


def idle(folder: Path, monitors: int, seconds: int = 60) -> None:
    """A real `serve` of many monitors, none of which is due."""
    title(f"`serve` with {monitors} monitors and nothing due")
    opened(folder, 1, 2, challenger=False, monitors=monitors, end=True)
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "rocmonitor", "-c", str(folder / "rocmonitor.yaml"), "serve"], stderr=log
        )
    try:
        while (folder / "log").read_text().count("next check") < monitors:
            time.sleep(1)
        result("processor seconds until each was looked at", f"{used(server.pid):.1f}")
        time.sleep(5)
        before = used(server.pid)
        time.sleep(seconds)
        result("share of a processor after that", f"{(used(server.pid) - before) / seconds:.2%}", "2 %")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def opened(
    folder: Path,
    windows: int,
    segments: int,
    challenger: bool,
    *,
    monitors: int = 1,
    end: bool = False,
    rows: int = ROWS,
) -> Runtime:
    """Scored rows and a configuration; the store is empty."""
    rng = np.random.default_rng(1)
    with closing(sqlite3.connect(folder / "scored.db")) as source, source:
        source.execute(
            "CREATE TABLE scored (id INTEGER PRIMARY KEY, scored_at DATETIME, p DOUBLE, q DOUBLE, label INTEGER, "
            "region VARCHAR)"
        )
        for number in range(REFERENCE + windows):  # one at a time: memory of all would hide what is measured
            source.executemany(
                "INSERT INTO scored VALUES (?, ?, ?, ?, ?, ?)", _rows(rng, number, segments, rows)
            )
        source.execute("CREATE INDEX scored_by_time ON scored (scored_at)")
    source.close()
    parts = {
        "challenger_version": ", challenger_version: 8" if challenger else "",
        "challenger": "challenger: q, " if challenger else "",
        "end": ", end: 2024-01-02T06:00" if end else "",
        "segments": "segments: [region]" if segments else "",
    }
    text = CONFIGURATION.format() + "".join(MONITOR.format(name=f"m{i}", **parts) for i in range(monitors))
    (folder / "rocmonitor.yaml").write_text(text)
    known = config.load(folder / "rocmonitor.yaml")
    return Runtime(config=known, store=store.open_store(known.store_url))


def _rows(rng: np.random.Generator, number: int, segments: int, count: int) -> list[tuple[object, ...]]:
    """The rows of one window."""
    label = rng.random(count) < 0.3
    worse = number >= REFERENCE and rng.random() < 0.02
    p, q = np.round(rng.normal((0.2 if worse else 1.2) * label), 4), np.round(rng.normal(1.25 * label), 4)
    rows: list[tuple[object, ...]] = []
    for row in range(count):
        when = FIRST + (number + row / count) * HOUR
        region = ("north", "south", "east", "west", "centre")[row % max(segments, 1)]
        rows.append(
            (number * count + row, f"{when:%Y-%m-%d %H:%M:%S.%f}", p[row], q[row], int(label[row]), region)
        )
    return rows


def at(windows: int) -> datetime:
    """When so many windows are due."""
    return FIRST + (REFERENCE + windows + 1) * HOUR


def fill(folder: Path, monitors: int, days: int) -> int:
    """Copy the real evaluations to daily windows of all monitors; the number of evaluations."""
    first = f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"  # nothing is too old yet
    base = sqlite3.connect(folder / "rocmonitor.db")
    base.executescript(
        f"""
        PRAGMA synchronous = OFF;
        CREATE TEMP TABLE real AS SELECT *, dense_rank() OVER (ORDER BY window_start) - 1 AS n
          FROM rocmonitor_evaluation;
        CREATE TEMP TABLE real_tables AS SELECT * FROM rocmonitor_evaluation_tables;
        CREATE TEMP TABLE day AS WITH RECURSIVE d(d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM d WHERE d < {days - 1})
          SELECT d, datetime('{first}', '+' || d || ' days') || '.000000' AS start,
            datetime('{first}', '+' || (d + 1) || ' days') || '.000000' AS stop FROM d;
        CREATE TEMP TABLE name AS WITH RECURSIVE m(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM m WHERE m < {monitors - 1})
          SELECT 'm' || m AS name FROM m;
        CREATE TEMP TABLE copy AS SELECT row_number() OVER (ORDER BY d, name, segment) + 1000000 AS new, real.id AS old,
          name, start, stop FROM day, name JOIN real ON real.n = d % 12;
        INSERT INTO rocmonitor_evaluation (id, monitor, segment, window_start, window_end, revision, model_version,
          challenger_version, at, outcome, data_digest, label_counts, labels_digest, settings_digest, metrics, result, summary_id, auc, auc_low,
          auc_high, expected_low, expected_high, labelled_share) SELECT new, name, segment, start, stop, revision, model_version,
          challenger_version, stop, outcome, data_digest, label_counts, labels_digest, settings_digest, metrics, result, summary_id, auc, auc_low,
          auc_high, expected_low, expected_high, labelled_share FROM copy JOIN real ON real.id = old ORDER BY new;
        INSERT INTO rocmonitor_evaluation_tables (evaluation_id, saved_at, content) SELECT new, stop, content
          FROM copy JOIN real_tables ON evaluation_id = old ORDER BY new;
        INSERT INTO rocmonitor_outbox (monitor, evaluation_id, destination, payload, state, attempts, created_at,
          next_attempt_at, attempted_at, receipt) SELECT name, new, 'mlflow', '{{}}', 'delivered', 1, stop, stop, stop,
          'experiment rocmonitor/' || name || ', run 0123456789abcdef0123456789abcdef' FROM copy ORDER BY new;
        PRAGMA wal_checkpoint(TRUNCATE);
        """
    )
    (count,) = base.execute("SELECT count(*) FROM rocmonitor_evaluation").fetchone()
    base.close()
    return int(count)


def cpu(call: Callable[[], object]) -> float:
    """Least processor time of three calls."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def used(pid: int) -> float:
    """Processor seconds of another process so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident() -> float:
    """Memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    main()
