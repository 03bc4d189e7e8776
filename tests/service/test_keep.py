"""What is too old is deleted, from a real store and a real MLflow; what is needed stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from commands import Rocmonitor
from mlflow import MlflowClient
from scenario import Clock, World, week
from sqlalchemy import func, select

from rocmonitor import store
from rocmonitor.config.outside import Keep
from rocmonitor.service.arrivals import compared_since
from rocmonitor.service.delivery import drain
from rocmonitor.service.keep import delete_old
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import tables

DAY = timedelta(days=1)
NOW = week(30)


@pytest.fixture
def clock(here: World) -> Clock:
    """Four windows are scored, the third of them degraded; it is time to judge them."""
    for number in (20, 21, 22, 23):
        here.score(number, shift=0.2 if number == 22 else 1.2)
    return Clock(NOW)


def judge(runtime: Runtime) -> None:
    windows = runtime.config.monitors["credit"].calendar.within(week(20), week(24))
    assert run_monitor(runtime, runtime.config.monitors["credit"], now=NOW, windows=windows).error is None


def rows(runtime: Runtime) -> dict[str, int]:
    with runtime.store.reading() as connection:
        return {
            table.name.removeprefix("rocmonitor_"): connection.scalar(select(func.count()).select_from(table))
            for table in (tables.evaluation, tables.evaluation_tables, tables.outbox, tables.transition)
        }


def windows_in_mlflow(here: World) -> dict[str, str]:
    """Names of the runs of windows, and where their files are."""
    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("rocmonitor/credit").experiment_id
    found = client.search_runs([experiment], "tags.`rocmonitor.kind` = 'window'")
    return {run.info.run_name.split(" · ")[1]: run.info.artifact_uri for run in found}


@pytest.mark.slow
def test_old_deliveries_runs_and_tables_go_and_the_newest_window_stays(here, clock):
    with here.runtime(clock) as runtime:
        judge(runtime)
        drain(runtime)
        before, runs = rows(runtime), windows_in_mlflow(here)
        assert before == {"evaluation": 4, "evaluation_tables": 4, "outbox": 6, "transition": 2}
        assert len(runs) == 4

        clock.now = NOW + 29 * DAY
        assert delete_old(runtime).deliveries == 0
        clock.now = NOW + 31 * DAY
        assert (delete_old(runtime).deliveries, rows(runtime)["outbox"]) == (2, 4)  # links stay
        assert delete_old(runtime).deliveries == 0

        clock.now = NOW + 401 * DAY
        done = delete_old(runtime)
        assert (done.runs, done.tables, done.error) == (3, 0, None)
        left = windows_in_mlflow(here)
        assert list(left) == ["2026-06-15"]
        for name, uri in runs.items():
            files = [path for path in Path(uri.removeprefix("file://")).rglob("*") if path.is_file()]
            assert bool(files) == (name in left)

        clock.now = NOW + 1826 * DAY
        assert delete_old(runtime).tables == 3
        assert rows(runtime) == {"evaluation": 4, "evaluation_tables": 1, "outbox": 1, "transition": 2}
        found = store.evaluations(runtime.store, "credit")
        assert [bool(each.tables) for each in found] == [False, False, False, True]
        assert all("champion/auc" in each.metrics and each.verdicts and each.reference for each in found)
        assert len(store.series(runtime.store, "credit", "")) == 4  # what charts and later rules read


def test_what_was_counted_of_arrivals_goes(here, clock):
    with here.runtime(clock) as runtime:
        kept = runtime.store
        with kept.writing() as connection:
            counted = {"at": NOW, "rows": 1, "labelled": 1, "window_start": week(20), "window_end": week(21)}
            connection.execute(
                tables.arrival.insert(), [{"monitor": name, **counted} for name in ("credit", "gone")]
            )
        clock.now = week(20) + 1824 * DAY
        delete_old(runtime)
        assert store.arrivals(kept, "credit", week(0))
        clock.now = week(20) + 1826 * DAY
        delete_old(runtime)
        assert not store.arrivals(kept, "credit", week(0))
        assert not store.arrivals(kept, "gone", week(0))


def test_arrivals_that_later_windows_are_compared_with_stay(here, clock):
    with here.runtime(clock) as made:
        runtime = replace(made, config=made.config.model_copy(update={"keep": Keep(tables=DAY)}))
        with runtime.store.writing() as connection:
            connection.execute(
                tables.arrival.insert(),
                [
                    {"monitor": "credit", "window_start": week(n), "window_end": week(n + 1)}
                    | {"at": week(n + 1), "rows": 9, "labelled": n}
                    for n in range(30)
                ],
            )
        clock.now = week(110)
        delete_old(runtime)
        first = compared_since(runtime.config.monitors["credit"], clock.now)
        left = store.arrivals(runtime.store, "credit", week(0))
        assert [each.labelled for each in left] == [n for n in range(30) if week(n) >= first]
        assert 0 < len(left) < 30


@pytest.mark.slow
def test_what_is_undelivered_stays(here, clock):
    with here.runtime(clock) as runtime:
        judge(runtime)
        before = rows(runtime)
        clock.now = NOW + 4000 * DAY
        done = delete_old(runtime)
        assert (done.deliveries, done.tables, done.runs) == (0, 0, 0)
        assert rows(runtime) == before
        assert drain(runtime).sent == 6


@pytest.mark.slow
def test_killed_after_the_run_was_deleted_the_next_pass_goes_on(here, clock, monkeypatch):
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with here.runtime(clock) as runtime:
        judge(runtime)
        drain(runtime)
        clock.now = NOW + 401 * DAY
        with monkeypatch.context() as patch:
            patch.setattr(store, "delete_publications", die)
            with pytest.raises(Killed):
                delete_old(runtime)
        assert len(windows_in_mlflow(here)) == 3
        done = delete_old(runtime)
        assert (done.runs, done.error) == (2, None)
        assert rows(runtime)["outbox"] == 1


@pytest.mark.slow
def test_without_mlflow_the_runs_wait(here, clock, mlflow_server):
    with here.runtime(clock, mlflow=f"{{tracking_uri: '{mlflow_server.uri}'}}") as runtime:
        judge(runtime)
        drain(runtime)
        clock.now = NOW + 401 * DAY
        mlflow_server.stop()
        try:
            done = delete_old(runtime)
        finally:
            mlflow_server.start()
        assert (done.deliveries, done.runs) == (2, 0)
        assert "no answer" in str(done.error)
        assert delete_old(runtime).runs == 3


def test_the_command_says_what_was_deleted(here):
    here.configure()
    done = Rocmonitor(here.folder)("db", "clean")
    assert (
        done.stderr
        == "deleted 0 deliveries, the tables of 0 evaluations, the counts of 0 windows and 0 runs in MLflow\n"
    )
