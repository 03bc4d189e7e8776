"""Caveats on areas under the curve, their differences and standard errors."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {}
