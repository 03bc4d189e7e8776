"""Muted monitors are judged and send nothing; an acknowledgement ends with the next change of status."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from commands import Rocmonitor
from scenario import World, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import Attention
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.wording.status import attention

DAY = timedelta(days=1)


def judged(here: World, now: datetime) -> dict[str, Status]:
    with here.runtime(now) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        drain(runtime)
        assert found.error is None
        return found.status


@pytest.mark.slow
def test_a_muted_monitor_is_judged_and_sends_what_still_holds_afterwards(here: World) -> None:
    here.score(20, shift=0.2)
    here.score(21, shift=0.2)
    with here.runtime(week(21)) as runtime:
        store.mute(runtime.store, "credit", by="anna", until=week(21) + 5 * DAY, note="a migration")
    assert judged(here, week(21) + 3 * DAY) == {"": Status.DEGRADED}
    assert here.alarms == ""
    with here.runtime() as runtime:
        [change] = store.transitions(runtime.store, "credit")
    assert (change.after, change.notified) == (Status.DEGRADED, False)
    assert judged(here, week(22) + 3 * DAY) == {"": Status.DEGRADED}
    assert here.alarms.count("DEGRADED credit") == 1


@pytest.mark.slow
def test_what_has_recovered_while_muted_is_not_sent(here: World) -> None:
    here.score(20, shift=0.2)
    here.score(21)
    with here.runtime(week(21)) as runtime:
        store.mute(runtime.store, "credit", by="anna", until=week(22) + 5 * DAY)
    judged(here, week(22) + 3 * DAY)
    here.score(22)
    assert judged(here, week(23) + 3 * DAY) == {"": Status.OK}
    assert here.alarms == ""


@pytest.mark.slow
def test_an_acknowledgement_lasts_until_the_status_changes(here: World) -> None:
    here.score(20, shift=0.2)
    judged(here, week(21) + 3 * DAY)
    with here.runtime() as runtime:
        store.acknowledge(runtime.store, "credit", by="anna", at=week(22), note="retraining")
    here.score(21, shift=0.2)
    judged(here, week(22) + 3 * DAY)
    with here.runtime() as runtime:
        assert store.attention(runtime.store, "credit").acknowledged_by == "anna"
    here.score(22)
    judged(here, week(23) + 3 * DAY)
    with here.runtime() as runtime:
        assert store.attention(runtime.store, "credit").acknowledged_by is None


@pytest.mark.slow
def test_the_commands(here: World) -> None:
    here.score(20, shift=0.2)
    judged(here, week(21) + 3 * DAY)
    rocmonitor = Rocmonitor(here.folder)
    rocmonitor("acknowledge", "credit", "--by", "anna", "--note", "retraining")
    rocmonitor("mute", "credit", "--for", "2d", "--by", "berta")
    shown = rocmonitor("status", code=3).stdout
    assert "anna is taking care of it (retraining); muted by berta until" in " ".join(shown.split())
    rocmonitor("mute", "credit", "--for", "2d", "--by", "berta", "--note", "on it")
    shown = " ".join(rocmonitor("status", code=3).stdout.split())
    assert re.search(r"anna is taking care of it; muted by berta until [^;]* \(on it\)", shown)
    rocmonitor("mute", "credit", "--end")
    with here.runtime() as runtime:
        said = store.attention(runtime.store, "credit")
    assert not said.is_muted(datetime.now(UTC))
    assert said.acknowledged_by == "anna"


def test_a_note_stays_with_its_author_when_only_others_are_named():
    said = Attention(muted_by="Lu", muted_until=datetime(2026, 6, 2, tzinfo=UTC), note="asked", note_by="Kim")
    told = attention(said, (), datetime(2026, 6, 1, tzinfo=UTC), ZoneInfo("UTC"))
    assert told == "muted by Lu until 2026-06-02; Kim: asked"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mute", "credit"), "say how long"),
        (("mute", "credit", "--for", "2d", "--end"), "say how long"),
        (("mute", "credit", "--for", "soon"), "--for must be a whole number with s, m, h or d"),
        (("mute", "credit", "--for", "99999999999d"), "--for must be"),
        (("mute", "credit", "--until", "2020-01-01"), "has passed"),
        (("mute", "credit", "--until", "tomorrow"), "--until must be a date or time"),
        (("mute", "nobody", "--for", "2d"), "no monitor 'nobody'"),
        (
            ("mute", "credit", "--for", "2d", "--note", "x" * 201),
            "A name and a note take up to 200 printable",
        ),
        (("acknowledge", "credit"), "no alarm that could be acknowledged"),
    ],
)
def test_what_cannot_be_done_is_said(here: World, arguments: tuple[str, ...], words: str) -> None:
    here.configure()
    assert words in Rocmonitor(here.folder)(*arguments, code=2).stderr


@pytest.mark.slow
def test_a_closed_loss_is_over_and_the_next_one_is_news(here: World, rocmonitor: Rocmonitor) -> None:
    here.configure(
        rules="[{kind: drop, value: 0.05}]", window="{every: 7d, label_delay: 2d, end: 2026-06-29}"
    )
    for number in (21, 22, 23, 24):
        here.score(number, shift=0.2)
    rocmonitor("run", "--at", "2026-06-11", code=3)
    assert "no open loss" not in rocmonitor("acknowledge", "credit", "--close", "--by", "Ana").stdout
    assert (
        "no open loss that could be closed" in rocmonitor("acknowledge", "credit", "--close", code=2).stderr
    )
    told = rocmonitor("history", "credit").stdout
    assert "ended: closed by Ana" in told
    assert "● ok: the loss was closed by Ana" in told
    rocmonitor("run", code=3)
    losses = json.loads(rocmonitor("history", "credit", "--json").stdout)["episodes"]
    assert [each["end_why"] for each in losses] == ["closed by Ana", None]
    assert losses[1]["start"] >= losses[0]["end"]
    assert here.alarms.count("DEGRADED credit") == 2
