"""Airflow and Dagster run the recipes of docs/how-to/orchestrators.md: exit codes 3 and 4 are results.

`make test-orchestrators` installs both, each in an environment of its own: their requirements are not ours.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import World, until

ROOT = Path(__file__).parents[1]
RECIPES = re.findall(
    r"```python\n(.*?)```",
    (ROOT / "docs" / "how-to" / "orchestrators.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
ENVIRONMENTS = os.environ.get("ROCMONITOR_TEST_ORCHESTRATORS")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(ENVIRONMENTS is None, reason="needs Airflow and Dagster: make test-orchestrators"),
]

DAG = """
from datetime import UTC, datetime
from airflow.sdk import DAG

with DAG("watch", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
    exec(compile(open({recipe!r}).read(), "recipe", "exec"))
"""
JOB = """
import dagster
known = {{}}
exec(compile(open({recipe!r}).read(), "recipe", "exec"), known)

@dagster.job
def job():
    known["watch"]()

done = job.execute_in_process(raise_on_error=False)
outputs = [each for each in done.all_events if each.event_type_value == "STEP_OUTPUT"]
for output in outputs:
    print("metadata:", {{key: each.value for key, each in output.event_specific_data.metadata.items()}})
print("ended:", done.success)
"""

ENDS = [("insufficient", 4, True), ("degraded", 3, True), ("wrong", 2, False)]


@pytest.fixture
def prepared(here: World, tmp_path: Path) -> dict[str, str]:
    """The environment of a scheduler whose PATH has our command; three configurations to run."""
    here.score(20)
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "rocmonitor"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{os.environ["PYTHONPATH"]}" exec {sys.executable} -m rocmonitor "$@"\n'
    )
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("LANG", "SCENARIO_SOURCE_URL") if name in os.environ}
    return {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), **kept}


def configure(here: World, case: str) -> None:
    """Two windows, of which the second has no rows, or bad ones; or no configuration."""
    here.configure(window=until("2026-06-08"))
    for store in here.folder.glob("rocmonitor.db*"):
        store.unlink()
    if case == "degraded":
        here.score(21, shift=0.2)
    if case == "wrong":
        (here.folder / "rocmonitor.yaml").write_text("monitors: {}\n")


def recipe(here: World, number: int) -> str:
    path = here.folder / "recipe.py"
    assert '"/etc/rocmonitor"' in RECIPES[number]
    path.write_text(RECIPES[number].replace("/etc/rocmonitor", str(here.folder)))
    return str(path)


def done(words: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)


def test_airflow(here: World, prepared: dict[str, str], tmp_path: Path) -> None:
    airflow = f"{ENVIRONMENTS}/airflow/bin/airflow"
    home = tmp_path / "airflow"
    (home / "dags").mkdir(parents=True)
    (home / "dags" / "watch.py").write_text(DAG.format(recipe=recipe(here, 0)))
    prepared |= {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    for words in (["db", "migrate"], ["dags", "reserialize"]):
        made = done([airflow, *words], prepared, home)
        assert made.returncode == 0, made.stdout + made.stderr
    for case, code, succeeds in ENDS:
        configure(here, case)
        run = done([airflow, "dags", "test", "watch"], prepared, home)
        said = run.stdout + run.stderr
        assert re.search(r"state=(\w+)", said[said.rindex("DagRun Finished") :])[1] == (
            "success" if succeeds else "failed"
        ), (case, code, said[-3000:])


def test_dagster(here: World, prepared: dict[str, str], tmp_path: Path) -> None:
    python = f"{ENVIRONMENTS}/dagster/bin/python"
    script = tmp_path / "job.py"
    script.write_text(JOB.format(recipe=recipe(here, 1)))
    for case, code, succeeds in ENDS:
        configure(here, case)
        run = done([python, str(script)], prepared, tmp_path)
        assert f"ended: {succeeds}" in run.stdout, (case, run.stdout + run.stderr[-3000:])
        if succeeds:
            assert f"metadata: {{'degraded': {code == 3}}}" in run.stdout
