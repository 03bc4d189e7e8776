"""Counting the labels of a window in the database, and seeing there whether labels or scores were corrected.

For that every row gives a whole number, a hash of its scores and segments, and the numbers of each label are
added. The sum does not depend on the order of the rows, and changes when two rows swap their labels. It is
compared with earlier sums of the same source only: every database hashes in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Double, Numeric, String, cast, func, literal_column

from rocmonitor.sources.arrival import LATER
from rocmonitor.sources.dialects import row_hash
from rocmonitor.sources.hashing import row_hashes

_HASHED = ("champion", "challenger", "segment_")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """The number of labelled rows of a window by label, and the mark that tells whether they have changed.

    The digest changes with the labels, scores and segments of the labelled rows. It may also change with the
    version of the database: the rows decide then. Empty without a labelled row.
    """

    rows: int
    labelled: int  # rows whose label is not NULL
    by_label: dict[str, int]  # without NULL
    n_pos: int = 0
    n_neg: int = 0
    digest: str = field(default="", compare=False)


def checksum(
    backend: str, scores: Sequence[ColumnElement[Any]], segments: Sequence[ColumnElement[Any]]
) -> list[ColumnElement[Any]]:
    """Return aggregates over some rows that change with their scores or segments.

    PostgreSQL, MariaDB, MySQL, DuckDB and Spark add up 60 bits or more a row, as `RowCounter` does: a
    correction leaves the sum as it was with a probability of 1 in 10^18. Others give the sums of scores and
    of their squares in nine digits: there, labels swapped between rows of almost equal scores are missed in
    a large window.
    """
    hashed = row_hash(backend, scores, segments)
    if hashed is None:
        values: list[ColumnElement[Any]] = [cast(score, Double()) for score in scores]
        return [aggregate for value in values for aggregate in (func.sum(value), func.sum(value * value))]
    if backend == "spark":
        # Halves, whose sums are long integers: to add up decimals takes longer than all the rest.
        high = func.sum(func.shiftright(hashed, literal_column("32")))
        low = func.sum(hashed.op("&")(literal_column(str(2**32 - 1))))
        return [cast(cast(high, Numeric(38, 0)) * literal_column(str(2**32)) + low, String())]
    return [cast(func.sum(hashed), String()) if backend == "duckdb" else func.sum(hashed)]


class RowCounter:
    """Counts rows by their labels as `Query.labels` does, from parts of an answer as columns by role.

    These are groups with their numbers of rows and checksums; or rows with their hashes, which are made here
    where they are missing: SQLite has none, and an aggregate that it calls for each row takes longer.
    """

    def __init__(self) -> None:
        self._totals: dict[tuple[Any, ...], list[int]] = {}

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Count some groups, or some rows, fewer than 2**21."""
        keyed = [columns["label"]]
        if "arrival" in columns:  # a query with several instants divides what is known by the last of them
            keyed.append([0 if value in range(LATER) else value for value in columns["arrival"]])
        alone = len(keyed) == 1
        lines = keyed[0] if alone else list(zip(*keyed, strict=True))
        number = {line: at for at, line in enumerate(dict.fromkeys(lines))}  # of each that is different
        place = np.fromiter(map(number.__getitem__, lines), np.intp, len(lines))
        totals = [self._totals.setdefault((line,) if alone else line, [0, 0]) for line in number]
        if "weight" in columns:
            for at, rows, total in zip(place.tolist(), columns["weight"], columns["checksum"], strict=True):
                totals[at][0] += rows
                totals[at][1] += int(total)
            return
        hashes: NDArray[Any] = (
            np.asarray(columns["checksum"])
            if "checksum" in columns
            else row_hashes([columns[role] for role in columns if role.startswith(_HASHED)])
        )
        whole = hashes.dtype.type
        # Halves of 32 bits: float64 adds up 2**21 of them exactly.
        halves = (np.bincount(place, half) for half in (hashes >> whole(32), hashes & whole(2**32 - 1)))
        for total, rows, high, low in zip(totals, np.bincount(place), *halves, strict=True):
            total[0] += int(rows)
            total[1] += (int(high) << 32) + int(low)

    def lines(self) -> list[tuple[Any, ...]]:
        """Return the lines of `Query.labels`."""
        return [(*key, rows, str(total)) for key, (rows, total) in self._totals.items()]
