"""The page inside a real MLflow server: beside MLflow's own, behind its static prefix and its log-in.

That an installed wheel has the entry points is seen in `test_deploy`; here they are read from pyproject.toml.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from servers import MlflowServer, free_port
from web.world import configuration

from rocmonitor import config, store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ADMIN = ("admin", "correct-horse-battery-7")


@pytest.fixture
def registered(tmp_path: Path) -> Path:
    """A folder that gives Python our entry points, as an installation would."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"{name} = {target}" for name, target in project["entry-points"]["mlflow.app"].items()]
    info = tmp_path / "path" / "rocmonitor_pages-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rocmonitor-pages\nVersion: 0\n")
    (info / "entry_points.txt").write_text("\n".join(["[mlflow.app]", *lines, ""]))
    return info.parent


@contextmanager
def serving(
    folder: Path, registered: Path, empty_mlflow: Path, *options: str, prefix: str = "", **environment: str
) -> Iterator[MlflowServer]:
    folder.mkdir()
    shutil.copy(empty_mlflow, folder)
    path = os.pathsep.join([str(registered), os.environ["PYTHONPATH"]])
    known = {"PYTHONPATH": path, "ROCMONITOR_CONFIG": str(folder / "rocmonitor.yaml")}
    server = MlflowServer(folder, free_port(), options, known | environment, prefix)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def get(address: str, login: tuple[str, str] | None = None) -> tuple[int, str, Message]:
    """Status, text and headers."""
    request = Request(address)
    if login is not None:
        request.add_header("Authorization", f"Basic {b64encode(':'.join(login).encode()).decode()}")
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


@pytest.mark.parametrize("kind", [(), ("--gunicorn-opts", "--timeout 60")], ids=["uvicorn", "gunicorn"])
def test_the_pages_stand_beside_mlflow(
    tmp_path: Path, registered: Path, empty_mlflow: Path, kind: tuple[str, ...]
) -> None:
    options = ("--app-name", "rocmonitor", "--static-prefix", "/ml", *kind)
    with serving(tmp_path / "server", registered, empty_mlflow, *options, prefix="/ml") as server:
        status, text, _ = get(f"{server.uri}/ml/rocmonitor/")
        assert status == 503
        assert "rocmonitor.yaml: cannot be read" in text
        configuration(tmp_path / "server")

        status, text, headers = get(f"{server.uri}/ml/rocmonitor/")
        assert status == 200
        assert "6 have not been judged yet" in text
        assert 'href="/ml/rocmonitor/static/style.css' in text
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert get(f"{server.uri}/ml/rocmonitor/static/style.css")[0] == 200
        assert get(f"{server.uri}/ml/rocmonitor/monitors/credit")[0] == 200
        found = json.loads(get(f"{server.uri}/ml/rocmonitor/overview.json")[1])
        assert found["statuses"] == {"waiting": 6}

        # MLflow's own pages and interface are as ever.
        status, _, headers = get(f"{server.uri}/ml/")
        assert status == 200
        assert "default-src 'none'" not in headers.get("Content-Security-Policy", "")
        assert get(f"{server.uri}/ml/health")[0] == 200


def test_the_log_in_of_mlflow_covers_the_pages(tmp_path: Path, registered: Path, empty_mlflow: Path) -> None:
    environment = {
        "MLFLOW_FLASK_SERVER_SECRET_KEY": "only-for-this-test",
        "MLFLOW_AUTH_ADMIN_USERNAME": ADMIN[0],
        "MLFLOW_AUTH_ADMIN_PASSWORD": ADMIN[1],
    }
    options = ("--app-name", "rocmonitor-basic-auth")
    with serving(tmp_path / "server", registered, empty_mlflow, *options, **environment) as server:
        configuration(tmp_path / "server")
        for page in ("/rocmonitor/", "/rocmonitor/overview.json", "/rocmonitor/monitors/credit"):
            assert get(server.uri + page)[0] == 401
            assert get(server.uri + page, ("admin", "wrong"))[0] == 401
            assert get(server.uri + page, ADMIN)[0] == 200


def ask(server: MlflowServer, path: str, said: dict[str, str], version: int = 2) -> dict[str, Any]:
    """Ask MLflow as its administrator."""
    request = Request(f"{server.uri}/api/{version}.0/mlflow/{path}", data=json.dumps(said).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", f"Basic {b64encode(':'.join(ADMIN).encode()).decode()}")
    with urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def press(server: MlflowServer, login: tuple[str, str]) -> tuple[bool, int]:
    """Return True if the page has a button, and the answer to its form, or to one that is made up."""
    address = f"{server.uri}/rocmonitor/monitors/credit"
    _, page, headers = get(address, login)
    found = re.search(r'name="token" value="(\w+)"', page)
    form = {"token": found[1] if found else "0" * 64, "for": "1d", "by": "somebody else"}
    request = Request(f"{address}/mute", data=urlencode(form).encode())
    request.add_header("Authorization", f"Basic {b64encode(':'.join(login).encode()).decode()}")
    request.add_header("Origin", server.uri)
    request.add_header("Cookie", headers.get("Set-Cookie", "").partition(";")[0])
    try:
        with urlopen(request, timeout=30) as answer:
            return bool(found), answer.status
    except HTTPError as error:
        with error:
            return bool(found), error.code


def test_buttons_are_for_those_who_may_change_the_experiment(
    tmp_path: Path, registered: Path, empty_mlflow: Path
) -> None:
    environment = {
        "MLFLOW_FLASK_SERVER_SECRET_KEY": "only-for-this-test",
        "MLFLOW_AUTH_ADMIN_USERNAME": ADMIN[0],
        "MLFLOW_AUTH_ADMIN_PASSWORD": ADMIN[1],
        "MLFLOW_BASIC_AUTH_FAIL_CLOSED": "false",  # else the pages are for administrators
    }
    options, folder = ("--app-name", "rocmonitor-basic-auth"), tmp_path / "server"
    ben = ("ben", "battery-horse-correct-9")
    with serving(folder, registered, empty_mlflow, *options, **environment) as server:
        path = configuration(folder)
        ask(server, "users/create", {"username": ben[0], "password": ben[1]})
        assert press(server, ben) == (False, 403)  # there is no experiment that he could change
        number = ask(server, "experiments/create", {"name": "rocmonitor/credit"})["experiment_id"]
        assert press(server, ben) == (False, 403)  # he may only read it
        with store.open_store(config.load(path).store_url) as kept:
            assert store.attention(kept, "credit").muted_by is None
        given = {"username": ben[0], "permission": "EDIT"}
        try:
            of = {"resource_type": "experiment", "resource_id": number}
            ask(server, "users/permissions/grant", given | of, version=3)
        except HTTPError as error:  # an older MLflow
            error.close()
            ask(server, "experiments/permissions/create", given | {"experiment_id": number})
        for login in (ben, ADMIN):
            assert press(server, login) == (True, 200)
            with store.open_store(config.load(path).store_url) as kept:
                assert store.attention(kept, "credit").muted_by == login[0]
