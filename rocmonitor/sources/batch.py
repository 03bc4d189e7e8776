"""Batches: what one window holds, by segment, with every row accounted for.

Rows and groups of equal rows arrive in the same form, as cells with a weight, and are classified only here.
So the batch is the same whether rows are read or grouped in the database, and whichever database it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Counts
from rocmonitor.sources import arrival
from rocmonitor.sources.chunk import MOST_CELLS, Cells, Chunk, Mask, Words, joined
from rocmonitor.sources.counting import LabelCounts
from rocmonitor.sources.values import BAD, NEGATIVE, POSITIVE, UNLABELLED, Encoder
from rocmonitor.stats.sample import PairedSample, PairedScoreCounts, Sample, ScoreCounts, no_scores

S = TypeVar("S", Sample, PairedSample)

LATER_LABEL, SET_ASIDE = 1, 2
"""An id with both labels: the one that became known later counts, or none where that is not known."""

_OUTSIDE, _DUPLICATE, _TWO_LABELS, _BAD_SCORE, _UNLABELLED, _BAD_LABEL, _NEGATIVE, _POSITIVE = range(8)
_CATEGORY_OF_LABEL = {
    UNLABELLED: _UNLABELLED,
    BAD: _BAD_LABEL,
    NEGATIVE: _NEGATIVE,
    POSITIVE: _POSITIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of one segment of one window; pairs are None without ``columns.challenger``."""

    champion: Sample  # rows with a finite score and a label
    # Those with a finite challenger score, challenger first; drawn at random, where a caveat says so.
    pair: PairedSample | None
    counts: Counts
    caveats: tuple[Caveat, ...] = ()
    # Labelled rows with a finite challenger score and no usable champion score, of `counts.bad_score`.
    challenger_only: int = 0
    by_age: tuple[Sample, ...] = ()  # `champion` by the age at which a label was known, where asked for
    unlabelled: ScoreCounts = field(default_factory=no_scores)  # distinct, increasing
    # Those with a finite challenger score, challenger first, in no particular order; None of cells.
    unlabelled_pair: PairedScoreCounts | None = None

    @classmethod
    def none(cls, *, paired: bool) -> Rows:
        """No rows."""
        pair = PairedSample([], [], []) if paired else None
        return cls(champion=Sample([], []), pair=pair, counts=Counts())

    @property
    def scored(self) -> int:
        """Rows of `scores`, without putting them together."""
        return self.champion.n_pos + self.champion.n_neg + self.unlabelled.rows

    @property
    def scores(self) -> ScoreCounts:
        """Champion scores of all usable rows, labelled or not."""
        return ScoreCounts(self.champion.score, self.champion.pos + self.champion.neg).plus(self.unlabelled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explaining:
    """The rows of a window with the columns that may explain a change, shape (n,) each."""

    score: NDArray[np.float64]  # of the champion, as it gave them
    positive: Mask
    labelled: Mask  # the statistics rest on these
    waiting: Mask  # for a label only
    columns: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One window of one monitor. Higher scores are more positive: where low ones are, scores are negated.

    The digest is the SHA-256 of samples and counts (with ``columns.labelled_at`` also of unlabelled scores);
    the same for rows and groups, in any order, from any database; where condensed, of the engine's cells.
    """

    segments: dict[str, Rows]  # "" holds all rows; then column=value, sorted (NULL is column=(none))
    digest: str
    grouped: bool  # by the database
    condensed: bool = False  # by cells of a grid
    cells: Cells | None = field(default=None, repr=False, compare=False)  # until they are let go
    labels: LabelCounts | None = field(default=None, repr=False, compare=False)  # where asked for
    explaining: Explaining | None = field(default=None, repr=False, compare=False)  # where read on the way


def to_batch(
    chunks: Sequence[Chunk],
    encoder: Encoder,
    monitor: Monitor,
    *,
    grouped: bool,
    truncated: bool,
    ages: int = 0,
    explain: Sequence[NDArray[Any]] = (),
) -> Batch:
    """Classify all cells and count them, for all rows and for each segment.

    Of the rows inside the window that share an id, one is kept: the latest; of equally late ones the
    labelled before the unlabelled, then that whose label became known later, then that with a good label,
    then the one of the higher champion score, then of the higher challenger score, then of the later
    segment in sorted order. One whose id is positive and negative at the same time, with nothing to tell
    which label is later, is set aside. `explain`: the columns of `Batch.explaining`, where cells are rows.
    """
    cells = joined(chunks, encoder)
    category = np.empty(len(cells), dtype=np.int8)  # what became of the rows of each cell
    for label, of_label in _CATEGORY_OF_LABEL.items():
        category[cells.label == label] = of_label
    category[np.isnan(cells.champion)] = _BAD_SCORE
    if cells.id is not None and cells.time is not None and cells.has_id is not None:
        again, cells.two_labels = _repeats(cells, cells.id, cells.time, cells.inside & cells.has_id)
        category[again] = _DUPLICATE
    elif cells.repeated is not None:
        category[cells.repeated] = _DUPLICATE
    if cells.two_labels is not None:
        category[cells.two_labels == SET_ASIDE] = _TWO_LABELS
    category[~cells.inside] = _OUTSIDE

    if cells.has_id is not None:
        cells.repeated = category == _DUPLICATE
    cells.id = cells.has_id = cells.time = cells.known = None  # no longer needed; half of the memory
    shown = Explaining(
        score=encoder.original(cells.champion),
        positive=category == _POSITIVE,
        labelled=category >= _NEGATIVE,
        waiting=category == _UNLABELLED,
        columns=tuple(explain),
    )
    segments = {"": _rows(cells, category, encoder, monitor, truncated, ages)}
    columns = zip(monitor.segments, encoder.sorted_values(), cells.segments, strict=True)
    for column, values, codes in columns:
        starts = np.cumsum(np.bincount(codes, minlength=len(values)))[: len(values) - 1]
        places = np.split(np.argsort(codes, kind="stable"), starts) if values else []
        for value, index in zip(values, places, strict=True):
            rows = _rows(cells.take(index), category[index], encoder, monitor, truncated, ages)
            segments[f"{column}={value}"] = rows

    return Batch(
        segments=segments,
        digest=_digest_of(segments, cells.arrival is not None),
        grouped=grouped,
        condensed=cells.high is not None,
        cells=Cells(chunk=cells, encoder=encoder, ages=ages) if len(cells) <= MOST_CELLS else None,
        explaining=shown if explain else None,
    )


def _rows(
    cells: Chunk,
    category: NDArray[np.int8],
    encoder: Encoder,
    monitor: Monitor,
    truncated: bool,
    ages: int,
) -> Rows:
    tally = np.bincount(category, weights=cells.weight, minlength=8).astype(np.int64).tolist()
    used, awaiting = category >= _NEGATIVE, category == _UNLABELLED
    pair, unlabelled_pair = None, None
    no_challenger = challenger_only = 0
    if cells.challenger is not None:
        scored = ~np.isnan(cells.challenger)
        no_challenger = _weighed(cells, used & ~scored)
        alone = scored & (category == _BAD_SCORE) & np.isin(cells.label, (NEGATIVE, POSITIVE))
        challenger_only = _weighed(cells, alone)
        if cells.high is None:  # else known is only whether there is a score
            pair = _sampled(PairedSample, cells, category, used & scored, cells.challenger, cells.champion)
            waiting = awaiting & scored
            unlabelled_pair = PairedScoreCounts.of(
                cells.challenger[waiting], cells.champion[waiting], _weights(cells, waiting)
            )

    counts = Counts(
        rows=sum(tally),
        n_pos=tally[_POSITIVE],
        n_neg=tally[_NEGATIVE],
        unlabelled=tally[_UNLABELLED],
        bad_score=tally[_BAD_SCORE],
        bad_label=tally[_BAD_LABEL],
        duplicates=tally[_DUPLICATE],
        two_labels=tally[_TWO_LABELS],
        outside=tally[_OUTSIDE],
        no_challenger=no_challenger,
        truncated=truncated,
    )
    champion = None if pair is None or no_challenger else pair.second
    if champion is None:
        champion = _champion(cells, category, used, monitor)

    no_cluster = 0 if cells.has_cluster is None else _weighed(cells, used & ~cells.has_cluster)
    two_labels = 0 if cells.two_labels is None else _weighed(cells, cells.two_labels > 0)
    caveats = [*_caveats(counts, encoder, monitor, no_cluster, two_labels)]
    if cells.arrival is not None:
        caveats += arrival.caveats(cells.arrival, cells.weight, used, awaiting, monitor)
    first = None if cells.arrival is None or ages < 2 else np.maximum(cells.arrival, 0)
    masks = [] if first is None else [used & (first == age) for age in range(ages)]
    return Rows(
        champion=champion,
        pair=pair,
        challenger_only=challenger_only,
        unlabelled_pair=unlabelled_pair,
        counts=counts,
        caveats=tuple(caveats),
        unlabelled=ScoreCounts.of(cells.champion[awaiting], _weights(cells, awaiting)),
        by_age=tuple(_champion(cells, category, mask, monitor) for mask in masks),
    )


def _weights(cells: Chunk, among: Mask) -> NDArray[np.int64] | None:
    return None if cells.weight is None else cells.weight[among]


def _weighed(cells: Chunk, among: Mask) -> int:
    return int(np.count_nonzero(among) if cells.weight is None else cells.weight[among].sum())


def _champion(cells: Chunk, category: NDArray[np.int8], among: Mask, monitor: Monitor) -> Sample:
    if cells.high is None or cells.weight is None:
        return _sampled(Sample, cells, category, among, cells.champion)
    positive, weight = category[among] == _POSITIVE, cells.weight[among]
    ends = cells.champion[among], cells.high[among]
    return Sample.from_cells(*ends, weight * positive, weight * ~positive, grid=monitor.condense.grid)


def _sampled(
    kind: type[S], cells: Chunk, category: NDArray[np.int8], among: Mask, *scores: NDArray[np.float64]
) -> S:
    positive = category[among] == _POSITIVE
    columns: list[NDArray[Any]] = [score[among] for score in scores]
    cluster = None if cells.cluster is None else cells.cluster[among]
    if cells.weight is None:
        return kind(positive, *columns, cluster=cluster)
    weight = cells.weight[among]
    columns += [weight * positive, weight * ~positive]
    return kind.from_counts(*columns, cluster=cluster)


def _caveats(counts: Counts, encoder: Encoder, monitor: Monitor, alone: int, both: int) -> Iterator[Caveat]:
    where: dict[str, Any] = {"monitor": monitor.name, "rows": counts.rows}
    if counts.truncated:
        yield Caveat("rows-truncated", source=monitor.source, **where)
    if counts.outside:
        yield Caveat("rows-outside", count=counts.outside, column=monitor.columns.time, **where)
    if counts.duplicates > counts.rows / 2:
        yield Caveat("ids-repeated", count=counts.duplicates, column=monitor.columns.id, **where)
    if both:
        columns = {"column": monitor.columns.id, "labelled_at": monitor.columns.labelled_at}
        yield Caveat("ids-with-two-labels", count=both, set_aside=counts.two_labels, **columns, **where)
    if alone:
        yield Caveat("clusters-missing", count=alone, rows=counts.used, column=monitor.columns.cluster)
    if counts.bad_label:
        labels = {"positive": monitor.positive.label, "negative": monitor.positive.negative}
        examples = encoder.bad_labels
        yield Caveat("rows-with-bad-labels", count=counts.bad_label, **labels, examples=examples, **where)
    if counts.bad_score and encoder.text_scores:
        yield Caveat(
            "text-scores",
            count=counts.bad_score,
            examples=encoder.text_scores,
            source=monitor.source,
            **where,
        )


def _digest_of(segments: dict[str, Rows], with_unlabelled: bool) -> str:
    """Return the SHA-256 of samples and counts, and of unlabelled scores where these are asked for.

    It is the same for rows and for groups of equal rows, in any order, from any database; that of cells of a
    grid within one engine (see `rocmonitor.sources.condensing`).
    """
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


def _repeats(
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
    keys += [
        np.where(np.isnan(scores), -np.inf, scores)[among]
        for scores in (cells.challenger, cells.champion)
        if scores is not None
    ]
    keys += [labels, known, time[among], *ids[among].T]
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
