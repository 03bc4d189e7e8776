"""Caveats on bands for a whole curve."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
