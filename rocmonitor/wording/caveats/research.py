"""Caveats on the statistics for research."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {
    "rate-cannot-be-held": (
        "{count} of {total} thresholds have a {rate} of 0 or 1, which cannot be held fixed: the nearest rate "
        "within (0, 1) is used"
    ),
}
