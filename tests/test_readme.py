"""What the README shows runs: its Python, its configuration, its commands and options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mlflow.models import EvaluationResult

from rocmonitor import config
from rocmonitor.cli import cli
from rocmonitor.stats import compare_auc_paired

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_its_python_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    notebook, evaluator = blocks("python")
    known: dict[str, object] = {}
    exec(compile(notebook, "README.md", "exec"), known)
    printed = capsys.readouterr().out
    assert "AUC 0.7" in printed
    assert "tpr_low" in printed
    exec(compile(evaluator, "README.md", "exec"), known)  # the evaluator as it is installed
    found = known["found"]
    assert isinstance(found, EvaluationResult)
    expected = compare_auc_paired(known["y"], known["challenger"], known["champion"])
    assert found.metrics["difference/auc"] == pytest.approx(expected.difference)


def test_its_configuration_is_read(tmp_path):
    [text] = blocks("yaml")
    path = tmp_path / "rocmonitor.yaml"
    path.write_text(text, encoding="utf-8")
    assert config.load(path).monitors["credit-default"].rules


def test_every_command_is_told_and_no_other():
    told = set(re.findall(r"`rocmonitor ([a-z]+)", README)) | set(
        re.findall(r"^    rocmonitor ([a-z]+)", README, re.M)
    )
    assert told == set(cli.commands)


@pytest.mark.parametrize("command", ["run", "backfill", "review", "init", "history", "auc"])
def test_every_option_of_a_command_is_told(command):
    for option in cli.commands[command].params:
        for name in option.opts:
            if name.startswith("--"):
                assert name in README, f"{command} {name}"


def test_every_rule_and_exit_code_is_told():
    for kind in ("forecast", "floor", "drop", "challenger"):
        assert f"| `{kind}` |" in README
    for code in (0, 2, 3, 4, 5):
        assert f"| {code} |" in README


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "study"])
def test_every_make_target_is_there(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
