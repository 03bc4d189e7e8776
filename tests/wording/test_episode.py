"""Episodes in words: when a loss began, as precisely as that is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rocmonitor.policy.episode import Decline
from rocmonitor.policy.windows import Window
from rocmonitor.wording.episode import began

AUGUST, WEEK = datetime(2026, 8, 3, tzinfo=UTC), timedelta(days=7)


@pytest.mark.parametrize(
    ("start", "low", "high", "said"),
    [
        (0, 0, 0, "Began with the window of 2026-08-03"),
        (0, 0, 1, "Began with the window of 2026-08-03"),
        (-1, -1, -1, "Began with the window of 2026-07-27; alarm with the window of 2026-08-03"),
        (-1, -2, 0, "Began about 2026-07-27 (2026-07-20 to 2026-08-03); alarm with the window of 2026-08-03"),
        (0, -1, 0, "Began about 2026-08-03 (2026-07-27 to 2026-08-03); alarm with the window of 2026-08-03"),
        (-1, -1, 0, "Began about 2026-07-27 (2026-07-27 to 2026-08-03); alarm with the window of 2026-08-03"),
    ],
)
def test_a_beginning_says_a_date_once(start: int, low: int, high: int, said: str) -> None:
    """Weeks from that of the alarm."""
    decline = Decline(
        monitor="credit",
        champion_version="3",
        alarm=Window(AUGUST, AUGUST + WEEK),
        start=AUGUST + start * WEEK,
        start_low=AUGUST + low * WEEK,
        start_high=AUGUST + high * WEEK,
    )
    assert began(decline, ZoneInfo("UTC")) == said
