"""Caveats on forecast intervals, distances, explanations of a shift."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
