"""Caveats on confidence sequences."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
