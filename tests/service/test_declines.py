"""An open loss has one beginning: every change of status while it lasts names the same day."""

from datetime import timedelta

from scenario import Clock, World, until, week

from rocmonitor import store
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
