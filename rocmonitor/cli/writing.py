"""Files that a command writes: refused before the work where they could not be written after it."""

from __future__ import annotations

import os
from pathlib import Path

from rocmonitor.cli.terminal import echo
from rocmonitor.errors import ConfigError


def write(output: Path, text: str) -> None:
    """Write a file that others may not read, and say so."""
    try:
        # A new file is its owner's alone: it may say who defaulted. One that is there keeps its mode.
        with open(output, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
    except OSError as error:
        raise _not_writable(output, error.strerror) from None
    echo(f"wrote {output}", err=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def require_writable(output: Path) -> None:
    """Say before long work that its result could not be written."""
    folder = output.parent
    if output.is_dir():
        raise _not_writable(output, "it is a folder")
    if not folder.is_dir():
        raise _not_writable(output, f"there is no folder {folder}")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise _not_writable(output, "no permission")


def _not_writable(output: Path, why: str | None) -> ConfigError:
    return ConfigError(f"--output {output} cannot be written: {why}; name another file")
