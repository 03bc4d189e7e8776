"""``make fuzz``: configurations, files and HTTP requests, changed at random; what breaks."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.mutants import configurations, files, requests
from fuzz.world import applications
from scenario import world


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="of each kind; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    found = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        os.environ["SCENARIO_SOURCE_URL"] = f"sqlite:///{folder}/source.db"
        attacks = {
            "configurations": lambda: configurations(chosen.count, chosen.seed, folder),
            "files": lambda: files(chosen.count, chosen.seed, folder),
        }
        with applications(world(folder, os.environ["SCENARIO_SOURCE_URL"])) as apps:
            attacks["requests"] = lambda: requests(chosen.count, chosen.seed, apps)
            for kind, attack in attacks.items():
                faults = attack()
                print(f"{chosen.count:,} {kind}: {len(faults)} faults", *faults, sep="\n  ", flush=True)  # noqa: T201
                found += faults
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
