"""Caveats on costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def _few_errors(at: Sequence[float], errors: int, instead: str) -> str:
    return f"fewer than {errors} errors carry the variance {_not_trusted(at, instead)}"


def _moved_by_smoothing(at: Sequence[float], instead: str) -> str:
    return f"the added errors move the estimate by half of its margin {_not_trusted(at, instead)}"


def _not_trusted(at: Sequence[float], instead: str) -> str:
    """The first few and the last of many conditions."""
    listed = [f"{value:g}" for value in at]
    listed = listed if len(listed) <= 8 else [*listed[:4], "…", *listed[-3:]]
    return f"at w = {', '.join(listed)}: do not trust the interval there, use method {instead!r}"


SENTENCES: dict[str, str | Callable[..., str]] = {
    "few-errors": _few_errors,
    "moved-by-smoothing": _moved_by_smoothing,
}
