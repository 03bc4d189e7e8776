"""Tasks: what another process is asked to do, and how it answers."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import rocmonitor
from rocmonitor.config import Database, Files, Spark
from rocmonitor.errors import ConfigError, ExecutorError, RocmonitorError, SourceError, without_passwords

if TYPE_CHECKING:
    from rocmonitor.sources import SqlSource

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class StoppedError(Exception):
    """The process is to stop, and the task had not begun."""


class Request(Protocol[Answer_co]):
    """What is asked: a value that can be sent, and done again."""

    @property
    def size(self) -> int:
        """How many statements it waits for, each of which may take as long as the source's ``deadline``."""

    def run(self, source: SqlSource, said: Callable[[str], None]) -> Answer_co:
        """Do it with a source that is open; `said` is called with each step, and with ``""`` in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[Answer]):
    """A request, and where the source is that it reads: by the names of secrets, never with them."""

    name: str
    spec: Database | Files | Spark
    folder: Path
    request: Request[Answer]

    def packed(self) -> bytes:
        """All of it, to be sent."""
        return pickle.dumps(self, protocol=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who waits for an answer, in the thread that does.

    Attributes
    ----------
    stop : Event
        Set when the process is to stop.
    said : callable
        Called with the steps of the task, and ``""`` whenever it moves.
    is_hung : callable
        Whether the task has not moved for so long that it is given up.
    computes : callable
        Called while another process computes: the caller does not just wait for an outside system.
    """

    stop: threading.Event
    said: Callable[[str], None]
    is_hung: Callable[[], bool]
    computes: Callable[[], None]


class Executor(Protocol):
    """Does tasks; safe to share between threads."""

    @property
    def width(self) -> int:
        """How many tasks it does at the same time."""

    @property
    def reports(self) -> bool:
        """Whether it says, while a task is done, that it moves."""

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """The answer to a task, wherever it is done; `source` is open in this process.

        Raises
        ------
        ConfigError, SourceError
            As the request.
        ExecutorError
            Nobody could do it.
        StoppedError
        """

    def close(self) -> None:
        """Give back all that it holds."""


class InProcess:
    """Does each task in the thread that asks."""

    width, reports = 1, True

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """As `Executor.run`."""
        return task.request.run(source, caller.said)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why there is no answer; `trace` of an error that is not foreseen."""

    error: RocmonitorError
    trace: str = ""


def perform(version: str, packed: bytes, said: Callable[[str], None] = lambda _: None) -> bytes:
    """Do a task in the process that it was sent to, and pack the answer.

    Parameters
    ----------
    version : str
        Of the rocmonitor that asks. Another one may neither understand the task nor give the same numbers.
    packed : bytes
    said : callable

    Returns
    -------
    bytes
        For `unpacked`. Errors are answers, too: their traces stay here, with whatever values they hold.
    """
    from rocmonitor.sources import open_source

    if version != rocmonitor.__version__:
        return pickle.dumps(_Failed(_other_version(version)))
    try:
        task: Task[Any] = pickle.loads(packed)
        with open_source(task.spec, task.folder, name=task.name) as source:
            return pickle.dumps(task.request.run(source, said), protocol=5)
    except RocmonitorError as error:
        return pickle.dumps(_Failed(error))
    except Exception as error:  # the one who asked decides what it means
        text = without_passwords(f"unforeseen {type(error).__name__}: {error}")
        return pickle.dumps(_Failed(RocmonitorError(text), without_passwords(traceback.format_exc())))


def unpacked(answer: bytes, where: str = "") -> Any:
    """What a task gave; `where` it was done is added to errors that may be due to the place.

    Raises
    ------
    RocmonitorError
        The error that it ended with.
    """
    found = pickle.loads(answer)
    if not isinstance(found, _Failed):
        return found
    if where and isinstance(found.error, ConfigError):
        raise ConfigError(f"{found.error} ({where})")
    if where and isinstance(found.error, SourceError):
        raise SourceError(f"{found.error} ({where})", transient=found.error.transient)
    if found.trace:
        found.error.add_note(found.trace)
    raise found.error


def _other_version(asked: str) -> ExecutorError:
    return ExecutorError(
        f"executor: a worker has rocmonitor {rocmonitor.__version__}, and this process {asked}; install the "
        "same version on both, and start the worker again",
        transient=False,
    )
