"""Windows by rows and pooled ones as they are written, and what is wrong is said with the way out."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from scenario import World

from rocmonitor.errors import ConfigError
from rocmonitor.policy.joining import Joining
from rocmonitor.policy.windows import Months, Window
from rocmonitor.service.checking.joined import window_length
from rocmonitor.service.pieces import usual_length


@pytest.mark.parametrize(
    ("window", "every", "joining"),
    [
        ("{rows: 5000}", timedelta(days=1), Joining(rows=5000)),
        ("{rows: 5000, every: 1h}", timedelta(hours=1), Joining(rows=5000)),
        ("{rows: 5000, every: 1mo}", Months(1), Joining(rows=5000)),
        ("{rows: 5000, align: '2026-01-07T06:00'}", timedelta(days=1), Joining(rows=5000)),
        ("{every: 7d, pool: 4}", timedelta(days=7), Joining(min_per_class=20, most=4)),
        ("{every: 1q, pool: 2}", Months(3), Joining(min_per_class=20, most=2)),
        ("{every: 7d}", timedelta(days=7), None),
    ],
)
def test_windows_are_read_as_they_are_written(here: World, window, every, joining):
    monitor = here.configure(window=window).monitors["credit"]
    assert (monitor.window.every, monitor.joining) == (every, joining)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"window": "{label_delay: 2d}"}, "window.every: required, but missing"),
        ({"window": "{every: null}"}, "window.every: required, but missing"),
        ({"window": "{rows: true}"}, "window.rows: must be a whole number such as 5000 rows"),
        ({"window": "{rows: 0}"}, "window.rows: Input should be greater than or equal to 1"),
        ({"window": "{rows: many}"}, "window.rows: Input should be a valid integer"),
        ({"window": "{rows: 39}"}, "window.rows (39) leaves no room for min_per_class (20) of each class"),
        ({"window": "{rows: 500, pool: 4}"}, "window.pool: has no meaning with rows"),
        ({"window": "{every: 7d, pool: 1}"}, "window.pool: Input should be greater than or equal to 2"),
        ({"window": "{every: 7d, pool: 28d}"}, "window.pool: Input should be a valid integer"),
        ({"window": "{every: 7d, pool: false}"}, "window.pool: must be a whole number"),
    ],
)
def test_what_is_wrong_is_said_once(here: World, changes: dict[str, str], says: str):
    with pytest.raises(ConfigError, match=re.escape(says)) as raised:
        here.configure(**changes)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ("{rows: 5000}", "at least 5,000 rows, in whole days"),
        ("{rows: 5000, every: 7d, align: 2026-01-07}", "at least 5,000 rows, in whole weeks"),
        ("{rows: 5000, every: 1mo}", "at least 5,000 rows, in whole months"),
        ("{rows: 5000, every: 6h}", "at least 5,000 rows, in whole periods of 6h"),
        ("{every: 1mo, pool: 3}", "every 1mo, up to 3 pooled until each class has 20 rows"),
        ("{every: 7d}", "every 7d"),
    ],
)
def test_a_length_is_said_as_a_person_would(here: World, window: str, says: str):
    assert window_length(here.configure(window=window).monitors["credit"]) == says


def test_windows_a_year_are_those_of_the_reference_and_at_most_the_pieces(here: World):
    """A hundred rows a day: five days are a window."""
    monitor = here.configure(window="{rows: 500}").monitors["credit"]
    assert monitor.load().windows_per_year == 365.25
    assert [monitor.load(each).windows_per_year for each in (73.05, 500.0)] == [73.05, 365.25]
    days = monitor.reference_windows
    windows = [Window(days[at].start, days[at + 4].end) for at in range(0, 140, 5)]
    assert usual_length(monitor, windows, 14_000) == timedelta(days=5)
    parts = "{from: 2026-01-05, to: 2026-05-25, windows: 10}"
    monitor = here.configure(window="{rows: 500}", reference=parts).monitors["credit"]
    assert usual_length(monitor, monitor.reference_windows, 14_000) == timedelta(days=5)
    monitor = here.configure(window="{every: 7d}").monitors["credit"]
    assert usual_length(monitor, monitor.reference_windows, 14_000) == timedelta(days=7)


def test_a_period_of_the_reference_may_be_cut_into_equal_parts(here: World):
    period = "{from: 2026-01-05, to: 2026-05-25, windows: 10}"
    monitor = here.configure(window="{rows: 500}", reference=period).monitors["credit"]
    assert [each.end - each.start for each in monitor.reference_windows] == [timedelta(days=14)] * 10
