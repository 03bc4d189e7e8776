"""MLflow for tests: a server on a free port of this machine, and an empty database to copy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from rocmonitor import tracking

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # MLflow's own, under a newer SQLAlchemy

_SECONDS_TO_START = 90


@dataclass
class MlflowServer:
    """An MLflow server with a SQLite backend that keeps its runs while it is stopped."""

    folder: Path
    port: int
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{self.folder / 'mlflow.db'}"]
        command += ["--artifacts-destination", str(self.folder / "artifacts"), *self.options]
        environment = _environment() | self.environment
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=environment, start_new_session=True
            )
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._answers():
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)
            if self.process.returncode is not None or time.monotonic() > deadline:
                pytest.fail(f"no MLflow server: {(self.folder / 'server.log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Stop the server and its workers, and wait until they are gone."""
        if self.process is not None:
            os.killpg(self.process.pid, 15)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, 9)
                self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.uri}{self.prefix}/health", timeout=1) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@pytest.fixture(scope="session")
def empty_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database of MLflow without runs, which takes seconds to make and none to copy."""
    folder = tmp_path_factory.mktemp("empty")
    tracking.connect(f"sqlite:///{folder}/mlflow.db", folder)
    return folder / "mlflow.db"


@pytest.fixture(scope="session")
def running_mlflow(empty_mlflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    """One server for the session; a test that stops it asks for `mlflow_server`."""
    server = MlflowServer(tmp_path_factory.mktemp("mlflow"), free_port())
    shutil.copy(empty_mlflow, server.folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def mlflow_server(running_mlflow: MlflowServer) -> Iterator[MlflowServer]:
    """The session's server, running; it may be stopped, and is started again for the next test."""
    yield running_mlflow
    if running_mlflow.process is None:
        running_mlflow.start()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _environment() -> dict[str, str]:
    """Ours, without pytest's (MLflow then checks itself more strictly) and without the job processes."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Web hooks go to this machine, where MLflow by itself sends none, and from the moment they are made.
    hooks = {
        "MLFLOW_WEBHOOK_ALLOWED_SCHEMES": "http",
        "MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS": "true",
        "MLFLOW_WEBHOOK_CACHE_TTL": "0",
    }
    return ours | hooks | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


@contextmanager
def half_open(port: int, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent only so much."""
    with ExitStack() as stack:
        sockets = []
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            one.sendall(sent)
            sockets.append(one)
        yield sockets
