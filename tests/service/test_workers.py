from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tasks
from scenario import World, until, week
from tasks import Outside, caller

import rocmonitor
from rocmonitor import store
from rocmonitor.config import Config, Database
from rocmonitor.config import Processes as Workers
from rocmonitor.errors import ConfigError, ExecutorError, RocmonitorError, SourceError
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.windows import Window
from rocmonitor.service.once import run_once
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.service.workers import InProcess, StoppedError, Task, open_executor
from rocmonitor.service.workers.processes import ProcessPool
from rocmonitor.service.workers.task import perform, unpacked
from rocmonitor.sources import open_source

NOW = week(30)
EVERY_RULE = (
    "[{kind: forecast}, {kind: drop, value: 0.02}, {kind: challenger}, {kind: cost, w: 0.2, value: 0.35}, "
    "{kind: lasting}, {kind: scores}, {kind: outlook}]"
)


def judged(runtime: Runtime) -> Tick:
    tick = run_monitor(runtime, runtime.config.monitors["credit"], now=NOW)
    assert tick.error is None
    return tick


def plain(evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in each.to_dict().items() if name != "evaluated_at"}
        for each in evaluations
    ]


def with_workers(known: Config, workers: int) -> Config:
    return known.model_copy(update={"executor": Workers(workers=workers)})


@pytest.fixture
def outside() -> Iterator[Outside]:
    made = Outside()
    yield made
    made.close()


@pytest.fixture
def which(here: World) -> Task[int]:
    """A task for the source of a world: which process does it?"""
    spec = Database(url_env="SCENARIO_SOURCE_URL")
    return Task(name="here", spec=spec, folder=here.folder, request=tasks.Which())


class TestTicks:
    @pytest.mark.slow
    def test_another_process_gives_the_same_evaluations(self, two_weeks: World, outside: Outside) -> None:
        two_weeks.score(20, n=60, shift=0.1, region="north")
        changes = {
            "window": until("2026-06-08"),
            "segments": "[region]",
            "rules": EVERY_RULE,
            "outlook": "{after: 1d}",
        }
        with two_weeks.runtime(NOW, **changes) as runtime:
            here = judged(runtime)
        (two_weeks.folder / "rocmonitor.db").unlink()
        with two_weeks.runtime(NOW, **changes) as runtime:
            there = judged(replace(runtime, executor=outside))
        assert outside.tasks == 4  # the reference, the rows of both windows, and each window
        assert plain(there.evaluations) == plain(here.evaluations)
        assert len(here.evaluations) == 5  # north has rows in one week
        assert there.status == here.status

    @pytest.mark.slow
    def test_what_the_store_has_of_the_reference_is_sent_along(
        self, two_weeks: World, outside: Outside
    ) -> None:
        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            judged(runtime)
        # Another level makes another reference, of the same rows.
        with two_weeks.runtime(NOW, rules="[{kind: forecast, confidence_level: 0.9}]") as runtime:
            runtime = replace(runtime, executor=outside)
            tick = run_monitor(
                runtime,
                runtime.config.monitors["credit"],
                now=NOW,
                windows=[Window(week(20), week(21))],
                again=True,
            )
        assert tick.error is None
        assert tick.judged == 1
        stored = pickle.loads(outside.packed[0]).request.stored
        assert type(stored) is dict
        assert [len(parts) for parts in stored.values()] == [1] * 20

    @pytest.mark.slow
    def test_windows_whose_process_is_killed_are_judged_once(
        self, two_weeks: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            expected = judged(runtime)
        (two_weeks.folder / "rocmonitor.db").unlink()
        killing = Outside(killed=tmp_path / "killed")
        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            try:
                tick = judged(replace(runtime, executor=killing))
            finally:
                killing.close()
            saved = store.evaluations(runtime.store, "credit")
            deliveries = store.backlog(runtime.store)["mlflow"]
        assert killing.tasks == 4
        assert caplog.text.count("another does it again") == 4
        assert plain(saved) == plain(tick.evaluations) == plain(expected.evaluations)
        assert [each.revision for each in saved] == [0, 0]
        assert deliveries.waiting == 2

    def test_a_tick_that_is_stopped_says_nothing_of_it(self, two_weeks: World, outside: Outside) -> None:
        with two_weeks.runtime(NOW) as runtime:

            def stop(_: str) -> None:
                runtime.stop.set()

            runtime = replace(runtime, executor=outside)
            monitor = runtime.config.monitors["credit"]
            tick = run_monitor(runtime, monitor, now=NOW, progress=stop)
            assert store.evaluations(runtime.store, "credit") == []
        assert tick.error is None
        assert tick.status == {"": Status.OK}
        assert outside.pids() == []

    @pytest.mark.slow
    def test_a_source_that_fails_there_fails_the_tick(
        self, two_weeks: World, outside: Outside, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with two_weeks.runtime(NOW) as runtime:

            def lose(_: str) -> None:  # before the process is started, which then has nothing to open
                monkeypatch.delenv("SCENARIO_SOURCE_URL", raising=False)

            runtime = replace(runtime, executor=outside)
            tick = run_monitor(runtime, runtime.config.monitors["credit"], now=NOW, progress=lose)
        assert isinstance(tick.error, ConfigError)
        assert "SCENARIO_SOURCE_URL is not set" in str(tick.error)


class TestSecrets:
    @pytest.mark.slow
    def test_no_task_holds_the_address_of_a_source(self, two_weeks: World, outside: Outside) -> None:
        with two_weeks.runtime(NOW, window=until("2026-06-08")) as runtime:
            judged(replace(runtime, executor=outside))
        assert len(outside.packed) == 4
        for packed in outside.packed:
            assert b"SCENARIO_SOURCE_URL" in packed
            assert b"sqlite:" not in packed
            assert b"source.db" not in packed

    def test_no_task_holds_what_a_file_holds(self, here: World, tmp_path: Path) -> None:
        (tmp_path / "url").write_text("postgresql://me:a-secret@localhost/none")
        task = Task(name="dwh", spec=Database(url_file="url"), folder=tmp_path, request=tasks.Which())
        assert b"a-secret" not in task.packed()

    def test_an_error_that_is_not_foreseen_says_no_password(self, which: Task[int]) -> None:
        answer = perform(rocmonitor.__version__, replace(which, request=tasks.Wrong()).packed())
        assert b"a-secret" not in answer
        with pytest.raises(RocmonitorError, match="unforeseen KeyError"):
            unpacked(answer)


class TestPerform:
    def test_another_version_says_so_and_does_nothing(self, which: Task[int]) -> None:
        with pytest.raises(ExecutorError, match=r"rocmonitor .*, and this one 0\.0\.1: .*start") as error:
            unpacked(perform("0.0.1", b"what only 0.0.1 can read"))
        assert not error.value.transient

    def test_errors_come_back_as_they_are(self) -> None:
        for error in (SourceError("a", transient=False), ConfigError("b"), ExecutorError("c")):
            again = pickle.loads(pickle.dumps(error))
            assert (type(again), str(again)) == (type(error), str(error))
            assert getattr(again, "transient", None) == getattr(error, "transient", None)


class TestProcesses:
    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows")
    def test_one_that_is_just_starting_is_not_ended_by_the_signals_of_the_group(
        self, which: Task[int], capfd: pytest.CaptureFixture[str]
    ) -> None:
        outside, found = Outside(), list[int]()
        asking = threading.Thread(
            target=lambda: found.append(outside.run(which, None, caller())), daemon=True
        )
        asking.start()
        try:
            while not outside.pids():
                asking.join(0.001)
            for number in (signal.SIGINT, signal.SIGTERM):
                os.kill(outside.pids()[0], number)
            asking.join()
            assert found == outside.pids()
        finally:
            outside.close()
        assert "Traceback" not in capfd.readouterr().err

    def test_one_monitor_starts_none(self, two_weeks: World) -> None:
        with two_weeks.runtime(NOW) as runtime, open_executor(with_workers(runtime.config, 2)) as executor:
            runtime = replace(runtime, executor=executor)
            call = partial(run_monitor, runtime, runtime.config.monitors["credit"], now=NOW)
            [tick], _ = run_once(runtime, {"credit": call}, deliver=False)
            assert tick.judged
            assert isinstance(executor, ProcessPool)
            assert executor.pids() == []

    @pytest.mark.slow
    def test_some_are_started_when_tasks_have_waited(self, which: Task[int], here: World) -> None:
        processes, begun, go_on = ProcessPool(2, start_after=0.2), threading.Event(), threading.Event()

        class Slow(tasks.Which):
            def run(self, source: Any, said: Any) -> int:
                begun.set()
                go_on.wait()
                return os.getpid()

        first = threading.Thread(
            target=processes.run, args=(replace(which, request=Slow()), None, caller()), daemon=True
        )
        first.start()
        begun.wait()
        try:
            pid = processes.run(which, None, caller())
            assert processes.pids() == [pid]  # that one waited, and got a process
            go_on.set()
            first.join()
            assert processes.run(which, None, caller()) == pid  # which is there now
        finally:
            go_on.set()
            processes.close()
        assert processes.pids() == []

    @pytest.mark.slow
    def test_a_task_for_which_nobody_is_free_is_done_here(self, which: Task[int], tmp_path: Path) -> None:
        processes = Outside(most=1)
        hung = threading.Event()
        endless = replace(which, request=tasks.Endless(begun=tmp_path / "begun"))
        ended: list[Exception] = []

        def hang() -> None:
            try:
                processes.run(endless, None, caller(is_hung=hung.is_set))
            except ExecutorError as error:
                ended.append(error)

        thread = threading.Thread(target=hang, daemon=True)
        thread.start()
        try:
            while not processes.pids():
                thread.join(0.01)
            assert processes.run(which, None, caller()) == os.getpid()
            hung.set()
            thread.join()
            assert "hangs; it was ended" in str(ended[0])
            assert processes.pids() == []
        finally:
            processes.close()

    @pytest.mark.slow
    def test_a_task_that_ends_every_process_is_given_up(self, which: Task[int], outside: Outside) -> None:
        deadly = replace(which, request=tasks.Deadly())
        with pytest.raises(ExecutorError, match=r"3 processes ended while they read sources\.here; .*lower"):
            outside.run(deadly, None, caller())
        assert outside.pids() == []
        assert isinstance(outside.run(which, None, caller()), int)

    @pytest.mark.slow
    def test_an_idle_one_is_ended(self, which: Task[int], here: World) -> None:
        processes = ProcessPool(1, start_after=0.0, idle=0.05)
        processes._here = 1
        try:
            first = processes.run(which, None, caller())
            while processes.pids():
                threading.Event().wait(0.01)
            assert processes.run(which, None, caller()) not in (first, os.getpid())
            while processes.pids():
                threading.Event().wait(0.01)
            processes._here = 0
            assert processes.run(which, None, caller()) == os.getpid()  # alone again
        finally:
            processes.close()

    def test_a_stop_is_heeded_before_a_task_begins(self, which: Task[int], outside: Outside) -> None:
        stop = threading.Event()
        stop.set()
        with pytest.raises(StoppedError):
            outside.run(which, None, caller(stop=stop))

    @pytest.mark.slow
    def test_a_caller_that_gives_up_ends_the_process(
        self, which: Task[int], outside: Outside, tmp_path: Path
    ) -> None:
        endless = replace(which, request=tasks.Endless(begun=tmp_path / "begun"))
        with pytest.raises(ExecutorError, match="hangs; it was ended"):
            outside.run(endless, None, caller(is_hung=(tmp_path / "begun").exists))
        assert outside.pids() == []

    @pytest.mark.slow
    def test_one_that_dies_takes_no_other_along(self, which: Task[int], tmp_path: Path) -> None:
        processes, hung = Outside(most=2), threading.Event()
        endless = replace(which, request=tasks.Endless(begun=tmp_path / "begun"))
        ended: list[Exception] = []

        def hang() -> None:
            try:
                processes.run(endless, None, caller(is_hung=hung.is_set))
            except ExecutorError as error:
                ended.append(error)

        thread = threading.Thread(target=hang, daemon=True)
        thread.start()
        try:
            while not (tmp_path / "begun").exists():
                thread.join(0.01)
            [at_work] = processes.pids()
            with pytest.raises(ExecutorError, match="3 processes ended"):
                processes.run(replace(which, request=tasks.Deadly()), None, caller())
            assert processes.pids() == [at_work]
            assert ended == []
        finally:
            hung.set()
            thread.join()
            processes.close()

    def test_one_worker_is_this_process(self, here: World) -> None:
        with open_executor(with_workers(here.configure(), 1)) as executor:
            assert isinstance(executor, InProcess)
            assert executor.width == 1


@pytest.mark.slow
def test_a_request_is_done_the_same_twice(two_weeks: World, outside: Outside) -> None:
    with two_weeks.runtime(NOW) as runtime:
        judged(replace(runtime, executor=outside))
        config = runtime.config
        with open_source(config.sources["here"], config.folder, name="here") as source:
            for packed in outside.packed:
                task = pickle.loads(packed)
                answers = [task.request.run(source, lambda _: None) for _ in range(2)]
                assert pickle.dumps(replace_seconds(answers[0])) == pickle.dumps(replace_seconds(answers[1]))


def replace_seconds(answer: Any) -> Any:
    return replace(answer, seconds=0.0) if hasattr(answer, "seconds") else answer


def processes_of(parent: int) -> list[int]:
    """Those that a process has started and that live."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            after_name = status.read_text().rpartition(")")[2].split()
            if int(after_name[1]) == parent and after_name[0] != "Z":
                found.append(int(status.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_one_that_asks(
    which: Task[int], number: signal.Signals, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    code = f"""
import pickle, sys, threading
sys.path[:0] = {sys.path!r}
from pathlib import Path
from dataclasses import replace
from tasks import Endless, Outside, caller
task = pickle.loads({which.packed()!r})
if __name__ == "__main__":
    Outside().run(replace(task, request=Endless(begun=Path({str(begun)!r}))), None, caller())
"""
    (tmp_path / "asks.py").write_text(code)
    asking = subprocess.Popen([sys.executable, str(tmp_path / "asks.py")])
    try:
        while not begun.exists():
            assert asking.poll() is None
            with suppress(subprocess.TimeoutExpired):
                asking.wait(0.05)
        left = processes_of(asking.pid)
        assert left
        asking.send_signal(number)
        asking.wait()
        while any(Path(f"/proc/{pid}").exists() for pid in left):
            os.sched_yield()
    finally:
        asking.kill()
