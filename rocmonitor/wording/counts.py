"""Counts of rows in words."""

from __future__ import annotations

from collections.abc import Mapping

from rocmonitor.policy.evaluation import Counts

SET_ASIDE = {
    "unlabelled": "without a label",
    "bad_score": "without a usable score",
    "bad_label": "with a label of neither class",
    "duplicates": "with an id seen before",
    "outside": "with a time outside the window",
}
"""Words for the rows that are not used, by the name of their count in `Counts`."""


CUT = "; the row cap was reached: the window has more"
"""Said after the rows of a window that was not read as a whole."""


def set_aside(counts: Counts | Mapping[str, int]) -> str:
    """How many rows are not used, and why; empty when all are.

    Examples
    --------
    >>> set_aside(Counts(rows=1300, n_pos=250, n_neg=950, unlabelled=88, duplicates=12))
    '88 without a label, 12 with an id seen before'
    """
    return ", ".join(set_aside_parts(counts))


def set_aside_parts(counts: Counts | Mapping[str, int]) -> list[str]:
    """The same, one text for each reason that applies."""
    found = {
        name: counts.get(name, 0) if isinstance(counts, Mapping) else getattr(counts, name)
        for name in SET_ASIDE
    }
    return [f"{count:,} {SET_ASIDE[name]}" for name, count in found.items() if count]
