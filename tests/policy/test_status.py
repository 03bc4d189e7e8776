"""The status machine: k-of-n, recovery, insufficient windows, and what is told."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.config.sections import AlarmPolicy
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import Alarm, SegmentState, is_alarm, should_notify, usual_run
from rocmonitor.policy.windows import Window

LETTERS = {"o": Status.OK, "d": Status.DEGRADED, "i": Status.IMPROVED, "?": Status.INSUFFICIENT}
NOW = datetime(2026, 1, 31, tzinfo=UTC)
DAY = timedelta(days=1)


def path(outcomes: str, alarm: Alarm, patience: int | None = 0) -> str:
    """The status after each window, as letters."""
    names = {status: letter for letter, status in LETTERS.items()}
    state, found = SegmentState("credit", "", alarm, patience=patience), []
    for number, letter in enumerate(outcomes):
        state.add(window(number), LETTERS[letter])
        found.append(names[state.after()])
    assert found == [names[state.after(window(number))] for number in range(len(outcomes))]
    return "".join(found)


def window(number: int) -> Window:
    return Window(NOW + 7 * number * DAY, NOW + 7 * (number + 1) * DAY)


@pytest.mark.parametrize(
    ("alarm", "outcomes", "statuses"),
    [
        (Alarm(), "oddoio", "oddoio"),
        (Alarm(after=2, of=3), "odododoooo", "ooododoooo"),
        (Alarm(after=2, of=2), "oddood", "oodooo"),
        (Alarm(recover_after=2), "dododoo", "ddddddo"),
        (Alarm(), "d?o?o", "ddo?o"),
        (Alarm(after=2, of=2), "d?d", "o?d"),
        (Alarm(recover_after=2), "do?o", "dddo"),
        (Alarm(recover_after=6), "dooi", "dddi"),
        (Alarm(after=2, of=2), "iid", "oio"),
        (Alarm(), "", ""),
    ],
)
def test_path(alarm: Alarm, outcomes: str, statuses: str):
    assert path(outcomes, alarm) == statuses


def test_the_first_window_that_counts_is_sufficient():
    outcomes = [(window(number), LETTERS[letter]) for number, letter in enumerate("??od")]
    assert SegmentState("credit", "", Alarm(), outcomes=outcomes).first == window(2)
    assert SegmentState("credit", "", Alarm(), outcomes=outcomes[:2]).first is None


@given(st.text("odi", max_size=12), st.integers(1, 3), st.integers(0, 2), st.integers(1, 3))
def test_degraded_exactly_when_k_of_the_last_n_were_or_not_yet_recovered(
    outcomes, after, more, recover_after
):
    alarm = Alarm(after=after, of=after + more, recover_after=recover_after)
    now = path(outcomes, alarm)[-1:]
    recent = outcomes[-alarm.of :]
    if recent.count("d") >= after:
        assert now == "d"
    elif now == "d":  # then it has not had its calm windows yet
        assert "d" in outcomes[-recover_after:] or recent.count("i") < after
        assert len(outcomes[-recover_after:]) == recover_after or "d" in outcomes


@pytest.mark.parametrize(
    ("patience", "outcomes", "statuses"),
    [
        (0, "o?o", "o?o"),
        (1, "o?o", "ooo"),
        (1, "o??o", "oo?o"),
        (2, "i??i???i", "iiiiii?i"),
        (2, "???o", "???o"),
        (None, "??????o?", "??????o?"),
        (1, "d???o", "ddddo"),
    ],
)
def test_insufficient_windows_are_news_when_more_follow_one_another_than_in_the_reference(
    patience: int | None, outcomes: str, statuses: str
):
    assert path(outcomes, Alarm(), patience) == statuses


@pytest.mark.parametrize(("patience", "told"), [(0, 1), (1, 2), (3, 4), (None, None)])
def test_people_hear_of_windows_that_cannot_be_judged_when_that_is_not_usual(
    patience: int | None, told: int | None
):
    state, notified = SegmentState("credit", "", Alarm(), patience=patience), []
    for number in range(6):
        state.add(window(number), Status.INSUFFICIENT)
        at = window(number).end
        _, notify = state.change(state.after(), at=at, since=at, reasons=())
        notified += [number + 1] if notify else []
    assert notified == ([] if told is None else [told])
    state.add(window(6), Status.OK)
    _, back = state.change(state.after(), at=NOW, since=NOW, reasons=())
    assert back is (told is not None)


@pytest.mark.parametrize(
    ("sizes", "run"), [("", None), ("s", None), ("ll", 0), ("lssl", 2), ("slslss", 2), ("sssss", None)]
)
def test_the_usual_run_is_the_longest_of_the_reference(sizes: str, run: int | None):
    rows = [{"n_pos": 19 if size == "s" else 20, "n_neg": 300} for size in sizes]
    assert usual_run(rows, 20) == run


def messages(outcomes: str, alarm: Alarm) -> int:
    """Alarms: how often the status turns degraded."""
    statuses = "o" + path(outcomes, alarm)
    return sum(a != "d" and b == "d" for a, b in pairwise(statuses))


def test_by_default_one_lasting_drop_is_hardly_more_than_one_alarm_and_one_recovery():
    """Nine degraded of 21 weeks in any order, as one real drop was seen, and good weeks after it."""
    default = AlarmPolicy().policy()
    rng = np.random.default_rng(1)
    years = ["".join(rng.permutation(list(9 * "d" + 12 * "o"))) + 12 * "o" for _ in range(300)]
    alarms, at_once = ([messages(year, each) for year in years] for each in (default, Alarm()))
    assert np.mean(at_once) > 5
    assert np.mean(alarms) < 1.5
    assert np.median(alarms) == 1
    assert {path(year, default)[-1] for year in years} == {"o"}  # and it recovers


def test_insufficient_is_never_ok():
    assert path("?", Alarm(after=3, of=5)) == "?"


@pytest.mark.parametrize(
    ("status", "told", "alarmed_days_ago", "expected"),
    [
        (Status.OK, Status.OK, None, False),
        (Status.DEGRADED, Status.OK, None, True),
        (Status.DEGRADED, Status.DEGRADED, 3, False),
        (Status.OK, Status.DEGRADED, 3, False),  # a recovery within the cool-down waits
        (Status.OK, Status.DEGRADED, 7, True),
        (Status.INSUFFICIENT, Status.DEGRADED, 1, True),  # another alarm is news
        (Status.ERROR, Status.INSUFFICIENT, 0, False),  # an error has a message of its own
        (Status.IMPROVED, Status.OK, None, True),
    ],
)
def test_what_is_told(status, told, alarmed_days_ago, expected):
    alarmed_at = None if alarmed_days_ago is None else NOW - alarmed_days_ago * DAY
    assert should_notify(status, told, alarmed_at, NOW, 7 * DAY) is expected


def test_without_a_cool_down_everything_new_is_told_even_out_of_order():
    assert should_notify(Status.OK, Status.ERROR, NOW, NOW - 30 * DAY, timedelta())


def test_a_held_recovery_is_told_as_a_change_from_what_people_know():
    """An episode held back that it was better for a window, which nobody heard of."""
    state, told = SegmentState("credit", "", Alarm()), []
    steps = [(Status.DEGRADED, True), (Status.IMPROVED, True), (Status.OK, False), (Status.IMPROVED, False)]
    for number, (status, hold) in enumerate(steps):
        at = NOW + number * DAY
        change, notify = state.change(status, at=at, since=at, reasons=(), hold=hold)
        assert change is not None
        told.append((str(change.before), str(change.after), notify))
    assert told == [
        ("ok", "degraded", True),
        ("degraded", "improved", False),
        ("degraded", "ok", True),
        ("ok", "improved", True),
    ]


def test_a_flapping_monitor_tells_one_alarm_within_a_cool_down():
    told, alarmed_at, messages = Status.OK, None, []
    for day, status in enumerate([Status.DEGRADED, Status.OK] * 3 + [Status.OK] * 5):
        at = NOW + day * DAY
        if should_notify(status, told, alarmed_at, at, 7 * DAY):
            messages.append((day, status))
            told, alarmed_at = status, at if is_alarm(status) else alarmed_at
    assert messages == [(0, Status.DEGRADED), (7, Status.OK)]
