"""Crontab lines against an enumeration of the wall clock, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.crontab import next_fire

BERLIN = ZoneInfo("Europe/Berlin")
YEAR = datetime(2025, 12, 31, tzinfo=UTC)
MINUTES = 368 * 1440
UNUSUAL = ("Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "America/Santiago")
"""Clocks change by half an hour, or at midnight."""
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def fires(line: str, zone: str, start: datetime, count: int) -> list[str]:
    """Return the next times, on the wall clock."""
    times, after = [], start.astimezone(UTC)
    for _ in range(count):
        after = next_fire(line, ZoneInfo(zone), after)
        times.append(f"{after.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %z}")
    return times


@pytest.mark.parametrize(
    ("line", "zone", "start", "expected"),
    [
        ("0 0 * * *", "Europe/Berlin", (2026, 3, 29), ["2026-03-30 00:00 +0200", "2026-03-31 00:00 +0200"]),
        ("0 0 * * *", "US/Pacific", (2026, 3, 8), ["2026-03-09 00:00 -0700", "2026-03-10 00:00 -0700"]),
        ("30 2 * * *", "Europe/Berlin", (2026, 3, 29), ["2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"]),
        ("30 2 * * *", "Europe/Berlin", (2026, 10, 25), ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"]),
        (
            "0 * * * *",
            "Europe/Berlin",
            (2026, 10, 25, 1),
            ["2026-10-25 02:00 +0200", "2026-10-25 02:00 +0100"],
        ),
        ("0 6 1 * 1", "UTC", (2026, 6, 28), ["2026-06-29 06:00 +0000", "2026-07-01 06:00 +0000"]),
        ("0 6 * * 7", "UTC", (2026, 6, 28), ["2026-06-28 06:00 +0000", "2026-07-05 06:00 +0000"]),
        ("0 6 * * 0", "UTC", (2026, 6, 28), ["2026-06-28 06:00 +0000", "2026-07-05 06:00 +0000"]),
        ("0 6 * * 5-7", "UTC", (2026, 6, 28), ["2026-06-28 06:00 +0000", "2026-07-03 06:00 +0000"]),
        ("0 0 29 2 *", "UTC", (2026, 1, 1), ["2028-02-29 00:00 +0000", "2032-02-29 00:00 +0000"]),
    ],
)
def test_a_line_means_what_cron_means(line: str, zone: str, start: tuple[int], expected: list[str]) -> None:
    assert fires(line, zone, datetime(*start, tzinfo=ZoneInfo(zone)), 2) == expected


def test_the_hour_that_comes_twice_is_told_apart() -> None:
    second = datetime(2026, 10, 25, 2, 35, fold=1, tzinfo=BERLIN).astimezone(UTC)
    assert next_fire("45 2 * * *", BERLIN, second) == datetime(2026, 10, 26, 1, 45, tzinfo=UTC)


@pytest.mark.parametrize(
    "line",
    [
        "0 0 31 2 *",
        "0 0 30 2 */2",
        "60 * * * *",
        "0 6 * *",
        "0 0 6 * * *",
        "@daily",
        "0 6 * * fri-mon",
        "0 2-2/5 * * *",
    ],
)
def test_what_never_fires_or_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"Bad|five fields|is one value"):
        next_fire(line, BERLIN, YEAR)


@cache
def wall_clock(zone: str) -> np.ndarray:
    """Return what the wall clock shows at each minute of a year, as minutes of datetime64."""
    known = ZoneInfo(zone)
    shown = ((YEAR + timedelta(minutes=at)).astimezone(known) for at in range(MINUTES))
    return np.array([time.replace(tzinfo=None) for time in shown], dtype="datetime64[m]")


def values(field: str, low: int, high: int) -> set[int]:
    """Return the numbers that a field of a crontab line lists."""
    listed: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = str(low), str(high)
        end = int(last or (high if step else first))
        listed.update(range(int(first), end + 1, int(step or 1)))
    return listed


def enumerated(line: str, zone: str) -> np.ndarray:
    """Return the minutes of the year at which a line fires, by looking at each."""
    shown, fields = wall_clock(zone), line.split()
    elapsed = "*" in (fields[0][0], fields[1][0])
    wall = shown if elapsed else np.arange(shown[0], shown[-1])
    days = wall.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    parts = (
        (wall - days).astype(int) % 60,
        (wall - days).astype(int) // 60,
        (days - months).astype(int) + 1,
        months.astype(int) % 12 + 1,
        (days.astype(int) + 4) % 7,
    )
    listed = [values(field, *limits) for field, limits in zip(fields, RANGES, strict=True)]
    listed[4] = {day % 7 for day in listed[4]}
    minute, hour, day, month, weekday = (
        np.isin(part, sorted(some)) for part, some in zip(parts, listed, strict=True)
    )
    on_day = day & weekday if "*" in (fields[2][0], fields[4][0]) else day | weekday
    matching = minute & hour & month & on_day
    if elapsed:
        return np.flatnonzero(matching)
    # The first minute at which the clock shows that time, or has left it out.
    return np.unique(np.searchsorted(np.maximum.accumulate(shown), wall[matching]))


def line_of(rng: np.random.Generator) -> str:
    """Return a crontab line."""

    def field(low: int, high: int, free: float) -> str:
        first, last = sorted(rng.choice(np.arange(low, high + 1), size=2, replace=False))
        others = ",".join(str(number) for number in sorted(rng.integers(low, high + 1, size=3)))
        step = rng.integers(2, 9)
        kinds = (
            str(first),
            others,
            f"{first}-{last}",
            f"{first}-{last}/{step}",
            f"*/{step}",
            f"{first},{last}",
        )
        return "*" if rng.random() < free else str(rng.choice(kinds))

    hours = (0, 3) if rng.random() < 0.7 else RANGES[1]  # clocks change at these
    chances = ((RANGES[0], 0.1), (hours, 0.1), (RANGES[2], 0.6), (RANGES[3], 0.8), (RANGES[4], 0.6))
    return " ".join(field(*limits, free) for limits, free in chances)


@pytest.mark.slow
@pytest.mark.parametrize(
    "zone",
    [
        "UTC",
        "Asia/Kolkata",
        "Europe/Berlin",
        "US/Pacific",
        *UNUSUAL,
    ],
)
def test_every_line_fires_when_the_wall_clock_says_so(zone: str) -> None:
    rng, shown = np.random.default_rng(), wall_clock(zone)
    changes = np.flatnonzero(np.diff(shown).astype(int) != 1)
    near = [np.arange(change - 1500, change + 1500, 97) for change in changes]
    for _ in range(50):
        line = line_of(rng)
        if zone in UNUSUAL and "*" in (line[0], line.split()[1][0]):
            continue  # cronsim may be an hour off on the day of the change, as the docstring says
        expected = enumerated(line, zone)
        starts = np.concatenate([*near, rng.integers(1440, MINUTES - 2880, size=20), expected[1440:][:5]])
        for start in starts:
            later = expected[expected > start]
            if len(later) and later[0] < MINUTES - 1440:
                after = YEAR + timedelta(minutes=int(start), seconds=int(rng.integers(60)))
                right = YEAR + timedelta(minutes=int(later[0]))
                assert next_fire(line, ZoneInfo(zone), after) == right, (line, after)
