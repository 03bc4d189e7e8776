"""Many monitors, long histories: size and processor time of the pages, in millions of additions."""

from __future__ import annotations

from pathlib import Path

import pytest
from costing import cost
from web.world import crowded

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.store.glance import glances
from rocmonitor.web.alone import create_app

pytestmark = pytest.mark.slow


def test_500_monitors_of_400_windows(real: Evaluation, tmp_path: Path) -> None:
    client = create_app(crowded(tmp_path, 500, 400, real)).test_client()
    found = client.get("/overview.json").get_json()["monitors"]
    assert len(found) == 500
    assert {(len(row["windows"]), len(row["ahead"])) for row in found} == {(26, 1)}
    assert sum(row["status"] == "degraded" for row in found) >= 31
    assert len(client.get("/").data) < 330_000  # a row: 630 bytes, with its numbers in full
    assert cost(lambda: client.get("/")) < 12  # 5 to 6
    with store.open_store(f"sqlite:///{tmp_path}/rocmonitor.db") as kept:
        assert len(glances(kept, windows=1)) == 500
        assert cost(lambda: glances(kept, windows=1)) < 2  # what /metrics asks


def test_a_monitor_of_400_windows(real: Evaluation, tmp_path: Path) -> None:
    client = create_app(crowded(tmp_path, 2, 400, real, metrics=True)).test_client()
    assert len(client.get("/monitors/credit-default-001.json").get_json()["points"]) == 400
    assert client.get("/monitors/credit-default-001").status_code == 200
    assert cost(lambda: client.get("/monitors/credit-default-001")) < 8
