"""What follows for a window that is known by cells of neighbouring scores: wider intervals, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rocmonitor.caveat import Caveat
from rocmonitor.policy.record import Row
from rocmonitor.stats import ForecastInterval, Sample, condensed_error
from rocmonitor.stats.condensed import extremes


def too_coarse(sample: Sample, max_error: float) -> Caveat | None:
    """That the guaranteed error of an AUROC is too large for it to be judged; None where it is not."""
    if sample.ends is None:
        return None
    error = condensed_error(sample).auc
    if error <= max_error:
        return None
    grid = "" if sample.ends.grid is None else str(sample.ends.grid)
    return Caveat("condensed-too-coarse", error=error, max_error=max_error, grid=grid)


def guaranteed(sample: Sample) -> dict[str, dict[str, float]]:
    """``guaranteed_error`` of a condensed window, for its provenance; empty where nothing was lost."""
    if sample.ends is None or not min(sample.n_pos, sample.n_neg):
        return {}
    found = condensed_error(sample)
    return {"guaranteed_error": {name: getattr(found, name) for name in ("auc", "se", "tpr", "fpr")}}


def condensed_caveats(sample: Sample) -> list[Caveat]:
    """That a window was condensed, and how far its numbers may be off."""
    return [
        Caveat("condensed", rows=sample.n_pos + sample.n_neg, cells=len(sample.score), **error)
        for error in guaranteed(sample).values()
    ]


def of_any_order(
    sample: Sample, rows_of: Callable[[Sample], list[Row]], *, halfway: Sequence[str] = ()
) -> list[Row]:
    """Rows of a table, with intervals that hold whatever the order of the rows within the cells.

    Columns that end in ``low`` and ``high`` are those ends. Those named in `halfway` are taken halfway
    between the extreme orders, all others with the cells as ties.
    """
    found = rows_of(sample.with_ends(None))
    if sample.ends is None:
        return found
    lines = zip(found, *(rows_of(each) for each in extremes(sample)), strict=True)
    return [
        _outermost(row, others) | {name: sum(each[name] for each in others) / 2 for name in halfway}
        for row, *others in lines
    ]


def _outermost(row: Row, others: list[Row]) -> Row:
    ends = {"low": min, "high": max}
    widened = {
        name: ends[name.rpartition("_")[2]](each[name] for each in (row, *others))
        for name in row
        if name.rpartition("_")[2] in ends
    }
    return row | widened


def allow_for_cells(forecasts: Mapping[str, ForecastInterval], sample: Sample) -> dict[str, ForecastInterval]:
    """The intervals for the AUROC of a condensed window, wider by what it may be off."""
    if sample.ends is None:
        return dict(forecasts)
    off = condensed_error(sample).auc
    return {
        name: replace(each, low=max(each.low - off, 0.0), high=min(each.high + off, 1.0))
        for name, each in forecasts.items()
    }
