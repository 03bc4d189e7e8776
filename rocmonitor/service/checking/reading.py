"""How the last window was read, where that was not row by row, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from rocmonitor.config import Monitor
from rocmonitor.errors import DegenerateDataError, RocmonitorError
from rocmonitor.policy.condensing import too_coarse
from rocmonitor.policy.measure import shows_no_scatter
from rocmonitor.policy.paired import compared, not_comparable
from rocmonitor.sources import Batch, Rows
from rocmonitor.stats import CondensedPair, condensed_error


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
    yield from _compared(batch.segments[""])
    for name, rows in _measurable(batch):
        found = too_coarse(rows.champion, settings.max_error)
        if found is None and rows.pair is not None:
            found = not_comparable(rows.pair, settings.max_error)
        if found is not None:
            yield DegenerateDataError(f"{name or 'all rows'}: {found}")


def _compared(rows: Rows) -> Iterator[str]:
    """How the challenger is compared, where that is by cells."""
    if not isinstance(rows.pair, CondensedPair) or shows_no_scatter(rows.pair):
        return
    found = compared(rows.pair)
    assert found.error is not None
    off, of_se = found.error
    yield (
        f"the challenger is compared by {len(rows.pair.joint.rows):,} pairs of strips: the difference of the "
        f"AUROCs is off by at most {off:.2g}, its standard error ({found.se:.2g}) by {of_se:.2g}"
    )


def _measurable(batch: Batch) -> Iterator[tuple[str, Rows]]:
    for name, rows in batch.segments.items():
        if min(rows.champion.n_pos, rows.champion.n_neg):
            yield name, rows
