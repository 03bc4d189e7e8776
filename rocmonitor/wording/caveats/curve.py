"""Caveats on points of the curve: thresholds, rates and their differences; samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _counted(count: int, total: int, nouns: str) -> str:
    return f"{count} of {total} {nouns} {'is' if count == 1 else 'are'}"


def _clipped(count: int, total: int, rate: str, within: str, **_: Any) -> str:
    return f"{_counted(count, total, f'{rate} intervals')} clipped to {within}"


def _zero_length(count: int, total: int, rate: str, **_: Any) -> str:
    return f"{_counted(count, total, f'{rate} intervals')} of zero length: use a method that smooths"


def _off_estimate(count: int, total: int, rate: str, **_: Any) -> str:
    return (
        f"{count} of {total} {rate} intervals {'does' if count == 1 else 'do'} not contain the estimate: "
        "smoothing moved the interval away from it"
    )


def _conservative(count: int, total: int, rate: str, **_: Any) -> str:
    return (
        f"{_counted(count, total, f'{rate} intervals')} conservative: so few rows are flagged, or are not, "
        "that they cover more than their level"
    )


def _moved_rate(count: int, total: int, rows: int, **_: Any) -> str:
    moved = "not a multiple" if count == 1 else "not multiples"
    return f"{_counted(count, total, 'rates')} {moved} of 1/{rows} within (0, 1): the nearest was used"


def _thinned(count: int, total: int, kept: int, **_: Any) -> str:
    return f"{_counted(count, total, 'laws')} approximated with {kept:,} thresholds"


def _tied_threshold(
    count: int, total: int, at: list[float], realised: list[float], model: str | None = None
) -> str:
    worst = max(range(count), key=lambda i: realised[i])
    return (
        f"{f'{model} model: ' if model else ''}at {count} of {total} rates many negatives share the score of "
        f"the threshold, and all of them are flagged: the false positive rate reaches {realised[worst]:.3g} "
        f"where {at[worst]:.3g} was asked for"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    "clipped": _clipped,
    "zero-length": _zero_length,
    "off-estimate": _off_estimate,
    "conservative": _conservative,
    "moved-rate": _moved_rate,
    "thinned": _thinned,
    "tied-threshold": _tied_threshold,
    "resample-sizes": (
        "the intervals describe resamples of {m_pos:,} positives and {m_neg:,} negatives, not of the "
        "sample's own size"
    ),
}
