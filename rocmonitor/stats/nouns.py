"""Numbers with their nouns, for messages."""

from __future__ import annotations

import math


def many(number: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def classes(n_pos: int, n_neg: int, between: str = ", ") -> str:
    """Return the class sizes, such as "1 positive, 20 negatives"."""
    return f"{many(n_pos, 'positive')}{between}{many(n_neg, 'negative')}"


def decimals(error: float) -> int:
    """Return the decimals with which a number is printed: its standard error keeps two digits, from 2 to 6.

    Examples
    --------
    >>> decimals(0.0155), decimals(0.00123), decimals(0.3)
    (3, 4, 2)
    """
    return min(max(1 - math.floor(math.log10(error)), 2), 6) if error > 0 else 4
