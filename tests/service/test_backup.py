"""Backup and restore of a SQLite store as docs/how-to/deployment.md describes them."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import timedelta

import pytest
from mlflow import MlflowClient
from scenario import Clock, World, until, week

from rocmonitor import store
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import migrate

ALARM = "DEGRADED credit: "


@pytest.mark.parametrize("mlflow", ["{tracking_uri: 'foo://x'}", pytest.param("{}", marks=pytest.mark.slow)])
def test_a_copy_made_while_the_service_writes_is_restored_and_gone_on_with(here: World, mlflow: str) -> None:
    """What was judged before the copy is there, what was judged after it is judged again, and equal."""
    here.score(20)
    here.score(21, shift=0.2)
    file, copy = here.folder / "rocmonitor.db", here.folder / "rocmonitor-backup.db"
    parts = {"window": until("2026-06-08"), "rules": "[{kind: floor, value: 0.7}]", "mlflow": mlflow}
    clock = Clock(week(22) + timedelta(days=3))

    def back_up(step: str) -> None:
        if str(step).startswith("credit 2026-06-01"):  # the window before is saved, this one is being judged
            with closing(sqlite3.connect(file)) as reader:
                reader.execute(f"VACUUM INTO '{copy}'")

    with here.runtime(clock, **parts) as runtime:
        store.instance_id(runtime.store)  # part of the keys of runs; made with the first delivery
        monitor = runtime.config.monitors["credit"]
        assert run_monitor(runtime, monitor, now=clock.now, progress=back_up).error is None
        drain(runtime)
        lost = store.evaluations(runtime.store, "credit")
    for name in ("rocmonitor.db", "rocmonitor.db-wal", "rocmonitor.db-shm"):
        (here.folder / name).unlink(missing_ok=True)
    shutil.move(copy, file)

    url = f"sqlite:///{file}"
    migrate.upgrade(url)
    migrate.check(url)
    clock.now += timedelta(minutes=1)
    with here.runtime(clock, **parts) as runtime:
        assert store.evaluations(runtime.store, "credit") == lost[:1]
        again = run_monitor(runtime, monitor, now=clock.now)
        assert again.error is None
        assert [each.window.start for each in again.evaluations] == [week(21)]
        assert again.evaluations[0].metrics == lost[1].metrics
        drain(runtime)
        left = {name: each.waiting for name, each in store.backlog(runtime.store).items()}
        assert left == ({} if mlflow == "{}" else {"mlflow": 2})
    lines = here.alarms.splitlines()
    alarms = [number for number, line in enumerate(lines) if line.startswith(ALARM)]
    events = [next(line for line in lines[number:] if "(event " in line) for number in alarms]
    assert (len(events), len(set(events))) == (2, 1)  # sent again, and known as the same
    if mlflow == "{}":
        client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
        experiment = client.get_experiment_by_name("rocmonitor/credit").experiment_id
        keys = Counter(run.data.tags["rocmonitor.key"] for run in client.search_runs([experiment]))
        assert (len(keys), set(keys.values())) == (3, {1})
