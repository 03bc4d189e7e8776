"""Times of calls, taken in turn so that other load on the machine falls on all; and how results are shown."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

RECORD = "ROCMONITOR_BENCHMARK_RECORD"  # the file that results are added to


def seconds(*calls: Callable[[], object], rounds: int = 5) -> list[float]:
    """Median time of each call over `rounds` rounds, after one that is not counted."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds + 1):
        for times, call in zip(taken, calls, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [median(times[1:]) for times in taken]


def cpu(call: Callable[[], object], rounds: int = 3) -> float:
    """Least processor seconds of a call over `rounds` rounds: all threads, and processes that it ended."""
    taken = []
    for _ in range(rounds):
        start = _used()
        call()
        taken.append(_used() - start)
    return min(taken)


def _used() -> float:
    of_children = os.times()
    return time.process_time() + of_children.children_user + of_children.children_system


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def in_new_process(file: str, *arguments: str) -> None:
    """Run a benchmark by itself: memory that one took is not charged to the next."""
    subprocess.run([sys.executable, file, *arguments], check=True)


def title(text: str) -> None:
    """Say what is measured, and how busy the machine is with other work."""
    load = os.getloadavg()[0]
    show(f"{text} (load {load:.1f} on {os.cpu_count()} processors)")
    _record({"title": text, "load": round(load, 1)})


def result(what: str, value: str, goal: str = "") -> None:
    """One line: what was compared, the number, and the goal."""
    show(f"  {what:<66} {value:>10}" + (f"   goal {goal}" if goal else ""))
    _record({"what": what.strip(), "value": value, "goal": goal})


def skipped(why: str) -> None:
    """Say what was not measured."""
    show(f"  skipped: {why}")
    _record({"skipped": why})


def _record(line: dict[str, object]) -> None:
    """For the report of `python tests/benchmarks`, one line of JSON each."""
    if (path := os.environ.get(RECORD)) is not None:
        with Path(path).open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def show(line: str) -> None:
    """Print at once: some benchmarks take minutes."""
    print(line, flush=True)  # noqa: T201
