"""An open loss has one beginning: every change of status while it lasts names the same day."""

from datetime import timedelta

import pytest
from scenario import Clock, World, until, week

from rocmonitor import store
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor


def test_a_loss_that_is_found_again_began_when_it_began(here: World) -> None:
    """Two bad weeks, one in its range, which ends nothing, and a bad one: told twice, of one loss."""
    for number, shift in zip(range(20, 24), (0.9, 0.9, 1.05, 0.85), strict=True):
        here.score(number, shift=shift)
    clock = Clock(week(20))
    with here.runtime(clock, window=until("2026-06-22"), rules="[{kind: forecast}]") as runtime:
        for number in range(20, 24):
            clock.now = week(number + 1) + timedelta(days=2)
            run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        changes = store.transitions(runtime.store, "credit")
        [loss] = store.declines(runtime.store, "credit")
    assert [str(each.after) for each in changes] == ["degraded", "ok", "degraded"]
    assert loss.is_open
    assert {changes[0].since, changes[2].since, loss.start} == {week(20)}


def test_people_were_told_when_the_message_went_out_not_when_its_window_was_due(here: World) -> None:
    """Four weeks are judged at once, months later: told today, once."""
    for number in range(20, 24):
        here.score(number, shift=0.85)
    now = week(40)
    with here.runtime(Clock(now), window=until("2026-06-22"), rules="[{kind: forecast}]") as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        [loss] = store.declines(runtime.store, "credit")
    assert (loss.start, loss.first_message, loss.last_message) == (week(20), now, now)


@pytest.mark.slow
def test_a_message_says_how_its_segments_stand_when_it_is_sent(here: World) -> None:
    """All are degraded; in the last week one region is well again, and of one no rule finds the loss.

    All weeks are judged at once, and the message goes out after the last of them.
    """
    regions = {"north": (0.3, 0.3, 0.3), "all": (0.8, 0.8, 1.05), "west": (0.3, 0.3, 1.1)}
    for region, shifts in regions.items():
        for number, shift in enumerate((*[1.2] * 20, *shifts)):
            if region != "all" or number >= 20:  # else there are such rows
                here.score(number, region=region, shift=shift)
    changes = {"window": until("2026-06-15"), "rules": "[{kind: forecast}]", "segments": "[region]"}
    with here.runtime(Clock(week(40)), **changes) as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=week(40)).error is None
        drain(runtime)
    assert "Also: at-risk: region=all; degraded: region=north\n" in here.alarms


def test_a_message_does_not_say_what_a_later_one_tells_of_its_segments(here: World) -> None:
    """A week with few rows and a bad one, judged at once: a message each, with the status of its own week."""
    for number in range(20):
        here.score(number, region="north")
    here.score(20, n=10, region="north")
    here.score(21, region="north", shift=0.3)
    changes = {"window": until("2026-06-08"), "rules": "[{kind: forecast}]", "segments": "[region]"}
    with here.runtime(Clock(week(40)), **changes) as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=week(40)).error is None
        drain(runtime)
    insufficient, degraded = here.alarms.split("DEGRADED credit")
    assert "Also: insufficient: region=all, region=north\n" in insufficient
    assert "Also: degraded: region=north\n" in degraded
