"""Run the benchmarks of this folder, all or those that are named: python tests/benchmarks [NAME …]."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if "\ndef main() -> None:" in path.read_text()
)


def run(chosen: list[str]) -> None:
    if unknown := sorted(set(chosen) - set(NAMES)):
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in chosen or NAMES:
        import_module(name).main()


if __name__ == "__main__":
    run(sys.argv[1:])
