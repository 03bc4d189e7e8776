"""Failures: one message for all monitors that fail for one reason, after a while, on a channel that works."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from scenario import Clock, World, runtime_of, week
from sinks import HttpSink

from rocmonitor import store
from rocmonitor.errors import DegenerateDataError, SourceError, StoreError, TrackingError
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.outages import Notice
from rocmonitor.service.delivery import drain
from rocmonitor.service.outages import StoreWatch, note_delivery, note_review, note_tick, notify
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.scheduler import _review, scheduled
from rocmonitor.service.tick import run_monitor

NOW = week(20)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
DOWN = SourceError("sources.here: the database cannot be reached")
NO_MLFLOW = "{tracking_uri: 'foo://x'}"


@pytest.fixture
def three(here: World) -> Callable[..., Runtime]:
    """A configuration with three monitors: two on channel log, one of them also on other, one on none."""
    here.configure(
        channels='{log: {url: "file://alarms.log"}, other: {url: "file://other.log"}}',
        notify="[log]\n    owner: Ana Ruiz",
    )
    path = here.folder / "rocmonitor.yaml"
    text = path.read_text()
    block = text[text.index("  credit:\n") :]
    both = block.replace("  credit:", "  fraud:").replace("[log]", "[log, other]").replace("Ana Ruiz", "Bo")
    silent = block.replace("  credit:", "  silent:").replace("[log]", "[]")
    path.write_text(text + both + silent)
    return here


def opened(here: World, clock: Clock) -> Runtime:
    from rocmonitor import config

    known = config.load(here.folder / "rocmonitor.yaml")
    return runtime_of(known, store.open_store(known.store_url), clock)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def runtime(three: World, clock: Clock):
    made = opened(three, clock)
    with made.store:
        yield made


def waiting(runtime: Runtime) -> dict[str, list[Notice]]:
    """The messages in the outbox, by channel."""
    found: dict[str, list[Notice]] = {}
    for row in store.pending(runtime.store, runtime.clock()):
        found.setdefault(row.destination, []).append(Notice.from_dict(row.payload["outage"]))
        store.mark_delivered(runtime.store, row.id, runtime.clock())
    return found


def ticks(runtime: Runtime, error: SourceError | None, *names: str) -> None:
    for name in names or runtime.config.monitors:
        note_tick(runtime, runtime.config.monitors[name], error)


def test_a_review_that_fails_is_announced_and_ends_by_itself(runtime, clock):
    monitors = runtime.config.monitors
    lasting = SourceError("sources.here: no table scored", transient=False)
    note_review(runtime, monitors["credit"], DegenerateDataError("no window is due"))
    note_review(runtime, monitors["credit"], StoreError("another process is reviewing it"))
    assert store.open_outages(runtime.store) == []
    note_review(runtime, monitors["credit"], lasting)
    note_review(runtime, monitors["fraud"], lasting)
    clock.now += 3 * MINUTE
    assert notify(runtime) == 1
    found = waiting(runtime)
    assert found["channel:log"][0].unreviewed == ["credit", "fraud"]
    assert found["channel:other"][0].unreviewed == ["fraud"]
    ticks(runtime, None)  # they can be judged all the same
    assert notify(runtime) == 0
    for name in ("credit", "fraud"):
        note_review(runtime, monitors[name], None)
    clock.now += 3 * MINUTE
    assert notify(runtime) == 1
    assert {each.phase for rows in waiting(runtime).values() for each in rows} == {"ended"}
    assert store.open_outages(runtime.store) == []


def test_the_review_of_a_service_notes_how_it_went(here, clock):
    """What is missing for a review is an outage of its own; one by hand that works ends it."""
    with here.runtime(clock, model="{name: credit, champion: gone, challenger_version: 8}") as made:
        scheduler = scheduled(made)
        _review(scheduler, made, made.config.monitors["credit"])
        [outage] = store.open_outages(made.store)
        assert (outage.reviews, outage.monitors, outage.place) == (["credit"], [], "mlflow")
        assert "credit" in outage.error


@pytest.mark.slow
def test_a_row_that_cannot_be_read_is_announced(here, http_sink: HttpSink):
    here.score(20)
    here.score(21, shift=0.2)
    clock = Clock(week(22) + 2 * DAY)
    channels = f"{{hook: {{url: '{http_sink.url}'}}, log: {{url: 'file://alarms.log'}}}}"
    with here.runtime(clock, channels=channels, notify="[hook, log]", mlflow=NO_MLFLOW) as made:
        run_monitor(made, made.config.monitors["credit"], now=clock.now)
        with made.store.writing() as connection:
            broken = "UPDATE rocmonitor_outbox SET payload = '{' WHERE destination = 'channel:hook'"
            assert connection.exec_driver_sql(broken).rowcount == 1
        for _ in range(2):
            assert "unforeseen JSONDecodeError" in drain(made).failed["channel:hook"]
            clock.now += 31 * MINUTE
        assert "channel:hook" in [outage.place for outage in store.open_outages(made.store)]
    assert "ERROR channel hook: " in here.alarms


def test_a_blip_is_no_news(runtime, clock):
    ticks(runtime, DOWN)
    clock.now += 4 * MINUTE
    assert notify(runtime) == 0
    ticks(runtime, None)
    clock.now += 10 * MINUTE
    assert notify(runtime) == 0
    assert store.open_outages(runtime.store) == []
    assert waiting(runtime) == {}


def test_an_outage_is_one_message_then_one_a_day_then_one_that_it_is_over(runtime, clock):
    ticks(runtime, DOWN)
    clock.now += 5 * MINUTE
    assert notify(runtime) == 1
    assert notify(runtime) == 0
    told = waiting(runtime)
    assert {channel: [each.unjudged for each in notices] for channel, notices in told.items()} == {
        "channel:log": [["credit", "fraud"]],
        "channel:other": [["fraud"]],
    }
    assert told["channel:log"][0].phase == "began"
    for phase in ("lasts", "lasts"):
        clock.now += DAY
        ticks(runtime, DOWN)
        assert notify(runtime) == 1
        assert [each.phase for each in waiting(runtime)["channel:log"]] == [phase]
    ticks(runtime, None, "credit", "fraud")
    assert notify(runtime) == 0  # one is left
    ticks(runtime, None, "silent")
    assert notify(runtime) == 1
    assert [each.phase for each in waiting(runtime)["channel:other"]] == ["ended"]
    assert store.open_outages(runtime.store) == []


def test_a_restart_neither_repeats_nor_forgets_and_two_processes_say_it_once(three, clock):
    with (first := opened(three, clock)).store:
        ticks(first, DOWN)
    clock.now += 31 * MINUTE
    with (second := opened(three, clock)).store, (third := opened(three, clock)).store:
        assert notify(second) + notify(third) == 1
        ticks(third, None)
        assert notify(third) + notify(second) == 1


def test_what_somebody_must_mend_does_not_wait_for_the_tolerance(runtime, clock):
    error = SourceError("sources.here: login failed", transient=False)
    ticks(runtime, error, "credit")
    assert notify(runtime) == 0  # others may fail for the same reason
    ticks(runtime, error, "fraud")
    assert notify(runtime, settled=True) == 1
    assert waiting(runtime)["channel:log"][0].unjudged == ["credit", "fraud"]


def test_who_is_muted_is_left_out_and_hears_of_it_afterwards(runtime, clock):
    for name in ("credit", "fraud"):
        store.mute(runtime.store, name, by="Ana", until=NOW + 2 * DAY)
    ticks(runtime, DOWN, "credit", "fraud")
    clock.now += DAY
    assert notify(runtime) == 0
    store.mute(runtime.store, "fraud", by=None, until=None)
    assert notify(runtime) == 1
    assert waiting(runtime)["channel:log"][0].unjudged == ["fraud"]


def test_nobody_to_tell_is_said_in_the_log(runtime, clock, caplog):
    ticks(runtime, DOWN, "silent")
    clock.now += 5 * MINUTE
    assert notify(runtime) == 1
    assert "no channel is left" in caplog.text
    assert waiting(runtime) == {}
    assert [outage.monitors for outage in store.open_outages(runtime.store)] == [["silent"]]  # for /health


def test_a_channel_that_fails_is_told_on_the_others(runtime, clock):
    note_delivery(runtime, "channel:log", TrackingError("timed out"))
    clock.now += 5 * MINUTE
    notify(runtime)
    [notice] = waiting(runtime)["channel:other"]
    assert (notice.outage.place, notice.concerned) == ("channel:log", ["fraud"])
    note_delivery(runtime, "channel:log", None)
    assert notify(runtime) == 1
    assert list(waiting(runtime)) == ["channel:other"]


def test_a_channel_that_a_message_is_stuck_in_does_not_work_yet(runtime, clock):
    ticks(runtime, DOWN, "credit")
    clock.now += 5 * MINUTE
    notify(runtime)
    [row] = store.pending(runtime.store, clock.now)
    store.mark_failed(runtime.store, row.id, clock.now, "400", clock.now, refused=True)
    note_delivery(runtime, "channel:log", SourceError("400", transient=False))
    note_delivery(runtime, "channel:log", None)  # another message has arrived
    assert [outage.place for outage in store.open_outages(runtime.store)] == ["source:here", "channel:log"]
    store.mark_delivered(runtime.store, row.id, clock.now)
    note_delivery(runtime, "channel:log", None)
    assert [outage.place for outage in store.open_outages(runtime.store)] == ["source:here"]


def test_an_mlflow_that_fails_is_told_on_every_channel(runtime, clock):
    note_delivery(runtime, "mlflow", TrackingError("no answer"))
    ticks(runtime, TrackingError("no answer"), "credit")  # its champion cannot be looked up
    clock.now += 5 * MINUTE
    assert notify(runtime) == 1
    told = waiting(runtime)
    assert sorted(told) == ["channel:log", "channel:other"]
    [notice] = told["channel:log"]
    assert (notice.unjudged, notice.concerned) == (["credit"], ["fraud"])


def test_a_store_that_fails_is_told_by_the_process_once_without_it(three, runtime, clock):
    watch = StoreWatch(runtime)
    told = [watch.note(StoreError("store x: disk is full"))]
    for _ in range(3):
        clock.now += 3 * MINUTE
        told.append(watch.note(StoreError("store x: disk is full")))
    assert [len(threads) for threads in told] == [0, 0, 2, 0]
    for thread in told[2]:
        thread.join()
    assert three.alarms.startswith("ERROR store: 2 monitors cannot be judged")
    clock.now += 24 * 60 * MINUTE
    for thread in watch.note(StoreError("store x: disk is full")):
        thread.join()
    assert "ERROR store: still failing after 24 hours" in three.alarms
    for thread in watch.note(None):
        thread.join()
    assert "RESOLVED store: works again after 24 hours" in three.alarms
    assert watch.note(None) == []
    assert watch.note(StoreError("again")) == []


def test_a_source_that_fails_is_told_by_the_runs_of_cron(here):
    here.score(20)
    clock = Clock(week(21) + 2 * DAY)
    gone, source = here.folder / "gone.db", here.folder / "source.db"
    parts = {"mlflow": NO_MLFLOW, "notify": "[log]\n    owner: Ana Ruiz\n    runbook: mend it"}

    def run() -> Status:
        with here.runtime(clock, **parts) as runtime:
            tick = run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
            drain(runtime)
        clock.now += DAY
        return tick.status[""]

    shutil.move(source, gone)
    Path(source).mkdir()  # there, and no database
    assert [run() for _ in range(3)] == [Status.ERROR] * 3
    source.rmdir()
    shutil.move(gone, source)
    assert run() is Status.OK
    said = [line for line in here.alarms.splitlines() if line.startswith(("ERROR", "RESOLVED"))]
    mine = [line for line in said if "MLflow" not in line]
    assert mine[0] == "ERROR source here: 1 monitor cannot be judged"
    assert re.fullmatch(r"ERROR source here: still failing after (24 hours|2 days)", mine[1])
    assert mine[-1] == "RESOLVED source here: works again after 3 days"
    assert "\nOwner: Ana Ruiz\nRunbook: mend it\n" in here.alarms
    with here.runtime(clock, **parts) as runtime:
        changes = store.transitions(runtime.store, "credit")
    assert [(change.after, change.notified) for change in changes] == [
        (Status.ERROR, False),
        (Status.OK, False),
    ]


@pytest.mark.slow
def test_a_delivery_that_is_refused_is_told_by_the_same_run(here, http_sink: HttpSink):
    here.score(20)
    here.score(21, shift=0.2)
    clock = Clock(week(22) + 2 * DAY)
    parts = {"channels": f"{{hook: {{url: '{http_sink.url}'}}}}", "notify": "[hook]", "mlflow": NO_MLFLOW}
    with here.runtime(clock, **parts) as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        drain(runtime)
        drain(runtime)
    assert [title.split(":")[0] for title in http_sink.titles] == ["DEGRADED credit", "ERROR MLflow"]
