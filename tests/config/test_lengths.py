"""Lengths of windows as they are written: durations, months, quarters; and where windows start."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from scenario import World

from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Months
from rocmonitor.service.references import digest


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1mo", Months(1)),
        ("1q", Months(3)),
        ("7d", timedelta(days=7)),
        ("5mo", Months(5)),
        ("1y", Months(12)),
    ],
)
def test_a_length_is_read_and_written_alike(here: World, text: str, length: object):
    monitor = here.configure(window=f"{{every: {text}, label_delay: 2d}}").monitors["credit"]
    assert monitor.window.every == length
    assert written(monitor.window.every) == text


@pytest.mark.parametrize(
    ("every", "says"),
    [
        ("0mo", "must be 1mo to 120mo"),
        ("500q", "must be 1mo to 120mo"),
        (
            "1 month",
            "with mo, q or y for months, quarters and years of the calendar, such as 1mo; it is '1 month'",
        ),
        ("1m30", "such as 12h or 7d"),
    ],
)
def test_a_length_that_is_none_is_refused(here: World, every: str, says: str):
    with pytest.raises(ConfigError, match=re.escape(says)):
        here.configure(window=f"{{every: {every}}}")


def test_windows_start_where_the_reference_ends(here: World):
    """A Wednesday: no row lies between the reference and the first window."""
    monitor = here.configure(reference="{from: 2026-01-05, to: 2026-05-20}").monitors["credit"]
    period = monitor.reference_period
    assert monitor.reference_windows[-1].end == period.end
    assert monitor.calendar.following(monitor.start).start == period.end
    aligned = here.configure(
        reference="{from: 2026-01-05, to: 2026-05-20}", window="{every: 7d, align: 2026-01-05}"
    ).monitors["credit"]
    assert aligned.reference_windows[-1].end < period.end


def test_months_of_a_reference_that_starts_and_ends_in_mid_month_are_whole(here: World):
    monitor = here.configure(
        reference="{from: 2026-01-15, to: 2026-05-20}", window="{every: 1mo, label_delay: 2d}"
    ).monitors["credit"]
    named = [window.in_zone(monitor.timezone) for window in monitor.reference_windows]
    assert named == ["2026-02-01 to 2026-03-01", "2026-03-01 to 2026-04-01", "2026-04-01 to 2026-05-01"]
    assert monitor.calendar.following(monitor.start).in_zone(monitor.timezone) == "2026-06-01 to 2026-07-01"


def test_years_are_those_of_the_calendar(here: World):
    monitor = here.configure(
        reference="{from: 2019-06-01, to: 2025-01-01}", window="{every: 1y, label_delay: 2d}"
    ).monitors["credit"]
    named = [window.in_zone(monitor.timezone) for window in monitor.reference_windows]
    assert named == [f"{year}-01-01 to {year + 1}-01-01" for year in range(2020, 2025)]
    days = [(window.end - window.start).days for window in monitor.reference_windows]
    assert days == [366, 365, 365, 365, 366]


@pytest.mark.parametrize(
    ("without", "more", "says"),
    [
        (
            "[2026-02-24]",
            {},
            "no window of the reference starts at 2026-02-24 00:00:00; they start at 2026-01-05",
        ),
        ("[soon]", {}, "reference.without"),
        (
            "[2026-02-23]",
            {"window": "{every: 1d, pool: 3, label_delay: 2d}"},
            "reference.without leaves out windows of the calendar, and window.rows or window.pool join them",
        ),
    ],
)
def test_windows_that_are_left_out_must_be_there(here: World, without: str, more: dict[str, str], says: str):
    reference = f"{{from: 2026-01-05, to: 2026-05-25, without: {without}}}"
    with pytest.raises(ConfigError, match=re.escape(says)):
        here.configure(reference=reference, **more)


def test_a_window_that_is_left_out_makes_another_reference(here: World):
    plain = here.configure().monitors["credit"]
    without = here.configure(reference="{from: 2026-01-05, to: 2026-05-25, without: [2026-02-23]}").monitors[
        "credit"
    ]
    left_out = set(plain.reference_windows) - set(without.reference_windows)
    assert [each.in_zone(plain.timezone) for each in left_out] == ["2026-02-23 to 2026-03-02"]
    assert digest(plain) != digest(without)


def test_outlying_windows_are_left_out_unless_they_are_kept(here: World):
    monitors = [
        here.configure(reference=f"{{from: 2026-01-05, to: 2026-05-25{more}}}").monitors["credit"]
        for more in ("", ", outliers: leave-out", ", outliers: keep")
    ]
    assert [each.reference.outliers for each in monitors] == ["leave-out", "leave-out", "keep"]
    assert digest(monitors[0]) == digest(monitors[1]) != digest(monitors[2])


@pytest.mark.parametrize("value", ["true", "drop", "[2026-02-23]", "null", "3"])
def test_other_treatments_of_outlying_windows_are_refused(here: World, value: str):
    with pytest.raises(ConfigError, match=r"reference\.outliers.*'leave-out' or 'keep'"):
        here.configure(reference=f"{{from: 2026-01-05, to: 2026-05-25, outliers: {value}}}")
