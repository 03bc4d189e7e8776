"""Processor time of the tests' own measurements, in a unit that a slow or busy machine stretches alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def cost(work: Callable[[], object]) -> float:
    """Processor time of the quickest of five runs, in millions of additions (each 0.02 to 0.05 s)."""
    return min(_seconds(work) for _ in range(5)) / min(_seconds(_add) for _ in range(5))


def _seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _add() -> None:
    total = 0
    for number in range(1_000_000):
        total += number
