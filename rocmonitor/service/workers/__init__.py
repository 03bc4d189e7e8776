"""Executors, which read and judge windows, and the threads that wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from rocmonitor.config import Config
from rocmonitor.service.workers.task import Answer, Caller, Executor, InProcess, Request, StoppedError, Task
from rocmonitor.service.workers.threads import AtWork, Work, Workers

__all__ = [
    "Answer",
    "AtWork",
    "Caller",
    "Executor",
    "InProcess",
    "Request",
    "StoppedError",
    "Task",
    "Work",
    "Workers",
    "open_executor",
]


@contextmanager
def open_executor(config: Config) -> Iterator[Executor]:
    """Yield the executor of a configuration; start nothing before it is needed."""
    most = config.executor.most
    if most == 1:
        yield InProcess()
        return
    from rocmonitor.service.workers.processes import ProcessPool  # loky takes 0.1 s to import

    with closing(ProcessPool(most)) as executor:
        yield executor
