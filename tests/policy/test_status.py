"""The status machine: k-of-n, recovery, insufficient windows, and what is told."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.config.sections import AlarmPolicy
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import CHANGE, Alarm, SegmentState, Track, is_alarm, should_notify, usual_run
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


def standings(
    changes: list[float],
    *,
    beyond: dict[int, str] | None = None,
    champions: str = "",
    alarm: Alarm | None = None,
    metrics: dict[str, float] | None = None,
) -> str:
    """The status after each window whose AUROC is this much off the reference's, with an error of 0.01.

    `beyond` names the rule that passes its limit with a window.
    """
    names = {status: letter for letter, status in LETTERS.items()}
    tracks, outcomes = {}, []
    for number, change in enumerate(changes):
        rule = (beyond or {}).get(number)
        outcomes.append((window(number), Status.DEGRADED if rule else Status.OK))
        known = dict(zip(CHANGE, (change, 0.01, 0.002), strict=True)) if metrics is None else metrics
        margins = {f"{rule}/margin": -0.01} if rule else {}
        tracks[window(number)] = Track.of({**known, **margins}, (champions or "1" * 99)[number])
    state = SegmentState("credit", "", alarm or Alarm(), outcomes=outcomes, tracks=lambda: tracks)
    found = [names[state.after(window(number))] for number in range(len(changes))]
    grown, added = SegmentState("credit", "", alarm or Alarm()), []
    for each, outcome in outcomes:
        grown.add(each, outcome, tracks[each])
        added.append(names[grown.after()])
    assert added == found
    return "".join(found)


class TestEvidence:
    DROP = (-0.05, -0.06, -0.05, -0.04)
    BACK = (0.002, -0.003, 0.004)

    def test_a_drop_that_stays_is_not_over_with_windows_inside_their_range(self) -> None:
        changes = [-0.025, *[-0.015, -0.012, -0.018] * 10]
        assert standings(changes, beyond={0: "forecast"}) == "d" * 31

    def test_a_drop_that_ends_is_over_and_ends_once(self) -> None:
        alarms = dict.fromkeys(range(4), "drop_2")
        assert standings([*self.DROP, *self.BACK], beyond=alarms) == "ddddooo"

    def test_a_chart_that_remembers_neither_keeps_the_alarm_nor_raises_it_again(self) -> None:
        alarms = dict.fromkeys(range(8), "lasting")
        assert standings([*self.DROP, *self.BACK, 0.001, 0.0], beyond=alarms) == "ddddooooo"
        again = standings([*self.DROP, *self.BACK, 0.0, -0.02], beyond={**alarms, 7: "", 8: "lasting"})
        assert again == "ddddooood"

    def test_a_chart_that_ends_early_does_not_end_the_alarm(self) -> None:
        assert standings([-0.02] * 4 + [-0.015] * 4, beyond={3: "lasting"}) == "oooddddd"

    def test_a_window_that_another_rule_finds_degraded_ends_nothing(self) -> None:
        alarms = {**dict.fromkeys(range(4), "drop"), 4: "cost", 5: "cost"}
        assert standings([*self.DROP, *self.BACK], beyond=alarms) == "ddddddo"

    @pytest.mark.parametrize("rule", ["cost", "calibration", "challenger"])
    def test_other_rules_are_counted(self, rule: str) -> None:
        assert standings([-0.02] * 4, beyond={0: rule}, alarm=Alarm(recover_after=2)) == "ddoo"

    def test_a_reference_that_shows_no_scatter_leaves_counting(self) -> None:
        assert standings([-0.02] * 3, beyond={0: "drop"}, metrics={}) == "doo"

    def test_a_new_champion_starts_anew(self) -> None:
        assert standings([-0.05] * 4, beyond={0: "drop", 1: "drop"}, champions="1122") == "ddoo"


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


def test_a_flapping_monitor_tells_one_alarm_within_a_cool_down():
    told, alarmed_at, messages = Status.OK, None, []
    for day, status in enumerate([Status.DEGRADED, Status.OK] * 3 + [Status.OK] * 5):
        at = NOW + day * DAY
        if should_notify(status, told, alarmed_at, at, 7 * DAY):
            messages.append((day, status))
            told, alarmed_at = status, at if is_alarm(status) else alarmed_at
    assert messages == [(0, Status.DEGRADED), (7, Status.OK)]
