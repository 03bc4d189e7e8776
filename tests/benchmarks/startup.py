"""How long rocmonitor takes to start: python tests/benchmarks startup."""

from __future__ import annotations

import subprocess
import sys

from timing import result, seconds, title


def main() -> None:
    """Print the time of new processes, and whether they drag MLflow in."""
    title("start of a new process")
    nothing, package, statistics, helps = seconds(
        lambda: python("-c", "pass"),
        lambda: python("-c", "import rocmonitor"),
        lambda: python("-c", "import rocmonitor.stats"),
        lambda: python("-m", "rocmonitor", "--help"),
    )
    result("import rocmonitor (without the start of Python)", f"{package - nothing:.3f} s", "0.3 s")
    result("import rocmonitor.stats", f"{statistics - nothing:.2f} s")
    result("rocmonitor --help, with the start of Python", f"{helps:.2f} s")
    result("rocmonitor --help / the start of Python", f"{helps / nothing:.0f} x")
    for module in ("rocmonitor", "rocmonitor.stats", "rocmonitor.cli"):
        loaded = python("-c", f"import sys, {module}; print('mlflow' in sys.modules)")
        result(f"import {module} imports mlflow", {"False": "no", "True": "yes"}[loaded.strip()], "no")


def python(*arguments: str) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
