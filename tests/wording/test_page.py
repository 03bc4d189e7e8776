"""Sentences of the page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rocmonitor.policy.windows import Window
from rocmonitor.wording import page

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
        ({"at-risk": 1, "ok": 30}, "No model of 31 is degraded. 1 is at risk before its labels."),
        ({"at-risk": 2}, "No model of 2 is degraded. 2 are at risk before their labels."),
        ({"degraded": 1}, "The model needs attention."),
        ({"at-risk": 1}, "The model is at risk before its labels."),
        ({"insufficient": 1}, "The model cannot be judged."),
        ({"waiting": 1}, "The model has not been judged yet."),
        ({"insufficient": 1, "ok": 1}, "No model of 2 is degraded. 1 cannot be judged."),
        ({"waiting": 2}, "No model of 2 is degraded. 2 have not been judged yet."),
    ],
)
def test_the_head_line(statuses: dict[str, int], expected: str) -> None:
    assert " ".join(page.headline(statuses, MINUTES)) == f"{expected} Last tick 3 minutes ago."


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
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


VALUES = {"auc": 0.6067, "low": 0.585, "high": 0.628, "expected_low": 0.6576, "expected_high": 0.8455}


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, ""),
        (0.0, "; almost none of the fall was foreseen from the scores"),
        (0.3, "; a smaller part of the fall was foreseen from the scores"),
        (0.5, "; half of the fall was foreseen from the scores"),
        (0.8, "; most of the fall was foreseen from the scores"),
        (1.0, "; nearly all of the fall was foreseen from the scores"),
    ],
)
def test_the_sentence_of_a_monitor(share: float | None, words: str) -> None:
    where = "in the week of 16 September 2013"
    assert page.monitor_sentence(VALUES, where, "degraded", "2013-09-16", share) == (
        "AUROC 0.607 (0.585 to 0.628) in the week of 16 September 2013, expected 0.658 to 0.846. "
        f"Degraded since 2013-09-16{words}."
    )


def test_the_sentence_without_numbers() -> None:
    assert page.monitor_sentence(dict.fromkeys(VALUES), "on 1 May 2026", "insufficient", None) == (
        "AUROC not measured on 1 May 2026. Insufficient."
    )
    without = VALUES | {"expected_high": 1.0}
    assert "expected 0.658 or more" in page.monitor_sentence(without, "on 1 May 2026", "ok", None)


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


@pytest.mark.parametrize(
    ("decided", "low", "high", "explained"),
    [
        (False, 0.0134, 0.0177, True),
        (False, -0.02, -0.01, True),
        (True, 0.0134, 0.0177, False),
        (False, -0.01, 0.02, False),
        (False, None, None, False),
    ],
)
def test_a_clear_test_that_is_no_decision_is_explained(
    decided: bool, low: float | None, high: float | None, explained: bool
) -> None:
    assert bool(page.one_test(decided, low, high)) is explained


def test_what_fails_is_named_once() -> None:
    assert page.failing("mlflow", "MLflow at http://x: refused", 1) == (
        "MLflow at http://x: refused (1 delivery waiting in all)"
    )
    assert page.failing("channel:mail", "no such host", 2) == (
        "channel mail: no such host (2 deliveries waiting in all)"
    )
