"""The groups of columns that made the change of a window, from its rows and those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError
from rocmonitor.policy.explanation import Explanation, group_parts
from rocmonitor.policy.windows import Window
from rocmonitor.service.references import frozen_windows
from rocmonitor.sources import SqlSource
from rocmonitor.sources.frame import read_frame
from rocmonitor.stats import auc
from rocmonitor.stats.column_changes import split_by_column
from rocmonitor.stats.decomposition import GroupChanges


def explain(
    monitor: Monitor,
    window: Window,
    source: SqlSource,
    kept: store.Store,
    *,
    now: datetime,
    columns: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Return what the groups of some columns did to the AUROC of a window.

    Parameters
    ----------
    monitor : Monitor
    window : Window
    source : SqlSource
        The rows of the window and of the reference are read, each with these columns.
    kept : Store
        Only read.
    now : datetime
    columns : sequence of str
        Of the query.
    progress : callable
        Called with a text before each window is read.

    Raises
    ------
    ConfigError
        A column that the query does not give.
    DegenerateDataError
        Window or reference have one class only.
    SourceError
        As `read_frame`.
    """
    _require(columns, source.explain(monitor), monitor)

    def read(one: Window, what: str) -> pd.DataFrame:
        progress(f"{monitor.name} {what}{one.in_zone(monitor.timezone)}")
        rows = read_frame(source, monitor, one, extra=columns).rows
        usable: pd.DataFrame = rows[np.isfinite(rows[monitor.columns.champion].to_numpy(dtype=float))]
        return usable

    later = read(window, "")
    windows = [each for each in frozen_windows(monitor, source, kept, now) if each != window]
    if not windows:
        raise DegenerateDataError(f"{monitor.name} has no reference window to compare with")
    before = pd.concat([read(each, "reference ") for each in windows], ignore_index=True)
    samples = [_scored(rows, monitor) for rows in (before, later)]
    areas = [auc(*sample).auc for sample in samples]
    found, refused = _split(samples, before, later, columns)
    if numbers := [each for each in refused if _are_numbers(before[each]) and _are_numbers(later[each])]:
        # Files may have numbers as text.
        earlier, newer = (rows[numbers].apply(pd.to_numeric) for rows in (before, later))
        more, _ = _split(samples, earlier, newer, numbers)
        found |= more
        refused = {column: why for column, why in refused.items() if column not in more}
    return Explanation(
        monitor=monitor.name,
        window=window,
        reference_auc=areas[0],
        auc=areas[1],
        parts=tuple(group_parts(found)),
        refused=refused,
    )


def _split(
    samples: Sequence[tuple[Any, Any]], before: pd.DataFrame, later: pd.DataFrame, columns: Sequence[str]
) -> tuple[dict[str, GroupChanges], dict[str, str]]:
    chosen = [{column: rows[column].to_numpy() for column in columns} for rows in (before, later)]
    reference, window = ((*sample, each) for sample, each in zip(samples, chosen, strict=True))
    return split_by_column(reference, window)


def _are_numbers(values: pd.Series[Any]) -> bool:
    """Return True if each value is a number or the text of one."""
    return not (pd.to_numeric(values, errors="coerce").isna() & values.notna()).any()


def _require(columns: Sequence[str], known: Mapping[str, str], monitor: Monitor) -> None:
    missing = [each for each in columns if each not in known]
    if missing:
        raise ConfigError(
            f"monitors.{monitor.name}.columns.explain: the query does not give {', '.join(missing)}; it has "
            f"{', '.join(known)}"
        )


def _scored(rows: pd.DataFrame, monitor: Monitor) -> tuple[Any, Any]:
    """Return labels and scores, high ones positive."""
    score = rows[monitor.columns.champion].to_numpy(dtype=float)
    label = (rows[monitor.columns.label] == monitor.positive.label).to_numpy(dtype=int)
    return label, -score if monitor.positive.low_is_positive else score
