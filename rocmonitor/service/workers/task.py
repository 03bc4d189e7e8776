"""Tasks that another process may do, and their answers."""

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
from rocmonitor.errors import ExecutorError, RocmonitorError, unforeseen, without_passwords

if TYPE_CHECKING:
    from rocmonitor.sources import SqlSource

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class StoppedError(Exception):
    """The process was told to stop, and the task had not begun."""


class Request(Protocol[Answer_co]):
    """A question to a source: a value that can be sent, and asked again."""

    @property
    def size(self) -> int:
        """The number of statements, each of which may take as long as the source's ``deadline``."""

    def run(self, source: SqlSource, on_step: Callable[[str], None]) -> Answer_co:
        """Ask an open source; call `on_step` with each step, and with ``""`` in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[Answer]):
    """A request and the address of the source that it reads: by the names of secrets, never with them."""

    name: str
    spec: Database | Files | Spark
    folder: Path
    request: Request[Answer]

    def packed(self) -> bytes:
        """Return the task as bytes, to be sent."""
        return pickle.dumps(self, protocol=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The one who waits for an answer, in the thread that waits."""

    stop: threading.Event
    """Set when the process must stop."""
    on_step: Callable[[str], None]
    """Called with the steps of a task that is done in this process, and ``""`` whenever it moves."""
    is_hung: Callable[[], bool]
    """Returns True when the task has been silent for too long and is given up."""


class Executor(Protocol):
    """A doer of tasks; safe to share between threads."""

    width: int
    """The number of tasks that it does at the same time."""
    reports: bool
    """True if `Caller.on_step` hears each step of a task."""

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """Return the answer to a task, wherever it is done; `source` is open in this process.

        Raises
        ------
        ConfigError, SourceError: As the request.
        ExecutorError: Nobody could do it.
        StoppedError
        """


class InProcess:
    """An executor that does each task in the thread that asks."""

    width, reports = 1, True

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:
        """Do a task as `Executor.run` says."""
        return task.request.run(source, caller.on_step)


@dataclass(frozen=True, slots=True)
class _Failed:
    """The error in place of an answer; `trace` of an error that is not foreseen."""

    error: RocmonitorError
    trace: str = ""


def perform(version: str, packed: bytes) -> bytes:
    """Do a task in the process that it was sent to, and pack the answer for `unpacked`.

    `version` is that of the rocmonitor that asks: another one, installed while it runs, may neither
    understand the task nor give the same numbers. Errors are answers, too: their traces stay here, with
    whatever values they hold.
    """
    from rocmonitor.sources import open_source

    if version != rocmonitor.__version__:
        error = ExecutorError(
            f"executor: a new process has rocmonitor {rocmonitor.__version__}, and this one {version}: "
            "another version was installed meanwhile; start rocmonitor again",
            transient=False,
        )
        return pickle.dumps(_Failed(error))
    try:
        task: Task[Any] = pickle.loads(packed)
        with open_source(task.spec, task.folder, name=task.name) as source:
            return pickle.dumps(task.request.run(source, lambda _: None), protocol=5)
    except RocmonitorError as error:
        return pickle.dumps(_Failed(error))
    except Exception as error:  # the one who asked decides what it means
        text = without_passwords(str(unforeseen(error)))
        return pickle.dumps(_Failed(RocmonitorError(text), without_passwords(traceback.format_exc())))


def unpacked(answer: bytes) -> Any:
    """Return the answer of a task, or raise the error that it ended with."""
    result = pickle.loads(answer)
    if not isinstance(result, _Failed):
        return result
    if result.trace:
        result.error.add_note(result.trace)
    raise result.error
