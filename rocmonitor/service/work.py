"""What this process is doing: which work, since when, and when it last moved."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

HUNG_AFTER = timedelta(minutes=10)
"""Work without a limit of its own that has not moved for so long never will."""


def elapsed() -> float:
    """Seconds since this machine was started, also those it slept; nobody sets this clock."""
    kind = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if kind is None else time.clock_gettime(kind)


@cache
def boot() -> str:
    """Names the run of the machine that `elapsed` counts from; where that is unknown, this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"process {uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work.

    Attributes
    ----------
    name : str
        Such as ``monitor:credit``.
    started_at : datetime
    silence : timedelta
        Since it last moved: began, read some rows, finished a step.
    limit : timedelta
        Longest silence; after that it is hung, and another worker takes its place.
    idle : timedelta
        Since it last moved, or another process computed for it.
    """

    name: str
    started_at: datetime
    silence: timedelta
    limit: timedelta
    idle: timedelta = timedelta()

    @property
    def is_hung(self) -> bool:
        """Whether it is taken to be lost."""
        return self.silence > self.limit


@dataclass(slots=True)
class _Entry:
    work: Work
    moved_at: float
    computed_at: float = 0.0


class AtWork:
    """The work of all threads; each thread reports its own.

    Parameters
    ----------
    elapsed : callable
        Seconds on a clock that nobody sets.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._entries: dict[int, list[_Entry]] = {}

    @contextmanager
    def on(self, name: str, limit: timedelta = HUNG_AFTER) -> Iterator[None]:
        """Say that the thread works on `name` while the block runs."""
        work = Work(name=name, started_at=datetime.now(UTC), silence=timedelta(), limit=limit)
        thread = threading.get_ident()
        entries = self._entries.setdefault(thread, [])
        entries.append(_Entry(work, self._elapsed()))
        try:
            yield
        finally:
            entries.pop()
            self.beat()
            if not entries:
                del self._entries[thread]

    def beat(self) -> None:
        """The work of this thread has moved."""
        for entry in self._entries.get(threading.get_ident(), ()):
            entry.moved_at = self._elapsed()

    def computes(self) -> None:
        """Another process computes for the work of this thread."""
        for entry in self._entries.get(threading.get_ident(), ()):
            entry.computed_at = self._elapsed()

    def current(self) -> list[Work]:
        """All work that is being done."""
        return [self._seen(entry) for entries in list(self._entries.values()) for entry in list(entries)]

    def of_thread(self, thread: int) -> Work | None:
        """What a thread does at present."""
        entries = self._entries.get(thread)
        return self._seen(entries[-1]) if entries else None

    def is_hung(self) -> bool:
        """Whether the work of this thread is taken to be lost."""
        work = self.of_thread(threading.get_ident())
        return work is not None and work.is_hung

    def _seen(self, entry: _Entry) -> Work:
        now = self._elapsed()
        idle = timedelta(seconds=now - max(entry.moved_at, entry.computed_at))
        return replace(entry.work, silence=timedelta(seconds=now - entry.moved_at), idle=idle)
