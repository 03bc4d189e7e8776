"""One incident, one message: what several monitors find at once, and what follows from a stop."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from scenario import Clock, World, runtime_of, undated, week

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.policy.windows import Window
from rocmonitor.service.delivery import TOGETHER_SECONDS, Deliveries, drain
from rocmonitor.service.messages import together
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor

PLACES = {
    "credit": ("here", "credit"),
    "fraud": ("here", "fraud"),
    "churn": ("here", "churn"),
    "cards": ("there", "credit"),
    "other": ("there", "other"),
}


@pytest.fixture
def known(here: World) -> config.Config:
    """Monitors whose names say of which source and model they are."""
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    written = yaml.safe_load(path.read_text())
    plain = written["monitors"]["credit"]
    written["sources"]["there"] = written["sources"]["here"]
    written["monitors"] = {
        name: plain
        | {"source": source, "model": {"name": model, "version": 7}, "owner": f"owner of {name}"}
        | {
            "columns": {"time": "scored_at", "champion": "p", "label": "label"},
            "rules": [{"kind": "forecast"}],
        }
        for name, (source, model) in PLACES.items()
    }
    path.write_text(yaml.safe_dump(written, sort_keys=False))
    return config.load(path)


_numbers = itertools.count(1)


def row(
    monitor: str, after: Status, before: Status = Status.OK, number: int = 20, **payload: object
) -> store.Delivery:
    """What waits for channel log."""
    window = Window(week(number), week(number + 1))
    change = Transition(monitor=monitor, at=window.end, before=before, after=after, since=window.start)
    return store.Delivery(
        id=next(_numbers),
        monitor=monitor,
        evaluation_id=None,
        review_id=None,
        outlook_id=None,
        destination="channel:log",
        payload=payload or {"transition": change.to_dict()},
        attempts=0,
        created_at=window.end,
    )


def stopped(monitor: str, kind: str = "rows", *, ended: bool = False) -> store.Delivery:
    return row(
        monitor, Status.OK, stop={"kind": kind, "end": "2026-06-01" if ended else None, "start": "2026-05-25"}
    )


BAD, GOOD, NONE = Status.DEGRADED, Status.OK, Status.INSUFFICIENT


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("credit", BAD)], [0]),
        ([row("credit", BAD), row("fraud", BAD), row("churn", BAD)], [0, 1, 2]),  # one source
        ([row("credit", BAD), row("other", BAD), row("cards", BAD)], [0, 2]),  # one model
        ([row("credit", BAD), row("cards", BAD), row("fraud", BAD), row("churn", BAD)], [0, 2, 3]),
        ([row("credit", BAD), row("fraud", GOOD, BAD)], [0]),
        # A recovery never overtakes its alarm.
        ([row("credit", GOOD, BAD), row("fraud", BAD), row("fraud", GOOD, BAD)], [0]),
        ([row("credit", BAD), row("credit", GOOD, BAD), row("fraud", BAD)], [0, 2]),
        ([row("gone", BAD), row("gone too", BAD)], [0]),
        ([row("credit", BAD), row("fraud", BAD, number=21)], [0]),  # a week apart is no one incident
        # What follows from a stop is said with it.
        ([stopped("credit"), row("credit", NONE)], [0, 1]),
        ([stopped("credit"), stopped("fraud"), row("credit", NONE), row("fraud", NONE)], [0, 2, 1, 3]),
        ([row("credit", NONE), stopped("credit", "usable"), stopped("fraud", "usable")], [0, 1, 2]),
        ([stopped("credit"), row("credit", BAD), row("credit", NONE)], [0]),
        ([stopped("credit", ended=True), row("credit", GOOD, NONE)], [0, 1]),
        ([stopped("credit", ended=True), row("credit", GOOD, BAD)], [0]),
        ([stopped("credit"), stopped("fraud", "labels")], [0]),
        ([row("credit", GOOD, outage={}), row("fraud", BAD)], [0]),
        ([row("credit", BAD, revised={}), row("fraud", BAD), row("credit", BAD, revised={})], [0, 2]),
    ],
)  # fmt: skip
def test_what_is_one_message(known, rows, expected):
    assert together(known, rows) == [rows[at] for at in expected]


def told(folder: Path) -> list[str]:
    """The first line of each message."""
    path = folder / "alarms.log"
    sent = undated(path.read_text()).split("\n\n") if path.exists() else []
    return [each.splitlines()[0] for each in sent if each]


def judged(runtime: Runtime, number: int, *names: str) -> None:
    for name in names or runtime.config.monitors:
        monitor = runtime.config.monitors[name]
        windows = monitor.calendar.within(week(number), week(number + 1))
        tick = run_monitor(runtime, monitor, now=week(30), windows=windows)
        assert tick.error is None


@pytest.fixture
def clock() -> Clock:
    return Clock(week(30))


@pytest.fixture
def runtime(here, known, clock):
    with store.open_store(known.store_url) as kept:
        yield runtime_of(known, kept, clock)


@pytest.mark.slow
def test_monitors_of_one_source_send_one_alarm_and_one_recovery(here, runtime, clock):
    here.score(20, shift=0.2)
    here.score(21)
    judged(runtime, 20)
    drain(runtime)
    alarms = told(here.folder)
    assert len(alarms) == 2  # of two sources
    assert alarms[0] == "DEGRADED 3 monitors: credit, fraud, churn"
    text = here.alarms.split("\n\n")[0].splitlines()
    assert text[1] == "3 monitors that read source here, since 2026-05-25 (UTC)."
    assert [line.split(":")[0] for line in text[2:5]] == [
        f"DEGRADED {name}" for name in ("credit", "fraud", "churn")
    ]
    assert "owner of credit (credit)" in here.alarms
    assert len(text) <= 8
    clock.now += timedelta(hours=1)
    assert drain(runtime).sent == 0
    judged(runtime, 21)
    drain(runtime)
    assert [line.split(":")[0] for line in told(here.folder)[2:]] == ["OK 3 monitors", "OK 2 monitors"]
    assert store.outbox_summary(runtime.store).waiting == 0


@pytest.mark.slow
def test_a_message_that_fails_waits_and_takes_up_what_comes_meanwhile(here, runtime, clock):
    here.score(20, shift=0.2)
    (here.folder / "alarms.log").mkdir()  # the channel is down
    judged(runtime, 20, "credit", "fraud")
    assert "channel:log" in drain(runtime).failed
    judged(runtime, 20, "churn")
    (here.folder / "alarms.log").rmdir()
    clock.now += timedelta(minutes=1)
    drain(runtime)
    assert told(here.folder) == ["DEGRADED 3 monitors: credit, fraud, churn"]


@pytest.mark.slow
def test_a_crash_before_the_mark_sends_the_same_event_again_and_nothing_twice_after_it(
    here, runtime, clock, monkeypatch
):
    here.score(20, shift=0.2)
    judged(runtime, 20, "credit", "fraud")
    with monkeypatch.context() as patch:
        patch.setattr(store, "mark_delivered", _crash)
        with pytest.raises(KeyboardInterrupt):
            drain(runtime)
    clock.now += timedelta(hours=1)
    drain(runtime)
    drain(runtime)
    first, second = (each.splitlines()[-1] for each in here.alarms.split("\n\n") if each)
    assert first == second


def _crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_channels_wait_for_monitors_that_are_being_judged_but_not_for_long(here, runtime, clock):
    here.score(20, shift=0.2)
    judged(runtime, 20, "credit")
    busy = [True]
    deliveries = Deliveries(runtime, judging=lambda: busy[0])

    def sent() -> list[str]:
        for worker in deliveries.start():
            worker.join()
        return told(here.folder)

    assert sent() == []
    clock.now += timedelta(seconds=TOGETHER_SECONDS - 1)
    assert sent() == []
    judged(runtime, 20, "fraud")
    busy[0] = False
    assert sent() == ["DEGRADED 2 monitors: credit, fraud"]
    busy[0] = True
    judged(runtime, 20, "other")
    assert len(sent()) == 1
    clock.now += timedelta(seconds=TOGETHER_SECONDS)  # a source hangs: the alarm is not held back
    assert len(sent()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [5, 20])
def test_a_slow_web_hook_gets_each_alarm_once(here, http_sink, seconds):
    import threading

    here.score(20, shift=0.2)
    http_sink.hang()
    parts = {"channels": f"{{hook: {{url: '{http_sink.url}'}}}}", "notify": "[hook]"}
    with here.runtime(week(30), **parts) as runtime:
        judged(runtime, 20)
        threading.Timer(seconds, http_sink.resume).start()
        assert drain(runtime).failed == {}
        assert drain(runtime).sent == 0
    assert len(http_sink.requests) == 1
