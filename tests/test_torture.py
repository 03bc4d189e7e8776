"""`make torture` in short: a few kills, also while the store is upgraded and MLflow's database is made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torture.kills import make, torture


@pytest.mark.slow
@pytest.mark.parametrize("upgrade", [False, True])
def test_nothing_is_lost_or_doubled_when_it_is_killed(upgrade: bool, tmp_path: Path) -> None:
    world = make(tmp_path)
    outcome = torture(world, 6, np.random.default_rng([7, not upgrade]), upgrade=upgrade)
    assert outcome.faults == []
