"""One window of 10^8 rows (or `ROWS`) to a stored evaluation, beside its engine's own aggregation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from timing import cpu, peak, result, show, title

from rocmonitor import config, store
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor

ROWS = int(float(os.environ.get("ROWS", "1e8")))
REFERENCE_ROWS = ROWS // 100
REFERENCE, WEEK, END = datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
CONFIGURATION = """
sources: {{here: {{{source}, timezone: UTC, timeout: 2h, deadline: 4h}}}}
monitors:
  big:
    model: {{name: big, version: 1}}
    source: here
    query: SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{time: scored_at, champion: p1, label: defaulted}}
    window: {{every: 7d}}
    reference: {{from: 2025-12-01, to: 2026-01-05}}
    grouped: condensed
    rules: [{{kind: forecast}}, {{kind: drop, value: 0.02}}]
"""
OWN = """
SELECT defaulted, floor(ln(p1 / (1 - p1)) * 1638.4) AS cell, min(p1), max(p1), count(*) FROM scored
WHERE scored_at >= TIMESTAMP '2026-01-05 00:00:00' AND scored_at < TIMESTAMP '2026-01-12 00:00:00'
GROUP BY defaulted, floor(ln(p1 / (1 - p1)) * 1638.4)
"""
"""Cells of the default grid in the plainest words: what any program has to ask for."""


def stored(folder: Path, source: str) -> dict[str, float]:
    """Judge the week with a reference that is there already; what that took, in seconds and MB."""
    (folder / "rocmonitor.yaml").write_text(CONFIGURATION.format(source=source))
    known = config.load(folder / "rocmonitor.yaml")
    runtime = Runtime(config=known, store=store.open_store(known.store_url))
    monitor = known.monitors["big"]
    run_monitor(runtime, monitor, now=WEEK + timedelta(hours=1), windows=monitor.reference_windows[:1])

    def judge() -> None:
        tick = run_monitor(runtime, monitor, now=WEEK + END + timedelta(hours=1))
        assert tick.error is None, tick.error
        assert tick.judged == 1, tick.judged

    return timed(judge)


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Seconds by the clock, processor seconds of this process, and its memory at most in MB."""
    start = perf_counter()
    used = cpu(work, rounds=1)
    return {"seconds": perf_counter() - start, "processor": used, "memory": peak()}


def compare(file: str, name: str, in_process: bool) -> None:
    """Run both ways, each in a process of its own; `in_process`: the engine runs there, too."""
    found = {}
    for way in ("own", "stored"):
        done = subprocess.run([sys.executable, file, way], check=True, stdout=subprocess.PIPE, text=True)
        found[way] = json.loads(done.stdout.splitlines()[-1])
    own, ours = found["own"], found["stored"]
    title(f"{name}: {ROWS:,} rows in cells, to a stored evaluation")
    for way, what in (("own", "cells by the engine alone"), ("stored", "to a stored evaluation")):
        result(f"{what}, seconds", f"{found[way]['seconds']:.1f}")
        if in_process:
            result(f"{what}, processor seconds", f"{found[way]['processor']:.1f}")
    unit = "processor" if in_process else "seconds"
    result("the latter / the former", f"{ours[unit] / own[unit]:.2f}", "1.3")
    result("memory of this process at most, MB", f"{ours['memory']:.0f}", "400")


def answer(found: dict[str, float]) -> None:
    """For `compare`, from the process that was timed."""
    show(json.dumps(found))
