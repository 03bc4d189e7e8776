"""Files that any process opens below a folder, counted by Linux's inotify."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

_OPEN, _CLOSE_NOWRITE = 0x20, 0x10
_EVENT = struct.Struct("iIII")


class Opened:
    """Counts how often each file below a folder is opened, by its path in there, while it is entered."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_CLOEXEC)
        self._folder, self._paths = folder, dict[int, Path]()
        for path in (folder, *(each for each in folder.rglob("*") if each.is_dir())):
            # Closing beside opening: two equal events in a row would be one.
            mask = ctypes.c_uint32(_OPEN | _CLOSE_NOWRITE)
            watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask)
            if watch < 0:
                raise OSError(ctypes.get_errno(), f"cannot watch {path}")
            self._paths[watch] = path.relative_to(folder)
        self.files: Counter[str] = Counter()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = self._folder / ".counted"  # the last event: all others have been read by then
        end.touch()
        end.read_bytes()
        self._reader.join(10)
        del self.files[".counted"]
        end.unlink()
        os.close(self._descriptor)

    def _read(self) -> None:
        while ".counted" not in self.files:
            found, at = os.read(self._descriptor, 1 << 16), 0
            while at < len(found):
                watch, mask, _, length = _EVENT.unpack_from(found, at)
                at += _EVENT.size
                name = found[at : at + length].rstrip(b"\0").decode()
                at += length
                if mask & _OPEN and name and (self._folder / self._paths[watch] / name).is_file():
                    self.files[str(self._paths[watch] / name)] += 1
