"""Requests for other processes, in a module that these can import, and executors that use them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocmonitor.service.workers import Answer, Caller, Request, Task
from rocmonitor.service.workers.processes import ProcessPool


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledOnce:
    """A request whose process is killed after all was done and before it answers; the next try answers.

    Attributes
    ----------
    request : Request
    folder : Path
        Gets a file for each try, named by the process.
    """

    request: Request[Any]
    folder: Path

    @property
    def size(self) -> int:
        return self.request.size

    def run(self, source: Any, on_step: Callable[[str], None]) -> Any:
        answer = self.request.run(source, on_step)
        if (first := self.folder / "tries").exists():
            return answer
        first.mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadly:
    """A request that always ends its process."""

    size: int = 1

    def run(self, source: Any, on_step: Callable[[str], None]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A request that waits for ever, after a file says that it has begun."""

    begun: Path
    size: int = 1

    def run(self, source: Any, on_step: Callable[[str], None]) -> None:
        self.begun.touch()
        threading.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """A request for the number of the process that does it."""

    size: int = 1

    def run(self, source: Any, on_step: Callable[[str], None]) -> int:
        return os.getpid()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A request with a fault that is not foreseen."""

    size: int = 1

    def run(self, source: Any, on_step: Callable[[str], None]) -> None:
        raise KeyError("postgresql://me:a-secret@host/db")


def caller(**changes: Any) -> Caller:
    """One who waits patiently and listens to nothing."""
    plain: dict[str, Any] = {
        "stop": threading.Event(),
        "on_step": lambda _: None,
        "is_hung": lambda: False,
    }
    return Caller(**plain | changes)


class Outside(ProcessPool):
    """Processes that do every task: this process does none.

    Parameters
    ----------
    most : int
    killed : Path, optional
        Of every task the first process is killed; the folder gets a folder for each.
    """

    def __init__(self, most: int = 1, killed: Path | None = None) -> None:
        super().__init__(most, start_after=0.0)
        self.killed, self.tasks, self.packed = killed, 0, list[bytes]()
        self._here = 1  # taken, for good

    def run(self, task: Task[Answer], source: Any, caller: Caller) -> Answer:
        self.tasks += 1
        self.packed.append(task.packed())
        if self.killed is not None:
            folder = self.killed / str(self.tasks)
            folder.mkdir(parents=True)
            task = replace(task, request=KilledOnce(request=task.request, folder=folder))
        return super().run(task, source, caller)
