"""Processes on this machine: started when monitors wait for each other, ended when there is nothing to do.

They are spawned: a fork would take threads, locks and connections along. Where one dies, its task is given to
a new one, and the others go on.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import rocmonitor
from rocmonitor.errors import ExecutorError
from rocmonitor.service.executor.task import Answer, Caller, StoppedError, Task, perform, unpacked

if TYPE_CHECKING:
    from rocmonitor.sources import SqlSource

log = logging.getLogger(__name__)

TRIES = 3
START_AFTER_SECONDS = 10.0
"""So long monitors have waited for each other, added up, before processes are started: what that costs, two
processor seconds each, must be worth it."""
FORGOTTEN_SECONDS = 60.0
"""Waiting before a pause as long as this does not count any more."""
PATIENCE_SECONDS = 1.0
"""So long a task waits for a process; then this one does it: processes that hang hold up nobody."""
IDLE_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_REPORT_SECONDS = 1.0
_OF_THE_GROUP = (signal.SIGINT, signal.SIGTERM)
"""Signals that the whole group gets: the task at hand is finished all the same."""
_COMPUTING = 0.02
"""Processor seconds between two reports that show that a process computes."""


class _LostError(Exception):
    """The process died before it answered."""


class _Process:
    """One process, which does one task at a time."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="rocmonitor worker")
        with _signals_held():
            self._process.start()
        theirs.close()  # else its death would not be seen
        self.idle_since = time.monotonic()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def ask(self, packed: bytes, caller: Caller) -> bytes:
        """The answer to a task; whoever calls ends the process if this raises."""
        try:
            self._pipe.send_bytes(packed)
            while True:
                if self._pipe.poll(_LOOK_SECONDS):
                    kind, _, content = self._pipe.recv_bytes().partition(b" ")
                    if kind == b"answer":
                        return content
                    if kind == b"computes":
                        caller.computes()
                    else:
                        caller.said(pickle.loads(content))
                elif caller.is_hung():
                    raise ExecutorError("executor: the process that judged hangs; it was ended")
        except (EOFError, OSError):
            raise _LostError from None

    def end(self) -> int | None:
        """End it, whatever it does; its exit code."""
        self._process.kill()
        self._process.join(5)
        self._pipe.close()
        return self._process.exitcode


@contextmanager
def _signals_held() -> Iterator[None]:
    """What is started meanwhile gets no signal until `_work` ignores it: Ctrl-C would end it with a trace."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # starting it later would let signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_GROUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection) -> None:
    """Do tasks until the process that asks is gone."""
    for number in _OF_THE_GROUP:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # the mask came along
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_THE_GROUP)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_at_a_time = threading.Lock()

    def send(kind: bytes, content: bytes = b"") -> None:
        with one_at_a_time:
            pipe.send_bytes(kind + b" " + content)

    threading.Thread(target=_report, args=(send,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            packed = pipe.recv_bytes()
            send(b"answer", perform(rocmonitor.__version__, packed, partial(_say, send)))


def _say(send: Callable[..., None], text: str) -> None:
    send(b"said", pickle.dumps(text))


def _report(send: Callable[..., None]) -> None:
    """Say every second whether this process computes, or waits."""
    used = time.process_time()
    with suppress(OSError):
        while True:
            time.sleep(_REPORT_SECONDS)
            if time.process_time() - used > _COMPUTING:
                send(b"computes")
            used = time.process_time()


def _end_with_parent() -> None:
    """A query that runs for an hour must not go on for nobody."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)


class Processes:
    """Does a task in this process while it is alone, and in others when tasks come faster than that.

    Parameters
    ----------
    most : int
        How many processes there may be.
    start_after, idle : float
        Seconds: so long tasks have waited before the first process is started; so long one has nothing to do
        before it is ended.
    """

    reports = True

    def __init__(
        self, most: int, *, start_after: float = START_AFTER_SECONDS, idle: float = IDLE_SECONDS
    ) -> None:
        self.width = most
        self._start_after, self._idle_seconds = start_after, idle
        self._changed = threading.Condition()
        self._idle: list[_Process] = []
        self._running = 0  # processes, idle ones included
        self._here = False  # this process does a task that could have waited
        self._waited, self._waited_at = 0.0, 0.0
        self._all: set[_Process] = set()
        self._closed = False
        self._timer: threading.Timer | None = None

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """As `Executor.run`."""
        place = self._place(caller.stop)
        if isinstance(place, _Process):
            return self._sent(task, place, caller)
        try:
            return task.request.run(source, caller.said)
        finally:
            if place:
                with self._changed:
                    self._here = False
                    self._changed.notify()

    def pids(self) -> list[int]:
        """Its processes."""
        with self._changed:
            return [each.pid for each in self._all if each.pid is not None]

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._closed, processes = True, list(self._all)
            self._all.clear()
            self._idle.clear()
            if self._timer is not None:
                self._timer.cancel()
        for each in processes:
            each.end()
        atexit.unregister(self.close)

    def _place(self, stop: threading.Event) -> _Process | bool:
        """A process; or whether this one has a place (True), or is used because nobody came free (False)."""
        began = time.monotonic()
        with self._changed:
            try:
                while not stop.is_set():
                    if self._idle:
                        return self._idle.pop()
                    if not self._running and not self._here:
                        self._here = True
                        return True
                    now = time.monotonic()
                    if self._running < self.width and self._has_waited(now - began):
                        self._running += 1
                        break
                    if now - began > PATIENCE_SECONDS:
                        return False
                    self._changed.wait(0.1)
                else:
                    raise StoppedError
            finally:
                self._note_waiting(time.monotonic() - began)
        return self._started()

    def _has_waited(self, seconds: float) -> bool:
        """Whether tasks wait enough for another process."""
        return bool(self._running) or self._waited + seconds >= self._start_after

    def _note_waiting(self, seconds: float) -> None:
        now = time.monotonic()
        if now - self._waited_at > FORGOTTEN_SECONDS:
            self._waited = 0.0
        if seconds > 0.001:
            self._waited, self._waited_at = self._waited + seconds, now

    def _started(self) -> _Process:
        """A new process, which `_running` counts already."""
        try:
            process = _Process()
        except OSError as error:
            self._forget(None)
            raise ExecutorError(
                f"executor: no process can be started: {error.strerror}; set executor.workers: 1 to judge in "
                "one process"
            ) from None
        with self._changed:
            if not self._all:
                atexit.register(self.close)  # before multiprocessing's own end, which only asks them to end
            self._all.add(process)
        log.debug("process %s judges windows", process.pid)
        return process

    def _sent(self, task: Task[Answer], process: _Process, caller: Caller) -> Answer:
        """The answer of a process, or of another where that one dies."""
        packed, answer, tries = b"", None, 1
        while answer is None:
            try:
                packed = packed or task.packed()
                answer = process.ask(packed, caller)
            except _LostError:
                code = self._forget(process)
                if self._closed:
                    raise StoppedError from None
                if tries == TRIES:
                    raise ExecutorError(_died(task, code)) from None
                tries += 1
                log.warning(
                    "a process that judged a window ended (exit code %s); another does it again", code
                )
                with self._changed:
                    self._running += 1
                process = self._started()
            except BaseException:  # it is still at work on what nobody waits for
                self._forget(process)
                raise
        with self._changed:
            process.idle_since = time.monotonic()
            self._idle.append(process)
            self._changed.notify()
        self._watch_idle()
        found: Answer = unpacked(answer)
        return found

    def _forget(self, process: _Process | None) -> int | None:
        """End a process, and make room for another."""
        code = None if process is None else process.end()
        with self._changed:
            self._running -= 1
            self._all -= {process}
            self._changed.notify()
        return code

    def _watch_idle(self) -> None:
        """Look at the idle ones from time to time, as long as there are processes."""
        with self._changed:
            if self._timer is None and self._running and not self._closed:
                self._timer = threading.Timer(self._idle_seconds / 2, self._end_idle)
                self._timer.daemon = True
                self._timer.start()

    def _end_idle(self) -> None:
        with self._changed:
            end = time.monotonic() - self._idle_seconds
            old = [each for each in self._idle if each.idle_since < end]
            self._idle = [each for each in self._idle if each not in old]
            self._timer = None
        for each in old:
            self._forget(each)
        self._watch_idle()


def _died(task: Task[Answer], code: int | None) -> str:
    return (
        f"executor: {TRIES} processes ended while they read sources.{task.name} (the last with exit code "
        f"{code}); if memory ran out, lower executor.workers, or set grouped: database"
    )
