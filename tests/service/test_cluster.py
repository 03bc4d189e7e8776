"""Ticks whose windows are judged on a Dask cluster."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import ANOTHER_VERSION, WITHOUT_US, certificate, require_dask, scheduler, workers
from commands import Rocmonitor
from scenario import World, until, week
from tasks import Deadly, KilledOnce, Which, caller

import rocmonitor
from rocmonitor import store
from rocmonitor.config import Dask, Database
from rocmonitor.errors import ConfigError, ExecutorError
from rocmonitor.policy.evaluation import Status
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.workers import Answer, Caller, StoppedError, Task, cluster, open_executor
from rocmonitor.service.workers.cluster import Cluster

NOW = week(30)
DASK = "executor: {kind: dask, address_env: DASK_ADDRESS}\n"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    monkeypatch.setattr(cluster, "NO_WORKER_SECONDS", 0.5)
    monkeypatch.setattr(cluster, "_COUNT_SECONDS", 0.5)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler for all tests."""
    with scheduler() as found:
        yield found


@pytest.fixture
def dask(monkeypatch: pytest.MonkeyPatch, address: str, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster; each test adds the workers."""
    monkeypatch.setenv("DASK_ADDRESS", address)
    made = Cluster(Dask(kind="dask", address_env="DASK_ADDRESS"), tmp_path)
    yield made
    made.close()


@pytest.fixture
def which(here: World) -> Task[int]:
    spec = Database(url_env="SCENARIO_SOURCE_URL")
    return Task(name="here", spec=spec, folder=here.folder, request=Which())


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    require_dask()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    return f"tcp://127.0.0.1:{port}"


def with_dask(here: World) -> None:
    path = here.folder / "rocmonitor.yaml"
    path.write_text(DASK + path.read_text(encoding="utf-8"), encoding="utf-8")


class TestAbsent:
    def test_a_run_without_its_cluster_exits_5_and_loses_nothing(
        self, two_weeks: World, nobody: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rocmonitor = Rocmonitor(two_weeks.folder)
        with_dask(two_weeks)
        monkeypatch.setenv("DASK_ADDRESS", nobody)
        failed = rocmonitor("run", code=5)
        assert "executor.address_env: no Dask scheduler answers at tcp://127.0.0.1:" in failed.stderr
        assert "is the address in DASK_ADDRESS right?" in failed.stderr
        two_weeks.configure(window=until("2026-06-08"))
        rocmonitor("run")
        found = rocmonitor("history", "credit", "--json").stdout
        assert found.count('"revision": 0') == 2

    def test_the_next_tick_asks_again(
        self, two_weeks: World, nobody: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASK_ADDRESS", nobody)
        spec = Dask(kind="dask", address_env="DASK_ADDRESS")
        away = Cluster(spec, two_weeks.folder)
        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            monitor = runtime.config.monitors["credit"]
            first = run_monitor(replace(runtime, executor=away), monitor, now=NOW)
            assert isinstance(first.error, ExecutorError)
            assert first.error.transient
            assert first.status == {"": Status.ERROR}
            [outage] = store.open_outages(runtime.store)
            assert (outage.place, outage.monitors) == ("executor", ["credit"])
            second = run_monitor(runtime, monitor, now=NOW)
            assert (second.error, second.judged, second.status) == (None, 2, {"": Status.OK})
            assert store.open_outages(runtime.store) == []

    def test_it_is_not_waited_for_by_every_monitor(
        self, which: Task[int], nobody: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASK_ADDRESS", nobody)
        away = Cluster(Dask(kind="dask", address_env="DASK_ADDRESS"), which.folder)
        errors = []
        for _ in range(2):
            with pytest.raises(ExecutorError) as error:
                away.run(which, None, caller())
            errors.append(error.value)
        assert errors[0] is errors[1]

    def test_a_variable_that_is_not_set_exits_2(
        self, two_weeks: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("DASK_ADDRESS", raising=False)
        with_dask(two_weeks)
        failed = Rocmonitor(two_weeks.folder)("run", code=2)
        assert "executor.address_env: the environment variable DASK_ADDRESS is not set" in failed.stderr

    def test_without_the_package_it_says_how_to_get_it(
        self, which: Task[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASK_ADDRESS", "tcp://127.0.0.1:8786")
        monkeypatch.setattr(cluster, "find_spec", lambda _: None)
        away = Cluster(Dask(kind="dask", address_env="DASK_ADDRESS"), which.folder)
        with pytest.raises(ConfigError, match=r"pip install 'rocmonitor\[dask\]'"):
            away.run(which, None, caller())

    def test_a_certificate_that_is_not_there_is_named(
        self, which: Task[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DASK_ADDRESS", "tls://127.0.0.1:8786")
        files = {"ca_file": "ca.pem", "cert_file": "cert.pem", "key_file": "key.pem"}
        spec = Dask.model_validate({"kind": "dask", "address_env": "DASK_ADDRESS", "tls": files})
        with pytest.raises(
            ConfigError, match=r"executor\.tls\.ca_file: cannot read the file named there: No such file"
        ):
            Cluster(spec, which.folder).run(which, None, caller())


@pytest.mark.slow
class TestCluster:
    def test_a_tick_survives_a_worker_that_is_killed(
        self, two_weeks: World, dask: Cluster, address: str, tmp_path: Path
    ) -> None:
        class Killing(Cluster):
            done = 0

            def run(self, task: Task[Answer], source: Any, caller: Caller) -> Answer:
                self.done += 1
                if self.done == 2:
                    once: Any = KilledOnce(request=task.request, folder=tmp_path)
                    task = replace(task, request=once)
                return super().run(task, source, caller)

        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            monitor = runtime.config.monitors["credit"]
            expected = run_monitor(runtime, monitor, now=NOW, dry_run=True)
            killing = Killing(dask._spec, two_weeks.folder)
            with workers(address, 2):
                try:
                    tick = run_monitor(replace(runtime, executor=killing), monitor, now=NOW)
                finally:
                    killing.close()
            saved = store.evaluations(runtime.store, "credit")
        assert (tick.error, killing.done) == (None, 3)
        assert (tmp_path / "tries").exists()
        assert [each.revision for each in saved] == [0, 0]
        assert [each.metrics for each in saved] == [each.metrics for each in expected.evaluations]

    def test_secrets_are_those_of_the_worker(
        self, which: Task[int], dask: Cluster, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = os.environ["SCENARIO_SOURCE_URL"]
        monkeypatch.delenv("SCENARIO_SOURCE_URL")
        with workers(address, 1), pytest.raises(ConfigError, match=r"is not set.* \(on a Dask worker\)"):
            dask.run(which, None, caller())
        with workers(address, 1, SCENARIO_SOURCE_URL=url):
            assert isinstance(dask.run(which, None, caller()), int)

    def test_a_worker_of_another_version_is_refused(
        self, which: Task[int], dask: Cluster, address: str
    ) -> None:
        version = rocmonitor.__version__
        with (
            workers(address, 1, code=ANOTHER_VERSION),
            pytest.raises(
                ExecutorError, match=rf"a worker has rocmonitor 0\.0\.1, and this process {version}"
            ),
        ):
            dask.run(which, None, caller())

    def test_a_worker_without_rocmonitor_is_no_worker(
        self, which: Task[int], dask: Cluster, address: str
    ) -> None:
        asked = rf"(has no worker|could not do a task).* rocmonitor {rocmonitor.__version__}"
        with workers(address, 1, code=WITHOUT_US), pytest.raises(ExecutorError, match=asked):
            dask.run(which, None, caller())

    def test_a_task_that_kills_its_workers_is_given_up(
        self, which: Task[int], dask: Cluster, address: str
    ) -> None:
        deadly = replace(which, request=Deadly())
        with workers(address, 5), pytest.raises(ExecutorError, match="several Dask workers died"):
            dask.run(deadly, None, caller())

    def test_no_worker_at_all(self, which: Task[int], dask: Cluster) -> None:
        with pytest.raises(ExecutorError, match="the Dask cluster has no worker; start one"):
            dask.run(which, None, caller())

    def test_a_task_that_hangs_is_given_up(self, which: Task[int], dask: Cluster) -> None:
        with pytest.raises(ExecutorError, match="hangs"):
            dask.run(which, None, caller(is_hung=lambda: True))

    def test_a_stop_does_not_wait_for_the_queue_of_the_cluster(
        self, which: Task[int], dask: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cluster, "NO_WORKER_SECONDS", 60)
        monkeypatch.setattr(cluster, "STOP_SECONDS", 0.1)
        stop = threading.Event()

        def stopped_meanwhile() -> bool:
            stop.set()
            return False

        with pytest.raises(StoppedError):
            dask.run(which, None, caller(stop=stop, is_hung=stopped_meanwhile))

    def test_dask_logs_no_trace_of_what_our_errors_say(
        self, which: Task[int], address: str, dask: Cluster
    ) -> None:
        with workers(address, 1):
            dask.run(which, None, caller())
        names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
        assert "distributed.client" in names
        for name in names:
            assert not logging.getLogger(name).isEnabledFor(logging.ERROR), name

    def test_a_scheduler_that_is_lost_is_found_again(
        self, which: Task[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = Cluster(Dask(kind="dask", address_env="DASK_ADDRESS"), tmp_path)
        with scheduler() as address, workers(address, 1):
            monkeypatch.setenv("DASK_ADDRESS", address)
            made.run(which, None, caller())
            assert made.width == 1
        with pytest.raises(ExecutorError) as error:
            made.run(which, None, caller())
        assert error.value.transient
        with scheduler() as address, workers(address, 1):
            monkeypatch.setenv("DASK_ADDRESS", address)
            assert isinstance(made.run(which, None, caller()), int)
            made.close()

    def test_encrypted(self, which: Task[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = certificate(tmp_path)
        options = [f"--tls-ca-file={tmp_path}/cert.pem", f"--tls-cert={tmp_path}/cert.pem"]
        options += [f"--tls-key={tmp_path}/key.pem"]
        spec = Dask.model_validate({"kind": "dask", "address_env": "DASK_ADDRESS", "tls": files})
        made = Cluster(spec, tmp_path)
        with scheduler("--protocol=tls", *options) as address:
            assert address.startswith("tls://")
            monkeypatch.setenv("DASK_ADDRESS", address)
            with workers(address, 1, *options):
                assert isinstance(made.run(which, None, caller()), int)
            made.close()
            monkeypatch.setenv("DASK_ADDRESS", address.replace("tls", "tcp"))
            with pytest.raises(ConfigError, match=r"must hold an address such as tls://scheduler:8786, for"):
                made.run(which, None, caller())


def test_the_configuration_chooses_it(here: World) -> None:
    known = here.configure()
    with_dask(here)
    changed = known.model_copy(update={"executor": Dask(kind="dask", address_env="DASK_ADDRESS")})
    with open_executor(changed) as executor:
        assert isinstance(executor, Cluster)
