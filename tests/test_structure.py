"""Limits that the package keeps: imports that a newcomer has, licences, and what CI runs again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rocmonitor

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rocmonitor"
MODULES = sorted(PACKAGE.rglob("*.py"))

IMPORTS_ALL = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # as if not installed
import rocmonitor
for module in pkgutil.walk_packages(rocmonitor.__path__, "rocmonitor."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in requirements}


def test_every_module_imports_with_what_make_installs() -> None:
    """`make test` collects the examples of every module, so that one import too many fails it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    made = re.search(r"^EXTRAS := \[(.*)\]$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert made
    installed = set.union(*(names_of(extras[extra]) for extra in made[1].split(",")))
    absent = set.union(*(names_of(each) for each in extras.values())) - installed - {"pyarrow"}  # MLflow's
    assert absent == {"pyspark"}  # distribution and module have one name
    command = [sys.executable, "-W", "ignore", "-c", IMPORTS_ALL, *absent]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_release_ships_the_licence_of_each_vendored_file() -> None:
    """hatchling leaves out a path that does not exist, without a word."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("LICENSE*"))
    assert found
    assert project["license-files"] == ["LICENSE", *found]
    release = (ROOT / ".ci" / "release").read_text(encoding="utf-8")
    assert all(f"licenses/{path}" in release for path in found)


def test_processes_import_the_package_that_the_tests_do(tmp_path: Path) -> None:
    """Or a release would try the source where it means an installation."""
    command = [sys.executable, "-c", "import rocmonitor; print(rocmonitor.__file__)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert Path(done.stdout.strip()).resolve() == Path(rocmonitor.__file__).resolve()


IMPORTS_SOME = """
import importlib, sys
absent, modules = (each.split(",") for each in sys.argv[1:])
sys.modules.update(dict.fromkeys(absent))
for module in modules:
    importlib.import_module(module)
"""


def test_what_every_installation_runs_imports_no_extra() -> None:
    """A monitor of a SQL database, its page and its report: `pip install rocmonitor` is enough for them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set.union(*(names_of(each) for each in project["optional-dependencies"].values()))
    absent = {"duckdb", "deltalake", "pyspark", "psycopg", "pymysql"}
    assert absent <= extras
    modules = [
        f"rocmonitor.{name}"
        for name in ("cli.run", "service.scheduler", "service.checking", "service.review", "web.alone")
    ]
    modules += ["rocmonitor.report.pages", "rocmonitor.report.review", "rocmonitor.plugin.app"]
    command = [sys.executable, "-W", "ignore", "-c", IMPORTS_SOME, ",".join(absent), ",".join(modules)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    """Or each worker would start a Spark and an MLflow of its own, unseen but for the time (pytest 9.2)."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@together")
