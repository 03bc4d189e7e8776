"""``make torture``: SIGKILL at 500 random points; what was lost, doubled and sent again."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from torture.kills import described, make, make_mlflow, torture, with_mlflow

KILLS_A_WORLD = 40
NEW_MLFLOW_EVERY = 5
"""Worlds of which one has no database of MLflow yet."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    kills = again = number = 0
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        template = Path(name, "mlflow.db")
        make_mlflow(template)
        while kills < chosen.kills:
            upgrade = number % 2 == 0
            folder = Path(name, str(number))
            folder.mkdir()
            world = make(folder)
            if number % NEW_MLFLOW_EVERY:
                with_mlflow(world, template)
            outcome = torture(world, min(KILLS_A_WORLD, chosen.kills - kills), rng, upgrade=upgrade)
            number += 1
            kills, again = kills + outcome.kills, again + outcome.again
            faults += [f"world {number}: {fault}" for fault in outcome.faults]
            shutil.rmtree(folder)
            made = "an upgrade" if upgrade else "a run"
            print(f"world {number} (store made by {made}): {described(outcome)}; {kills} kills", flush=True)  # noqa: T201
    print(f"{kills} kills in {number} worlds: {len(faults)} faults, {again} messages sent again")  # noqa: T201
    print("\n".join(faults))  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
