"""Real databases for tests: each fixture gives the URL of a fresh, empty database that is dropped afterwards.

Servers are found by ``ROCMONITOR_TEST_POSTGRES`` and ``ROCMONITOR_TEST_MARIADB`` (URLs of an account that may
create databases). An absent server skips the test, and fails it where ``CI`` is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

ONE_SPARK = pytest.mark.xdist_group("spark")
"""Tests on Spark run in one worker."""
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
def files_url(tmp_path: Path) -> str:
    """A folder for a Parquet file, as an address that `scored.fill` and `scored.opened` know."""
    return f"files://{tmp_path}/lake"


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def written_database_url(request: pytest.FixtureRequest) -> str:
    """Each of those that could be written to, in turn."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def need_spark(*others: str) -> None:
    """Skip the test, and say why, where Spark's packages are not installed; fail it where `CI` is set."""
    for package in ("pyspark", *others):
        if find_spec(package) is None:
            wanted = f"{package}: `pip install 'rocmonitor[spark]'` (0.5 GB) to see Spark read"
            (pytest.fail if os.environ.get("CI") else pytest.skip)(wanted)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark within this process."""
    need_spark()
    if shutil.which("java") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Spark needs Java")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",  # which no result may depend on
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def spark_url(spark: Any, tmp_path: Path) -> str:
    """A folder for a table of Spark, as an address that `scored.fill` and `scored.opened` know."""
    return f"spark://{tmp_path}/lake"


@pytest.fixture(
    params=[
        "sqlite",
        "postgres",
        "mariadb",
        "files",
        pytest.param("spark", marks=[pytest.mark.slow, ONE_SPARK]),
    ]
)
def any_database_url(request: pytest.FixtureRequest) -> str:
    """The same, a folder of files, and Spark."""
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
