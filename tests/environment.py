"""What every test works in, and every process that a test starts.

Hypothesis draws the same examples in every run, however slow the machine: few by default, four times as many
where ``HYPOTHESIS_PROFILE`` is ``full``, as before a release. A test that says how many it needs draws
those in both.

Tests run against the package that Python finds: this checkout's, or an installed one. With
``ROCMONITOR_TEST_INSTALLED`` the checkout's is an error.
"""

from __future__ import annotations

import os
import sqlite3
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Engine, event

import rocmonitor

_HERE = Path(__file__).parent
_PACKAGE = Path(rocmonitor.__file__).resolve().parents[1]
_IS_INSTALLED = Path(sysconfig.get_path("purelib")).resolve() == _PACKAGE
if os.environ.get("ROCMONITOR_TEST_INSTALLED") and not _IS_INSTALLED:
    raise pytest.UsageError(f"rocmonitor is imported from {_PACKAGE}, not from an installation")

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("full", derandomize=True, deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Processes find the same package, the modules of the tests, and what ours do to SQLite (below).
_PATHS = [_HERE / "unsynced", *([] if _IS_INSTALLED else [_PACKAGE]), _HERE, os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, map(str, _PATHS)))
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")


@event.listens_for(Engine, "connect")
def _write_without_waiting(connection: object, _: object) -> None:
    """SQLite need not wait for the disk, which takes most of the time: no test is about a power cut."""
    if isinstance(connection, sqlite3.Connection):
        with suppress(sqlite3.Error):  # a file that is no database: its user is told so
            connection.execute("PRAGMA synchronous = OFF")


_SERVERS = ("postgres", "mariadb", "any_database", "spark", "browser", "prometheus")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a server, Spark or a browser, by its fixtures, its parameters or its name.

    Tests that need an MLflow server share one worker, so that one server starts, not one a worker.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "mlflow_server" in fixtures:
            item.add_marker(pytest.mark.xdist_group("mlflow server"))
        names = " ".join((item.nodeid, *fixtures)).casefold()
        if any(server in names for server in _SERVERS):
            item.add_marker("served")
