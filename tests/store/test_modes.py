"""A new database is its owner's alone, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmonitor import store


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in sorted(folder.iterdir())}


def test_a_new_store_and_what_sqlite_keeps_beside_it(tmp_path: Path) -> None:
    with store.open_store(f"sqlite:///{tmp_path}/rocmonitor.db") as opened, opened.reading() as connection:
        connection.exec_driver_sql("SELECT 1")
        found = modes(tmp_path)
    assert {"rocmonitor.db", "rocmonitor.db-wal", "rocmonitor.db-shm"} <= set(found)
    assert set(found.values()) == {"0o600"}


def test_a_store_that_is_shared_stays_so(tmp_path: Path) -> None:
    file = tmp_path / "rocmonitor.db"
    file.touch(mode=0o640)
    with store.open_store(f"sqlite:///{file}"):
        assert set(modes(tmp_path).values()) == {"0o640"}
