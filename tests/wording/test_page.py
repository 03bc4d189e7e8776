"""Sentences of the page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from alerts.test_messages import LOSS

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Brief, Chart
from rocmonitor.policy.stops import as_shown
from rocmonitor.policy.windows import Window
from rocmonitor.wording import page
from rocmonitor.wording.episode import brief, brief_since, now_what
from rocmonitor.wording.facts import briefly

MINUTES = timedelta(minutes=3)
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({}, "No model is watched."),
        ({"ok": 1}, "The model is ok."),
        ({"ok": 2}, "Both models are ok."),
        ({"ok": 30, "improved": 1}, "All 31 models are ok."),
        ({"degraded": 1, "ok": 1}, "1 of 2 models needs attention."),
        ({"degraded": 1, "error": 1, "ok": 29}, "2 of 31 models need attention."),
        ({"at-risk": 1, "ok": 30}, "None of the 31 models is degraded. 1 is at risk."),
        ({"at-risk": 2}, "Neither model is degraded. 2 are at risk."),
        ({"degraded": 1}, "The model needs attention."),
        ({"at-risk": 1}, "The model is at risk."),
        ({"insufficient": 1}, "The model cannot be judged."),
        ({"waiting": 1}, "The model has not been judged yet."),
        ({"insufficient": 1, "ok": 1}, "Neither model is degraded. 1 cannot be judged."),
        ({"waiting": 2}, "Neither model is degraded. 2 have not been judged yet."),
    ],
)
def test_the_head_line(statuses: dict[str, int], expected: str) -> None:
    assert " ".join(page.headline(statuses, MINUTES)) == f"{expected} Checked 3 minutes ago."


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1, minutes=59), "119 minutes ago"),
        (timedelta(days=2, hours=23), "3 days ago"),
        (timedelta(hours=47), "47 hours ago"),
        (timedelta(days=2), "2 days ago"),
    ],
)
def test_ages(age: timedelta, expected: str) -> None:
    assert page.ago(age) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((2013, 9, 16), (2013, 9, 23), "in the week of 16 September 2013"),
        ((2013, 10, 28), (2013, 11, 4), "in the week of 28 October 2013"),  # has an hour more
        ((2013, 9, 16), (2013, 9, 17), "on 16 September 2013"),
        ((2013, 9, 1), (2013, 10, 1), "from 2013-09-01 to 2013-10-01"),
        ((2013, 9, 16, 6), (2013, 9, 23, 6), "from 2013-09-16 06:00 to 2013-09-23 06:00"),
    ],
)
def test_windows_are_named_as_people_do(start: tuple[int, ...], end: tuple[int, ...], expected: str) -> None:
    ends = (datetime(*each, tzinfo=NEW_YORK).astimezone(UTC) for each in (start, end))  # type: ignore[misc]
    assert page.window_name(Window(*ends), NEW_YORK) == expected


METRICS = {
    "champion/auc": 0.6067,
    "champion/auc_low": 0.585,
    "champion/auc_high": 0.628,
    "forecast/low": 0.6576,
    "forecast/high": 0.8455,
}
SEPTEMBER = Window(*(datetime(2013, 9, day, tzinfo=NEW_YORK).astimezone(UTC) for day in (16, 23)))
MAY = Window(*(datetime(2026, 5, day, tzinfo=UTC) for day in (1, 2)))


def test_the_sentence_of_a_monitor() -> None:
    assert page.monitor_sentence(METRICS, SEPTEMBER, NEW_YORK, "degraded", "2013-09-16") == (
        "AUROC 0.61 (0.58 to 0.63) in the week of 16 September 2013, normal range 0.66 to 0.85. "
        "Degraded since 2013-09-16."
    )


def test_a_window_inside_its_range_is_not_the_end_of_a_loss() -> None:
    inside = METRICS | {"champion/auc": 0.67, "champion/auc_low": 0.65, "champion/auc_high": 0.69}
    assert page.monitor_sentence(inside, SEPTEMBER, NEW_YORK, "degraded", "2013-08-05") == (
        "AUROC 0.67 (0.65 to 0.69) in the week of 16 September 2013, inside its normal range, 0.66 to 0.85. "
        "Still degraded, since 2013-08-05."
    )


def test_an_outlook_that_does_not_warn_is_not_the_end_of_a_loss() -> None:
    outlook = {"name": "May", "auc": 0.8, "low": 0.73, "high": 0.84, "outcome": None}
    text = "Before its labels, the outlook of the window May is 0.80 (0.73 to 0.84) from its scores"
    assert page.ahead_sentence([outlook]) == f"{text}."
    assert page.ahead_sentence([outlook], in_loss=True) == f"{text}, which do not show the open loss."


def test_a_loss_says_what_to_do_and_since_when() -> None:
    zone, start = ZoneInfo("Europe/Berlin"), "2026-03-30"
    seen, asked = (
        f"see what changed about {start} for channel = Broker; ",
        ": should the challenger take over?",
    )
    assert now_what(LOSS, zone) == f"{seen}`rocmonitor review credit-default`{asked}"
    assert now_what(LOSS, zone, reviewed=True) == f"{seen}see the review{asked}"
    assert brief_since(LOSS, zone) == f"AUROC −0.022: channel = Broker ranked worse since {start}"
    assert brief_since(None, zone) == ""


@pytest.mark.parametrize("status", ["degraded", "at-risk", "insufficient", "error"])
def test_an_open_loss_is_the_reason_of_its_own_status_alone(status: str) -> None:
    """A window that cannot be judged, or an error, has its own beginning and reason."""
    lost = replace(LOSS, still=-0.01, still_low=-0.03, still_high=0.01)
    since, reason = datetime(2026, 7, 1, tzinfo=UTC), Caveat("error", text="no such table")
    shown = as_shown(status, since, (), None, lost)
    of_loss = status in ("degraded", "at-risk")
    assert shown.since == (lost.start if of_loss else since)
    assert briefly(shown.status, [reason], lost) == (brief(lost) if of_loss else "no such table")


@pytest.mark.parametrize(("auc", "more"), [(0.76, ""), (0.62, "; 0.62 (0.59 to 0.65) in the newest window")])
def test_a_collapse_inside_an_open_loss_is_named(auc: float, more: str) -> None:
    """The mean of many windows hides it: 0.70 was "0.017 lower" in a loss of six windows."""
    newest = Brief("degraded", auc, auc - 0.03, auc + 0.03, 0.75, 0.80, 1.0)
    assert briefly("degraded", (), LOSS, newest) == brief(LOSS) + more


def test_the_sentence_has_the_decimals_that_show_on_which_side_of_its_range_an_auroc_lies() -> None:
    near = METRICS | {"champion/auc": 0.6562, "champion/auc_low": 0.635, "champion/auc_high": 0.678}
    said = page.monitor_sentence(near, MAY, ZoneInfo("UTC"), "degraded", None)
    assert said == "AUROC 0.656 (0.635 to 0.678) on 1 May 2026, normal range 0.658 to 0.846."


def test_the_sentence_without_numbers() -> None:
    zone = ZoneInfo("UTC")
    assert page.monitor_sentence({}, MAY, zone, "insufficient", "2026-05-01") == (
        "AUROC not measured on 1 May 2026. Insufficient since 2026-05-01."
    )
    without = METRICS | {"forecast/high": 1.0}
    assert page.monitor_sentence(without, MAY, zone, "ok", None).endswith("normal range 0.66 or more.")


def test_a_change_says_why_where_a_reason_is_known() -> None:
    assert page.changed("at-risk", "2026-05-01", ["one", "two"]) == "at risk from 2026-05-01: one; two"
    assert page.changed("ok", "2026-05-01", []) == "ok from 2026-05-01"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({"ok": 1}, "1 segment ok"),
        ({"ok": 8}, "8 segments ok"),
        ({"degraded": 1, "ok": 3}, "1 of 4 segments degraded"),
        ({"degraded": 1, "at-risk": 2, "ok": 1}, "1 of 4 segments degraded, 2 at risk"),
    ],
)
def test_segments_in_a_line(statuses: dict[str, int], expected: str) -> None:
    assert page.segments_line(statuses) == expected


def test_what_fails_is_named_once() -> None:
    assert page.failing("mlflow", "MLflow at http://x: refused", 1) == (
        "MLflow at http://x: refused (1 delivery waiting in all)"
    )
    assert page.failing("channel:mail", "no such host", 2) == (
        "channel mail: no such host (2 deliveries waiting in all)"
    )


@pytest.mark.parametrize(
    ("warned", "outlooks", "chart", "expected"),
    [
        (0, 8, None, ""),
        (1, 8, None, ""),
        (2, 8, None, "2 of the last 8 outlooks warned"),
        (1, 1, None, "the only outlook warned"),
        (0, 0, Chart(0.49), ""),
        (0, 0, Chart(0.5), "lasting: 50 % of the way to an alarm"),
        (0, 0, Chart(0.999, 0.9), "lasting: 99 % of the way to an alarm, and growing"),
        (0, 0, Chart(0.9, 0.9), "lasting: 90 % of the way to an alarm"),
    ],
)
def test_signs_of_a_drift(warned: int, outlooks: int, chart: Chart | None, expected: str) -> None:
    assert page.signs(warned, outlooks, {} if chart is None else {"lasting": chart}) == expected


@pytest.mark.parametrize(
    ("warned", "outlooks", "charts", "expected"),
    [
        (0, 0, 0, ""),
        (0, 1, 0, "the only outlook did not warn."),
        (0, 8, 0, "none of the last 8 outlooks warned."),
        (
            1,
            8,
            2,
            "1 of the last 8 outlooks warned, and no lasting change is 50 % of the way to an alarm.",
        ),
        (0, 0, 1, "no lasting change is 50 % of the way to an alarm."),
    ],
)
def test_no_sign_of_a_drift(warned: int, outlooks: int, charts: int, expected: str) -> None:
    assert page.no_signs(warned, outlooks, charts) == (
        f"No early sign of a drift: {expected}" if expected else ""
    )
