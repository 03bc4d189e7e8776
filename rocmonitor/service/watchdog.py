"""Workers that no hung work holds up: threads that may be given up, and somebody who looks after them.

A thread that waits for an outside system cannot be ended. So what waits does not count as a worker at work,
and what has hung for too long is given up: its lease is given back, another takes its place, and if it ever
wakes up, nothing of what it saves is accepted.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.work import HUNG_AFTER, AtWork

log = logging.getLogger(__name__)

STUCK_SECONDS = 5.0
"""Work that neither moved nor computed for so long waits for somebody else."""
WARN_AFTER = timedelta(minutes=2)
MOST_THREADS = 16
MOST_AT_ONCE = 64
"""Monitors that one process looks after at the same time: each takes two threads."""
STOP_SECONDS = 15.0
"""How long the work at hand may take when the process is told to stop."""
_COMPUTING = 0.01
"""Processor seconds within one look that show that a thread computes."""


@dataclass(slots=True, eq=False)
class _Task:
    name: str
    call: Callable[[], Any]
    done: Callable[[Any], None]
    given_up: Callable[[], None]
    thread: threading.Thread | None = None
    moved_at: float = 0.0
    computed: float = 0.0
    is_hung: bool = False
    warned: bool = False


@dataclass(slots=True, eq=False)
class Workers:
    """Threads for work of one kind: for the monitors of one source, for instance.

    Parameters
    ----------
    work : AtWork
        Where the threads report that they move.
    most : int or callable
        How many may be at work at the same time; those that wait for somebody else do not count.
    """

    work: AtWork
    most: int | Callable[[], int]
    _waiting: deque[_Task] = field(default_factory=deque)
    _running: list[_Task] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def submit(
        self,
        name: str,
        call: Callable[[], Any],
        done: Callable[[Any], None] = lambda _: None,
        given_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Have `call` done. `done` gets what it returned or raised; if it hangs, `given_up` is called."""
        with self._lock:
            self._waiting.append(_Task(name, call, done, given_up))
        self.attend()

    def attend(self) -> None:
        """Give up what hangs, and start what waits; to be called every second or so."""
        lost: list[_Task] = []
        with self._lock:
            for task in self._running:
                self._look_at(task)
                if task.is_hung:
                    lost.append(task)
            self._running = [task for task in self._running if not task.is_hung]
            most = self.most if isinstance(self.most, int) else self.most()
            threads = max(MOST_THREADS, 2 * most)
            while self._waiting and self._at_work() < most and len(self._running) < threads:
                self._start(self._waiting.popleft())
        for task in lost:
            task.given_up()

    def names(self) -> list[str]:
        """What is being done."""
        with self._lock:
            return [task.name for task in self._running]

    def idle(self) -> bool:
        """Whether nothing is being done or waits."""
        with self._lock:
            return not self._running and not self._waiting

    def forget_waiting(self) -> None:
        """Start nothing more."""
        with self._lock:
            self._waiting.clear()

    def _start(self, task: _Task) -> None:
        task.moved_at = time.monotonic()
        task.thread = threading.Thread(target=self._run, args=(task,), daemon=True, name=task.name)
        self._running.append(task)
        task.thread.start()

    def _run(self, task: _Task) -> None:
        try:
            outcome = task.call()
        except Exception as error:  # whoever asked for the work decides what it means
            outcome = error
        with self._lock:
            if task.is_hung:
                log.warning("%s: woke up after it was given up; nothing of it is used", task.name)
                return
            self._running.remove(task)
        task.done(outcome)
        self.attend()

    def _at_work(self) -> int:
        now = time.monotonic()
        return sum(now - task.moved_at < STUCK_SECONDS for task in self._running)

    def _look_at(self, task: _Task) -> None:
        """See whether a task moves, waits or hangs."""
        assert task.thread is not None
        if task.thread.ident is None:  # it is just starting
            return
        now, work = time.monotonic(), self.work.of_thread(task.thread.ident)
        silence = timedelta(seconds=now - task.moved_at) if work is None else work.silence
        computed = _processor_seconds(task.thread.ident)
        if computed - task.computed > _COMPUTING:
            task.moved_at = now
        task.moved_at = max(task.moved_at, now - (silence if work is None else work.idle).total_seconds())
        task.computed = computed
        name = task.name if work is None else work.name
        if silence > (HUNG_AFTER if work is None else work.limit):
            task.is_hung = True
            log.error(
                "%s hangs: it has not moved for %s; it is given up and tried anew", name, _short(silence)
            )
        elif silence > WARN_AFTER and not task.warned:
            task.warned = True
            log.warning("%s has not moved for %s", name, _short(silence))
        elif silence < WARN_AFTER:
            task.warned = False


def leave(runtime: Runtime, pools: Sequence[Workers], *, code: int = 0) -> None:
    """Return when all workers have finished what is at hand; if one hangs, end the process without it.

    What it would have saved is refused, for its lease is given back: the next start does it anew.
    """
    for workers in pools:
        workers.forget_waiting()
    end = time.monotonic() + STOP_SECONDS
    while left := [name for workers in pools for name in workers.names()]:
        if time.monotonic() > end:
            break
        time.sleep(0.02)
    else:
        return
    log.error("%s: not finished after %.0f s; left for the next start", ", ".join(left), STOP_SECONDS)
    giving_back = threading.Thread(target=_give_back, args=(runtime,), daemon=True)
    giving_back.start()
    giving_back.join(STOP_SECONDS / 5)  # the store may hang too
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    logging.shutdown()
    os._exit(code)


def _give_back(runtime: Runtime) -> None:
    with suppress(StoreError):
        store.release_all(runtime.store, runtime.owner)


def _processor_seconds(thread: int) -> float:
    """What a thread that lives has computed; 0 where the system does not say."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    return 0.0 if clock_of is None else time.clock_gettime(clock_of(thread))


def _short(silence: timedelta) -> str:
    minutes = silence.total_seconds() / 60
    return f"{minutes:.0f} minutes" if minutes >= 2 else f"{silence.total_seconds():.0f} seconds"
