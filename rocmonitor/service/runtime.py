"""The parts one process works with, and the lease that keeps other processes from the same work."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path

from rocmonitor import store
from rocmonitor.config import Config
from rocmonitor.errors import StoreError
from rocmonitor.service.workers import AtWork, Executor, InProcess, Workers
from rocmonitor.tracking import Tracking, connect

CONNECT_SECONDS = 60.0
"""Seconds a thread waits for another one that connects to MLflow; that one may hang for ever."""
STOP_SECONDS = 15.0
"""Seconds that the work at hand may take when the process is told to stop."""

log = logging.getLogger(__name__)


def elapsed() -> float:
    """Return the seconds since this machine was started, also those it slept; nobody sets this clock."""
    kind = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if kind is None else time.clock_gettime(kind)


@cache
def boot() -> str:
    """Return an identifier of the current boot; where that is unknown, of this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"process {uuid.uuid4()}"


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """The parts one process works with: configuration, store, MLflow, a name, a clock, a way to stop."""

    config: Config
    store: store.Store
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    elapsed: Callable[[], float] = elapsed
    """Seconds on a clock that nobody sets."""
    boot: str = field(default_factory=boot)
    """An identifier of the run of that clock."""
    owner: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}")
    stop: threading.Event = field(default_factory=threading.Event)
    work: AtWork = field(default_factory=AtWork)
    executor: Executor = field(default_factory=InProcess)
    failures: Counter[str] = field(default_factory=Counter)
    """The number of failures of each job since it last succeeded."""
    failing: dict[str, str] = field(default_factory=dict)
    """Present failures that the store cannot keep: its own error, as ``store``."""
    connecting: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that connects to MLflow."""

    @property
    def tracking(self) -> Tracking:
        """MLflow, connected at the first use; by one thread, unless that takes very long."""
        if "_tracking" not in self.__dict__:
            alone = self.connecting.acquire(timeout=CONNECT_SECONDS)
            try:
                return self._tracking
            finally:
                if alone:
                    self.connecting.release()
        return self._tracking

    @cached_property
    def _tracking(self) -> Tracking:
        config = self.config
        return connect(config.tracking_uri, config.folder, page=config.mlflow.page, own_page=config.page)


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
