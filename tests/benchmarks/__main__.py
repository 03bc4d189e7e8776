"""Run the benchmarks of this folder, all or those that are named: python tests/benchmarks [NAME …]."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef main() -> None:" in path.read_text())


def run(chosen: list[str]) -> None:
    if unknown := sorted(set(chosen) - set(NAMES)):
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in chosen or NAMES:  # in a process of its own: memory that one took is not charged to the next
        subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], check=True)


if __name__ == "__main__":
    run(sys.argv[1:])
