"""Run the benchmarks of this folder, all or those that are named: python tests/benchmarks [NAME …].

What they print is also written to results/benchmarks.json and results/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef main(" in path.read_text())


def run(chosen: list[str]) -> None:
    """Each in a process of its own: memory that one took is not charged to the next."""
    from report import markdown, read, report
    from timing import RECORD

    if unknown := sorted(set(chosen) - set(NAMES)):
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen or NAMES:
            record = Path(folder) / name
            command = [sys.executable, str(FOLDER / f"{name}.py")]
            subprocess.run(command, check=True, env=os.environ | {RECORD: str(record)})
            measured[name] = read(record)
    found = report(measured)
    results = Path("results")
    results.mkdir(exist_ok=True)
    (results / "benchmarks.json").write_text(json.dumps(found, indent=1) + "\n")
    (results / "benchmarks.md").write_text(markdown(found))


if __name__ == "__main__":
    run(sys.argv[1:])
