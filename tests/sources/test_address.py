"""A file at an address: DuckDB asks a server for parts of it, which are counted.

DuckDB reads addresses by an extension that it loads and we do not install. It is on PyPI for some versions:
``make test-address`` runs this with one of them.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from pyarrow import parquet, table
from scored import WEEK, monitor, same

from rocmonitor.config import Files
from rocmonitor.policy.windows import Window
from rocmonitor.sources import open_source

DAYS = [Window(WEEK.start + timedelta(days=day), WEEK.start + timedelta(days=day + 1)) for day in range(7)]
EXTENSION = "httpfs.duckdb_extension"


class Served(BaseHTTPRequestHandler):
    """Serves one file by ranges, and counts what it is asked for."""

    def __init__(self, content: bytes, asked: Counter[str], *given: Any) -> None:
        self.content, self.asked = content, asked
        super().__init__(*given)

    def do_HEAD(self) -> None:
        self.asked["HEAD"] += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        self.end_headers()

    def do_GET(self) -> None:
        self.asked["GET"] += 1
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        start, end = int(first), int(last) + 1 if last else len(self.content)
        part = self.content[start:end]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(self.content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's extension where DuckDB looks for it."""
    package = find_spec("duckdb_extension_httpfs")
    folder = Path(os.path.dirname(str(package.origin)) if package else ".")
    file = folder / "extensions" / f"v{duckdb.__version__}" / EXTENSION
    if not file.exists():
        pytest.skip(
            f"no httpfs for DuckDB {duckdb.__version__} on PyPI: `make test-address` takes another one"
        )
    [(platform,)] = duckdb.sql("PRAGMA platform").fetchall()
    home = tmp_path / ".duckdb" / "extensions" / f"v{duckdb.__version__}" / platform
    home.mkdir(parents=True)
    shutil.copy(file, home / EXTENSION)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def served(extension: None, tmp_path: Path) -> Iterator[tuple[Files, Counter[str]]]:
    """A source at an address, and the requests that its server has had."""
    rng, rows = np.random.default_rng(1), 70_000
    at = np.sort(rng.integers(0, 7 * 86_400, rows))
    columns = {
        "loan_id": np.arange(rows),
        "scored_at": np.datetime64(WEEK.start.replace(tzinfo=None), "us") + at.astype("timedelta64[s]"),
        "p1": rng.normal(size=rows),
        "p2": rng.normal(size=rows),
        "defaulted": rng.integers(0, 2, rows),
        "region": rng.choice(["north", "south"], rows),
    }
    parquet.write_table(table(columns), tmp_path / "scored.parquet", row_group_size=5_000)
    asked: Counter[str] = Counter()
    content = (tmp_path / "scored.parquet").read_bytes()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Served, content, asked))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Files(path=f"http://127.0.0.1:{server.server_port}/scored.parquet", timezone="UTC"), asked
    server.shutdown()
    server.server_close()


def test_windows_side_by_side_ask_an_address_less_often(
    served: tuple[Files, Counter[str]], tmp_path: Path
) -> None:
    spec, asked = served
    with open_source(spec, tmp_path) as source:
        together = source.pull_together(monitor(), DAYS)
    at_once = asked.total()
    with open_source(spec, tmp_path) as source:
        alone = [source.pull(monitor(), day, count_labels=True) for day in DAYS]
    one_by_one = asked.total() - at_once
    assert together is not None
    for one, other in zip(together, alone, strict=True):
        same(one, other)
        assert one.labels == other.labels
    assert at_once < one_by_one / 2, (at_once, one_by_one)
