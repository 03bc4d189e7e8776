"""Every command that README, CONTRIBUTING and the pages in docs/ show runs.

A command is a line of a code block, or words between backquotes that have arguments. Each is run here, in a
folder with two monitors and small tables; or it is in `ELSEWHERE` with the test that runs it, or in `NOT_RUN`
with the reason. A new command that is in none of them fails a test.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import mlflow
import numpy as np
import pandas as pd
import pytest
import yaml
from commands import Rocmonitor
from cryptography.fernet import Fernet
from process import running, wait_for

from rocmonitor import config
from rocmonitor.caveat import Caveat
from rocmonitor.cli import cli
from rocmonitor.stats import Sample
from rocmonitor.wording.caveats import words_of

ROOT = Path(__file__).resolve().parents[1]
WRITTEN_BY_THE_CODE = {"cli.md"}  # its commands are those of tests/cli
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in WRITTEN_BY_THE_CODE),
]
RESULTS = (0, 3, 4)
"""Exit codes of a command that did its work; 2 is a wrong command, 5 an outside system that failed."""

FORMULAS = {"method.md", "condensed.md"}
OUTPUT = r"window  +positives|\d{4}-\d\d-\d\d to |late-arrivals: "
PROGRAMS = (
    r"(?:rocmonitor|make|pipx?|docker|kubectl|mlflow|sqlite3|pg_dump|pg_restore|systemctl|\.venv/bin/\S+)"
)

_DEMO, _APP, _DEPLOY = "test_demo.py::", "plugin/test_app.py::", "test_deploy.py::"
ELSEWHERE = {
    "rocmonitor demo": f"{_DEMO}test_one_command_shows_it_all_and_changes_nothing_the_second_time",
    "rocmonitor init --demo": f"{_DEMO}test_the_alarm_of_september_says_that_no_group_alone_made_the_fall",
    "export ROCMONITOR_CONFIG=/etc/rocmonitor/rocmonitor.yaml": f"{_APP}serving",
    "mlflow server --app-name rocmonitor": f"{_DEPLOY}test_mlflow_serves_the_page_of_the_wheel",
    "mlflow server --app-name rocmonitor-basic-auth": f"{_APP}test_the_log_in_of_mlflow_covers_the_pages",
    "systemctl reload rocmonitor": (
        f"{_DEPLOY}test_the_unit_starts_and_stops_while_the_other_systems_are_away"
    ),
}
"""Commands that another test runs, and its name."""

_DOCKER = "needs Docker; test_deploy.py runs the services of the compose file"
_TARGET = "a target of the Makefile takes minutes to hours; that it exists is tested here"
_INDEX = "needs a package index; test_deploy.py installs the wheel, and the extra's name is tested here"
_POSTGRES = "needs a database of this name; test_deploy.py restores what the compose file's backup writes"
NOT_RUN = {
    r"make [a-z-]+.*": _TARGET,
    r"pip install .*": _INDEX,
    r"pipx run pre-commit install": "needs a package index, and changes the hooks of the checkout",
    r"cp deploy/rocmonitor.env deploy/.env": _DOCKER,
    r"docker compose .*": _DOCKER,
    r"kubectl apply --kustomize": "needs a cluster; test_deploy.py builds and checks what it would apply",
    r"pg_(dump|restore) .*": _POSTGRES,
    r"cd demo": "the folder that `rocmonitor demo` has made",
}
"""Commands that no test runs, by pattern, and why."""


# What the pages show


def shown(page: Path) -> Iterator[str]:
    """Yield the commands of a page, without their comments."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL):
        if language in {"bash", "sh"}:
            yield from (words for line in block.splitlines() if (words := _bare(line)))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    if page.name not in FORMULAS:
        indented = re.findall(r"^ {4,}(\S.*)$", prose, re.MULTILINE)
        yield from (_bare(line) for line in indented if not re.match(OUTPUT, line))
    for found in re.findall(rf"`({PROGRAMS}\s[^`]+)`", prose):
        words = " ".join(found.split())
        if not re.fullmatch(r"rocmonitor [a-z]+", words):  # the name of a command
            yield words


def _bare(line: str) -> str:
    return line.partition("  #")[0].strip()


COMMANDS = list(dict.fromkeys(line for page in PAGES for line in shown(page)))


def reason(command: str) -> str | None:
    """Return the reason why no test runs a command."""
    return next((why for pattern, why in NOT_RUN.items() if re.fullmatch(pattern, command)), None)


HERE = [command for command in COMMANDS if command not in ELSEWHERE and reason(command) is None]


def test_every_command_of_rocmonitor_is_shown_and_exists():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"`rocmonitor ([a-z]+)`", text)) <= set(cli.commands)
    assert {line.split()[1] for line in COMMANDS if line.startswith("rocmonitor ")} >= {
        "run",
        "check",
        "init",
    }


def test_nothing_is_listed_that_no_page_shows():
    assert set(ELSEWHERE) <= set(COMMANDS)
    assert [each for each in NOT_RUN if not any(re.fullmatch(each, line) for line in COMMANDS)] == []


@pytest.mark.parametrize(("command", "test"), ELSEWHERE.items(), ids=ELSEWHERE)
def test_the_test_that_runs_it_exists(command: str, test: str):
    file, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [line for line in COMMANDS if reason(line) in {_TARGET, _INDEX}])
def test_targets_and_extras_exist(command: str):
    if command.startswith("make "):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in re.findall(r"make ([a-z-]+)", command):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE)
        for name in re.findall(r"bench NAME=(\w+)", command):
            assert (ROOT / "tests" / "benchmarks" / f"{name}.py").exists()
    else:
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        for extra in re.findall(r"\[(\w+)\]", command):
            assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


# A folder to run them in

MONITOR = """
  {name}:
    model: {{name: {name}, version: "1", challenger_version: "2"}}
    source: warehouse
    query: >-
      SELECT loan_id, scored_at, p_champion, p_challenger, defaulted, region FROM {table}
      WHERE scored_at >= :start AND scored_at < :end
    columns:
      {{id: loan_id, time: scored_at, champion: p_champion, challenger: p_challenger, label: defaulted,
       explain: [region]}}
    segments: {segments}
    min_per_class: 20
    window: {{every: 7d, label_delay: 2d, end: {end}}}
    reference: {{from: {start}, to: {judged}}}
    rules: [{{kind: forecast}}, {{kind: floor, value: 0.7}}, {{kind: challenger}}]
    review: {{margin: 0.005}}
    notify: [ops]
"""
_CREDIT = {"name": "credit-default", "table": "scored", "segments": "[region]"}
_FLIGHTS = {"name": "late-arrivals", "table": "flights", "segments": "[]"}
WATCHED = [
    {**_CREDIT, "start": "2026-01-05", "judged": "2026-05-04", "end": "2026-06-08"},
    {**_FLIGHTS, "start": "2013-05-06", "judged": "2013-09-09", "end": "2013-09-23"},
]
PROGRAM = """#!/bin/sh
exec "{python}" -c "import sys; sys.argv[0] = 'rocmonitor'; from rocmonitor.cli import main; main()" "$@"
"""


def rows(number: int, start: datetime, end: datetime) -> pd.DataFrame:
    """Return rows every hour that two models have scored; the champion fails in the last week."""
    rng = np.random.default_rng(number)
    times = pd.date_range(start, end, freq="h", inclusive="left")
    label = rng.random(len(times)) < 0.3
    moved = np.where(times >= end - timedelta(days=7), 0.2, 1.4)
    return pd.DataFrame(
        {
            "loan_id": np.arange(len(times)),
            "scored_at": times.strftime("%Y-%m-%d %H:%M:%S"),
            "p_champion": rng.normal(moved * label),
            "p_challenger": rng.normal(1.4 * label),
            "defaulted": label.astype(int),
            "region": np.where(rng.random(len(times)) < 0.5, "north", "south"),
        }
    )


@pytest.fixture(scope="module")
def prepared(empty_mlflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the first windows have been judged; `late-arrivals` is degraded."""
    folder = tmp_path_factory.mktemp("shown")
    shutil.copy(empty_mlflow, folder)
    with closing(sqlite3.connect(folder / "scores.db")) as database:
        for number, each in enumerate(WATCHED):
            start, end = datetime.fromisoformat(each["start"]), datetime.fromisoformat(each["end"])
            rows(number, start, end).to_sql(each["table"], database, index=False)
    drawn = rows(2, datetime(2026, 1, 5), datetime(2026, 1, 12))  # noqa: DTZ001 as a file has it
    drawn = drawn.rename(columns={"defaulted": "y", "p_champion": "champion", "p_challenger": "challenger"})
    drawn.to_csv(folder / "rows.csv", index=False)
    head = (
        "sources: {warehouse: {url: sqlite:///scores.db, timezone: UTC}}\n"
        "channels: {ops: {url: file://alarms.log}}\nmonitors:"
    )
    text = head + "".join(MONITOR.format(**each) for each in WATCHED)
    (folder / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    programs = folder / "programs"
    programs.mkdir()
    for name, script in (
        ("rocmonitor", PROGRAM.format(python=sys.executable)),
        ("page-somebody", "#!/bin/sh\n"),
    ):
        (programs / name).write_text(script, encoding="utf-8")
        (programs / name).chmod(0o755)
    Rocmonitor(folder)("run", "--at", "2026-05-15", code=3)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, with its programs on the path."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ROCMONITOR_TOKEN", "0123456789abcdef")
    return tmp_path


# How each is run

PLACEHOLDERS = {
    "--url URL --table TABLE": "--url sqlite:///scores.db --table scored",
    "channel test NAME": "channel test ops",
    "report NAME": "report late-arrivals",
    " MONITOR": " late-arrivals",
    " FILE": " written.html",
}


def filled_in(command: str) -> list[str]:
    for placeholder, value in PLACEHOLDERS.items():
        command = command.replace(placeholder, value)
    return shlex.split(command)[1:]


def by_rocmonitor(command: str, folder: Path) -> None:
    """Run a command within this process; `init` in a folder that has no configuration yet."""
    words = filled_in(command)
    if words[0] == "init" and "--schema" not in words:
        (folder / "rocmonitor.yaml").unlink()
    Rocmonitor(folder)(*words, code=RESULTS)
    for option in ("--output", "-o"):
        if option in words:
            assert (folder / words[words.index(option) + 1]).stat().st_size > 1000


def by_a_service(command: str, folder: Path) -> None:
    """Start `serve`, until SIGTERM ends it."""
    with running([sys.executable, "-m", "rocmonitor", *filled_in(command)], cwd=folder) as process:
        log = wait_for(process, r"watching")
        process.send_signal(signal.SIGTERM)
        log += wait_for(process, r"stopped;")
        assert process.wait(60) == 0
    if "json" in command:
        assert all(json.loads(line)["message"] for line in log.splitlines())


def by_a_page(command: str, folder: Path) -> None:
    """Start `ui` at a free port, and ask it for the overview, with the token where it asks for one."""
    words = [sys.executable, "-m", "rocmonitor", *filled_in(command), "--port", "0"]
    with running(words, cwd=folder) as process:
        [port] = re.findall(r"http://\S+:(\d+)/", wait_for(process, "http://"))
        address = f"http://127.0.0.1:{port}/overview.json"
        headers = {}
        if "--token-env" in words:
            with pytest.raises(HTTPError):
                urlopen(address, timeout=60)
            headers["Authorization"] = f"Bearer {os.environ['ROCMONITOR_TOKEN']}"
        with urlopen(Request(address, headers=headers), timeout=60) as answer:
            assert "late-arrivals" in answer.read().decode()


def by_the_shell(command: str, folder: Path) -> None:
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
    assert done.returncode in RESULTS, done.stderr


def by_cron(command: str, folder: Path) -> None:
    """Run what is behind the five fields, in the folder of this configuration."""
    assert "/etc/rocmonitor" in command
    by_the_shell(command.split(maxsplit=5)[5].replace("/etc/rocmonitor", str(folder)), folder)


def by_its_words(command: str, folder: Path) -> None:
    """Print the completion of a shell that need not be installed here."""
    [words] = re.findall(r"_ROCMONITOR_COMPLETE=\w+ rocmonitor", command)
    done = subprocess.run(["sh", "-c", words], cwd=folder, capture_output=True, text=True)
    assert "_ROCMONITOR_COMPLETE=" in done.stdout, done.stderr


def as_an_export(command: str, folder: Path) -> None:
    name = command.partition("=")[0].removeprefix("export ")
    by_the_shell(f'{command} && test -n "${name}"', folder)


def by_sqlite(command: str, folder: Path) -> None:
    """Give SQLite the statement; the program `sqlite3` need not be installed."""
    _, file, statement = shlex.split(command)
    with chdir(folder), closing(sqlite3.connect(file)) as database:
        database.execute(statement)


def by_mlflow(command: str, folder: Path) -> None:
    uri = f"sqlite:///{folder}/mlflow.db"
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), "--backend-store-uri", uri],
        cwd=folder,
        env={**os.environ, "MLFLOW_TRACKING_URI": uri},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def by_alembic(command: str, folder: Path) -> None:
    """Work on a copy of the migrations, and on a database in this folder."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "migrations", folder / "migrations")
    words = [sys.executable, "-m", "alembic", *shlex.split(command)[1:]]
    environment = {**os.environ, "ROCMONITOR_STORE_URL": f"sqlite:///{folder}/scratch.db"}
    for each in (words if "upgrade" in words else [*words[:5], "upgrade", "head"], words):
        done = subprocess.run(each, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def by_pytest(command: str, folder: Path) -> None:
    words = [sys.executable, *shlex.split(command)[1:], "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


RUNNERS: dict[str, Callable[[str, Path], None]] = {
    r"rocmonitor (--log-format json )?serve": by_a_service,
    r"rocmonitor ui.*": by_a_page,
    r"rocmonitor .*\|\|.*|eval .*bash_source.*": by_the_shell,
    r"rocmonitor .*": by_rocmonitor,
    r".*_ROCMONITOR_COMPLETE=.*": by_its_words,
    r"(\S+ ){5}cd /etc/rocmonitor && rocmonitor run": by_cron,
    r"export .*": as_an_export,
    r"sqlite3 .*": by_sqlite,
    r"mlflow gc": by_mlflow,
    r"\.venv/bin/alembic .*": by_alembic,
    r"\.venv/bin/python -m pytest .*": by_pytest,
}


def runner(command: str) -> Callable[[str, Path], None] | None:
    return next((run for pattern, run in RUNNERS.items() if re.fullmatch(pattern, command)), None)


def test_every_command_is_run_or_listed():
    """One that fails here is new: say in this file how it is run, which test runs it, or why none does."""
    assert [command for command in HERE if runner(command) is None] == []


@pytest.mark.slow
@pytest.mark.xdist_group("commands in docs")
@pytest.mark.parametrize("command", HERE)
def test_it_runs(command: str, folder: Path):
    run = runner(command)
    assert run is not None
    run(command, folder)


# Blocks of other languages. Those of Python and YAML are run and read in test_readme.py.

OTHERS = {
    "architecture.md": [("text", " scored rows", "a drawing"), ("text", "start      end", "a drawing")],
    "tutorial.md": [
        ("text", "late-arrivals\n  normal", "output"),
        ("text", "window  ", "output"),
        ("text", "2026-11-29T11:41:40Z DEGRADED late-arrivals", "output"),
    ],
    "files.md": [
        ("text", "sources:", "test_the_german_file_is_a_source"),
        ("sql", "INSTALL httpfs", "needs the network, once"),
    ],
    "late-labels.md": [("sql", "SELECT loan_id", "test_labels_as_of_an_instant_are_a_query")],
    "mlflow.md": [
        ("text", "source = mlflow.data.get_source", "test_the_rows_of_a_window_are_read_again"),
        ("text", "from mlflow.entities.webhook", "test_the_webhook_is_made"),
    ],
    "spark.md": [("sql", "SELECT loan_id", "needs Spark; sources/test_cluster.py reads by such a query")],
    "watching.md": [("text", "# prometheus.yml", "test_prometheus_is_told_the_address_of_the_example")],
}
"""Language and beginning of each block by page; what it is, its test, or why it has none."""


def others(page: Path) -> list[tuple[str, str]]:
    found = re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [each for each in found if each[0] not in {"python", "yaml", "bash", "sh"}]


def block(page: str, start: str) -> str:
    """Return the block of a page in docs/ that begins so."""
    [found] = [text for _, text in others(ROOT / "docs" / page) if text.startswith(start)]
    return found


def test_every_other_block_is_run_or_listed():
    listed = {name: [(language, start) for language, start, _ in found] for name, found in OTHERS.items()}
    for page in PAGES:
        found = others(page)
        if not found:  # two pages are called mlflow.md
            continue
        expected = listed.get(page.name, [])
        assert len(found) == len(expected), page
        for (language, text), (kind, start) in zip(found, expected, strict=True):
            assert (language, text.startswith(start)) == (kind, True), page
    for reasons in OTHERS.values():
        assert [each for _, _, each in reasons if each.startswith("test_") and each not in globals()] == []


def test_the_german_file_is_a_source(tmp_path: Path):
    text = "channels: {ops: {url: file://alarms.log}}\nmonitors:" + MONITOR.format(**WATCHED[0])
    text = block("how-to/files.md", "sources:") + text.replace("source: warehouse", "source: lake")
    (tmp_path / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    assert config.load(tmp_path / "rocmonitor.yaml").sources["lake"].kind == "files"


def test_labels_as_of_an_instant_are_a_query():
    query = block("how-to/late-labels.md", "SELECT")
    asked = {"start": "2026-01-01", "end": "2026-01-02", "as_of": "2026-02-01"}
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE scored (loan_id, scored_at, p_default, defaulted, known_at)")
        database.executemany(
            "INSERT INTO scored VALUES (?, '2026-01-01', 0.5, 1, ?)", [(1, "2026-01-31"), (2, "2026-02-02")]
        )
        assert [row[3] for row in database.execute(query, asked)] == [1, None]


def test_prometheus_is_told_the_address_of_the_example():
    jobs = yaml.safe_load(block("how-to/watching.md", "# prometheus.yml"))["scrape_configs"]
    deployed = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yaml").read_text("utf-8"))
    [expected] = deployed["scrape_configs"]
    assert [{**each, "scrape_interval": None} for each in jobs] == [{**expected, "scrape_interval": None}]


def test_a_caveat_is_made():
    [made] = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    known: dict[str, Any] = {"Caveat": Caveat, "sample": Sample([0, 1], [0, 1]), "caveats": []}
    exec(compile(made, "CONTRIBUTING.md", "exec"), known)
    assert "positive" in words_of(known["caveats"][0])


@pytest.mark.slow
@pytest.mark.xdist_group("commands in docs")
def test_the_rows_of_a_window_are_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
    named = "tags.rocmonitor.outcome = 'degraded'"
    found = mlflow.search_runs(search_all_experiments=True, filter_string=named, output_format="list")
    known: dict[str, Any] = {"mlflow": mlflow, "run_id": found[0].info.run_id}
    exec(compile(block("how-to/mlflow.md", "source ="), "mlflow.md", "exec"), known)
    assert len(known["rows"]) > 50
    assert "rocmonitor" in known["rows"].attrs


@pytest.mark.slow
@pytest.mark.xdist_group("commands in docs")
def test_the_webhook_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_WEBHOOK_SECRET_ENCRYPTION_KEY", Fernet.generate_key().decode())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
    known = {"MlflowClient": mlflow.MlflowClient, "secret": "0123456789abcdef"}
    made = block("how-to/mlflow.md", "from mlflow").replace(
        "https://…/", "https://1.1.1.1/"
    )  # nothing calls it
    exec(compile(made, "mlflow.md", "exec"), known)
    assert [each.name for each in mlflow.MlflowClient().list_webhooks()] == ["rocmonitor"]
