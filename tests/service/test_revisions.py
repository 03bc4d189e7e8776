"""A revision that turns a past window degraded, or heals it, is sent although newer windows stand."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from scenario import World, week
from sqlalchemy import select

from rocmonitor import store
from rocmonitor.alerts import Context, compose_revised
from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import Revised
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.store import tables

DAY = timedelta(days=1)
RULES = {"rules": "[{kind: floor, value: 0.7}]"}


def tick(here: World, now, **changes):
    with here.runtime(now, **RULES | changes) as runtime:
        return run_monitor(runtime, runtime.config.monitors["credit"], now=now)


def deliver(here: World) -> str:
    """What the channel gets now."""
    before = len(here.alarms)
    with here.runtime(week(60), **RULES) as runtime:
        drain(runtime)
        assert store.pending(runtime.store, week(61)) == []
    return here.alarms[before:]


def sent(here: World) -> list[str]:
    """The subjects of all messages, delivered or not."""
    with here.runtime(**RULES) as runtime, runtime.store.reading() as connection:
        rows = (
            connection.execute(select(tables.outbox.c.payload).order_by(tables.outbox.c.id)).scalars().all()
        )
    titles = []
    for payload in rows:
        if "revised" in payload:
            message = compose_revised([Revised.from_dict(payload["revised"])], Context(zone=ZoneInfo("UTC")))
            titles.append(message.title.split(", AUROC")[0])
        elif "transition" in payload:
            titles.append(payload["transition"]["after"])
    return titles


def spoil(here: World, number: int) -> None:
    """Labels that have nothing to do with the scores, as many of each as before."""
    correct(here, f"UPDATE scored SET p = -p WHERE id >= {number}00000 AND id < {number + 1}00000")


def correct(here: World, statement: str) -> None:
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.slow
def test_a_past_window_that_becomes_degraded_is_sent_and_later_that_it_is_not(here):
    for number in (20, 21):
        here.score(number)
    assert tick(here, week(22) + 2 * DAY).status == {"": Status.OK}
    assert sent(here) == []
    spoil(here, 20)
    found = tick(here, week(22) + 3 * DAY)
    assert (found.evaluations[0].outcome, found.status) == (Status.DEGRADED, {"": Status.OK})
    assert sent(here) == ["DEGRADED credit: judged again"]
    with here.runtime() as runtime:
        assert store.transitions(runtime.store, "credit") == []
    spoil(here, 20)
    tick(here, week(22) + 4 * DAY)
    assert sent(here) == ["DEGRADED credit: judged again", "OK credit: judged again"]
    assert tick(here, week(22) + 5 * DAY).evaluations == []


def test_the_newest_window_changes_the_status_and_is_sent_once_with_the_reason(here):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    spoil(here, 20)
    assert tick(here, week(21) + 3 * DAY).status == {"": Status.DEGRADED}
    assert sent(here) == ["degraded"]
    with here.runtime(**RULES) as runtime:
        [change] = store.transitions(runtime.store, "credit")
    [reason] = [each for each in change.reasons if isinstance(each, Caveat)]
    assert reason.code == "judged-again"
    assert reason.values["auc"] < 0.5 < reason.values["auc_before"]


@pytest.mark.slow
def test_many_corrected_windows_are_one_message(here):
    for number in range(20, 23):
        here.score(number)
    tick(here, week(23) + 2 * DAY)
    for number in (20, 21):
        spoil(here, number)
    tick(here, week(23) + 3 * DAY)
    alarm = deliver(here)
    assert alarm.count("(event ") == 1
    assert alarm.startswith("DEGRADED credit: 2 windows judged again, 2 now degraded")


@pytest.mark.slow
def test_a_muted_monitor_sends_no_revision(here):
    for number in (20, 21):
        here.score(number)
    tick(here, week(22) + 2 * DAY)
    with here.runtime() as runtime:
        store.mute(runtime.store, "credit", by="anna", until=week(23))
    spoil(here, 20)
    tick(here, week(22) + 3 * DAY)
    assert sent(here) == []


@pytest.mark.slow
def test_in_the_cool_down_only_a_window_that_becomes_degraded_is_sent(here):
    here.score(20, shift=0.2)
    here.score(21)
    here.score(22)
    policy = {"alarm": "{recover_after: 1, cool_down: 60d}"}
    tick(here, week(23) + 2 * DAY, **policy)
    assert sent(here) == ["degraded"]
    correct(here, "UPDATE scored SET p = label WHERE id >= 2000000 AND id < 2100000")
    tick(here, week(23) + 3 * DAY, **policy)
    spoil(here, 21)
    tick(here, week(23) + 4 * DAY, **policy)
    assert sent(here) == ["degraded", "DEGRADED credit: judged again"]


@pytest.mark.slow
def test_k_of_n_decides_on_past_windows_too(here):
    """One degraded window of three is no alarm, in the past as now; a second one is."""
    for number in range(20, 26):
        here.score(number)
    policy = {"alarm": "{after: 2, of: 3, recover_after: 1}"}
    tick(here, week(26) + 2 * DAY, **policy)
    spoil(here, 20)
    tick(here, week(26) + 3 * DAY, **policy)
    assert sent(here) == []
    spoil(here, 21)
    tick(here, week(26) + 4 * DAY, **policy)
    assert sent(here) == ["DEGRADED credit: judged again"]
