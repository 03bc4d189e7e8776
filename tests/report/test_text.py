"""Plain text for a terminal."""

from dataclasses import replace
from zoneinfo import ZoneInfo

from factories import FIRST, evaluation, week

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.report import text
from rocmonitor.wording.verdicts import verdict


def test_findings_say_why_on_a_line() -> None:
    degraded = evaluation()
    told = text.findings([degraded, evaluation(1, outcome=Status.OK)], ZoneInfo("UTC")).splitlines()
    said, basis = verdict(degraded.verdicts[0]).rsplit(" (", 1)
    assert told == [f"▲ degraded 2013-09-02 to 2013-09-09: {said}"]
    assert " %)" in basis  # it is in --json, and on the page


def test_a_change_is_one_line_with_its_window_and_what_decided() -> None:
    below = evaluation().verdicts[0]
    change = Transition(
        monitor="flights",
        at=week(1).end,
        before=Status.OK,
        after=Status.DEGRADED,
        reasons=(below, Caveat("not-computed", why="3 of 4; min_per_class is 20")),
        since=week(1).start,
    )
    why = (Caveat("error", text="no such table"),)
    failed = replace(change, after=Status.ERROR, since=change.at, reasons=why)
    assert text.transitions([change, failed], ZoneInfo("UTC")).splitlines() == [
        f"2013-09-16 00:00  ▲ degraded since 2013-09-09: {verdict(below).rsplit(' (', 1)[0]} (+1 reason)",
        "2013-09-16 00:00  ✕ error: no such table",
    ]
    over = Caveat("no-longer-certain", change=0.0, low=-0.017, high=0.013)
    unsure = replace(change, after=Status.OK, reasons=(over,))
    assert text.transitions([unsure], ZoneInfo("UTC")) == (
        "2013-09-16 00:00  ◆ at risk since 2013-09-09: not clearly over: 0.017 lower to 0.013 higher"
    )
    far = text.transitions([replace(change, since=FIRST)], ZoneInfo("Asia/Kolkata"))
    assert " since 2013-09-02 05:30: " in far


def test_a_forecast_of_losses_only_has_no_upper_end() -> None:
    metrics = evaluation().metrics | {"forecast/low": 0.7707, "forecast/high": 1.0}
    both = metrics | {"forecast/high": 0.91}
    told = text.windows([evaluation(metrics=metrics), evaluation(1, metrics=both)], ZoneInfo("UTC"))
    assert "  0.77 or more  " in told
    assert "  0.77 to 0.91  " in told


def test_the_value_of_a_segment_begins_no_line() -> None:
    forged = evaluation(segment="region=north\nok  credit\x1b[2J", outcome=Status.DEGRADED)
    shown = [text.windows([forged], ZoneInfo("UTC")), text.findings([forged], ZoneInfo("UTC"))]
    for each in shown:
        assert "region=north\\nok  credit\\x1b[2J" in each
        assert not any(line.startswith("ok") for line in each.splitlines())


def test_one_line_tells_the_newest_window_when_an_older_one_is_revised_after_it():
    revised = evaluation(0, revision=1, outcome=Status.OK)
    found = [evaluation(0), evaluation(1, outcome=Status.OK), revised]
    line = text.summary("flights", found, [], "ok", ZoneInfo("UTC"))
    assert f"2 windows judged (2 ok); {found[1].window.in_zone(ZoneInfo('UTC'))}" in line
