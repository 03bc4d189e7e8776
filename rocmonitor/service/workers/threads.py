"""Threads that wait for outside systems, and what they report of their work.

A thread that waits for an outside system cannot be ended. So work that has not moved for a while makes room
for other work, and work that hangs is given up: its thread is left alone, and whatever it saves is refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

log = logging.getLogger(__name__)

HUNG_AFTER = timedelta(minutes=10)
"""Silence after which work without a limit of its own hangs."""
STUCK_AFTER = timedelta(seconds=30)
"""Silence after which work waits for an outside system, and other work may begin."""
WARN_AFTER = timedelta(minutes=2)
MOST_AT_ONCE = 64
"""Monitors that one process looks after at the same time: each takes two threads."""
_MOST_THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work, named such as ``monitor:credit``."""

    name: str
    started_at: datetime
    silence: timedelta
    """Time since the work moved: began, read some rows, finished a step."""
    limit: timedelta
    """Longest silence; after that the work hangs, and other work takes its place."""

    @property
    def is_hung(self) -> bool:
        """True if the work is taken to be lost."""
        return self.silence > self.limit


@dataclass(slots=True, eq=False)
class AtWork:
    """The work of all threads; each thread reports its own."""

    elapsed: Callable[[], float] = time.monotonic
    """Seconds of a clock that nobody sets."""
    _started: dict[int, list[Work]] = field(default_factory=dict)
    _moved: dict[int, float] = field(default_factory=dict)

    @contextmanager
    def on(self, name: str, limit: timedelta = HUNG_AFTER) -> Iterator[None]:
        """Report that the thread works on `name` while the block runs."""
        thread = threading.get_ident()
        works = self._started.setdefault(thread, [])
        works.append(Work(name=name, started_at=datetime.now(UTC), silence=timedelta(), limit=limit))
        self.beat()
        try:
            yield
        finally:
            works.pop()
            self.beat()
            if not works:
                del self._started[thread], self._moved[thread]

    def beat(self) -> None:
        """Report that the work of this thread has moved."""
        if (thread := threading.get_ident()) in self._started:
            self._moved[thread] = self.elapsed()

    def current(self) -> list[Work]:
        """Return all work that is being done."""
        return [
            self._seen(work, thread) for thread, works in list(self._started.items()) for work in [*works]
        ]

    def of_thread(self, thread: int) -> Work | None:
        """Return what a thread does at present."""
        works = self._started.get(thread)
        return self._seen(works[-1], thread) if works else None

    def is_hung(self) -> bool:
        """Return True if the work of this thread is taken to be lost."""
        work = self.of_thread(threading.get_ident())
        return work is not None and work.is_hung

    def _seen(self, work: Work, thread: int) -> Work:
        now = self.elapsed()
        return replace(work, silence=timedelta(seconds=now - self._moved.get(thread, now)))


@dataclass(slots=True, eq=False)
class _Job:
    name: str
    call: Callable[[], Any]
    done: Callable[[Any], None]
    given_up: Callable[[], None]
    thread: threading.Thread
    began_at: float = field(default_factory=time.monotonic)
    is_hung: bool = False
    warned: bool = False


@dataclass(slots=True, eq=False)
class Workers:
    """Threads for work of one kind: for the monitors of one source, for instance."""

    work: AtWork
    """The place where the threads report that they move."""
    most: int = 1
    """The largest number at work at the same time; those that wait for outside systems do not count."""
    _waiting: deque[_Job] = field(default_factory=deque)
    _running: list[_Job] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def submit(
        self,
        name: str,
        call: Callable[[], Any],
        done: Callable[[Any], None] = lambda _: None,
        given_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `call` in a thread; call `done` with what it returned or raised, or `given_up` if it hangs."""
        thread = threading.Thread(target=lambda: self._run(job), daemon=True, name=name)
        job = _Job(name, call, done, given_up, thread)
        with self._lock:
            self._waiting.append(job)
        self.attend()

    def attend(self) -> None:
        """Give up what hangs, and start what waits; to be called every second or so."""
        with self._lock:
            silence = {id(job): self._look_at(job) for job in self._running}
            lost = [job for job in self._running if job.is_hung]
            self._running = [job for job in self._running if not job.is_hung]
            at_work = sum(silence[id(job)] < STUCK_AFTER for job in self._running)
            most_threads = max(_MOST_THREADS, 2 * self.most)
            while self._waiting and at_work < self.most and len(self._running) < most_threads:
                job = self._waiting.popleft()
                job.began_at = time.monotonic()
                self._running.append(job)
                job.thread.start()
                at_work += 1
        for job in lost:
            job.given_up()

    def names(self) -> list[str]:
        """Return the names of what is being done."""
        with self._lock:
            return [job.name for job in self._running]

    def idle(self) -> bool:
        """Return True if nothing is being done or waits."""
        with self._lock:
            return not self._running and not self._waiting

    def forget_waiting(self) -> None:
        """Start nothing more."""
        with self._lock:
            self._waiting.clear()

    def _run(self, job: _Job) -> None:
        try:
            outcome = job.call()
        except Exception as error:  # whoever asked for the work decides what it means
            outcome = error
        with self._lock:
            if job.is_hung:
                log.warning("%s: woke up after it was given up; nothing of it is used", job.name)
                return
            self._running.remove(job)
        job.done(outcome)
        self.attend()

    def _look_at(self, job: _Job) -> timedelta:
        """Return how long a job has been silent, and note whether it hangs."""
        work = None if job.thread.ident is None else self.work.of_thread(job.thread.ident)
        silence = timedelta(seconds=time.monotonic() - job.began_at) if work is None else work.silence
        name, limit = (job.name, HUNG_AFTER) if work is None else (work.name, work.limit)
        if silence > limit:
            job.is_hung = True
            log.error(
                "%s hangs: it has not moved for %s; it is given up and tried again", name, _short(silence)
            )
        elif silence > WARN_AFTER and not job.warned:
            job.warned = True
            log.warning("%s has not moved for %s", name, _short(silence))
        elif silence < WARN_AFTER:
            job.warned = False
        return silence


def _short(silence: timedelta) -> str:
    minutes = silence.total_seconds() / 60
    return f"{minutes:.0f} minutes" if minutes >= 2 else f"{silence.total_seconds():.0f} seconds"
