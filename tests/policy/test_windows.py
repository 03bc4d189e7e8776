"""Windows: alignment, named zones and clock changes, and when a window is old enough."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.errors import InputError
from rocmonitor.policy.label_delay import LabelDelay
from rocmonitor.policy.windows import Calendar, Months, Window, gaps, split

BERLIN = ZoneInfo("Europe/Berlin")
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_window_is_read_back_and_overlaps_no_neighbour():
    first, second = Window(utc("2026-01-05"), utc("2026-01-12")), Window(utc("2026-01-12"), utc("2026-01-19"))
    assert first.to_dict() == {"start": "2026-01-05T00:00:00+00:00", "end": "2026-01-12T00:00:00+00:00"}
    assert Window.from_dict(first.to_dict()) == first
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    across = Window(utc("2026-01-11"), utc("2026-01-13"))
    assert first.overlaps(across)
    assert across.overlaps(second)
    assert first.overlaps(first)


def test_a_week_starts_on_monday_at_local_midnight():
    weeks = Calendar(every=7 * DAY, zone=BERLIN).within(utc("2026-01-01"), utc("2026-01-20"))
    assert weeks == [
        Window(utc("2026-01-04T23:00"), utc("2026-01-11T23:00")),
        Window(utc("2026-01-11T23:00"), utc("2026-01-18T23:00")),
    ]
    assert weeks[0].in_zone(BERLIN) == "2026-01-05 to 2026-01-12"


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_day_across_a_clock_change_has_23_or_25_hours(day: str, hours: int):
    midnight = datetime.fromisoformat(day).replace(tzinfo=BERLIN)
    [window] = Calendar(every=DAY, zone=BERLIN).within(midnight, midnight.astimezone(UTC) + hours * HOUR)
    assert window.end - window.start == hours * HOUR


def test_hours_are_elapsed_time():
    windows = Calendar(every=6 * HOUR, zone=BERLIN).within(utc("2026-03-28"), utc("2026-03-30"))
    assert {window.end - window.start for window in windows} == {6 * HOUR}


def test_alignment_can_be_given():
    windows = Calendar(every=7 * DAY, zone=ZoneInfo("UTC"), align=datetime(2026, 1, 1)).within(  # noqa: DTZ001
        utc("2026-01-01"), utc("2026-01-15")
    )
    assert [window.start for window in windows] == [utc("2026-01-01"), utc("2026-01-08")]


@given(
    zone=st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"]
    ),
    every=st.sampled_from([HOUR, 5 * HOUR, DAY, 7 * DAY, 30 * DAY]),
    start=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    length=st.timedeltas(timedelta(), 90 * DAY),
)
def test_windows_tile_the_time_without_gap_or_overlap(zone, every, start, length):
    windows = Calendar(every=every, zone=ZoneInfo(zone)).within(start, start + length)
    assert all(a.end == b.start for a, b in pairwise(windows))
    assert all(start <= window.start and window.end <= start + length for window in windows)
    longest = every + 2 * HOUR  # a clock change
    assert len(windows) >= length // longest - 1


def test_a_period_of_whole_days_is_split_at_midnights():
    parts = split(datetime(2026, 1, 1), datetime(2026, 4, 1), 13, BERLIN)  # noqa: DTZ001 wall times
    assert len(parts) == 13
    assert parts[0].start == utc("2025-12-31T23:00")
    assert parts[-1].end == utc("2026-03-31T22:00")  # in summer time
    assert all(a.end == b.start for a, b in pairwise(parts))
    assert {part.end.astimezone(BERLIN).hour for part in parts} == {0}
    assert {round((part.end - part.start) / DAY) for part in parts} == {6, 7}


def test_a_shorter_period_is_split_into_equal_times():
    parts = split(datetime(2026, 1, 1), datetime(2026, 1, 1, 6), 4, BERLIN)  # noqa: DTZ001
    assert {part.end - part.start for part in parts} == {timedelta(hours=1.5)}
    with pytest.raises(InputError, match=r"reference\.windows"):
        split(datetime(2026, 1, 1), datetime(2026, 1, 2), 0, BERLIN)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("now", "age"),
    [
        ("2026-01-07T23:59", "open"),
        ("2026-01-08T00:00", "waiting"),
        ("2026-02-06T23:59", "waiting"),
        ("2026-02-07T00:00", "due"),
        ("2026-05-08T00:00", "due"),
        ("2026-05-08T00:01", "closed"),
    ],
)
def test_age(now: str, age: str):
    labels = LabelDelay(delay=30 * DAY, revise_for=90 * DAY, every=7 * DAY)
    assert labels.age(Window(utc("2026-01-01"), utc("2026-01-08")), utc(now)) == age


def test_without_revise_for_windows_are_looked_at_as_long_as_the_delay_and_four_windows_at_least():
    usual = {delay: LabelDelay(delay=delay * DAY, every=7 * DAY).revised_for for delay in (0, 27, 28, 29)}
    assert usual == {0: 28 * DAY, 27: 28 * DAY, 28: 28 * DAY, 29: 29 * DAY}
    assert LabelDelay(delay=9 * DAY, every=7 * DAY, revise_for=DAY).revised_for == DAY


@pytest.mark.parametrize(("revise_for", "days"), [(None, 112), (0, 112), (1, 112), (90, 360)])
def test_an_insufficient_window_is_looked_at_four_times_as_long(revise_for, days):
    said = None if revise_for is None else revise_for * DAY
    labels = LabelDelay(delay=2 * DAY, every=7 * DAY, revise_for=said)
    window = Window(utc("2026-01-01"), utc("2026-01-08"))
    last = window.end + 2 * DAY + days * DAY
    assert labels.is_revisable(window, last, insufficient=True)
    assert not labels.is_revisable(window, last + timedelta(seconds=1), insufficient=True)


def test_enough_labels():
    labels = LabelDelay(min_labelled=0.95)
    assert labels.enough(rows=100, labelled=95)
    assert not labels.enough(rows=100, labelled=94)
    assert not labels.enough(rows=0, labelled=0)
    assert not LabelDelay().enough(rows=10, labelled=10)


def test_a_window_needs_instants_in_order():
    with pytest.raises(InputError, match="time zone"):
        Window(datetime(2026, 1, 1), datetime(2026, 1, 2))  # noqa: DTZ001
    with pytest.raises(InputError, match="must end after it starts"):
        Window(utc("2026-01-02"), utc("2026-01-02"))
    with pytest.raises(InputError, match=r"window\.every"):
        Calendar(every=timedelta(), zone=BERLIN)


ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]


@pytest.mark.parametrize("zone", ZONES)
def test_months_are_those_of_the_calendar_across_leap_years_and_clock_changes(zone: str):
    there = ZoneInfo(zone)
    begin, end = (datetime(year, 1, 1, tzinfo=there) for year in (2023, 2025))
    months = Calendar(every=Months(1), zone=there).within(begin, end)
    assert [window.in_zone(there)[:10] for window in months] == [
        f"{year}-{month:02}-01" for year in (2023, 2024) for month in range(1, 13)
    ]
    assert all(a.end == b.start for a, b in pairwise(months))
    days = [window.in_zone(there) for window in months]
    assert (days[1], days[13]) == ("2023-02-01 to 2023-03-01", "2024-02-01 to 2024-03-01")
    lengths = {(window.end - window.start) / HOUR for window in months}
    assert 24 * 28 in lengths
    assert 24 * 29 in lengths
    off = {round(length % 24, 1) for length in lengths} - {0.0}
    assert off == ({0.5, 23.5} if zone == "Australia/Lord_Howe" else {1.0, 23.0})


@pytest.mark.parametrize("zone", ZONES)
def test_quarters_begin_with_january(zone: str):
    there = ZoneInfo(zone)
    quarters = Calendar(every=Months(3), zone=there).within(
        datetime(2024, 2, 10, tzinfo=there), datetime(2025, 1, 1, tzinfo=there)
    )
    assert [window.in_zone(there) for window in quarters] == [
        "2024-04-01 to 2024-07-01",
        "2024-07-01 to 2024-10-01",
        "2024-10-01 to 2025-01-01",
    ]


def test_months_may_start_on_any_day_and_a_day_that_lacks_is_the_last():
    utc_zone = ZoneInfo("UTC")
    months = Calendar(every=Months(1), zone=utc_zone, align=datetime(2023, 10, 31)).within(  # noqa: DTZ001
        utc("2023-12-31"), utc("2024-05-01")
    )
    assert [window.in_zone(utc_zone)[:10] for window in months] == [
        "2023-12-31",
        "2024-01-31",
        "2024-02-29",
        "2024-03-31",
    ]


@given(
    zone=st.sampled_from(["UTC", *ZONES]),
    months=st.integers(1, 14),
    day=st.integers(1, 31),
    instant=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_first_month_at_or_after_an_instant_is_the_first(zone, months, day, instant):
    calendar = Calendar(every=Months(months), zone=ZoneInfo(zone), align=datetime(2001, 1, day))  # noqa: DTZ001
    number = calendar.first_at_or_after(instant)
    assert calendar.boundary(number - 1) < instant <= calendar.boundary(number)


def test_the_gaps_of_a_period_are_what_its_parts_leave():
    """In order, however the parts come; none where they fill it."""
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 8)]
    parts = [Window(days[4], days[5]), Window(days[1], days[2])]
    whole = Window(days[0], days[6])
    assert gaps(parts, whole) == [
        Window(days[0], days[1]),
        Window(days[2], days[4]),
        Window(days[5], days[6]),
    ]
    assert gaps([], whole) == [whole]
    assert gaps([Window(days[3], days[6]), Window(days[0], days[3])], whole) == []
