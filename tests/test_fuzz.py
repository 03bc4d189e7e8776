"""`make fuzz` in short: a few hundred configurations, files and requests that nobody meant."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fuzz.mutants import configurations, files, requests
from fuzz.world import applications
from scenario import World

pytestmark = pytest.mark.slow  # on no monitor's path

COUNT, SEED = 200, 17


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged of a refused request is not the matter here; the level is put back afterwards."""
    caplog.set_level(logging.CRITICAL, logger="rocmonitor")


def test_configurations(tmp_path: Path) -> None:
    assert configurations(COUNT, SEED, tmp_path) == []


@pytest.mark.filterwarnings("ignore::Warning")  # of pandas, about what a file may hold
def test_files(tmp_path: Path) -> None:
    assert files(COUNT, SEED, tmp_path) == []


def test_requests(here: World) -> None:
    with applications(here) as apps:
        assert requests(COUNT, SEED, apps) == []
