"""What the pages read: the configuration, read again when its file has changed, and the store it names."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rocmonitor import config, store
from rocmonitor.errors import ConfigError


@dataclass(kw_only=True)
class Site:
    """One configuration file and the open store it names; threads may share it.

    Parameters
    ----------
    path : Path
    clock : callable
    """

    path: Path
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _read: tuple[tuple[int, int], config.Config] | None = field(default=None, repr=False)
    _open: tuple[str, store.Store] | None = field(default=None, repr=False)

    def config(self) -> config.Config:
        """The configuration.

        Raises
        ------
        ConfigError
        """
        with self._lock:
            try:
                found = self.path.stat()
            except OSError as error:
                raise ConfigError(
                    f"{self.path}: cannot be read ({error.strerror}); "
                    "name the configuration in ROCMONITOR_CONFIG or with --config"
                ) from None
            stamp = (found.st_mtime_ns, found.st_size)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, config.load(self.path))
            return self._read[1]

    def store(self) -> store.Store:
        """The store, opened at the first use.

        Raises
        ------
        ConfigError, StoreError
        """
        url = self.config().store_url
        with self._lock:
            if self._open is None or self._open[0] != url:
                self._open = (url, store.open_store(url))
            return self._open[1]
