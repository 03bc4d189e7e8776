"""Rows by the groups of columns, counted by the engine of a source: only groups leave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from rocmonitor.config import Monitor
from rocmonitor.conventions import text_of_group
from rocmonitor.policy.windows import Window
from rocmonitor.sources.batch import Rows
from rocmonitor.sources.sql import SqlSource
from rocmonitor.stats.group_reference import ColumnRows
from rocmonitor.stats.grouping import BINS, Groups

MOST = 200
"""Groups of a column that an engine counts."""


def grouped_columns(
    source: SqlSource, monitor: Monitor, period: Window, columns: Sequence[str]
) -> tuple[dict[str, Groups], dict[str, str]]:
    """Return how to cut columns in a period, into bins of numbers or by value; and why some cannot be cut."""
    groups, refused = dict[str, Groups](), dict[str, str]()
    for name in columns:
        values = source.distinct(monitor, period, name, most=MOST + 1)
        present = [value for value in values if value is not None]
        if not present:
            refused[name] = (
                f"{name} is missing in all rows of the reference: see if the column is still filled"
            )
        elif not all(isinstance(value, int | float | Decimal) for value in present):
            if len(values) > MOST:
                refused[name] = (
                    f"{name} has more than {MOST} values, and at most so many groups are counted: put the "
                    "rare ones together, or give a coarser column"
                )
            else:
                groups[name] = Groups((), (), "texts")
        elif len(present) > BINS:
            groups[name] = Groups((), tuple(source.quantiles(monitor, period, name, BINS)[:-1]), "numbers")
        else:
            groups[name] = Groups((), (), "numbers")
    return groups, refused


def grouped_rows(
    source: SqlSource,
    monitor: Monitor,
    windows: Sequence[Window],
    as_of: datetime | None,
    groups: Mapping[str, Groups],
    *,
    labelled: bool = True,
) -> dict[str, ColumnRows]:
    """Return counted rows for each column; its scores are of the cells that the engine makes.

    Numbers with ends are binned in the source; more than 200 values of a column in a window are an error.
    Rows without a label count, too, unless only `labelled` ones are asked for.
    """
    by_column = {}
    for name, cut in groups.items():
        alone = monitor.columns.model_copy(update={"challenger": None, "explain": (), "cluster": None})
        asked = monitor.model_copy(update={"segments": (name,), "columns": alone})
        lines: list[tuple[Any, Rows]] = []
        for window in windows:
            bins = {name: cut.ends} if cut.ends else {}
            batch = source.pull(asked, window, as_of=as_of, bins=bins)
            for segment, rows in batch.segments.items():
                if not segment:
                    continue
                text = segment.removeprefix(f"{name}=")
                value: Any = text_of_group(text)
                if value is not None and cut.ends:
                    value = float((*cut.ends, np.nextafter(cut.ends[-1], np.inf))[int(text)])
                elif value is not None and cut.kind == "numbers":
                    value = float(value)
                lines.append((value, rows))
        by_column[name] = _together(lines, labelled)
    return by_column


def _together(lines: Sequence[tuple[Any, Rows]], labelled: bool) -> ColumnRows:
    label, score, value, weight = [], [], [], []
    for group, rows in lines:
        parts = [(1, rows.champion.score, rows.champion.pos), (0, rows.champion.score, rows.champion.neg)]
        parts += [] if labelled else [(-1, rows.unlabelled.score, rows.unlabelled.counts)]
        for code, scores, counts in parts:
            some = counts > 0
            score.append(scores[some])
            weight.append(counts[some])
            label.append(np.full(int(some.sum()), code, dtype=np.int8))
            value += [group] * int(some.sum())
    values = np.empty(len(value), dtype=object)
    values[:] = value
    return ColumnRows(np.concatenate(label), np.concatenate(score), values, np.concatenate(weight))
