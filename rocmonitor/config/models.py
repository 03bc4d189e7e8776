"""The whole of rocmonitor.yaml as a frozen model, with its section on processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rocmonitor.config.monitor import Monitor
from rocmonitor.config.outside import AnySource, Channel, Errors, Heartbeat, Keep, Mlflow, Secret, Webhook
from rocmonitor.config.values import Address, Name, Section, WebAddress, refusing_switches
from rocmonitor.errors import ConfigError
from rocmonitor.policy.budget import AlarmBudget, Allotment, Levels, allotments
from rocmonitor.rules import by_name

_MOST = 64
_ENOUGH = 8
"""Processes beyond this wait for the one that saves: it takes an eighth to a quarter of all work."""
_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")


_whole = refusing_switches("must be a whole number such as 4; it is {}")


class Processes(Section):
    """Processes on this machine: at most `workers`, by default one for each core, up to 8."""

    workers: Annotated[int | None, Field(ge=1, le=_MOST), _whole] = None

    @property
    def most(self) -> int:
        """The largest number of processes: by default the cores that this process may use."""
        if self.workers:
            return self.workers
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        try:  # a container may have fewer than its machine
            quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
            cores = min(cores, max(1, int(quota) // int(period)))
        except (OSError, ValueError):  # no such file, or "max"
            pass
        return min(cores, _ENOUGH)


class Config(Section):
    """All of rocmonitor.yaml."""

    folder: Path
    store: Secret = Secret(url="sqlite:///rocmonitor.db")
    mlflow: Mlflow = Mlflow()
    keep: Keep = Keep()
    errors: Errors = Errors()
    webhook: Webhook | None = None
    listen: Address | None = None
    heartbeat: Heartbeat | None = None
    alarm_budget: AlarmBudget | None = None
    page: WebAddress | None = None
    executor: Processes = Processes()
    sources: dict[Name, AnySource] = Field(min_length=1)
    channels: dict[Name, Channel] = Field(default={})
    monitors: dict[Name, Monitor] = Field(min_length=1)

    def allot(self, windows_per_year: Mapping[str, float]) -> tuple[Allotment, ...]:
        """Return how each alarm budget is shared by its monitors; empty without any.

        A monitor that joins windows counts as its `windows_per_year`, if known; else each piece counts as
        one.
        """
        if self.alarm_budget is None:
            return ()
        loads = [monitor.load(windows_per_year.get(name)) for name, monitor in self.monitors.items()]
        return tuple(allotments(self.alarm_budget, loads))

    def levels(self, monitor: str, allotted: Sequence[Allotment]) -> Levels:
        """Return the rules of a monitor at the levels at which they are judged, by what `allot` found."""
        for allotment in allotted:
            if monitor in allotment.levels:
                return allotment.levels[monitor]
        return Levels(rules=by_name(self.monitors[monitor].rules))

    @property
    def store_url(self) -> str:
        """The SQLAlchemy URL of rocmonitor's own database."""
        return self._url(self.store, "store")

    def channel_url(self, name: str) -> str:
        """Return the URL of a channel; never to be printed."""
        return self._url(self.channels[name], f"channels.{name}")

    def _url(self, section: Secret, key: str) -> str:
        try:
            return section.read(self.folder)
        except ConfigError as error:
            raise ConfigError(f"{key}.{error}") from None

    @property
    def tracking_uri(self) -> str:
        """The address of MLflow; default a SQLite file beside the configuration."""
        return self.mlflow.read(self.folder)
