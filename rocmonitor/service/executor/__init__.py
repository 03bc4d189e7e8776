"""Who reads and judges: this process, others on this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rocmonitor.config import Config, Dask
from rocmonitor.service.executor.task import Answer, Caller, Executor, InProcess, Request, StoppedError, Task

__all__ = [
    "Answer",
    "Caller",
    "Executor",
    "InProcess",
    "Request",
    "StoppedError",
    "Task",
    "open_executor",
]


@contextmanager
def open_executor(config: Config) -> Iterator[Executor]:
    """The executor of a configuration; nothing is started or connected before it is needed.

    Raises
    ------
    ConfigError
        What it needs is not there: a variable, a file, a package.
    """
    executor = _made(config)
    try:
        yield executor
    finally:
        executor.close()


def _made(config: Config) -> Executor:
    spec = config.executor
    if isinstance(spec, Dask):
        from rocmonitor.service.executor.cluster import Cluster

        return Cluster(spec, config.folder)
    if spec.most == 1:
        return InProcess()
    from rocmonitor.service.executor.processes import Processes

    return Processes(spec.most)
