"""A store on each database it can be on."""

from collections.abc import Iterator

import pytest

from rocmonitor.store import Store, migrate, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """A database without tables."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store."""
    migrate.upgrade(store_url)
    with open_store(store_url) as opened:
        yield opened
