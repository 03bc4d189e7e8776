"""What was measured, as JSON and as markdown, with the machine and the versions."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("rocmonitor", "numpy", "scipy", "pandas", "sqlalchemy", "psycopg", "pyarrow", "mlflow")


def report(benchmarks: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The lines of each benchmark, and what they were measured on."""
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": {
            "processor": _processor(),
            "processors": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"python": platform.python_version(), **_versions()},
        "benchmarks": benchmarks,
    }


def markdown(of: dict[str, Any]) -> str:
    """One table for each benchmark."""
    machine, versions = of["machine"], of["versions"]
    lines = [
        f"Measured on {of['measured']}: {machine['processor']}, {machine['processors']} processors, "
        f"{machine['memory_gb']} GB, {machine['system']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + ".",
    ]
    for results in of["benchmarks"].values():
        lines += _tables(results)
    return "\n".join(lines) + "\n"


def read(path: Path) -> list[dict[str, Any]]:
    """The lines that a benchmark has recorded."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _tables(results: Iterable[dict[str, Any]]) -> list[str]:
    lines = []
    for line in results:
        if "title" in line:
            lines += [
                "",
                f"**{_plain(line['title'])}** (load {line['load']})",
                "",
                "| | measured | goal |",
                "|---|---|---|",
            ]
        elif "skipped" in line:
            lines.append(f"| skipped: {_plain(line['skipped'])} | | |")
        else:
            lines.append(f"| {_plain(line['what'])} | {line['value']} | {line['goal']} |")
    return lines


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("_", "\\_")


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Its name, as far as the system says it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
