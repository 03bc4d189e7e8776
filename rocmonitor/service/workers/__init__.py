"""Executors, which read and judge windows, and the threads that wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rocmonitor.config import Config, Dask
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
    """Yield the executor of a configuration; start and connect nothing before it is needed.

    Raises
    ------
    ConfigError
        A variable, a file or a package is missing.
    """
    executor = _made(config)
    try:
        yield executor
    finally:
        executor.close()


def _made(config: Config) -> Executor:
    spec = config.executor
    if isinstance(spec, Dask):
        from rocmonitor.service.workers.cluster import Cluster  # Dask is an extra

        return Cluster(spec, config.folder)
    if spec.most == 1:
        return InProcess()
    from rocmonitor.service.workers.processes import Processes  # loky takes 0.1 s to import

    return Processes(spec.most)
