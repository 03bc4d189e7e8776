"""The digest of a batch: the same for rows and for groups of equal rows, in any order, from any database.

That of cells of a grid is the same in any order, and within one engine (see `rocmonitor.sources.condensing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.paired_cells import CondensedPair, JointCells, ModelCells
from rocmonitor.stats.sample import PairedSample

if TYPE_CHECKING:
    from rocmonitor.sources.batch import Rows
    from rocmonitor.sources.chunk import Chunk


def digest_of(segments: dict[str, Rows], with_unlabelled: bool) -> str:
    """SHA-256 of samples and counts, and of unlabelled scores where these are asked for."""
    content = hashlib.sha256()
    for name, rows in segments.items():
        content.update(repr((name, astuple(rows.counts))).encode())
        if name or len(segments) == 1:  # the segments of a column hold all rows between them
            _add(content, rows.champion.score, rows.champion.pos, rows.champion.neg)
            if rows.champion.ends is not None:
                _add(content, rows.champion.ends.high)
            if isinstance(rows.pair, CondensedPair):
                for table in (rows.pair.cells_2, rows.pair.cells_1, rows.pair.joint):
                    _add(content, *_in_order(table))
            elif rows.pair is not None:
                _add(content, *_distinct_cells(rows.pair))
            if with_unlabelled:
                _add(content, *rows.unlabelled)
    return content.hexdigest()


def _distinct_cells(pair: PairedSample) -> Iterator[NDArray[Any]]:
    """Distinct pairs of scores in order, with their counts: the same for rows and for groups of rows.

    The champion comes first, as it did when the first digests were stored.
    """
    key = pair.index_2 * len(pair.first.score)
    key += pair.index_1
    if len(pair.second.score) == len(key):  # all different: their places are the order
        in_order = np.empty_like(key)
        in_order[pair.index_2] = key
        yield from (pair.second.score, pair.first.score, in_order, pair.second.pos, pair.second.neg)
        return
    order = np.argsort(key)
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    yield from (pair.second.score, pair.first.score, key[starts])
    for counts in (pair.pos, pair.neg):
        before = np.concatenate([[0], np.cumsum(counts[order])])
        yield np.diff(before[np.append(starts, len(order))])


def _in_order(table: ModelCells | JointCells) -> list[NDArray[Any]]:
    """Return the columns of a table, its lines in an order that depends on them alone."""
    columns = [getattr(table, field.name) for field in fields(table)]
    order = np.lexsort(columns)
    return [column[order] for column in columns]


def _add(content: hashlib._Hash, *columns: NDArray[Any]) -> None:
    for column in columns:
        content.update(np.ascontiguousarray(column, column.dtype.newbyteorder("<")).data)


Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


def repeats(cells: Chunk, ids: Words, time: NDArray[np.int64], known: Mask) -> NDArray[np.intp]:
    """Return which rows repeat an id and are not the one that is kept."""
    among = np.flatnonzero(known)
    ordered = np.sort(ids[among, 0])
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    among = among[np.isin(ids[among, 0], repeated, kind="sort")]  # numpy 2.0 overflows by table
    keys: list[NDArray[Any]] = [codes[among] for codes in reversed(cells.segments)]
    if cells.challenger is not None:
        keys.append(_worst_first(cells.challenger[among]))
    keys += [_worst_first(cells.champion[among]), cells.label[among], time[among], *ids[among].T]
    order = np.lexsort(keys)
    in_order = ids[among[order]]
    again: Mask = (in_order[1:] == in_order[:-1]).all(axis=1)
    return among[order[:-1][again]]


def _worst_first(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(scores), -np.inf, scores)
