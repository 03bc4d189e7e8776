"""The files under deploy/ are kept right by running the commands they hold, taken out of the files.

The environment is as good as fresh: the wheel, built from what the Dockerfile copies, beside links to exactly
the distributions that it requires, directly or through others. Whatever else is installed here is not in it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import numpy as np
import oracle
import psycopg
import pytest
import yaml
from databases import scratch_postgres
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sqlalchemy import make_url

from rocmonitor import __version__
from rocmonitor.config import load

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
ENVIRONMENT = (DEPLOY / "rocmonitor.env").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
PATIENCE_SECONDS = 240
OF_IMAGE = 10001
"""The user that the Dockerfile makes."""
EXTRAS = re.findall(r"--extra (\w+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
"""What the image holds besides, by the command that writes requirements/image.txt."""
IMAGE = os.environ.get("ROCMONITOR_TEST_IMAGE")
"""An image that `make test-images` has built; without it the same words run in an environment of its own."""

pytestmark = pytest.mark.xdist_group("deploy")


# --- a fresh environment -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Installed:
    """An environment with the built wheel and what it requires."""

    wheel: Path
    folder: Path

    def command(self, words: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
        """A command of the deployment, as it is run here."""
        program = self.folder / "bin" / Path(words[0]).name
        if program.exists():
            return [str(program), *words[1:]]
        return [
            str(self.folder / "bin" / "python"),
            "-m",
            *words,
        ]  # linked packages come without their scripts

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], *, expect: int = 0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(words, folder, environment),
            cwd=folder,
            env=clean(environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == expect, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    @contextmanager
    def started(self, words: list[str], folder: Path, environment: dict[str, str]) -> Iterator[Service]:
        """A command that stays until it is told to stop."""
        log = folder / f"{Path(words[0]).name}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                self.command(words, folder, environment),
                cwd=folder,
                env=clean(environment),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        service = Service(process, log)
        try:
            yield service
        finally:
            service.stop(signal.SIGTERM)


@dataclass(frozen=True)
class Image(Installed):
    """A container of the image that buildah has built: its programs, its user, the machine's network."""

    name: str

    def command(self, words: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, OF_IMAGE, OF_IMAGE)
        given = [f"--env={key}={value}" for key, value in environment.items()]
        mounted = [f"--volume={folder}:{folder}", f"--workingdir={folder}"]
        return ["buildah", "run", "--isolation=chroot", *given, *mounted, self.name, "--", *words]


@dataclass(frozen=True)
class Service:
    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, text: str) -> None:
        """Wait until it has logged `text`; an early end or a long wait fails with the log."""
        for _ in range(PATIENCE_SECONDS * 10):
            if text in self.log.read_text():
                return
            try:
                self.process.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
            break
        pytest.fail(f"{self.process.args} never said {text!r}:\n{self.log.read_text()}")

    def stop(self, number: signal.Signals, timeout: float = PATIENCE_SECONDS) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.process.poll() is None:
            os.kill(program_of(self.process.pid), number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def program_of(pid: int) -> int:
    """The process that buildah runs, which forwards no signals; else the process itself."""
    while Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"buildah"):
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        children = [int(child) for task in tasks for child in task.read_text().split()]
        if not children:
            break
        pid = children[0]
    return pid


def clean(environment: dict[str, str]) -> dict[str, str]:
    """Nothing of the developer's own environment but the path."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What the Dockerfile makes, by its own COPY and RUN lines."""
    place = tmp_path_factory.mktemp("image")
    source, environment = place / "src", place / "venv"
    source.mkdir()
    for origin, target in copied():
        if (ROOT / origin).is_dir():
            shutil.copytree(ROOT / origin, source / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / origin, source / target)
    build, _, install = (line for line in instructions("RUN") if line.startswith("pip "))
    pip([*shlex.split(build.replace("/dist", str(place / "dist"))), "--no-build-isolation"], source)
    [wheel] = (place / "dist").glob("*.whl")

    venv.create(environment)
    words = shlex.split(install.partition(" && ")[0].replace("/dist/*.whl", str(wheel)))
    pip(words, source, python=environment / "bin" / "python")
    [packages] = environment.glob("lib/python*/site-packages")
    for needed in required(Distribution.at(next(packages.glob("rocmonitor-*.dist-info"))), EXTRAS):
        link(needed, packages)
    return Installed(wheel, environment)


@pytest.fixture
def deployed(installed: Installed) -> Iterator[Installed]:
    """The image, where there is one; else what its own lines make here."""
    if IMAGE is None:
        yield installed
        return
    made = subprocess.run(
        ["buildah", "from", "--pull-never", IMAGE], check=True, capture_output=True, text=True
    )
    yield Image(installed.wheel, installed.folder, made.stdout.strip())
    subprocess.run(["buildah", "rm", made.stdout.strip()], check=True, capture_output=True)


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", DOCKERFILE, re.MULTILINE)


def copied() -> list[tuple[str, str]]:
    """What the Dockerfile copies from the checkout, and where to."""
    pairs = []
    for line in instructions("COPY"):
        *origins, target = line.split()
        if not origins[0].startswith("--from"):
            pairs += [(origin, target) for origin in origins]
    return pairs


def pip(words: list[str], folder: Path, *, python: Path | None = None) -> None:
    assert words[0] == "pip"
    where = ["--python", str(python)] if python else []
    done = subprocess.run(
        [sys.executable, "-m", "pip", *where, *words[1:]], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def required(wheel: Distribution, extras: list[str]) -> list[Distribution]:
    """What installing the wheel with these extras would bring along, as it is installed here."""
    found: dict[str, Distribution] = {}
    asked = [(wheel, extra) for extra in ("", *extras)]
    seen = set()
    while asked:
        owner, extra = asked.pop()
        for text in owner.requires or []:
            need = Requirement(text)
            if need.marker is not None and not need.marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(need.name)
            found.setdefault(name, distribution(name))
            for further in ("", *need.extras):
                if (name, further) not in seen:
                    seen.add((name, further))
                    asked.append((found[name], further))
    return list(found.values())


def link(needed: Distribution, packages: Path) -> None:
    for name in {file.parts[0] for file in needed.files or []} - {".."}:
        if not (packages / name).exists():  # two distributions may fill one folder
            (packages / name).symlink_to(str(needed.locate_file(name)))


def test_the_wheel_holds_the_whole_package(installed: Installed, tmp_path: Path) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        held = set(archive.namelist())
    for folder, inside in (
        (ROOT / "rocmonitor", "rocmonitor"),
        (ROOT / "migrations", "rocmonitor/migrations"),
    ):
        files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        assert {f"{inside}/{file.relative_to(folder).as_posix()}" for file in files} <= held
    assert any(re.fullmatch(r"rocmonitor-[^/]+/licenses/LICENSE", name) for name in held)
    assert "rocmonitor/py.typed" in held  # else users' type checkers take everything for Any


def test_the_wheel_alone_gives_a_working_command(installed: Installed, tmp_path: Path) -> None:
    where = installed.run(["python", "-c", "import rocmonitor; print(rocmonitor.__file__)"], tmp_path, {})
    assert Path(where.stdout.strip()).is_relative_to(installed.folder)
    installed.run(["rocmonitor", "init"], tmp_path, {})
    assert load(tmp_path / "rocmonitor.yaml").monitors


LOADED = """
import warnings
warnings.filterwarnings("error", "Failure attempting")  # all that MLflow says of a broken entry point
import mlflow, mlflow.data, pandas as pd
from mlflow.data.dataset_source_registry import get_dataset_source_from_json
data = pd.DataFrame({"label": [0, 1] * 50, "score": [n % 7 for n in range(100)]})
with mlflow.start_run():
    found = mlflow.models.evaluate(
        data=data, targets="label", predictions="score", model_type="classifier",
        evaluators="rocmonitor", evaluator_config={"fpr": [0.1]},
    )
source = get_dataset_source_from_json('{"query": "SELECT 1"}', "rocmonitor_window")
print(found.metrics["champion/auc"], type(source).__module__, source.to_dict())
"""


@pytest.mark.slow
def test_mlflow_finds_the_entry_points_of_the_wheel(installed: Installed, tmp_path: Path) -> None:
    told = installed.run(
        ["python", "-c", LOADED],
        tmp_path,
        {
            "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "HOME": str(tmp_path),
        },
    )
    value, module, logged = told.stdout.splitlines()[-1].split(" ", 2)
    labels, scores = np.tile([0, 1], 50), np.arange(100) % 7
    assert float(value) == pytest.approx(oracle.auc(labels, scores), abs=1e-12)
    assert (module, logged) == ("rocmonitor.plugin.dataset", "{'query': 'SELECT 1'}")


@pytest.mark.slow
def test_mlflow_serves_the_page_of_the_wheel(installed: Installed, tmp_path: Path) -> None:
    installed.run(["rocmonitor", "init"], tmp_path, {})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["mlflow", "server", "--app-name", "rocmonitor", "--port", str(port), "--workers", "1"]
    environment = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment |= {"HOME": str(tmp_path), "WAREHOUSE_URL": "sqlite:///absent.db"}
    store = ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db"]
    with installed.started([*words, *store], tmp_path, environment) as running:
        running.wait_for("Application startup complete")
        for page in ("", "overview.json", "static/style.css", "static/page.css", "static/uplot.js"):
            with urlopen(f"http://127.0.0.1:{port}/rocmonitor/{page}", timeout=60) as answer:
                assert answer.status == 200


# --- the files agree with each other -----------------------------------------------------------------------


def variables(text: str) -> set[str]:
    """What the lines of an environment file set."""
    return {line.partition("=")[0] for line in text.splitlines() if re.match(r"\w+=", line)}


def test_every_variable_that_the_configuration_names_is_set_everywhere() -> None:
    named = set(re.findall(r"_env: (\w+)", (DEPLOY / "rocmonitor.yaml").read_text(encoding="utf-8")))
    listed = variables(ENVIRONMENT)
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert named <= listed
    assert named <= set(COMPOSE["services"]["rocmonitor"]["environment"])
    assert named <= set(COMPOSE["services"]["upgrade"]["environment"])
    secret = yaml.safe_load((DEPLOY / "kubernetes" / "secret.example.yaml").read_text(encoding="utf-8"))
    assert named <= set(secret["stringData"])
    assert set(re.findall(r"\$\{(\w+)", compose)) <= listed


def test_the_image_sees_what_it_copies_and_nothing_else() -> None:
    allowed = re.findall(
        r"^!(.*)$", (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(allowed) == {origin for origin, _ in copied()}


def test_the_image_has_the_tested_versions_each_by_its_hash(installed: Installed) -> None:
    line = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    parts = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")
    image, tested = (
        {canonicalize_name(name): version for name, version in line.findall(text)}
        for text in (parts, (ROOT / "requirements" / "tested.txt").read_text(encoding="utf-8"))
    )
    here = image.keys() - {"tzdata", "pywin32"}  # of Windows alone
    assert {name: image[name] for name in here} == {name: tested.get(name) for name in here}
    [packages] = installed.folder.glob("lib/python*/site-packages")
    needed = required(Distribution.at(next(packages.glob("rocmonitor-*.dist-info"))), EXTRAS)
    assert {canonicalize_name(each.name) for each in needed} <= set(image)
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", parts).strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    [_, locked, _] = (each for each in instructions("RUN") if each.startswith("pip "))
    assert "--require-hashes" in locked


def test_the_version_is_the_same_everywhere(installed: Installed) -> None:
    assert installed.wheel.name.startswith(f"rocmonitor-{__version__}-")
    named = [re.findall(r"rocmonitor:(\d[\w.]*)", text) for text in (ENVIRONMENT, yaml.safe_dump(COMPOSE))]
    kustomization = (DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8")
    named.append(re.findall(r"newTag: (.*)", kustomization))
    assert all(set(each) == {__version__} for each in named)
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_services_start_in_an_order_that_works_and_start_again() -> None:
    services = COMPOSE["services"]
    assert services["rocmonitor"]["depends_on"]["upgrade"] == {"condition": "service_completed_successfully"}
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[needed], f"{name} waits for the health of {needed}"
        assert service.get("restart") == (None if name in ("upgrade", "backup") else "unless-stopped")
        assert service["mem_limit"]
        assert service["logging"]["options"]["max-size"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert re.search(r":-[\w.]+:[\w.-]*\d", service["image"]), "an exact version that one may replace"
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


# --- compose: PostgreSQL, MLflow and rocmonitor ------------------------------------------------------------


@dataclass(frozen=True)
class Stack:
    """The services of compose.yaml on this machine: other ports, users and databases, the same words."""

    installed: Installed
    folder: Path
    port: int
    warehouse: str
    suffix: str
    server: str
    replaced: tuple[tuple[str, str], ...]
    values: dict[str, str]

    def here(self, text: str) -> str:
        text = re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", lambda match: self.values[match[1]], str(text))
        address = rf"\1{self.suffix}\2@{self.server}/\3{self.suffix}"
        text = re.sub(r"(\w+)(:\w+)?@postgres:5432/(\w+)", address, text)
        for there, here in self.replaced:
            text = text.replace(there, here)
        return text

    def command(self, service: str) -> list[str]:
        return [self.here(word) for word in COMPOSE["services"][service]["command"]]

    def environment(self, service: str) -> dict[str, str]:
        return {key: self.here(value) for key, value in COMPOSE["services"][service]["environment"].items()}

    def run(self, service: str, *words: str, expect: int = 0) -> str:
        """As ``docker compose exec SERVICE WORDS``, or with no words the service's own command."""
        done = self.installed.run(
            list(words) or self.command(service), self.folder, self.environment(service), expect=expect
        )
        return done.stdout

    def healthy(self, service: str) -> None:
        kind, *words = (self.here(word) for word in COMPOSE["services"][service]["healthcheck"]["test"])
        assert kind == "CMD"
        self.run(service, *words)

    def mlflow(self, path: str, *, host: str = "mlflow", **content: Any) -> Any:
        """A call of MLflow's REST interface, under the name that the other services call it by."""
        user = base64.b64encode(f"admin:{self.values['MLFLOW_ADMIN_PASSWORD']}".encode()).decode()
        request = Request(
            f"http://127.0.0.1:{self.port}/api/2.0/mlflow/{path}",
            data=json.dumps(content).encode(),
            headers={
                "Authorization": f"Basic {user}",
                "Content-Type": "application/json",
                "Host": f"{host}:{self.port}",
            },
        )
        with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def page(self, path: str) -> str:
        """A page of ours inside MLflow, for somebody who has logged in."""
        user = base64.b64encode(f"admin:{self.values['MLFLOW_ADMIN_PASSWORD']}".encode()).decode()
        address = f"http://127.0.0.1:{self.port}/rocmonitor/{path}"
        with urlopen(Request(address, headers={"Authorization": f"Basic {user}"}), timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def backup(self) -> list[Path]:
        """What the backup service writes."""
        (self.folder / "backups").mkdir(exist_ok=True)
        words = [self.here(word).replace("$$", "$") for word in COMPOSE["services"]["backup"]["command"]]
        host, _, port = self.server.partition(":")
        script = words[-1].replace("--host=postgres", f"--host={host} --port={port}")
        script = script.replace("--username=backup", f"--username=backup{self.suffix}")
        script = script.replace("in rocmonitor mlflow", f"in rocmonitor{self.suffix} mlflow{self.suffix}")
        subprocess.run(
            [*words[:-1], script], env=clean(self.environment("backup")), check=True, capture_output=True
        )
        return sorted((self.folder / "backups").glob("*"))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture
def stack(deployed: Installed, postgres_url: str, tmp_path: Path) -> Iterator[Stack]:
    warehouse, suffix = make_url(postgres_url), f"_{uuid4().hex}"
    plain = warehouse.set(drivername="postgresql").render_as_string(hide_password=False)
    port, health = free_port(), free_port()
    replaced = (
        ("http://mlflow:5000", f"http://127.0.0.1:{port}"),
        ("--host=0.0.0.0", "--host=127.0.0.1"),
        ("--port=5000", f"--port={port}"),
        (":5000", f":{port}"),
        (":8790", f":{health}"),
        ("/var/lib/mlflow", str(tmp_path / "artifacts")),
        ("/etc/mlflow", str(tmp_path)),
        ("/backups", str(tmp_path / "backups")),
    )
    values = {name: f"{name.lower().replace('_', '')}12characters" for name in variables(ENVIRONMENT)}
    values |= {"WAREHOUSE_URL": postgres_url, "OPS_APPRISE_URL": "file://alarms.log"}
    made = Stack(
        deployed,
        tmp_path,
        port,
        plain,
        suffix,
        f"{warehouse.host}:{warehouse.port or 5432}",
        replaced,
        values,
    )
    (tmp_path / "auth.ini").write_text(made.here(COMPOSE["configs"]["auth"]["content"]), encoding="utf-8")
    monitor = (DEPLOY / "rocmonitor.yaml").read_text(encoding="utf-8")
    (tmp_path / "rocmonitor.yaml").write_text(made.here(monitor), encoding="utf-8")
    names = r"\b(rocmonitor_page|rocmonitor|mlflow_auth|mlflow|backup)\b"
    create = re.sub(names, rf"\1{suffix}", made.here(COMPOSE["configs"]["databases"]["content"]))
    psql(plain, create)
    yield made
    for database in ("rocmonitor", "mlflow_auth", "mlflow"):
        psql(plain, f"DROP DATABASE {database}{suffix} WITH (FORCE);")
    psql(
        plain,
        *(f"DROP ROLE {role}{suffix};" for role in ("rocmonitor_page", "rocmonitor", "mlflow", "backup")),
    )


def psql(address: str, *commands: str) -> None:
    """As the image of PostgreSQL runs its first scripts."""
    done = subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", address],
        input="\n".join(commands),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def fill(warehouse: str) -> None:
    """Weeks of scored and labelled loans: thirteen for the reference, three alike, one without any order."""
    rng = np.random.default_rng(20260105)
    start = datetime(2026, 1, 4, 23, tzinfo=UTC)  # a Monday in Berlin
    with psycopg.connect(warehouse) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE scored (loan_id integer PRIMARY KEY, scored_at timestamptz NOT NULL, "
            "p_champion double precision, p_challenger double precision, defaulted smallint)"
        )
        with cursor.copy("COPY scored FROM STDIN") as copy:
            for loan in range(17 * 600):
                week, place = divmod(loan, 600)
                at = start + timedelta(days=7 * week, minutes=10 * place + 90)
                defaulted = int(rng.random() < 0.3)
                shift = 1.2 * defaulted if week < 16 else 0.0
                champion, challenger = (float(rng.normal(shift * gain)) for gain in (1.0, 1.1))
                copy.write_row((loan, at, champion, challenger, defaulted))


def register(stack: Stack) -> None:
    name = {"name": "credit-default"}
    stack.mlflow("registered-models/create", **name)
    for alias in ("champion", "challenger"):
        made = stack.mlflow("model-versions/create", **name, source=f"s3://models/{alias}")
        stack.mlflow("registered-models/alias", **name, alias=alias, version=made["model_version"]["version"])


def window_runs(stack: Stack) -> int:
    experiments = stack.mlflow("experiments/search", max_results=100)["experiments"]
    found = stack.mlflow(
        "runs/search",
        experiment_ids=[experiment["experiment_id"] for experiment in experiments],
        filter="tags.`rocmonitor.kind` = 'window'",
    )
    return len(found.get("runs", []))


@pytest.mark.slow
def test_the_compose_file_works_on_real_servers(stack: Stack) -> None:
    fill(stack.warehouse)
    with stack.installed.started(
        stack.command("mlflow"), stack.folder, stack.environment("mlflow")
    ) as server:
        server.wait_for("Application startup complete")
        stack.healthy("mlflow")
        register(stack)
        with pytest.raises(HTTPError, match="403"):
            stack.mlflow("experiments/search", host="elsewhere.example", max_results=1)

        stack.run("upgrade")
        # The rows of this test end in May, which is no problem of the configuration.
        assert "WARNING: no rows since 2026-0" in stack.run("rocmonitor", "rocmonitor", "check", expect=4)

        at = ("rocmonitor", "run", "--at", "2026-05-05")
        stack.run("rocmonitor", *at, expect=3)
        told = (stack.folder / "alarms.log").read_text()
        assert re.match(r"[-0-9T:]+Z DEGRADED credit-default: AUROC 0\.", told)
        assert window_runs(stack) == 4
        assert list((stack.folder / "artifacts").rglob("window.html"))

        stack.run("rocmonitor", *at, expect=3)  # a repeat changes nothing
        assert (stack.folder / "alarms.log").read_text() == told
        assert window_runs(stack) == 4

        history = json.loads(stack.run("rocmonitor", "rocmonitor", "history", "credit-default", "--json"))
        statuses = [evaluation["status"] for evaluation in history["evaluations"]]
        assert len(statuses) == 4
        assert statuses[-1] == "degraded"
        assert history["outbox"] == {"waiting": 0, "errors": {}}

        serve, environment = stack.command("rocmonitor"), stack.environment("rocmonitor")
        with stack.installed.started(serve, stack.folder, environment) as scheduler:
            scheduler.wait_for("watching credit-default")
            scheduler.wait_for("next check")
            stack.healthy("rocmonitor")
            assert scheduler.stop(signal.SIGTERM) == 0
        assert "credit-default" in stack.page("")
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"http://127.0.0.1:{stack.port}/rocmonitor/", timeout=60)
        restored_from_backup(stack, statuses)
        assert (stack.folder / "alarms.log").read_text().count("DEGRADED credit-default:") == 1


def restored_from_backup(stack: Stack, statuses: list[str]) -> None:
    """The dump of the store in an empty database is the same history; the user of the pages may only read."""
    mlflow, dump = stack.backup()
    assert mlflow.name.startswith("mlflow")
    store = stack.environment("upgrade")["ROCMONITOR_STORE_URL"]
    with scratch_postgres() as url:
        empty = make_url(url)
        plain = empty.set(drivername="postgresql").render_as_string(hide_password=False)
        words = ["pg_restore", "--no-owner", "--no-privileges", f"--dbname={plain}", str(dump)]
        subprocess.run(words, check=True, capture_output=True)
        environment = stack.environment("rocmonitor") | {"ROCMONITOR_STORE_URL": url}
        for command in (["db", "upgrade"], ["db", "check"]):
            stack.installed.run(["rocmonitor", *command], stack.folder, environment)
        again = stack.installed.run(
            ["rocmonitor", "history", "credit-default", "--json"], stack.folder, environment
        )
        kept = [each["status"] for each in json.loads(again.stdout)["evaluations"]]
        assert kept[: len(statuses)] == statuses  # `serve` has judged the empty weeks since then, too
    reader = make_url(stack.environment("mlflow")["ROCMONITOR_STORE_URL"]).set(drivername="postgresql")
    with psycopg.connect(reader.render_as_string(hide_password=False)) as connection:
        assert connection.execute("SELECT count(*) FROM rocmonitor_evaluation").fetchone() is not None
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM rocmonitor_evaluation")
    assert store.split("@")[0] != str(reader).split("@")[0]


# --- systemd -----------------------------------------------------------------------------------------------


def unit() -> RawConfigParser:
    parsed = RawConfigParser(comment_prefixes="#", strict=True)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(DEPLOY / "rocmonitor.service", encoding="utf-8")
    return parsed


def test_the_unit_is_valid(installed: Installed, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        why = "needs systemd-analyze: apt-get install systemd"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    text = (DEPLOY / "rocmonitor.service").read_text(encoding="utf-8")
    copy = tmp_path / "rocmonitor.service"
    copy.write_text(text.replace("/opt/rocmonitor", str(installed.folder)), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_unit_starts_and_stops_while_the_other_systems_are_away(
    installed: Installed, closed_port: int, tmp_path: Path
) -> None:
    service = unit()["Service"]
    text = (DEPLOY / "rocmonitor.yaml").read_text(encoding="utf-8")
    assert "listen: 127.0.0.1:8790\n" in text
    (tmp_path / "rocmonitor.yaml").write_text(text.replace(":8790", f":{free_port()}"), encoding="utf-8")
    lines = (DEPLOY / "rocmonitor.env").read_text(encoding="utf-8").splitlines()
    environment = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
    environment = {
        key: value.replace("/var/lib/rocmonitor", str(tmp_path)) for key, value in environment.items()
    }
    environment["WAREHOUSE_URL"] = f"postgresql+psycopg://reader@127.0.0.1:{closed_port}/scores"
    environment["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{closed_port}"

    installed.run(shlex.split(service["ExecStartPre"]), tmp_path, environment)
    with installed.started(shlex.split(service["ExecStart"]), tmp_path, environment) as running:
        running.wait_for("watching credit-default")
        reload = service["ExecReload"].replace("$MAINPID", str(running.process.pid))
        subprocess.run(shlex.split(reload), check=True)
        running.wait_for("the configuration was read again")
        timeout = float(service["TimeoutStopSec"].removesuffix("s"))
        assert running.stop(signal.Signals[service["KillSignal"]], timeout) == 0

    (tmp_path / "rocmonitor.yaml").write_text("monitors: {}\n", encoding="utf-8")
    wrong = int(service["RestartPreventExitStatus"])
    installed.run(shlex.split(service["ExecStart"]), tmp_path, environment, expect=wrong)


# --- Kubernetes, Grafana, other schedulers -----------------------------------------------------------------

KUBERNETES = DEPLOY / "kubernetes"


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((KUBERNETES / name).read_text(encoding="utf-8")))


def test_the_cluster_has_the_configuration_of_the_other_deployments() -> None:
    of_machine = load(DEPLOY / "rocmonitor.yaml")
    of_cluster = load(KUBERNETES / "rocmonitor.yaml")
    same = {"listen", "folder"}
    assert of_cluster.model_dump(exclude=same) == of_machine.model_dump(exclude=same)
    [container] = objects("deployment.yaml")[0]["spec"]["template"]["spec"]["containers"]
    [port] = container["ports"]
    assert of_cluster.listen == f"0.0.0.0:{port['containerPort']}"


def test_kustomize_puts_the_parts_together() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl")
    done = subprocess.run(["kubectl", "kustomize", KUBERNETES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    assert set(made) == {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}
    pod = made["Deployment"]["spec"]["template"]["spec"]
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["image"] == f"registry.example/rocmonitor:{__version__}"
        assert container["securityContext"]["readOnlyRootFilesystem"]
        for mount in container["volumeMounts"]:
            assert mount["name"] in {volume["name"] for volume in pod["volumes"]}
    selected = made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    assert selected.items() <= made["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    assert made["Deployment"]["spec"]["replicas"] > made["PodDisruptionBudget"]["spec"]["minAvailable"]


@pytest.mark.parametrize(("gives", "ends"), [(0, 0), (3, 0), (4, 0), (2, 2), (5, 5)])
def test_a_job_of_the_cluster_has_failed_only_when_something_failed(
    gives: int, ends: int, tmp_path: Path
) -> None:
    [job] = objects("cronjob.yaml")
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    program = tmp_path / "rocmonitor"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && exit {gives}\nexit 0\n')
    program.chmod(0o755)
    done = subprocess.run(container["command"], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == ends


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    board = json.loads((DEPLOY / "grafana" / "rocmonitor.json").read_text(encoding="utf-8"))
    text = "\n".join(
        [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        + [each["definition"] for each in board["templating"]["list"] if "definition" in each]
    )
    asked = set(re.findall(r"\brocmonitor_\w+", text))
    source = (ROOT / "rocmonitor" / "service" / "listener" / "metrics.py").read_text(encoding="utf-8")
    known = set(re.findall(r'"(rocmonitor_\w+)"', source))
    assert {name.removesuffix("_total") for name in asked} <= known
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_recipes_of_other_schedulers_are_python_and_take_results_for_results() -> None:
    text = (ROOT / "docs" / "how-to" / "orchestrators.md").read_text(encoding="utf-8")
    recipes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(recipes) == 3
    for recipe in recipes:
        compile(recipe, "recipe", "exec")
        assert "(0, 3, 4)" in recipe


@pytest.mark.slow
@pytest.mark.parametrize(("gives", "ends"), [("", 2), ("{}", 2)])
def test_the_recipe_for_databricks_runs(installed: Installed, tmp_path: Path, gives: str, ends: int) -> None:
    text = (ROOT / "docs" / "how-to" / "orchestrators.md").read_text(encoding="utf-8")
    recipe = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1]
    (tmp_path / "rocmonitor.yaml").write_text(gives, encoding="utf-8")
    (tmp_path / "task.py").write_text(recipe.replace("/Workspace/Shared/rocmonitor", str(tmp_path)))
    installed.run(["python", str(tmp_path / "task.py")], tmp_path, {"HOME": str(tmp_path)}, expect=ends)
