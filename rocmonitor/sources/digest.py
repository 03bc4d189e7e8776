"""The digest of a batch: the same for rows and for groups of equal rows, in any order, from any database.

That of cells of a grid is the same in any order, and within one engine (see `rocmonitor.sources.condensing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.sources.values import NEGATIVE, POSITIVE, UNLABELLED
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
            if rows.pair is not None:
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


def _add(content: hashlib._Hash, *columns: NDArray[Any]) -> None:
    for column in columns:
        content.update(np.ascontiguousarray(column, column.dtype.newbyteorder("<")).data)


Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


LATER_LABEL, SET_ASIDE = 1, 2
"""An id with both labels: the one that became known later counts, or none where that is not known."""


def repeats(
    cells: Chunk, ids: Words, time: NDArray[np.int64], with_id: Mask
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Return the rows that repeat an id and are not kept; for each row, if its id has both labels at once."""
    among = np.flatnonzero(with_id)
    ordered = np.sort(ids[among, 0])
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    among = among[np.isin(ids[among, 0], repeated, kind="sort")]  # numpy 2.0 overflows by table
    labels = cells.label[among]
    # Where no label is known, its instant says nothing.
    known = np.zeros_like(time) if cells.known is None else cells.known
    known = np.where(labels == UNLABELLED, np.iinfo(np.int64).min, known[among])
    keys: list[NDArray[Any]] = [codes[among] for codes in reversed(cells.segments)]
    if cells.challenger is not None:
        keys.append(_worst_first(cells.challenger[among]))
    keys += [_worst_first(cells.champion[among]), labels, known, time[among], *ids[among].T]
    order = np.lexsort(keys)
    among, labels, known = among[order], labels[order], known[order]
    again: Mask = (ids[among[1:]] == ids[among[:-1]]).all(axis=1)
    last = np.append(~again, True)[: len(among)]
    other = ~again | (time[among[1:]] != time[among[:-1]])
    two_labels = np.zeros(len(cells), dtype=np.int8)
    two_labels[among[last & _both_labels(labels, other)]] = LATER_LABEL
    two_labels[among[last & _both_labels(labels, other | (known[1:] != known[:-1]))]] = SET_ASIDE
    return among[~last], two_labels


def _both_labels(labels: NDArray[np.int8], begins: Mask) -> Mask:
    """Return which rows are in a run with a positive and a negative label; `begins`: of all but the first."""
    if not len(labels):
        return np.zeros(0, dtype=np.bool_)
    run = np.concatenate([[0], np.cumsum(begins)])
    kinds = [np.bincount(run, weights=labels == label) > 0 for label in (POSITIVE, NEGATIVE)]
    return np.asarray((kinds[0] & kinds[1])[run])


def _worst_first(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(scores), -np.inf, scores)
