"""The outbox, on a real MLflow server and a real web hook: what is down delays and loses nothing."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from mlflow import MlflowClient
from scenario import Clock, World, week
from servers import MlflowServer
from sinks import HttpSink

from rocmonitor import store
from rocmonitor.service import delivery
from rocmonitor.service.delivery import (
    FIRST_RETRY,
    LONGEST_RETRY,
    MOST_HANGING,
    Deliveries,
    Patience,
    drain,
)
from rocmonitor.service.leases import hold_lease
from rocmonitor.service.once import run_once
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.versions import version
from rocmonitor.wording.window import moved, moved_briefly

NOW = week(30)


@pytest.fixture
def here(here: World) -> World:
    here.score(20)
    here.score(21, shift=0.2)
    return here


def judge(runtime: Runtime) -> None:
    windows = runtime.config.monitors["credit"].calendar.within(week(20), week(22))
    tick = run_monitor(runtime, runtime.config.monitors["credit"], now=NOW, windows=windows)
    assert tick.error is None


def outside(server: MlflowServer | None = None, sink: HttpSink | None = None) -> dict[str, str]:
    """Parts of the configuration that name the servers."""
    parts = {}
    if server is not None:
        parts["mlflow"] = f"{{tracking_uri: '{server.uri}'}}"
    if sink is not None:
        parts |= {"channels": f"{{hook: {{url: '{sink.url}'}}}}", "notify": "[hook]"}
    return parts


def runs(server: MlflowServer, here: World) -> list:
    """The runs of this store, whose experiment it may share with other tests."""
    client = MlflowClient(server.uri)
    found = client.get_experiment_by_name("rocmonitor/credit")
    with here.runtime() as runtime:
        instance = store.instance_id(runtime.store)
    everything = client.search_runs([found.experiment_id]) if found else []
    return [run for run in everything if run.data.tags["rocmonitor.key"].startswith(instance)]


def test_each_delivery_shows_that_the_outbox_moves(here):
    """A long delivery is no hung one: it was warned of after two minutes, and given up after ten."""
    passed, silences = [0.0], list[timedelta]()

    def step(_: object) -> None:
        """Let time pass, and wait for the report that the delivery moves."""
        passed[0] += 90.0
        for _ in range(500):
            [work] = runtime.work.current()
            if not work.silence:
                break
            threading.Event().wait(0.01)
        silences.append(work.silence)

    with here.runtime(NOW) as runtime:
        runtime.work.elapsed = lambda: passed[0]
        tick = partial(run_monitor, runtime, runtime.config.monitors["credit"], now=NOW)
        run_once(runtime, {"credit": tick}, deliver=True, progress=step)
    assert len(silences) > 1
    assert not any(silences)


def test_a_window_is_told_once_however_often_it_is_run(here, mlflow_server, http_sink):
    for _ in range(2):
        with here.runtime(NOW, **outside(mlflow_server, http_sink)) as runtime:
            judge(runtime)
            drain(runtime)
    by_kind = sorted(run.data.tags["rocmonitor.kind"] for run in runs(mlflow_server, here))
    assert by_kind == ["series", "window", "window"]
    assert len(http_sink.requests) == 1
    assert http_sink.titles[0].startswith("DEGRADED credit")


@pytest.mark.slow
def test_an_alarm_is_explained_in_the_store_in_mlflow_and_in_the_message(here):
    with here.runtime(NOW) as runtime:
        judge(runtime)
        drain(runtime)
        kept = {each.window.start: each for each in store.evaluations(runtime.store, "credit")}
    fine, bad = kept[week(20)], kept[week(21)]
    assert "shift" not in fine.tables
    change = bad.metrics["champion/auc"] - bad.metrics["reference/auc"]
    told = sum(row["pos_contribution"] + row["neg_contribution"] for row in bad.tables["shift"])
    assert told == pytest.approx(change, abs=5e-5)
    assert bad.metrics["shift/from_positives"] < 0.7 * change  # it is they that have moved
    assert moved(bad).startswith(f"The AUROC fell by {-change:.3f}, from ")
    assert f"\nWhat moved: {moved_briefly(bad)}\n" in here.alarms

    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("rocmonitor/credit").experiment_id
    pages = {}
    for run in client.search_runs([experiment], "tags.`rocmonitor.kind` = 'window'"):
        files = {file.path for file in client.list_artifacts(run.info.run_id)}
        pages[run.data.tags["rocmonitor.outcome"]] = "window.html" in files
        if "window.html" in files:
            table = client.download_artifacts(run.info.run_id, "tables/shift.json", str(here.folder))
            assert json.loads(Path(table).read_text()) == bad.tables["shift"]
            assert "**What moved.** The AUROC fell by" in run.data.tags["mlflow.note.content"]
            assert run.data.metrics["shift/similarity"] == bad.metrics["shift/similarity"]
    assert pages == {"ok": False, "degraded": True}  # a window without an alarm is in one small file


@pytest.mark.slow
def test_an_alarm_says_whose_it_is_what_to_do_and_where_to_look(here):
    parts = {
        "channels": '{log: {url: "file://alarms.log"}}\npage: https://mlflow.example/rocmonitor/',
        "notify": "[log]\n    owner: Ana Ruiz\n    runbook: https://wiki.example/credit",
    }
    with here.runtime(NOW, **parts) as runtime:
        judge(runtime)
        drain(runtime)
    title, first, since, *_ = here.alarms.splitlines()
    assert title.startswith("DEGRADED credit: AUROC 0.")
    assert re.fullmatch(r"AUROC 0\.\d\d, normal range 0\.\d\d to 0\.\d\d\.", first)
    assert since == "Degraded since 2026-06-01 (UTC)."
    assert "\nOwner: Ana Ruiz. Take it on: rocmonitor acknowledge credit (event " in here.alarms
    for line in (
        "Runbook: https://wiki.example/credit",
        "Page: https://mlflow.example/rocmonitor/monitors/credit",
    ):
        assert line in here.alarms.splitlines()


@pytest.mark.slow
def test_mlflow_down_delays_neither_the_evaluation_nor_the_alarm(here, mlflow_server, http_sink):
    mlflow_server.stop()
    clock = Clock(NOW)
    with here.runtime(clock, **outside(mlflow_server, http_sink)) as runtime:
        judge(runtime)
        first = drain(runtime)
        assert list(first.failed) == ["mlflow"]
        assert len(http_sink.requests) == 1
        assert runs_wait(runtime) == 2
        mlflow_server.start()
        assert drain(runtime).sent == 0  # not before its time
        clock.now += FIRST_RETRY
        second = drain(runtime)
        assert (second.sent, second.failed) == (2, {})
        assert runs_wait(runtime) == 0
    assert len(runs(mlflow_server, here)) == 3


@pytest.fixture
def silent_mlflow() -> Iterator[str]:
    """A tracking server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"{{tracking_uri: 'http://127.0.0.1:{server.getsockname()[1]}'}}"


@pytest.mark.slow
def test_an_mlflow_that_hangs_delays_no_alarm_and_no_end(here, silent_mlflow, http_sink):
    parts = outside(sink=http_sink) | {"mlflow": silent_mlflow}
    with here.runtime(NOW, **parts) as runtime:
        judge(runtime)
        deliveries = Deliveries(runtime, patience=Patience(after_stop=0))
        alarms, runs = deliveries.start()
        alarms.join()
        assert len(http_sink.requests) == 1
        assert runs.is_alive()
        assert deliveries.start() == []  # nothing else is due, and MLflow has its worker
        runtime.stop.set()
        runs.join()
        assert (runs.done.sent, runs.done.failed, runs.error) == (0, {}, None)
        assert store.backlog(runtime.store)["mlflow"].error is None
        with hold_lease(runtime, "outbox:mlflow") as lease:
            assert lease is not None  # given back


@pytest.mark.slow
def test_alarms_go_first_unless_their_channel_hangs(here, http_sink, monkeypatch):
    monkeypatch.setattr(delivery, "ALARMS_FIRST_SECONDS", 0.1)
    http_sink.hang()
    with here.runtime(NOW, **patient(http_sink)) as runtime:
        judge(runtime)
        alarms, runs = Deliveries(runtime).start()
        runs.join()
        assert alarms.is_alive()
        assert list(runs.done.refused) == ["mlflow"]
        http_sink.resume()
        alarms.join()
        assert alarms.done.sent == 1


def patient(sink: HttpSink) -> dict[str, str]:
    """A channel whose own time limits are long, and an MLflow that refuses everything at once."""
    return {
        "channels": f"{{hook: {{url: '{sink.url}?rto=30'}}}}",
        "notify": "[hook]",
        "mlflow": "{tracking_uri: 'foo://x'}",
    }


@pytest.mark.slow
def test_what_takes_too_long_has_failed_unless_it_arrives_after_all(here, http_sink):
    http_sink.hang()
    with here.runtime(NOW, **patient(http_sink)) as runtime:
        judge(runtime)
        deliveries = Deliveries(runtime, patience=Patience(channel=0.1))
        worker = deliveries.start()[0]
        worker.join()
        assert "took longer than 0.1 seconds" in worker.done.failed["channel:hook"]
        assert store.backlog(runtime.store)["channel:hook"].waiting == 1
        http_sink.resume()
        [late] = deliveries.hanging["channel:hook"]
        late.join()
        assert "channel:hook" not in store.backlog(runtime.store)
        deliveries.wait()
    assert len(http_sink.requests) == 1


@pytest.mark.slow
def test_a_destination_is_not_asked_while_too_many_deliveries_hang(here, http_sink):
    http_sink.hang()
    clock = Clock(NOW)
    with here.runtime(clock, **patient(http_sink)) as runtime:
        judge(runtime)
        deliveries = Deliveries(runtime, patience=Patience(channel=0.1))
        for _ in range(MOST_HANGING + 1):
            worker = deliveries.start()[0]
            worker.join()
            clock.now += LONGEST_RETRY
        assert "3 earlier deliveries still hang" in worker.done.failed["channel:hook"]
        http_sink.resume()
        for send in deliveries.hanging["channel:hook"]:
            send.join()
    assert len(http_sink.requests) == MOST_HANGING
    assert len({request.content["message"].splitlines()[-1] for request in http_sink.requests}) == 1


@pytest.mark.slow
def test_a_repeat_of_what_was_not_answered_says_so_and_one_of_what_was_refused_does_not(here, http_sink):
    clock = Clock(NOW)
    parts = patient(http_sink) | {"channels": f"{{hook: {{url: '{http_sink.url}?rto=0.2'}}}}"}
    with here.runtime(clock, **parts) as runtime:
        judge(runtime)
        http_sink.hang()
        assert "timed out" in drain(runtime).failed["channel:hook"]
        http_sink.resume()
        for status in (500, 200):
            http_sink.status = status
            clock.now += LONGEST_RETRY
            drain(runtime)
    sent = [request.content for request in http_sink.requests]
    first, *others = (each["message"] for each in sent if each["title"].startswith("DEGRADED"))
    assert len(others) == 2
    assert "already" not in first
    for other in others:
        lines = other.splitlines()
        assert lines.pop(1) == "You may have this message already: it was sent 1 time without an answer."
        assert lines == first.splitlines()


def test_what_waits_for_mlflow_is_delivered_once_it_answers(here, mlflow_server, closed_port):
    clock = Clock(NOW)
    with here.runtime(clock, mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}") as runtime:
        judge(runtime)
        assert list(drain(runtime).failed) == ["mlflow"]
    client = MlflowClient(mlflow_server.uri, registry_uri=mlflow_server.uri)
    client.create_registered_model("answers")
    client.create_model_version("answers", "s3://nowhere/model")
    client.set_registered_model_alias("answers", "champion", "1")
    model = "{name: answers, champion: champion, challenger_version: 8}"
    with here.runtime(clock, model=model, **outside(mlflow_server)) as runtime:
        assert drain(runtime).sent == 0  # not before its time
        assert version(runtime, runtime.config.monitors["credit"], "champion") == ("1", ())
        assert drain(runtime).sent == 2


def runs_wait(runtime: Runtime) -> int:
    return store.outbox_summary(runtime.store).waiting


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "asks", "pause"),
    [(429, "90", 90), (503, "7200", 3600), (429, None, 10), (429, "2", 10), (429, "soon", 10)],
)
def test_a_channel_that_asks_to_be_tried_later_is_and_has_not_failed_until_then(
    here, http_sink, status, asks, pause
):
    http_sink.status, http_sink.retry_after = status, asks
    clock = Clock(NOW)
    with here.runtime(clock, **outside(sink=http_sink)) as runtime:
        judge(runtime)
        assert str(status) in drain(runtime, tolerance=timedelta()).failed["channel:hook"]
        assert store.open_outages(runtime.store) == []
        clock.now += timedelta(seconds=pause - 1)
        assert store.destinations_due(runtime.store, clock.now) == []
        clock.now += timedelta(seconds=1)
        drain(runtime, tolerance=timedelta())  # asks once more: now it is said
        [outage] = store.open_outages(runtime.store)
        assert outage.place == "channel:hook"
        http_sink.status = 200
        clock.now += timedelta(hours=1)
        assert drain(runtime).failed == {}
        assert store.open_outages(runtime.store) == []


@pytest.mark.slow
def test_a_failing_channel_is_tried_again_with_growing_pauses(here, http_sink):
    http_sink.status = 500
    clock = Clock(NOW)
    with here.runtime(clock, **outside(sink=http_sink)) as runtime:
        judge(runtime)
        pauses = []
        for _ in range(12):
            failed = drain(runtime).failed
            assert list(failed) == ["channel:hook"]
            before = clock.now
            while not store.pending(runtime.store, clock.now):
                clock.now += FIRST_RETRY
            pauses.append(clock.now - before)
        assert pauses[:3] == [FIRST_RETRY, 2 * FIRST_RETRY, 4 * FIRST_RETRY]
        assert pauses[-1] == LONGEST_RETRY
        http_sink.status = 200
        assert drain(runtime).failed == {}
    events = {request.content["message"].splitlines()[-1] for request in http_sink.requests}
    assert len(events) == 1  # always the same event


@pytest.mark.slow
def test_what_is_refused_is_seen_ends_the_pass_and_arrives_once_it_is_mended(here, http_sink, monkeypatch):
    here.score(22)
    here.score(23, shift=0.2)
    monkeypatch.setenv("HOOK_URL", "nosuch://x")
    parts = {
        "channels": "{hook: {url_env: HOOK_URL}}",
        "notify": "[hook]",
        "mlflow": "{tracking_uri: 'foo://x'}",
    }
    clock = Clock(NOW)
    with here.runtime(clock, **parts) as runtime:
        windows = runtime.config.monitors["credit"].calendar.within(week(20), week(24))
        run_monitor(runtime, runtime.config.monitors["credit"], now=NOW, windows=windows)
        done = drain(runtime)
        assert sorted(done.refused) == ["channel:hook", "mlflow"]
        summary = store.outbox_summary(runtime.store)
        # Four windows, three changes of status, and that MLflow fails.
        assert (summary.waiting, summary.refused) == (8, 8)
        assert drain(runtime).refused == {}  # not before its time
        clock.now += LONGEST_RETRY
        assert drain(runtime).refused == {}
    monkeypatch.setenv("HOOK_URL", http_sink.url)
    with here.runtime(clock, **{**parts, "mlflow": "{}"}) as runtime:
        store.retry_now(runtime.store)  # as a start of the service does
        assert drain(runtime).sent >= 8
        assert store.outbox_summary(runtime.store).waiting == 0
    about = [title.split()[0] for title in http_sink.titles if title.split()[1].startswith("credit")]
    assert about == ["DEGRADED", "OK", "DEGRADED"]


@pytest.mark.slow
def test_a_crash_between_sending_and_marking_sends_the_same_event_again(here, http_sink, monkeypatch):
    parts = outside(sink=http_sink)
    clock = Clock(NOW)
    with here.runtime(clock, **parts) as runtime:
        judge(runtime)
        with monkeypatch.context() as patch:
            patch.setattr(store, "mark_delivered", _crash)
            with pytest.raises(KeyboardInterrupt):
                drain(runtime)
        clock.now += timedelta(hours=1)
        drain(runtime)
    messages = [request.content["message"] for request in http_sink.requests]
    assert len({message.splitlines()[-1] for message in messages}) == 1


def _crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_only_one_process_delivers_to_a_destination_at_a_time(here):
    with here.runtime(NOW) as runtime:
        judge(runtime)
        with hold_lease(runtime, "outbox:mlflow") as lease:
            assert lease is not None
            with here.runtime(NOW) as other:
                done = drain(other)
        assert (done.busy, done.sent) == (True, 1)  # the alarm went out


@pytest.mark.slow
def test_late_labels_supersede_the_run_of_before(here, mlflow_server):
    here.score(22, labelled=0.8)
    with here.runtime(NOW, **outside(mlflow_server)) as runtime:
        monitor = runtime.config.monitors["credit"]
        windows = monitor.calendar.within(week(22), week(23))
        run_monitor(runtime, monitor, now=week(24), windows=windows)
        drain(runtime)
        here.label_late(22)
        run_monitor(runtime, monitor, now=week(25), windows=windows)
        drain(runtime)
    states = {
        (run.data.tags["rocmonitor.kind"], run.data.tags.get("rocmonitor.revision")): run.data.tags[
            "rocmonitor.state"
        ]
        for run in sorted(
            runs(mlflow_server, here), key=lambda run: run.data.tags["rocmonitor.state"], reverse=True
        )
    }
    assert states == {("window", "0"): "superseded", ("window", "1"): "final", ("series", None): "final"}
