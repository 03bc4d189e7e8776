"""Real databases for tests: each fixture gives the URL of a fresh, empty database that is dropped afterwards.

Servers are found by ``ROCMONITOR_TEST_POSTGRES`` and ``ROCMONITOR_TEST_MARIADB`` (URLs of an account that may
create databases). An absent server skips the test, and fails it where ``CI`` is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

POSTGRES = os.environ.get("ROCMONITOR_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
MARIADB = os.environ.get("ROCMONITOR_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/test")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{(tmp_path / 'scratch.db').as_posix()}"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A new PostgreSQL database."""
    with scratch_postgres() as url:
        yield url


@pytest.fixture
def mariadb_url() -> Iterator[str]:
    """A new MariaDB database."""
    with _scratch(make_url(MARIADB), create="CREATE DATABASE {}", drop="DROP DATABASE {}") as url:
        yield url


@pytest.fixture
def duckdb_url(tmp_path: Path) -> str:
    """A new DuckDB database; skipped where its driver is not installed, which is none of our extras."""
    pytest.importorskip("duckdb_engine", reason="`pip install duckdb-engine pytz` to see DuckDB read")
    return f"duckdb:///{tmp_path}/scored.duckdb"


@pytest.fixture(params=["sqlite", "postgres", "mariadb", "duckdb"])
def any_database_url(request: pytest.FixtureRequest) -> str:
    """Each of the four in turn."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@contextmanager
def scratch_postgres(template: str = "template1") -> Iterator[str]:
    """A new PostgreSQL database, copied from another one."""
    create = f"CREATE DATABASE {{}} TEMPLATE {template}"
    with _scratch(make_url(POSTGRES), create=create, drop="DROP DATABASE {} WITH (FORCE)") as url:
        yield url


@contextmanager
def _scratch(server: URL, *, create: str, drop: str) -> Iterator[str]:
    name = f"rocmonitor_test_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.execute(text(create.format(name)))
    except OperationalError as error:
        reason = f"no {server.get_backend_name()} at {server.host}:{server.port}: {error.orig}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(drop.format(name)))
