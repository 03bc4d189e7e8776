"""The data behind the pages: the configuration, read again when its file has changed, and its store."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rocmonitor import config, store
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError
from rocmonitor.store.migrate import is_made_by_opening
from rocmonitor.wording import page as wording


class AbsentError(Exception):
    """There is nothing of that name; says what is not there."""


@dataclass(kw_only=True)
class Site:
    """One configuration file and the open store it names; threads may share it.

    Stores are closed when the site is no longer used, or at the end of the process. What cannot be read of
    either is a ConfigError or a StoreError, also in the views made of it.
    """

    path: Path
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _read: tuple[tuple[int, int], config.Config] | None = field(default=None, repr=False)
    _open: tuple[str, store.Store] | None = field(default=None, repr=False)

    def config(self) -> config.Config:
        """Return the configuration."""
        with self._lock:
            try:
                stat = self.path.stat()
            except OSError as error:
                raise ConfigError(
                    f"{self.path}: cannot be read ({error.strerror}); "
                    "name the configuration in ROCMONITOR_CONFIG or with --config"
                ) from None
            stamp = (stat.st_mtime_ns, stat.st_size)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, config.load(self.path))
            return self._read[1]

    def monitor(self, name: str) -> Monitor:
        """Return a monitor; AbsentError without one of this name."""
        monitor = self.config().monitors.get(name)
        if monitor is None:
            raise AbsentError(wording.NOT_FOUND)
        return monitor

    def store(self) -> store.Store:
        """Return the store, opened at the first use."""
        url = self.config().store_url
        with self._lock:
            opened = self._open
            if opened is None or opened[0] != url or (opened[1].stands_in and not is_made_by_opening(url)):
                opened = self._open = (url, store.open_store(url, make=False))
                weakref.finalize(self, opened[1].close)
            return opened[1]
