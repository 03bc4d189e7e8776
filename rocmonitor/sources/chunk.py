"""Rows of a window as columns, as they come from a source: chunks, which are joined to cells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.sources import arrival
from rocmonitor.sources.values import UNLABELLED, Encoder

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]

MOST_CELLS = 1_000_000
"""The largest number of cells kept of a window: more would be 10 MB or more in the store."""


@dataclass(slots=True, kw_only=True)
class Chunk:
    """Some cells as columns, all of one length n."""

    inside: Mask  # the time lies in the window
    champion: NDArray[np.float64]  # NaN stands for anything that is not a finite number
    label: NDArray[np.int8]  # codes of `rocmonitor.sources.values`
    segments: tuple[NDArray[np.uint8], ...]  # codes of the encoder, one array for each segment column
    challenger: NDArray[np.float64] | None = None  # None without a second model
    high: NDArray[np.float64] | None = None  # highest in each cell, `champion` the lowest; None: the same
    weight: NDArray[np.int64] | None = None  # rows in each cell; None is one each
    time: NDArray[np.int64] | None = None  # microseconds on any one clock; needed with ids only
    known: NDArray[np.int64] | None = None  # the same, when the label became known; 0 for none
    arrival: NDArray[np.int8] | None = None  # the same, coded as in `rocmonitor.sources.arrival`
    has_id: Mask | None = None
    id: Words | None = None  # (n, 1) or (n, 2): the number itself, or 128 bits of a hash of anything else
    has_cluster: Mask | None = None
    cluster: Words | None = None  # what the rows belong to, as one word
    repeated: Mask | None = None  # another row with the id counts; by id and time where they are there
    two_labels: NDArray[np.int8] | None = None  # of rows that count for an id: LATER_LABEL or SET_ASIDE

    def __len__(self) -> int:
        return len(self.label)

    @property
    def rows(self) -> int:
        """Rows in all cells."""
        return len(self) if self.weight is None else int(self.weight.sum())

    def take(self, index: slice | NDArray[np.intp]) -> Chunk:
        """Return some of the cells."""
        taken: dict[str, Any] = {"segments": tuple(codes[index] for codes in self.segments)}
        for column in _COLUMNS:
            value = getattr(self, column)
            taken[column] = None if value is None else value[index]
        return Chunk(**taken)


_COLUMNS = tuple(field.name for field in fields(Chunk) if field.name != "segments")
KEPT_COLUMNS = tuple(name for name in _COLUMNS if name not in ("time", "known", "id", "has_id"))
"""The columns that cells keep once repeats of an id are found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells a batch was made of, segments coded in sorted order, and their meaning."""

    chunk: Chunk
    encoder: Encoder
    ages: int


def assembled(
    names: Collection[str],
    encoder: Encoder,
    scores: Callable[[str], NDArray[np.float64]],
    codes: Callable[[str, Callable[[Any], int], type[np.integer[Any]]], NDArray[Any]],
    **columns: Any,
) -> Chunk:
    """Return a chunk of an answer with columns of these names, read by role: as scores or as codes."""
    low, high = scores("champion"), scores("champion_high") if "champion_high" in names else None
    segments = enumerate(name for name in names if name.startswith("segment_"))
    return Chunk(
        # Negated scores have changed places.
        champion=low if high is None else np.minimum(low, high),
        high=None if high is None else np.maximum(low, high),
        challenger=scores("challenger") if "challenger" in names else None,
        label=codes("label", encoder.label, np.int8),
        segments=tuple(codes(name, partial(encoder.segment, at), np.uint8) for at, name in segments),
        **columns,
    )


def joined(chunks: Sequence[Chunk], encoder: Encoder) -> Chunk:
    """Return all chunks in one, segments coded in sorted order, cells with an id split into single rows.

    The chunks are emptied on the way, so that there are never two copies of all columns.
    """
    columns: dict[str, Any] = {}
    for column in _COLUMNS:
        parts = [getattr(chunk, column) for chunk in chunks]
        if len({part.shape[1:] for part in parts if part is not None}) > 1:
            # Ids that are whole numbers have one word, those that are text two: SQLite mixes them.
            parts = [np.pad(part, ((0, 0), (0, 2 - part.shape[1]))) for part in parts]
        columns[column] = None if parts[0] is None else np.concatenate(parts)
        for chunk in chunks:
            setattr(chunk, column, None)
    codes = zip(*(chunk.segments for chunk in chunks), strict=True)
    ranked = tuple(rank[np.concatenate(c)] for rank, c in zip(encoder.segment_ranks(), codes, strict=True))
    cells = Chunk(segments=ranked, **columns)
    if cells.arrival is not None:
        cells.label[cells.arrival == arrival.LATER] = UNLABELLED
    single = np.zeros(len(cells), dtype=np.bool_) if cells.has_id is None else cells.has_id
    if cells.has_cluster is not None:
        single = single | ~cells.has_cluster
    if cells.weight is not None and single.any():
        row = np.repeat(np.arange(len(cells)), np.where(single, cells.weight, 1))
        weight = np.where(single, 1, cells.weight)[row]
        cells = cells.take(row)
        cells.weight = weight
    if cells.has_cluster is not None and cells.cluster is not None:
        # Each row without a cluster is one by itself, also beside other batches.
        alone, scores = ~cells.has_cluster, np.ascontiguousarray(cells.champion).data
        start = int.from_bytes(hashlib.sha256(scores).digest()[:8], "little")
        cells.cluster = cells.cluster.copy()
        numbers = np.arange(np.count_nonzero(alone), dtype=np.uint64)
        cells.cluster[alone] = numbers + np.uint64(start)  # wraps around
    return cells
