# ruff: noqa: DTZ001 wall times are what is tested
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.policy.windows import Window
from rocmonitor.sources.clock import Clock, since_epoch, wall_time

ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "UTC",
]


def first_pass(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a wall time that exists; of one that comes twice the first."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def exists(wall: datetime, zone: ZoneInfo) -> bool:
    return first_pass(wall, zone).astimezone(zone).replace(tzinfo=None) == wall


@given(
    zone=st.sampled_from(ZONES),
    instant=st.datetimes(datetime(2023, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)),
    minutes=st.integers(-180, 180),
)
def test_rows_are_before_the_bound_exactly_when_they_are_before_the_instant(
    zone: str, instant: datetime, minutes: int
) -> None:
    where = ZoneInfo(zone)
    bound = wall_time(instant, where)
    wall = bound + timedelta(minutes=minutes)
    if exists(wall, where):
        assert (wall < bound) == (first_pass(wall, where) < instant)


@pytest.mark.parametrize("zone", ZONES[:3])
@pytest.mark.parametrize("year", [2024, 2025])
def test_bounds_at_every_clock_change_of_a_year(zone: str, year: int) -> None:
    where, step = ZoneInfo(zone), timedelta(minutes=15)
    instants = [datetime(year, 1, 1, tzinfo=UTC) + n * step for n in range(366 * 96)]
    walls = [instant.astimezone(where).replace(tzinfo=None) for instant in instants]
    near = {
        n + k for n in range(12, len(walls) - 12) if walls[n + 1] - walls[n] != step for k in range(-12, 12)
    }
    assert len(near) >= 40
    for n in near:
        bound = wall_time(instants[n], where)
        for k in near:
            assert (walls[k] < bound) == (first_pass(walls[k], where) < instants[n])


def test_bounds_never_go_back() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    instants = [datetime(2024, 10, 26, tzinfo=UTC) + n * timedelta(minutes=7) for n in range(400)]
    bounds = [wall_time(instant, berlin) for instant in instants]
    assert bounds == sorted(bounds)


def test_fractions_of_a_second_are_kept() -> None:
    instant = datetime(2024, 10, 27, 0, 30, 0, 250_000, tzinfo=UTC)
    assert wall_time(instant, ZoneInfo("Europe/Berlin")) == datetime(2024, 10, 27, 2, 30, 0, 250_000)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (datetime(2026, 1, 5, tzinfo=UTC), "2026-01-05"),
        (datetime(2026, 1, 5, 6, tzinfo=UTC), "2026-01-05 06:00"),
        (datetime(2026, 1, 5, 0, 0, 7, tzinfo=UTC), "2026-01-05 00:00:07"),
        (datetime(2026, 1, 5, 0, 0, 7, 500_000, tzinfo=UTC), "2026-01-05 00:00:07.500000"),
    ],
)
def test_text_sorts_before_every_longer_form(start: datetime, text: str) -> None:
    window = Window(start, start + timedelta(days=1))
    assert Clock(None, " ").bound(window)[0] == text


@pytest.mark.parametrize(
    ("zone", "text", "expected"),
    [
        (None, "2026-01-05T01:00:00Z", datetime(2026, 1, 5, 1)),
        (None, "2026-01-05 01:00:00+01:00", datetime(2026, 1, 5)),
        (None, "2026-01-05 01:00:00", None),
        ("Europe/Berlin", "2026-01-05 01:00:00", datetime(2026, 1, 5, 1)),
        ("Europe/Berlin", "2026-01-05 01:00:00+00:00", datetime(2026, 1, 5, 2)),
        ("Europe/Berlin", "2026-01-05", datetime(2026, 1, 5)),
        ("Europe/Berlin", "soon", None),
        ("Europe/Berlin", 20260105, None),
        ("Europe/Berlin", None, None),
    ],
)
def test_reading_text(zone: str | None, text: object, expected: datetime | None) -> None:
    clock = Clock(ZoneInfo(zone) if zone else None, " ")
    assert clock.read(text) == (None if expected is None else since_epoch(expected))
