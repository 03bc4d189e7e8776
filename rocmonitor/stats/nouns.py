"""Numbers with their nouns, for messages."""

from __future__ import annotations


def many(number: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def classes(n_pos: int, n_neg: int, between: str = ", ") -> str:
    """Return the class sizes, such as "1 positive, 20 negatives"."""
    return f"{many(n_pos, 'positive')}{between}{many(n_neg, 'negative')}"
