"""Caveats on reviews: champion against challenger."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
