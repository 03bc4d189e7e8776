"""Catching up with 10,000 windows of 1,000 rows on SQLite: python tests/benchmarks catching_up."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from timing import result, title
from year import ROWS, at, opened, resident

from rocmonitor.service.tick import run_monitor

WINDOWS, EARLY = 10_000, 1_000


def main() -> None:
    """Print windows a processor second and how the memory grows, for all rows and two segments."""
    windows = int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS
    early = min(EARLY, windows // 2)
    title(f"catching up with {windows:,} windows of {ROWS:,} rows, 2 segments, champion")
    with tempfile.TemporaryDirectory() as folder:
        runtime = opened(Path(folder), windows, 2, challenger=False)
        monitor = runtime.config.monitors["m0"]
        run_monitor(runtime, monitor, now=at(3))  # imports, the reference
        memory: list[float] = []
        took: list[float] = []

        def seen(_: str) -> None:
            memory.append(resident())
            took.append(time.process_time())

        tick = run_monitor(runtime, monitor, now=at(windows), progress=seen)
    assert tick.error is None
    assert tick.judged == 3 * (windows - 3)
    result("windows a processor second", f"{(len(took) - 1) / (took[-1] - took[0]):.1f}", "20")
    tenth = max(len(took) // 10, 1)
    result("  of the last tenth", f"{tenth / (took[-1] - took[-1 - tenth]):.1f}")
    grown = memory[-1] / memory[early] - 1
    result(
        f"memory at window {early:,}, and growth to the last", f"{memory[early]:.0f} MB, {grown:+.1%}", "+5 %"
    )


if __name__ == "__main__":
    main()
