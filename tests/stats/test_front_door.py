"""What `rocmonitor.stats` offers, and that importing it is light."""

from __future__ import annotations

import re
import subprocess
import sys

import rocmonitor.stats as stats
from rocmonitor.stats import research

HEAVY = [
    "scipy.stats",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.interpolate",
    "pandas",
    "rocmonitor.stats.research",
]


def test_importing_the_statistics_imports_nothing_heavy():
    # Older versions of scipy.special bring scipy.sparse along.
    assert heavy("rocmonitor.stats") <= heavy("scipy.special")


def heavy(module: str) -> set[str]:
    program = f"import sys, {module}; print(*sys.modules.keys() & {HEAVY!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_names():
    for module in (stats, research):
        assert module.__all__ == sorted(module.__all__, key=lambda name: (name[0].islower(), name))
        for name in module.__all__:
            assert getattr(module, name).__doc__
    assert not set(stats.__all__) & set(research.__all__)
    assert {"Caveat", "Interval", "RocCurve", "roc_curve"} <= set(stats.__all__)
    assert {"auc_path", "auc_test", "roc_functional", "weighted_sample"} <= set(research.__all__)


def test_what_a_function_returns_is_exported():
    for function, name in ((stats.auc, "AucResult"), (stats.roc_curve, "RocCurve")):
        assert type(function([0, 1, 0, 1], [1, 2, 3, 4])).__name__ == name
    assert type(stats.auc([0, 1, 0, 1], [1, 2, 3, 4]).ci()) is stats.Interval


def test_the_help_names_every_function_once_and_twelve_of_them_first() -> None:
    named = re.findall(r"`(\w+)`", (stats.__doc__ or "").partition("The twelve")[2])
    functions = [name for name in stats.__all__ if name[0].islower()]
    assert sorted(named) == functions
    table = (stats.__doc__ or "").split("=\n")[1]
    assert re.findall(r"`(\w+)`", table) == named[:12]
