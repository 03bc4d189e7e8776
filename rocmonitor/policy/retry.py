"""When a failure is tried again."""

from __future__ import annotations

from datetime import timedelta

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)


def retry_pause(failures: int, *, transient: bool = True) -> timedelta:
    """How long to wait after the last of so many failures in a row.

    A failure that may pass by itself is tried again after 5 seconds, and after twice as long each time. One
    that somebody must mend waits for 10 minutes, which is also the longest pause.

    Examples
    --------
    >>> [int(retry_pause(number).total_seconds()) for number in range(1, 10)]
    [5, 10, 20, 40, 80, 160, 320, 600, 600]
    """
    if not transient:
        return LONGEST_PAUSE
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 20), LONGEST_PAUSE)
