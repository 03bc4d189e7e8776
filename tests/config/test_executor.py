from __future__ import annotations

from pathlib import Path

import pytest

from rocmonitor import config
from rocmonitor.config import Config, Dask, Processes, executor
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
    assert loaded(tmp_path, "{kind: processes}").executor == Processes()
    assert loaded(tmp_path, "{}").executor == Processes()


@pytest.mark.parametrize(("limit", "most"), [("150000 100000", 1), ("50000 100000", 1), ("800000 100000", 8)])
def test_a_container_has_the_cores_of_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    (tmp_path / "cpu.max").write_text(limit)
    monkeypatch.setattr(executor, "_CPU_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(executor.os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert Processes().most == most


def test_without_a_limit_there_are_as_many_as_cores_up_to_eight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    monkeypatch.setattr(executor, "_CPU_LIMIT", tmp_path / "cpu.max")
    for cores, most in ((1, 1), (4, 4), (64, 8)):
        monkeypatch.setattr(
            executor.os, "sched_getaffinity", lambda _, cores=cores: range(cores), raising=False
        )
        assert Processes().most == most
    assert Processes(workers=12).most == 12


def test_the_contract(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "{kind: dask, address_env: DASK_ADDRESS, tls: {ca_file: ca.pem, cert_file: c.pem, key_file: k.pem}}",
    ).executor
    assert isinstance(found, Dask)
    assert found.tls is not None
    assert found.tls.key_file == "k.pem"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{kind: spark}", "executor"),
        ("{kind: dask}", "executor.address_env: required"),
        (
            "{kind: dask, address_env: 'tls://host:8786'}",
            "must be the name of an environment variable, in capitals such as",
        ),
        ("{kind: dask, address_env: A, tls: {ca_file: ca.pem}}", "cert_file: required"),
        ("{kind: processes, workers: 0}", "workers"),
        ("{kind: processes, workers: true}", "workers: must be a whole number such as 4; it is True"),
        ("{kind: processes, workes: 2}", "executor.workes: unknown key: did you mean workers?"),
        ("{workes: 2}", "executor.workes: unknown key: did you mean workers?"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, written: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, written)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("tls", "address", "said"),
    [
        (False, None, "DASK_ADDRESS is not set; export it"),
        (
            False,
            "scheduler:8786",
            "an address such as tcp://scheduler:8786",
        ),
        (False, "tls://scheduler:8786", r"needs executor\.tls"),
        (True, "tcp://scheduler:8786", "such as tls://scheduler:8786, for executor.tls asks for encryption"),
        (False, "tcp://scheduler", r"such as tcp://scheduler:8786"),
        (False, "tcp://:8786", r"such as tcp://scheduler:8786"),
        (False, "tcp://scheduler:abc", r"such as tcp://scheduler:8786"),
        (False, "tcp://scheduler:99999", r"such as tcp://scheduler:8786"),
        (
            False,
            "tcp://me:a-password@scheduler:8786",
            r"8786, without a login$",
        ),
        (True, "tls://scheduler", r"such as tls://scheduler:8786"),
        (True, "tls://scheduler:8786", None),
        (False, "tcp://scheduler:8786", None),
        (False, "tcp://[::1]:8786", None),
    ],
)
def test_the_address(
    monkeypatch: pytest.MonkeyPatch, tls: bool, address: str | None, said: str | None
) -> None:
    monkeypatch.delenv("DASK_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("DASK_ADDRESS", address)
    files = {"ca_file": "ca.pem", "cert_file": "cert.pem", "key_file": "key.pem"} if tls else None
    spec = Dask.model_validate({"kind": "dask", "address_env": "DASK_ADDRESS", "tls": files})
    if said is None:
        assert spec.read() == address
        return
    with pytest.raises(ConfigError, match=rf"executor\.address_env: .*{said}"):
        spec.read()
