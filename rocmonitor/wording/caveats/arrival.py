"""Caveats on labels that come late: when they became known, which are missing, what stands in for them."""

from __future__ import annotations

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {
    # When labels became known, from rocmonitor.sources.arrival
    "labels-without-instant": (
        "{count:,} of {rows:,} rows have a label and no readable {column}: their labels count as known from "
        "the start; fill the column, or leave such labels out in monitors.{monitor}.query"
    ),
    "labelled-before-scored": (
        "{count:,} of {rows:,} rows have a {column} before their own time (a plain date is its midnight): "
        "their labels count as known from the start; see that the column holds when the label became known, "
        "in the zone of its source"
    ),
    "instants-without-label": (
        "{count:,} of {rows:,} rows have a {column} and no label; they count as unlabelled"
    ),
    "labelled-later": (
        "{count:,} of {rows:,} rows have a {column} after the instant of judging; they count as unlabelled"
    ),
}
