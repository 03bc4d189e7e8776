"""Rows that are no window yet, where windows are joined from those of the calendar, in words."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.joining import Counted, Joining
from rocmonitor.wording.format import count, instant


def unjudged(rest: Counted, joining: Joining, zone: ZoneInfo) -> str:
    """What has come since the last window, and what it waits for.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.policy.windows import Window
    >>> days = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 9, tzinfo=UTC))
    >>> rest = Counted(window=days, rows=3200, n_pos=40, n_neg=3160, pieces=4)
    >>> unjudged(rest, Joining(rows=5000), ZoneInfo("UTC"))
    '3,200 of 5,000 rows since 2026-01-05'
    """
    since = instant(rest.window.start, zone)
    if joining.rows is None:
        return (
            f"{count(rest.pieces, 'window')} since {since}: labels are awaited, or a class has too few rows "
            f"(at most {joining.most} are pooled)"
        )
    if rest.rows < joining.rows:
        return f"{rest.rows:,} of {joining.rows:,} rows since {since}"
    return f"{rest.rows:,} rows since {since} wait for labels"


def pooled(caveats: Iterable[Caveat]) -> str:
    """Behind the dates of a window: of how many it is; empty for one."""
    return next(
        (f", {each.values['windows']} pooled" for each in caveats if each.code == "windows-pooled"), ""
    )
