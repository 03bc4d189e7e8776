"""The world that the commands work in."""

import pytest
from scenario import World


@pytest.fixture
def here(two_weeks: World) -> World:
    """The world of most tests: two weeks are due."""
    return two_weeks
