"""`rocmonitor ui`: where it listens, what it asks for, and that it really serves."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from commands import Rocmonitor
from servers import half_open
from web.world import configuration

TOKEN = "0123456789abcdef"
HALF = b"GET / HTTP/1.1\r\nHost: 127"


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rocmonitor", "ui", "--port", "0", *options],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.match(r"(http://\S+/)  \(Ctrl-C ends it\)", process.stderr.readline())
        assert found
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_another_host_needs_a_token(rocmonitor: Rocmonitor, tmp_path: Path) -> None:
    configuration(tmp_path)
    said = rocmonitor("ui", "--host", "0.0.0.0", code=2).stderr
    assert "--host 0.0.0.0 can be reached from other machines" in said
    assert "--token-env ROCMONITOR_TOKEN" in said


def test_a_token_in_the_place_of_its_variable_is_not_printed(
    rocmonitor: Rocmonitor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configuration(tmp_path)
    said = rocmonitor("ui", "--token-env", TOKEN, code=2).stderr
    assert "--token-env: must be the name of an environment variable" in said
    assert TOKEN not in said + caplog.text


@pytest.mark.parametrize("value", [None, "", "short"])
def test_a_token_must_be_there_and_long(
    rocmonitor: Rocmonitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    configuration(tmp_path)
    if value is not None:
        monkeypatch.setenv("ROCMONITOR_TOKEN", value)
    said = rocmonitor("ui", "--token-env", "ROCMONITOR_TOKEN", code=2).stderr
    assert "the environment variable ROCMONITOR_TOKEN must hold a token of at least 16 characters" in said
    assert "short" not in said


def test_a_wrong_configuration_is_said_at_once(rocmonitor: Rocmonitor) -> None:
    assert "rocmonitor.yaml: cannot be read" in rocmonitor("ui", code=2).stderr


def test_a_port_in_use_is_said(rocmonitor: Rocmonitor, tmp_path: Path) -> None:
    import socket

    configuration(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = rocmonitor("ui", "--port", port, code=2).stderr
    assert f"--port: cannot listen on 127.0.0.1:{port}" in said
    assert "name another host or port" in said


@pytest.mark.slow
def test_half_requests_keep_nobody_out(tmp_path: Path) -> None:
    configuration(tmp_path)
    with serving(tmp_path) as (_, address), half_open(urlsplit(address).port, 130, HALF):
        for _ in range(3):
            with urlopen(address, timeout=10) as answer:
                assert answer.status == 200


@pytest.mark.slow
def test_it_serves_this_machine_until_it_is_stopped(tmp_path: Path) -> None:
    configuration(tmp_path)
    with serving(tmp_path) as (process, address):
        with urlopen(address, timeout=30) as answer:
            assert "6 have not been judged yet" in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.slow
def test_with_a_token_it_serves_who_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration(tmp_path)
    monkeypatch.setenv("ROCMONITOR_TOKEN", TOKEN)
    with serving(tmp_path, "--host", "0.0.0.0", "--token-env", "ROCMONITOR_TOKEN") as (_, address):
        here = address.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(HTTPError, match="401") as refused:
            urlopen(here, timeout=30)
        refused.value.close()
        with urlopen(Request(here, headers={"Authorization": f"Bearer {TOKEN}"}), timeout=30) as answer:
            assert answer.status == 200
