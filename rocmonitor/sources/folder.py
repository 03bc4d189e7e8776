"""Folders: which files a source of kind ``files`` has, at the moment it is read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocmonitor.errors import SourceError

Kind = Literal["parquet", "csv", "delta", "duckdb"]

_ENDINGS: dict[str, Kind] = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".duckdb": "duckdb"}
_COMPRESSED = (".gz", ".zst")  # of texts
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files of one kind, sorted; of a Delta table the folder alone."""

    kind: Kind
    names: tuple[str, ...]


def is_remote(path: str) -> bool:
    """Return True if a path is an address, such as ``s3://bucket/scores``."""
    return bool(_REMOTE.match(path))


def find(path: str, folder: Path, key: str, listed: Callable[[str], Iterable[str]]) -> Found:
    """Return the files of a path: a file, a pattern (``**`` for any depth), or a folder with all below.

    Files and folders whose names begin with ``_`` or ``.`` are left out, as Spark and others leave
    them behind.

    Messages call the path `key`; `listed` gives the names that match a pattern of addresses. That there is no
    file is a transient SourceError, for it may come; a folder that may not be read is an OSError.
    """
    if is_remote(path):
        # A name with an ending of ours is a file; else it is taken for a folder.
        whole = path if _PATTERN.search(path) or _kind(path) else f"{path.rstrip('/')}/**"
        root, names = path.rstrip("/"), sorted(listed(whole))
        is_delta = any(name.startswith(f"{root}/_delta_log/") for name in names)
    else:
        root = str(folder / path)
        names, is_delta = list(_local(root, path, folder)), (Path(root) / "_delta_log").is_dir()
    if is_delta:
        return Found(kind="delta", names=(root,))
    start = len(root)
    if is_remote(path) or not Path(root).is_dir():  # what is written before the first sign of a pattern
        fixed = str(folder) if root.startswith(str(folder)) else ""
        start = len(fixed) + len(_PATTERN.split(root.removeprefix(fixed))[0])
    kinds = {name: kind for name in names if (kind := _kind(name)) and not _is_hidden(name[start:])}
    if not kinds:
        raise SourceError(
            f"{key}: there is no file at {root} whose name ends with {', '.join(_ENDINGS)} (or .csv.gz); one "
            "that comes later is found then"
        )
    by_kind = {kind: name for name, kind in kinds.items()}
    if len(by_kind) > 1:
        raise SourceError(
            f"{key}: has files of more than one kind ({' and '.join(sorted(by_kind.values()))}); name one of "
            "them, such as folder/**/*.parquet",
            transient=False,
        )
    [kind] = by_kind
    if kind == "duckdb" and len(kinds) > 1:
        raise SourceError(f"{key}: has {len(kinds)} DuckDB databases; name one", transient=False)
    return Found(kind=kind, names=tuple(sorted(kinds)))


def kind_of(path: str, folder: Path) -> Kind | None:
    """Return the kind of the files of a path; of an address by its ending, None without one."""
    return _kind(path) if is_remote(path) else find(path, folder, "path", lambda _: ()).kind


def _local(root: str, path: str, folder: Path) -> Iterable[str]:
    """Return each file once, however many links lead to it, and by its own name where that is among them."""
    if Path(root).is_dir():
        start = root
        files = list(_below(root, (os.path.realpath(root),)))
    else:  # the folder of the configuration is no pattern
        _require_readable(path, folder)
        start, below = str(folder), glob.glob(path, root_dir=folder, recursive=True)
        names = [str(folder / relative) for relative in below if (folder / relative).is_file()]
        files = [(name, os.path.realpath(name)) for name in names]
    by_file: dict[str, list[str]] = {}
    for name, real in sorted(files):
        by_file.setdefault(real, []).append(name)
    plain = os.path.realpath(start)

    def is_own(name: str, real: str) -> bool:
        return os.path.normpath(f"{plain}/{os.path.relpath(name, start)}") == real

    return [
        next((name for name in same[1:] if not is_own(same[0], real) and is_own(name, real)), same[0])
        for real, same in by_file.items()
    ]


def _below(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield files with their names without links; an unreadable folder fails, or its rows would be missed.

    `above` are the names without links of the folders that led here, this one's last.
    """
    with os.scandir(folder) as listing:
        entries = [entry for entry in listing if not _is_hidden(entry.name)]
    for entry in entries:
        real = os.path.realpath(entry.path) if entry.is_symlink() else f"{above[-1]}/{entry.name}"
        if entry.is_dir():
            if real not in above:  # a link leads back
                yield from _below(entry.path, (*above, real))
        elif entry.is_file():
            yield entry.path, real


def _require_readable(path: str, folder: Path) -> None:
    """Raise where a pattern leads to a folder that may not be read: `glob` passes over it silently."""
    parts = Path(path).parts
    fixed = len(_PATTERN.split(str(Path(path)))[0])
    for at, part in enumerate(parts):
        above = Path(*parts[:at])
        if not _PATTERN.search(str(above / part)):
            continue
        below = [f"{above}/"] + [f"{above / part}/"] * (part == "**")
        names = (name for pattern in below for name in glob.glob(pattern, root_dir=folder, recursive=True))
        for name in names:
            if _is_hidden(name[fixed:]):
                continue
            with suppress(FileNotFoundError, NotADirectoryError):
                if _PATTERN.search(part):
                    os.scandir(folder / name).close()
                else:  # only a name is looked up in it
                    os.stat(os.path.join(folder, name, "."))


def _kind(name: str) -> Kind | None:
    name = name.lower()  # other systems write SCORES.CSV
    for ending in _COMPRESSED:
        if name.removesuffix(ending).endswith((".csv", ".tsv")):
            name = name.removesuffix(ending)
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(("_", ".")) for part in name.split("/"))
