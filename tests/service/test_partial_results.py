"""Whatever a stored evaluation lacks, and whichever release wrote it: all that reads the store goes on."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from commands import Rocmonitor
from scenario import World, week
from sqlalchemy import select, update

import rocmonitor
from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import migrate
from rocmonitor.store.tables import evaluation, evaluation_tables, outlook
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site

STORES = Path(__file__).parent / "stores"  # as each release wrote them
DAY = timedelta(days=1)
NOW = week(27) + 3 * DAY
SECTIONS = {
    "rules": "[{kind: forecast}, {kind: lasting}, {kind: floor, value: 0.6}, {kind: drop, value: 0.02}, "
    "{kind: cost, w: 0.2, value: 0.35}, {kind: challenger}, {kind: scores}, {kind: outlook}]",
    "outlook": "{after: 1d}",
    "segments": "[region]",
}
Dropped = Callable[[str], bool]


@pytest.fixture(scope="module")
def judged(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weeks of each kind: ok, too few labels, revised, degraded, waiting for labels."""
    folder = tmp_path_factory.mktemp("judged")
    for name in ("source.db", "mlflow.db"):
        shutil.copy(template / name, folder)
    here = World(folder=folder, source_url=f"sqlite:///{folder}/source.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCENARIO_SOURCE_URL", here.source_url)
        for number in range(20, 28):
            here.score(
                number, shift=-0.2 if number > 24 else 1.2, labelled={22: 0.3, 23: 0.9}.get(number, 1.0)
            )
            here.score(number, n=401, region="north", labelled=0.95)
            with here.runtime(week(number + 1) + 2 * DAY, **SECTIONS) as runtime:
                found = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
                assert found.error is None
                if number < 25:  # MLflow has some weeks, and gets the others when they lack something
                    drain(runtime, progress=lambda _: None)
            if number == 25:
                here.label_late(23)
    return folder


def without(path: Path, is_dropped: Dropped) -> None:
    """Take metrics and tables out of all that is stored."""
    with store.open_store(f"sqlite:///{path}") as kept, kept.engine.begin() as connection:
        for table in (evaluation, outlook):
            for id, metrics in connection.execute(select(table.c.id, table.c.metrics)).all():
                left = {name: value for name, value in metrics.items() if not is_dropped(name)}
                names = set(table.c.keys())
                glance = {name.replace("/", "_"): None for name in metrics if is_dropped(name)}.keys() & names
                connection.execute(
                    update(table).where(table.c.id == id).values(metrics=left, **dict.fromkeys(glance))
                )
        for id, content in connection.execute(
            select(evaluation_tables.c.evaluation_id, evaluation_tables.c.content)
        ).all():
            left = {name: rows for name, rows in content.items() if not is_dropped(f"table:{name}")}
            connection.execute(
                update(evaluation_tables).where(evaluation_tables.c.evaluation_id == id).values(content=left)
            )


def names_in(path: Path) -> list[str]:
    with store.open_store(f"sqlite:///{path}") as kept:
        found = {name for each in store.evaluations(kept, "credit") for name in each.metrics}
        found |= {f"table:{name}" for each in store.evaluations(kept, "credit") for name in each.tables}
    return sorted(found)


def read_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that reads the store; nothing may end in an error that is not foreseen."""
    here = World(folder=folder, source_url=f"sqlite:///{folder}/source.db")
    monkeypatch.setenv("SCENARIO_SOURCE_URL", here.source_url)
    here.score(28)
    here.label_late(22)  # an old window is revised
    with here.runtime(week(29) + 3 * DAY, **SECTIONS) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        assert tick.error is None
        assert tick.judged >= 2
        delivered = drain(runtime, progress=lambda _: None)
        assert not delivered.failed
        assert not delivered.refused
    statuses = set(tick.status.values())
    worst = 3 if Status.DEGRADED in statuses else 4 if Status.INSUFFICIENT in statuses else 0
    rocmonitor = Rocmonitor(folder)
    for arguments, code in (
        (["check"], 4),
        (["status"], worst),
        (["status", "--json"], worst),
        (["history", "credit"], 0),
        (["history", "credit", "--json"], 0),
        (["report", "credit", "--output", "report.html"], 0),
        (["review", "credit", "--dry-run"], 0),
    ):
        rocmonitor(*arguments, code=code)
    client = create_app(Site(path=folder / "rocmonitor.yaml", clock=lambda: NOW)).test_client()
    for page in ("/", "/monitors/credit", "/monitors/credit?segment=region%3Dnorth"):
        path, _, query = page.partition("?")
        for address in (page, f"{path.rstrip('/') or '/overview'}.json?{query}"):
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.text)


@pytest.mark.parametrize(
    "is_dropped",
    [
        pytest.param(lambda name: True, id="everything", marks=pytest.mark.slow),
        pytest.param(lambda name: name.startswith("table:"), id="tables", marks=pytest.mark.slow),
        pytest.param(
            lambda name: name.endswith(("_low", "_high", "/low", "/high")),
            id="intervals",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda name: name.startswith(("champion/", "data/")), id="measured", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda name: not name.startswith(("champion/", "data/")), id="compared", marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_stored_may_lack(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_dropped: Dropped
) -> None:
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    without(tmp_path / "rocmonitor.db", is_dropped)
    read_everything(tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_what_is_stored_may_lack_any_part(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    dropped = {name for name in names_in(judged / "rocmonitor.db") if chance.random() < (0.1, 0.5)[seed % 2]}
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    without(tmp_path / "rocmonitor.db", dropped.__contains__)
    read_everything(tmp_path, monkeypatch)


@pytest.mark.parametrize("release", [path.name.removesuffix(".sql.gz") for path in STORES.glob("*.gz")])
def test_the_store_of_a_release_is_upgraded_and_read(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    """ROCMONITOR_WRITE_STORE=yes writes that of this version again, until it is released."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    path, dump = tmp_path / "rocmonitor.db", STORES / f"{release}.sql.gz"
    if os.environ.get("ROCMONITOR_WRITE_STORE") and release == rocmonitor.__version__:
        with closing(sqlite3.connect(path)) as database:
            newest = "(SELECT max(window_start) FROM rocmonitor_counts)"  # others would be half of the file
            database.execute(f"DELETE FROM rocmonitor_counts WHERE window_start < {newest}")
            dump.write_bytes(gzip.compress("\n".join(database.iterdump()).encode(), mtime=0))
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.executescript(gzip.decompress(dump.read_bytes()).decode())
    url = f"sqlite:///{path}"
    migrate.upgrade(url)
    migrate.check(url)
    read_everything(tmp_path, monkeypatch)
