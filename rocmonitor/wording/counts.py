"""Rows that are not used, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmonitor.policy.evaluation import Counts

_WORDS = {
    "unlabelled": "without a label",
    "bad_score": "without a usable score",
    "bad_label": "with a label of neither class",
    "duplicates": "with an id seen before",
    "outside": "with a time outside the window",
}


def set_aside(counts: Counts | Mapping[str, Any]) -> str:
    """How many rows are not used, and why; empty when all are.

    Examples
    --------
    >>> set_aside({"rows": 10, "unlabelled": 2, "bad_score": 1})
    '2 without a label, 1 without a usable score'
    """
    numbers = asdict(counts) if is_dataclass(counts) else counts
    found = [f"{numbers[name]:,} {words}" for name, words in _WORDS.items() if numbers.get(name)]
    if numbers.get("truncated"):
        found.append("more than the row cap not read")
    return ", ".join(found)
