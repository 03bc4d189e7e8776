"""Caveats on points of the curve: thresholds, rates and their differences; samples."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
