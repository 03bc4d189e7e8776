"""The section of rocmonitor.yaml that says who reads and judges windows."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, field_validator

from rocmonitor.config.values import Section
from rocmonitor.errors import quoted

_MOST = 64
_ENOUGH = 8
"""Processes beyond this wait for the one that saves: it takes an eighth to a quarter of all work."""
_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")


class Processes(Section):
    """Processes on this machine: at most `workers`, by default one for each core, up to 8."""

    workers: int | None = Field(default=None, ge=1, le=_MOST)

    @field_validator("workers", mode="before")
    @classmethod
    def _no_switch(cls, workers: object) -> object:
        if isinstance(workers, bool):  # would be read as 1 or 0
            raise ValueError(f"must be a whole number such as 4; it is {quoted(workers)}")
        return workers

    @property
    def most(self) -> int:
        """The largest number of processes."""
        return self.workers or min(_cores(), _ENOUGH)


def _cores() -> int:
    """Return the cores that this process may use; a container may have fewer than its machine."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        return cores
