"""A store on each database it can be on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import scratch_postgres
from sqlalchemy import make_url

from rocmonitor.store import Store, migrate, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """A database without tables."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with empty tables."""
    file = tmp_path_factory.mktemp("store") / "template.db"
    migrate.upgrade(f"sqlite:///{file.as_posix()}")
    return file


@pytest.fixture(scope="session")
def postgres_template() -> Iterator[str]:
    """The name of a PostgreSQL database with empty tables."""
    with scratch_postgres() as url:
        migrate.upgrade(url)
        yield str(make_url(url).database)


@pytest.fixture(params=["sqlite", "postgres"])
def migrated_url(request: pytest.FixtureRequest, sqlite_url: str) -> Iterator[str]:
    """A database with empty tables, copied from one that was migrated."""
    template = request.getfixturevalue(f"{request.param}_template")
    if request.param == "sqlite":
        shutil.copy(template, str(make_url(sqlite_url).database))
        yield sqlite_url
    else:
        with scratch_postgres(template=template) as url:
            yield url


@pytest.fixture
def store(migrated_url: str) -> Iterator[Store]:
    """An empty store."""
    with open_store(migrated_url) as opened:
        yield opened
