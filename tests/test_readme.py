"""What the README and the pages in docs/ show runs: Python, configurations, commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import chdir
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import Rocmonitor
from mlflow.models import EvaluationResult
from sqlalchemy import create_engine, text

from rocmonitor import config
from rocmonitor.cli import cli
from rocmonitor.config import Config, Monitor
from rocmonitor.stats import compare_auc_paired

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "cli.md")]
LONGEST_README = 150


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def with_block(language: str, *, but: Sequence[str] = ()) -> pytest.MarkDecorator:
    pages = [page for page in PAGES if page.stem not in but and blocks(page, language)]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.stem)


def command_lines(page: Path) -> list[str]:
    """Lines of code blocks that call rocmonitor, without their comments."""
    found = re.findall(r"^    (rocmonitor [^\n]*)", page.read_text(encoding="utf-8"), re.M)
    found += [line for block in blocks(page, "bash") for line in re.findall(r"^rocmonitor .*", block, re.M)]
    return [line.partition("  #")[0].strip() for line in found]


def test_the_readme_is_short():
    assert README.read_text(encoding="utf-8").count("\n") < LONGEST_README


@pytest.mark.slow
@with_block("python", but=["orchestrators"])  # needs Airflow and Dagster: compiled in test_deploy.py
def test_its_python_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    known: dict[str, Any] = {}
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), known)
    printed = capsys.readouterr().out
    if "found" in known:  # the evaluator as it is installed
        assert isinstance(known["found"], EvaluationResult)
        expected = compare_auc_paired(known["y"], known["challenger"], known["champion"])
        assert known["found"].metrics["difference/auc"] == pytest.approx(expected.difference)
    else:
        assert re.search(r"\b0\.7\d", printed)


@with_block("yaml")
def test_its_configurations_are_read(page, tmp_path):
    """A whole configuration, or keys that take the place of those in the README's."""
    [readme] = blocks(README, "yaml")
    for block in blocks(page, "yaml"):
        whole, part = yaml.safe_load(readme), yaml.safe_load(block)
        whole["channels"].setdefault("ops", {"url": "file://alarms.log"})
        monitor = whole["monitors"]["credit-default"]
        for key, value in part.items():
            (monitor if key in Monitor.model_fields else whole)[key] = value
            assert key in {*Monitor.model_fields, *Config.model_fields}
        path = tmp_path / "rocmonitor.yaml"
        path.write_text(yaml.safe_dump(whole), encoding="utf-8")
        assert config.load(path).monitors["credit-default"].rules


@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page)], ids=lambda page: page.stem)
def test_its_commands_are_understood(page, tmp_path):
    """Command, arguments and options exist; nothing is run."""
    (tmp_path / "rows.csv").write_text("y,score\n")
    with chdir(tmp_path):
        for line in command_lines(page):
            command, arguments = cli, shlex.split(line)[1:]
            while hasattr(command, "commands"):
                name, *arguments = arguments
                command = command.commands[name]
            command.make_context(line, arguments)


def scored(of: int) -> Iterator[dict[str, Any]]:
    """Rows of the table that the README's chapter on its own configuration watches, from 2026 on."""
    rng = np.random.default_rng(20260106)
    first = datetime(2026, 1, 1)  # noqa: DTZ001 stored without a zone, as the README says
    defaulted = rng.random(of) < 0.3
    for number, (p, y) in enumerate(zip(rng.normal(defaulted, 1), defaulted, strict=True)):
        time = first + timedelta(minutes=20 * number)
        yield {"loan_id": number, "scored_at": time, "p_default": p, "defaulted": int(y)}


def judges_four_weeks_of_june(folder: Path, text_of: str, rocmonitor: Rocmonitor) -> None:
    """A configuration is checked, and judges what is there, by the commands of the README."""
    assert "label_delay: 30d}" in text_of  # without an end the test would depend on the day
    ending = text_of.replace("label_delay: 30d}", "label_delay: 30d, end: 2026-06-29}")
    (folder / "rocmonitor.yaml").write_text(ending, encoding="utf-8")
    said = rocmonitor("check", "--explain").stdout
    assert "false alarms a year" in said
    judged = rocmonitor("run", "--dry-run", "--at", "2026-08-01").stdout
    assert len(re.findall(r"^2026-06-\d\d to 2026-06-\d\d +\d+ +\d+ +0\.\d{2,3} \(", judged, re.M)) == 4
    assert not (folder / "alarms.log").exists()


@pytest.mark.slow
def test_its_own_table_in_five_minutes(tmp_path, monkeypatch, rocmonitor: Rocmonitor):
    engine = create_engine(f"sqlite:///{tmp_path}/warehouse.db")
    rows = [{**row, "scored_at": str(row["scored_at"])} for row in scored(14_000)]
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE scored (loan_id, scored_at, p_default, defaulted)"))
        connection.execute(
            text("INSERT INTO scored VALUES (:loan_id, :scored_at, :p_default, :defaulted)"), rows
        )
    engine.dispose()
    monkeypatch.setenv("WAREHOUSE_URL", "sqlite:///warehouse.db")
    monkeypatch.setenv("OPS_APPRISE_URL", "file://alarms.log")
    [text_of] = blocks(README, "yaml")
    judges_four_weeks_of_june(tmp_path, text_of, rocmonitor)


@pytest.mark.slow
def test_its_own_files_in_five_minutes(tmp_path, monkeypatch, rocmonitor: Rocmonitor):
    """The line of the README in place of its database, and the configuration of the page on files."""
    months: dict[int, list[dict[str, Any]]] = {}
    for row in scored(14_000):
        months.setdefault(row["scored_at"].month, []).append(row)
    (tmp_path / "data" / "scores").mkdir(parents=True)
    for month, rows in months.items():
        pd.DataFrame(rows).to_parquet(tmp_path / "data" / "scores" / f"{month}.parquet", index=False)
    monkeypatch.setenv("OPS_APPRISE_URL", "file://alarms.log")
    monkeypatch.setenv("WAREHOUSE_URL", "")
    [text_of] = blocks(README, "yaml")
    assert "  # lake: {kind: files" in text_of
    lake = text_of.replace("  # lake: {kind: files", "  lake: {kind: files").replace(
        "source: warehouse", "source: lake"
    )
    judges_four_weeks_of_june(tmp_path, lake, rocmonitor)
    [page] = blocks(ROOT / "docs" / "how-to" / "files.md", "yaml")
    judges_four_weeks_of_june(tmp_path, page, rocmonitor)


def test_every_rule_and_exit_code_is_there():
    readme = README.read_text(encoding="utf-8")
    for kind in ("forecast", "floor", "drop", "cost", "calibration", "challenger", "scores", "outlook"):
        assert f"`{kind}`" in readme
    for code in ("0 ok", "2 usage", "3 degraded", "4 insufficient", "5 an outside system"):
        assert code in readme.replace("\n", " ")


@pytest.mark.parametrize("target", ["demo", "picture", "docs", "test", "check", "bench", "study"])
def test_every_make_target_is_there(target):
    assert f"make {target}" in README.read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
