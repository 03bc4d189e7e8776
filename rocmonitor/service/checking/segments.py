"""Segment values that are too small to be judged."""

from __future__ import annotations

from collections.abc import Mapping

from rocmonitor.sources import Rows

MOST_SEGMENTS = 5
"""So many of the segment values that are too small are named."""


def small_segments(segments: Mapping[str, Rows], min_per_class: int) -> list[str]:
    """The segment values that would be insufficient, each with the class that is too small."""
    small = []
    for name, rows in segments.items():
        classes = {"positives": rows.counts.n_pos, "negatives": rows.counts.n_neg}
        short = [f"{count:,} {what}" for what, count in classes.items() if count < min_per_class]
        if name and short:
            small.append(f"{name}: {' and '.join(short)}, min_per_class is {min_per_class:,}: insufficient")
    if len(small) > MOST_SEGMENTS:
        small[MOST_SEGMENTS:] = [f"and {len(small) - MOST_SEGMENTS:,} more that are insufficient"]
    return small
