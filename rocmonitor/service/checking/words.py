"""The words of a check: its doubts, and numbers of events a year."""

from __future__ import annotations

from rocmonitor.stats.coming import Rate

POWER = 0.8
"""Power used for the detectable drop."""

STAYS = 0.05
"""The drop that stays whose time is told."""

LEAST_SHOWN = 0.01
"""Fewer events a year are said to be fewer than that."""


MORE_ROWS = "take longer windows (window.every, pool) or a smaller min_per_class"
"""The way out where windows have too few rows of a class."""


class Doubt(str):
    """A line that says why a monitor would not watch well, and what helps."""

    __slots__ = ()


def rate(each_year: float, *, digits: int = 2, hardly_any: str = f"less than {LEAST_SHOWN:g}") -> str:
    """Return a number of events a year, no more precise than it is."""
    if each_year < LEAST_SHOWN:
        return hardly_any
    return f"{each_year:.{digits}g}" if each_year < 10 else f"{each_year:,.0f}"


def possible(yearly: Rate) -> str:
    """Return the range that is possible."""
    return f"{rate(yearly.low, hardly_any='0')} to {rate(yearly.high)}"
