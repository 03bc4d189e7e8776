"""Caveats on a window's rows, its reference and its model versions."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
