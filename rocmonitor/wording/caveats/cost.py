"""Caveats on costs."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
