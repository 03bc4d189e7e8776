"""How the last window was read, where that was not row by row, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from rocmonitor.config import Monitor
from rocmonitor.errors import DegenerateDataError, RocmonitorError
from rocmonitor.policy.condensing import too_coarse
from rocmonitor.sources import Batch, Rows
from rocmonitor.stats import condensed_error


def read_as(monitor: Monitor, batch: Batch) -> Iterator[str | RocmonitorError]:
    """Lines on groups or cells, and a problem where cells are too coarse to judge a window by them."""
    if not batch.condensed:
        if batch.grouped:
            yield "read as groups of equal rows, counted in the database"
        return
    settings, sample = monitor.condense, batch.segments[""].champion
    error = condensed_error(sample)
    yield (
        f"read as {len(sample.score):,} cells of neighbouring scores ({settings.grid}), counted in the "
        f"database: the AUROC is off by at most {error.auc:.2g}, its standard error by {error.se:.2g}"
    )
    coarse = {name: too_coarse(rows.champion, settings.max_error) for name, rows in _measurable(batch)}
    for name, caveat in coarse.items():
        if caveat is not None:
            yield DegenerateDataError(f"{name or 'all rows'}: {caveat}")


def _measurable(batch: Batch) -> Iterator[tuple[str, Rows]]:
    for name, rows in batch.segments.items():
        if min(rows.champion.n_pos, rows.champion.n_neg):
            yield name, rows
