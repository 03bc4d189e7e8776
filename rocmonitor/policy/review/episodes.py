"""The difference of two models before, in and after a loss of the champion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from statistics import fmean

from rocmonitor.conventions import NORMAL_95
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.record import Row
from rocmonitor.policy.windows import Window


def difference_by_episode(windows: Sequence[Row], period: Window, episodes: Sequence[Decline]) -> list[Row]:
    """Return the mean difference before, in and after the last episode in a period; empty without one.

    `windows` are as `rocmonitor.policy.review.checks.windows_table` gives them, and `episodes` of the same
    rows, oldest first. Checked windows are weighted by their rows, as in the average of the period, which so
    lies between its parts. The intervals (95 %) are for a look at this one table.
    """
    overlapping = [
        episode
        for episode in episodes
        if episode.start < period.end and (episode.end or period.end) > period.start
    ]
    if not overlapping:
        return []
    episode, parts = overlapping[-1], dict[str, list[Row]]()
    for row in windows:
        start = datetime.fromisoformat(row["start"])
        part = "before" if start < episode.start else "in"
        if episode.end is not None and start >= episode.end:
            part = "after"
        if row["checked"]:
            parts.setdefault(part, []).append(row)
    table = []
    for part in ("before", "in", "after"):
        if rows := parts.get(part):
            n_rows = [row["rows"] for row in rows]
            mean = fmean([row["difference"] for row in rows], n_rows)
            error = math.sqrt(sum((row["rows"] * row["se"]) ** 2 for row in rows)) / sum(n_rows)
            reach = NORMAL_95 * error
            table.append(
                {
                    "part": part,
                    "start": rows[0]["start"],
                    "end": rows[-1]["end"],
                    "windows": len(rows),
                    "difference": mean,
                    "low": mean - reach,
                    "high": mean + reach,
                }
            )
    return table
