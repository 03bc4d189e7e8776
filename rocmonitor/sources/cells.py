"""Cells of a window in few bytes, and back: distinct scores, labels and segments with their numbers of rows.

They hold no id, no cluster and no time: what is kept says nothing of a person. The cells of several windows
together are those of the window that these windows make up.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.config import Monitor
from rocmonitor.conventions import text_of_group
from rocmonitor.sources.batch import Batch, to_batch
from rocmonitor.sources.chunk import KEPT_COLUMNS, Chunk
from rocmonitor.sources.values import Encoder

_LEVEL = 1
"""The level of zlib: higher ones take several times as long for a few hundredths less."""


def packed(batch: Batch) -> bytes | None:
    """Return a batch in few bytes; None where it cannot be rebuilt from cells.

    That is so where it is truncated, has a cluster column, or has more cells than
    `rocmonitor.sources.chunk.MOST_CELLS`. Takes O(n log n) time and about 20 bytes a cell in memory.
    """
    cells = batch.cells
    if cells is None or cells.chunk.has_cluster is not None or batch.segments[""].counts.truncated:
        return None
    chunk, encoder = _merged(cells.chunk), cells.encoder
    columns = {name: getattr(chunk, name) for name in KEPT_COLUMNS if getattr(chunk, name) is not None}
    columns |= {f"segment_{number}": codes for number, codes in enumerate(chunk.segments)}
    little = {
        name: np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"))
        for name, column in columns.items()
    }
    header = {
        "cells": len(chunk),
        "columns": {name: column.dtype.str for name, column in little.items()},
        "segments": encoder.sorted_values(),
        "examples": {"bad_labels": encoder.bad_labels, "text_scores": encoder.text_scores},
        "ages": cells.ages,
        "grouped": batch.grouped,
    }
    # All first bytes, then all second ones: those of sorted numbers are alike.
    by_place = (
        column.view(np.uint8).reshape(len(column), column.dtype.itemsize).T.tobytes()
        for column in little.values()
    )
    return zlib.compress(b"".join([json.dumps(header).encode(), b"\n", *by_place]), _LEVEL)


def unpacked(parts: Sequence[bytes], monitor: Monitor) -> Batch:
    """Return the batch of one or more windows that do not overlap, from what `packed` gave for each.

    It equals the batch that was packed, with its digest; that of several windows equals the batch of the
    whole, where the monitor has no ``columns.id`` (an id that is in two windows would be a repeat there).
    """
    encoder, chunks = Encoder(monitor), list[Chunk]()
    for part in parts:
        head, _, data = zlib.decompress(part).partition(b"\n")
        header = json.loads(head)
        columns, start = dict[str, NDArray[Any]](), 0
        for name, kind in header["columns"].items():
            dtype = np.dtype(kind)
            width, rows = dtype.itemsize, header["cells"]
            places = np.frombuffer(data, np.uint8, width * rows, start).reshape(width, rows)
            column = np.ascontiguousarray(places.T).view(dtype).reshape(rows)
            columns[name] = column.astype(dtype.newbyteorder("="))
            start += width * rows
        encoder.show(**header["examples"])
        names = header["segments"]
        segments = tuple(
            np.array([encoder.segment(at, text_of_group(name)) for name in values], dtype=np.uint8)[
                columns.pop(f"segment_{at}")
            ]
            for at, values in enumerate(names)
        )
        chunks.append(Chunk(segments=segments, **columns))
    if any(chunk.high is not None for chunk in chunks):
        for chunk in chunks:
            chunk.high = chunk.champion if chunk.high is None else chunk.high
    batch = to_batch(
        chunks, encoder, monitor, grouped=header["grouped"], truncated=False, ages=header["ages"]
    )
    return replace(batch, cells=None)  # they are in the store


def _merged(chunk: Chunk) -> Chunk:
    """Equal cells as one, in an order that compresses well."""
    rows = len(chunk)
    columns = [getattr(chunk, name) for name in KEPT_COLUMNS if name != "weight"]
    present = [column for column in (*columns, *chunk.segments) if column is not None]
    wide = [column.view(np.int64) for column in present if column.dtype.itemsize == 8]
    narrow = [column.view(np.uint8) for column in present if column.dtype.itemsize == 1]
    table = np.zeros((rows, -(-len(narrow) // 8) * 8), dtype=np.uint8)
    for place, column in enumerate(narrow):
        table[:, place] = column
    keys = [*wide, *table.view(np.int64).T]
    order = np.lexsort(keys[::-1])
    new = np.zeros(rows, dtype=np.bool_)
    new[:1] = True
    for key in keys:
        placed = key[order]
        new[1:] |= placed[1:] != placed[:-1]
    starts = np.flatnonzero(new)
    merged = chunk.take(order[starts])
    weight = np.ones(rows, dtype=np.int64) if chunk.weight is None else chunk.weight[order]
    merged.weight = np.add.reduceat(weight, starts) if rows else weight
    return merged
