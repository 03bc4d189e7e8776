"""Processor time of the tests' own measurements, in a unit that a slow or busy machine stretches alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def cost(work: Callable[[], object]) -> float:
    """Processor time of the quickest of five runs, in millions of additions (each 0.02 to 0.05 s).

    They take turns: what else the machine does falls on both.
    """
    taken, added = zip(*((_seconds(work), _seconds(_add)) for _ in range(5)), strict=True)
    return min(taken) / min(added)


def _seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _add() -> None:
    total = 0
    for number in range(1_000_000):
        total += number
