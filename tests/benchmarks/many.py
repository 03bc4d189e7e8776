"""Many small monitors, in one process and in two: python tests/benchmarks many."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from timing import result, title

from rocmonitor import config, store
from rocmonitor.config import Processes
from rocmonitor.service.once import run_once
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.workers import open_executor

MONITORS, WEEKS, ROWS = 200, 21, 200
FIRST = datetime(2026, 1, 5, tzinfo=UTC)
REFERENCE = timedelta(weeks=20)
MONITOR = """
  m{number}:
    model: {{name: m, version: 1}}
    source: here
    query: SELECT * FROM scored WHERE m = {number} AND at >= :start AND at < :end
    columns: {{time: at, champion: p, label: y}}
    window: {{every: 7d, end: {end:%Y-%m-%d}}}
    reference: {{from: {start:%Y-%m-%d}, to: {until:%Y-%m-%d}}}
    min_per_class: 20
    rules: [{{kind: forecast}}, {{kind: drop, value: 0.02}}]
"""


def main() -> None:
    """Print what two processes take of the time and of the processors, beside one."""
    monitors = int(sys.argv[1]) if len(sys.argv) > 1 else MONITORS
    title(f"{monitors:,} monitors on SQLite, each a reference of 20 windows and one more of {ROWS:,} rows")
    with tempfile.TemporaryDirectory() as name:
        known = _configured(Path(name), monitors)
        _run(known, Path(name), 1, ["m0"])  # imports
        pool = _run(known, Path(name), 2, list(known.monitors))
        alone = _run(known, Path(name), 1, list(known.monitors))
    result("seconds, two processes / one", f"{pool[0] / alone[0]:.2f} x")
    result("processor seconds, two processes / one", f"{pool[1] / alone[1]:.2f} x")
    result("  of which in the one that saves", f"{pool[2] / pool[1]:.0%}")
    result("processor seconds a monitor, in one process", f"{alone[1] / monitors:.2f}")


def _configured(folder: Path, monitors: int) -> config.Config:
    rng, rows = np.random.default_rng(1), WEEKS * ROWS
    times = [(FIRST + row * timedelta(weeks=1) / ROWS).isoformat(" ")[:19] for row in range(rows)]
    connection = sqlite3.connect(folder / "source.db")
    connection.execute("CREATE TABLE scored (m INTEGER, at TEXT, p REAL, y INTEGER)")
    for number in range(monitors):
        y = rng.random(rows) < 0.4
        p = np.round(rng.normal(1.2 * y), 3)
        lines = zip([number] * rows, times, p.tolist(), y.astype(int).tolist(), strict=True)
        connection.executemany("INSERT INTO scored VALUES (?, ?, ?, ?)", lines)
    connection.execute("CREATE INDEX by_time ON scored (m, at)")
    connection.commit()
    connection.close()
    dates = {"start": FIRST, "until": FIRST + REFERENCE, "end": FIRST + timedelta(weeks=WEEKS)}
    path = folder / "rocmonitor.yaml"
    path.write_text(
        "sources: {here: {url: 'sqlite:///source.db', timezone: UTC}}\nmonitors:"
        + "".join(MONITOR.format(number=number, **dates) for number in range(monitors))
    )
    return config.load(path)


def _run(known: config.Config, folder: Path, workers: int, names: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds, and those of this process alone; with a store of its own."""
    known = known.model_copy(update={"executor": Processes(workers=workers)})
    began, used, mine = time.perf_counter(), _used(), time.process_time()
    url = f"sqlite:///{folder}/store-{len(list(folder.glob('store-*.db')))}.db"
    with store.open_store(url) as kept, open_executor(known) as executor:
        runtime = Runtime(config=known, store=kept, executor=executor)
        now = FIRST + timedelta(weeks=WEEKS + 9)
        calls = {name: partial(run_monitor, runtime, known.monitors[name], now=now) for name in names}
        ticks, _ = run_once(runtime, calls, deliver=False)
    assert {str(tick.error) for tick in ticks} == {"None"}
    assert sum(tick.judged for tick in ticks) == len(names)
    return time.perf_counter() - began, _used() - used, time.process_time() - mine


def _used() -> float:
    """Processor seconds of this process and of those that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
