"""Many monitors, long histories: size and processor time of the pages."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web.world import crowded

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.store.glance import glances
from rocmonitor.web.alone import create_app

pytestmark = pytest.mark.slow


def seconds(client: FlaskClient, address: str) -> tuple[float, int]:
    """Processor time of the quickest of five answers, and bytes."""
    taken = []
    for _ in range(5):
        before = time.process_time()
        answer = client.get(address)
        taken.append(time.process_time() - before)
        assert answer.status_code == 200
    return min(taken), len(answer.data)


def test_500_monitors_of_400_windows(real: Evaluation, tmp_path: Path) -> None:
    client = create_app(crowded(tmp_path, 500, 400, real)).test_client()
    found = client.get("/overview.json").get_json()["monitors"]
    assert len(found) == 500
    assert {(len(row["windows"]), len(row["ahead"])) for row in found} == {(26, 1)}
    assert sum(row["status"] == "degraded" for row in found) >= 31
    taken, size = seconds(client, "/")
    assert size < 300_000
    assert taken < 0.6  # 0.3 on a quiet machine
    with store.open_store(f"sqlite:///{tmp_path}/rocmonitor.db") as kept:
        scrapes = []
        for _ in range(5):
            before = time.process_time()
            assert len(glances(kept, windows=1)) == 500
            scrapes.append(time.process_time() - before)
    assert min(scrapes) < 0.1  # what /metrics asks; reading each monitor's windows takes 0.05 to 0.4


def test_a_monitor_of_400_windows(real: Evaluation, tmp_path: Path) -> None:
    client = create_app(crowded(tmp_path, 2, 400, real, metrics=True)).test_client()
    assert len(client.get("/monitors/credit-default-001.json").get_json()["points"]) == 400
    taken, _ = seconds(client, "/monitors/credit-default-001")
    assert taken < 0.4
