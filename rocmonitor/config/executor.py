"""The section of rocmonitor.yaml that says who reads and judges windows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from rocmonitor.config.values import FileName, Section, Variable, require_regular
from rocmonitor.errors import ConfigError, quoted

_MOST = 64
_ENOUGH = 8
"""Processes beyond this wait for the one that saves: it takes an eighth to a quarter of all work."""
_ADDRESS = re.compile(r"[a-z]+://(?:\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")
_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")


class Processes(Section):
    """Processes on this machine: at most `workers`, by default one for each core, up to 8."""

    kind: Literal["processes"] = "processes"
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


class Tls(Section):
    """Files in PEM: who may sign certificates, our certificate and its key."""

    ca_file: FileName
    cert_file: FileName
    key_file: FileName


class Dask(Section):
    """A Dask cluster, by the name of the variable that holds the address of its scheduler."""

    kind: Literal["dask"] = "dask"
    address_env: Variable
    tls: Tls | None = None

    def read(self) -> str:
        """Return the address."""
        key, value = "executor.address_env", os.environ.get(self.address_env, "")
        if not value:
            raise ConfigError(f"{key}: the environment variable {self.address_env} is not set; export it")
        schemes = ("tls://",) if self.tls is not None else ("tcp://", "tls://")
        if not value.startswith(schemes) or not _has_host_and_port(value):
            wants_tls = self.tls is not None and not value.startswith(schemes)
            hint = ", for executor.tls asks for encryption" if wants_tls else ""
            hint += ", without a login" if "@" in value else ""
            raise ConfigError(
                f"{key}: {self.address_env} must hold an address such as {schemes[0]}scheduler:8786{hint}"
            )
        if value.startswith("tls://") and self.tls is None:
            raise ConfigError(
                f"{key}: {self.address_env} holds an encrypted address (tls://), which needs executor.tls: "
                "{ca_file: …, cert_file: …, key_file: …}"
            )
        return value

    def files(self, folder: Path) -> dict[str, str]:
        """Return the files of `tls` by key, each of which can be read."""
        found = {}
        for key, name in {} if self.tls is None else dict(self.tls).items():
            path = folder / name
            require_regular(path, f"executor.tls.{key}")
            try:
                path.open("rb").close()
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
                raise ConfigError(f"executor.tls.{key}: cannot read the file named there: {why}") from None
            found[key] = str(path)
        return found


def _has_host_and_port(address: str) -> bool:
    """Return True if an address has just these: Dask refuses others after a while, and quotes what they
    hold.
    """
    found = _ADDRESS.fullmatch(address)
    return found is not None and 0 < int(found[1]) < 65_536


def _processes(section: object) -> object:
    """Return an executor without a kind is this machine."""
    return {"kind": "processes", **section} if isinstance(section, Mapping) else section


Executor = Annotated[Annotated[Processes | Dask, Field(discriminator="kind")], BeforeValidator(_processes)]


def _cores() -> int:
    """Return the cores that this process may use; a container may have fewer than its machine."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        return cores
