"""Ok expires: nothing judged for too long, or a watch that is over, is said in every view, and told once."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from scenario import Clock, World, week

from rocmonitor import store
from rocmonitor.policy.stops import as_shown
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.tick.outcome import save_last
from rocmonitor.store.glance import all_states
from rocmonitor.web.overview import overview
from rocmonitor.web.site import Site

DAY = timedelta(days=1)


def ticks(here: World, clock: Clock, *instants, **changes: str) -> None:
    """Run the monitor at some instants, and deliver."""
    with here.runtime(clock, **changes) as runtime:
        for instant in instants:
            clock.now = instant
            tick = run_monitor(runtime, runtime.config.monitors["credit"], now=instant)
            save_last(runtime, tick, started_at=instant, seconds=1.0)
            drain(runtime)


@pytest.mark.parametrize("after", ["7d", "14d"])
def test_windows_labels_and_schedule_explain_a_gap(here: World, after: str) -> None:
    monitor = here.configure(window=f"{{every: 7d, label_delay: {after}}}").monitors["credit"]
    [last] = monitor.windows(week(21), week(20))
    explained = last.end + timedelta(weeks=2) + monitor.labels.delay + 2 * DAY
    assert monitor.lapse(last, explained - DAY) is None
    lapse = monitor.lapse(last, explained + DAY)
    assert lapse is not None
    assert (lapse.kind, lapse.start) == ("judged", last.end)
    assert [as_shown(status, None, (), lapse).status for status in ("ok", "improved", "degraded")] == [
        "insufficient",
        "insufficient",
        "degraded",
    ]
    assert as_shown("ok", None, (), None).status == "ok"
    assert monitor.lapse(None, week(99)) is None


def test_the_end_of_the_watch_is_told_once_and_said_in_every_view(here: World, rocmonitor) -> None:
    here.score(20)
    here.score(21)
    end = {"window": f"{{every: 7d, label_delay: 2d, end: {week(22):%Y-%m-%d}}}"}
    clock = Clock(week(21) + 3 * DAY)
    ticks(here, clock, clock.now, week(22) + DAY, **end)
    assert "ENDED" not in here.alarms
    ticks(here, clock, week(22) + 3 * DAY, week(22) + 4 * DAY, week(30), **end)
    assert here.alarms.count("ENDED credit: the watch is over") == 1
    told = rocmonitor("status").stdout
    assert "As of 2026-06-08, when the watch ended: The model is ok." in told
    assert "watched until 2026-06-08" in told
    [shown] = json.loads(rocmonitor("status", "--json").stdout)["monitors"]
    assert (shown["watched_until"][:10], shown["not_judged_since"]) == ("2026-06-08", None)
    assert "until 2026-06-08 (window.end), which is over" in rocmonitor("check").stdout


def test_a_loss_ends_with_the_watch(here: World) -> None:
    here.score(20, shift=0.2)
    here.score(21, shift=0.2)
    end = {"window": f"{{every: 7d, label_delay: 2d, end: {week(22):%Y-%m-%d}}}"}
    clock = Clock(week(21) + 3 * DAY)
    ticks(here, clock, clock.now, week(22) + 3 * DAY, week(22) + 4 * DAY, **end)
    with here.runtime(clock, **end) as runtime:
        [lost] = store.declines(runtime.store, "credit")
    assert (lost.windows, lost.end_why) == (2, "not watched any more")


def test_a_watch_that_was_over_before_it_began_is_no_news(here: World) -> None:
    here.score(20)
    end = {"window": f"{{every: 7d, label_delay: 2d, end: {week(21):%Y-%m-%d}}}"}
    ticks(here, Clock(week(40)), week(40), week(41), **end)
    assert "ENDED" not in here.alarms


def test_ok_expires_where_nobody_looks_and_where_somebody_does(here: World, rocmonitor) -> None:
    """The service was stopped for ten weeks: views say so; and when it runs again, it judges."""
    here.score(20)
    clock = Clock(week(21) + 3 * DAY)
    ticks(here, clock, clock.now)
    told = rocmonitor("status", code=5).stdout  # today, months later; no check came, either
    assert "The model cannot be judged." in told
    assert "not judged since 2026-06-01" in told
    [shown] = json.loads(rocmonitor("status", "--json", code=5).stdout)["monitors"]
    assert (shown["status"], shown["not_judged_since"][:10]) == ("insufficient", "2026-06-01")
    with here.runtime(clock) as runtime:
        clock.now = week(31)
        site = Site(path=here.folder / "rocmonitor.yaml", clock=clock)
        [row] = overview(site)["monitors"]
        assert (row["status"], row["attention"]) == ("insufficient", "not judged since 2026-06-01")
        assert all_states(runtime.store).status("credit") == "ok"
