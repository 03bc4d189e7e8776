"""How studies are run: their options, work shared out to processes, results as a table."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import ceil
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

T = TypeVar("T")
CHUNK = 10
"""Replications to one seed: the results do not depend on the number of processes."""


def options(
    text: str | None, arguments: Sequence[str] | None, *, replications: int | None = None
) -> Namespace:
    """``.replications .seed .processes .output`` from the command line; None: the study repeats nothing."""
    parser = ArgumentParser(prog="study", description=text, formatter_class=RawDescriptionHelpFormatter)
    if replications:
        parser.add_argument("--replications", type=_count, default=replications, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--processes", type=_count, default=os.cpu_count(), help="default: %(default)s")
    parser.add_argument("--output", metavar="FILE", help="where to put the figure of a study that has one")
    parser.add_argument(
        "--results", metavar="FOLDER", default="results", help="for JSON and PNG (default: %(default)s)"
    )
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if (value := int(text)) < 1:
        raise ValueError
    return value


def replicate(
    one: Callable[..., T],
    *design: object,
    replications: int,
    seed: int | Sequence[int],
    processes: int = 1,
    what: str = "",
) -> list[T]:
    """``one(*design, rng)`` so many times, each with random numbers of its own."""
    seeds = np.random.SeedSequence(seed).spawn(ceil(replications / CHUNK))
    sizes = [min(CHUNK, replications - CHUNK * at) for at in range(len(seeds))]
    tasks = [(one, design, size, of) for size, of in zip(sizes, seeds, strict=True)]
    return [value for chunk in share(_chunk, tasks, processes, what) for value in chunk]


def share(call: Callable[..., T], tasks: Sequence[tuple], processes: int = 1, what: str = "") -> list[T]:
    """``call(*task)`` for every task, in order; progress goes to stderr when `what` names the work."""
    if processes == 1:
        with threadpool_limits(1):
            return list(_watched(map(call, *zip(*tasks, strict=True)), len(tasks), what))
    # Threads inside the processes would only wait for each other.
    with ProcessPoolExecutor(processes, initializer=threadpool_limits, initargs=(1,)) as pool:
        return list(_watched(pool.map(call, *zip(*tasks, strict=True)), len(tasks), what))


def _chunk(
    one: Callable[..., T], design: tuple[object, ...], size: int, seed: np.random.SeedSequence
) -> list[T]:
    rng = np.random.default_rng(seed)
    return [one(*design, rng) for _ in range(size)]


def _watched(results: Iterable[T], total: int, what: str) -> Iterator[T]:
    start = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result
        if what:
            line = f"\r{what}: {done / total:4.0%}, {time.monotonic() - start:.0f} s"
            print(line, end="\n" if done == total else "", file=sys.stderr, flush=True)  # noqa: T201


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest entry: the first to the left, the others to the right."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    for first, *others in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        say("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def say(line: str = "") -> None:
    """Print at once: some studies take minutes."""
    print(line, flush=True)  # noqa: T201
