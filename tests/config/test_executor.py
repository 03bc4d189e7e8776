from __future__ import annotations

from pathlib import Path

import pytest

from rocmonitor import config
from rocmonitor.config import Config, Processes, models
from rocmonitor.errors import ConfigError

REST = """
sources: {here: {url: "sqlite:///source.db"}}
monitors:
  credit:
    model: {name: credit}
    source: here
    query: SELECT * FROM scored WHERE at >= :start AND at < :end
    columns: {time: at, champion: p, label: y}
    window: {every: 7d}
    reference: {from: 2026-01-05, to: 2026-05-25}
    rules: [{kind: forecast}]
"""


def loaded(folder: Path, written: str) -> Config:
    path = folder / "rocmonitor.yaml"
    path.write_text(f"executor: {written}\n{REST}", encoding="utf-8")
    return config.load(path)


def test_by_default_there_is_a_process_for_each_core(tmp_path: Path) -> None:
    assert loaded(tmp_path, "{}").executor == Processes()
    assert loaded(tmp_path, "{workers: 4}").executor == Processes(workers=4)


@pytest.mark.parametrize(("limit", "most"), [("150000 100000", 1), ("50000 100000", 1), ("800000 100000", 8)])
def test_a_container_has_the_cores_of_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    (tmp_path / "cpu.max").write_text(limit)
    monkeypatch.setattr(models, "_CPU_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(models.os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert Processes().most == most


def test_without_a_limit_there_are_as_many_as_cores_up_to_eight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    monkeypatch.setattr(models, "_CPU_LIMIT", tmp_path / "cpu.max")
    for cores, most in ((1, 1), (4, 4), (64, 8)):
        monkeypatch.setattr(
            models.os, "sched_getaffinity", lambda _, cores=cores: range(cores), raising=False
        )
        assert Processes().most == most
    assert Processes(workers=12).most == 12


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{workers: 0}", "workers"),
        ("{workers: true}", "workers: must be a whole number such as 4; it is True"),
        ("{workes: 2}", "executor.workes: unknown key: did you mean workers?"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, written: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, written)
    assert said in str(error.value)
