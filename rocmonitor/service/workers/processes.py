"""Processes on this machine: started when monitors wait for each other, ended when there is nothing to do.

Each is a pool of one, so that one which dies, or is killed because it hangs, takes no other work along.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loky.backend import resource_tracker
from loky.process_executor import ProcessPoolExecutor

import rocmonitor
from rocmonitor.errors import ExecutorError
from rocmonitor.service.workers.task import Answer, Caller, StoppedError, Task, perform, unpacked

if TYPE_CHECKING:
    from rocmonitor.sources import SqlSource

log = logging.getLogger(__name__)

TRIES = 3
START_AFTER_SECONDS = 10.0
"""Seconds that tasks have waited for each other, added up, before processes are started: each costs two
processor seconds."""
PATIENCE_SECONDS = 1.0
"""Seconds to wait for a process before doing the task in this one: processes that hang hold up nobody."""
IDLE_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_OF_THE_GROUP = (signal.SIGINT, signal.SIGTERM)
"""Signals that the whole group gets: the task at hand is finished all the same."""


@dataclass(eq=False)
class ProcessPool:
    """Does a task in this process while there is no other, and in more processes when tasks come faster."""

    reports = False
    width: int
    """Most processes at the same time."""
    start_after: float = field(default=START_AFTER_SECONDS, kw_only=True)
    """Seconds that tasks have waited before the first process is started."""
    idle: float = field(default=IDLE_SECONDS, kw_only=True)
    """Seconds without a task after which a process ends."""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _free: list[ProcessPoolExecutor] = field(default_factory=list)
    _pools: set[ProcessPoolExecutor] = field(default_factory=set)
    _here: int = 0
    _waited: float = 0.0
    _answered_at: float = -math.inf
    _closed: bool = False

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """Do a task as `Executor.run` says."""
        pool = self._place(caller.stop)
        if pool is not None:
            return self._sent(task, pool, caller)
        try:
            return task.request.run(source, caller.on_step)
        finally:
            with self._changed:
                self._here -= 1
                self._changed.notify()

    def pids(self) -> list[int]:
        """Return the identifiers of the processes that live."""
        with self._changed:
            return [pid for pool in self._pools for pid in list(pool._processes)]

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._closed, pools = True, list(self._pools)
        for pool in pools:
            self._end(pool)
        atexit.unregister(self.close)

    def _place(self, stop: threading.Event) -> ProcessPoolExecutor | None:
        """Return the process for a task, or None for this one, which `_here` then counts."""
        began = time.monotonic()
        with self._changed:
            try:
                while not stop.is_set():
                    waited = time.monotonic() - began
                    idle = time.monotonic() - self._answered_at >= self.idle
                    busy = self._here or len(self._free) < len(self._pools)
                    if (idle and not busy) or waited > PATIENCE_SECONDS:
                        self._here += 1
                        return None
                    if self._free:
                        return self._free.pop()
                    if len(self._pools) < self.width and (
                        self._pools or self._waited + waited >= self.start_after
                    ):
                        return self._new()
                    self._changed.wait(0.1)
            finally:
                self._waited += time.monotonic() - began
        raise StoppedError

    def _new(self) -> ProcessPoolExecutor:
        with self._changed:
            if not self._pools:
                atexit.register(self.close)  # before loky's own end, which waits for the tasks
            pool = ProcessPoolExecutor(1, timeout=self.idle, initializer=_begin)
            self._pools.add(pool)
            return pool

    def _sent(self, task: Task[Answer], pool: ProcessPoolExecutor, caller: Caller) -> Answer:
        """Return the answer of a process, or of another where that one dies."""
        for number in range(TRIES):
            if number:
                log.warning("a process that judged a window ended; another does it again")
                pool = self._new()
            try:
                answer = _ask(pool, task.packed(), caller)
            except BrokenProcessPool:
                self._end(pool)
                if self._closed:
                    raise StoppedError from None
            except BaseException:  # it is still at work on what nobody waits for
                self._end(pool)
                raise
            else:
                with self._changed:
                    self._answered_at = time.monotonic()
                    self._free.append(pool)
                    self._changed.notify()
                result: Answer = unpacked(answer)
                return result
        raise ExecutorError(
            f"executor: {TRIES} processes ended while they read sources.{task.name}; if memory ran out, "
            "lower executor.workers, or set grouped: database"
        )

    def _end(self, pool: ProcessPoolExecutor) -> None:
        """End a process, and make room for another."""
        pool.shutdown(kill_workers=True)
        with self._changed:
            self._pools.discard(pool)
            self._free = [other for other in self._free if other is not pool]
            self._changed.notify()


def _ask(pool: ProcessPoolExecutor, packed: bytes, caller: Caller) -> bytes:
    """Return the answer to a task; the caller ends the process if this raises."""
    try:
        with _signals_held():
            future = pool.submit(perform, rocmonitor.__version__, packed)
    except OSError as error:
        raise ExecutorError(
            f"executor: no process can be started: {error.strerror}; set executor.workers: 1 to judge in one "
            "process"
        ) from None
    while not wait([future], _LOOK_SECONDS).done:
        if caller.is_hung():
            raise ExecutorError("executor: the process that judged hangs; it was ended")
    answer: bytes = future.result()
    return answer


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep signals from what is started meanwhile until `_begin` ignores them: Ctrl-C would leave a trace."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # starting it later would let signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_GROUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Prepare a new process: it ends with the one that asks, and not by the signals of the group."""
    for number in _OF_THE_GROUP:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # the mask came along
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_THE_GROUP)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process with its parent: a query that runs for an hour must not go on for nobody."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)
