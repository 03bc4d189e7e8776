"""Lengths of windows as they are written: durations, months, quarters; and where windows start."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from scenario import World

from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Months


@pytest.mark.parametrize(
    ("text", "length"), [("1mo", Months(1)), ("1q", Months(3)), ("7d", timedelta(days=7)), ("5mo", Months(5))]
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
        ("1 month", "with mo or q for months and quarters of the calendar, such as 1mo; it is '1 month'"),
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
