"""Samples: labelled scores, validated and sorted once, held as counts at distinct scores.

Every statistic of the ROC curve depends on the rows only through the number of positives and negatives at
each distinct score, so rows, a SQL ``GROUP BY`` and a cluster aggregate give the same sample and answers.
Scores without a label are counts too: all that a window shows before its labels arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Concatenate, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.cells import (
    CellEnds,
    Clusters,
    Grid,
    cluster_ids,
    clustered,
    disjoint,
    merged_ids,
    one_grid,
)
from rocmonitor.stats.rows import Counts as Counts
from rocmonitor.stats.rows import Floats as Floats
from rocmonitor.stats.rows import (
    add_up,
    counted,
    in_order,
    listed,
    require_classes,
    same_length,
    same_order,
    valid_counts,
    valid_labels,
    valid_scores,
)
from rocmonitor.stats.taking import OnPair as OnPair
from rocmonitor.stats.taking import OnSample as OnSample
from rocmonitor.stats.taking import OnTwo as OnTwo
from rocmonitor.stats.taking import P, R, taking, taking_two


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample:
    """Labelled scores of one model.

    Parameters
    ----------
    y_true, shape (n,): Labels, 1 (or True) for positive and 0 (or False) for negative.
    y_score, shape (n,): Finite scores; higher means more positive. Converted to float64.
    cluster, shape (n,): Which rows belong together, such as those of one customer: whole numbers or texts.
        Standard errors are then those of clustered rows.

    Attributes
    ----------
    score, shape (k,): The distinct scores, increasing.
    pos, neg, shape (k,): Positives and negatives at each distinct score.
    n_pos, n_neg: Class sizes.
    clusters: The same rows by cluster.
    ends: The scores in each cell of a condensed sample (`from_cells`), whose `score` is the lowest of a cell.
        None where every cell is one score.

    Raises
    ------
    InputError: Unequal lengths, not one-dimensional, labels other than 0 and 1, scores that are not finite
        numbers.

    Notes
    -----
    A sample may be empty or hold one class only (windows do); a statistic that needs both refuses it
    when it is asked. Cost: O(n log n), one sort per class and one merge.

    Examples
    --------
    >>> sample = Sample([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.4])
    >>> sample.score.tolist(), sample.pos.tolist(), sample.neg.tolist()
    ([0.1, 0.4, 0.9], [0, 1, 1], [1, 1, 0])
    """

    score: Floats
    pos: Counts
    neg: Counts
    n_pos: int
    n_neg: int
    clusters: Clusters | None
    ends: CellEnds | None

    def __init__(self, y_true: ArrayLike, y_score: ArrayLike, *, cluster: ArrayLike | None = None) -> None:
        same_order(y_true=y_true, y_score=y_score, cluster=cluster)
        positive = valid_labels(y_true)
        score = valid_scores(y_score, "y_score")
        same_length(y_true=positive, y_score=score)
        if cluster is not None:
            self._set_cells(score, positive.astype(np.int64), (~positive).astype(np.int64), cluster)
            return
        self._set(*counted(*in_order(score[~positive], score[positive])))

    @classmethod
    def from_counts(
        cls, score: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, *, cluster: ArrayLike | None = None
    ) -> Sample:
        """Return the sample of grouped counts, as from ``SELECT score, count(…) … GROUP BY score``.

        Parameters
        ----------
        score, shape (k,): Finite scores, in any order; a score may come more than once.
        n_pos, n_neg, shape (k,): Whole, non-negative numbers of positives and negatives in each cell.
        cluster, shape (k,): The cluster that all rows of the cell belong to.
        """
        same_order(score=score, n_pos=n_pos, n_neg=n_neg, cluster=cluster)
        values = valid_scores(score, "score")
        pos, neg = valid_counts(n_pos, "n_pos"), valid_counts(n_neg, "n_neg")
        same_length(score=values, n_pos=pos, n_neg=neg)
        seen = (pos > 0) | (neg > 0)
        if cluster is None:
            return indexed(values[seen], pos[seen], neg[seen])[0]
        sample = cls.__new__(cls)
        sample._set_cells(values[seen], pos[seen], neg[seen], cluster_ids(cluster, len(seen))[seen])
        return sample

    @classmethod
    def from_cells(
        cls, low: ArrayLike, high: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, *, grid: Grid | None = None
    ) -> Sample:
        """Return a condensed sample, as from ``SELECT MIN(score), MAX(score), …``; see `condensed_error`.

        Parameters
        ----------
        low, high, shape (k,): Finite lowest and highest score in each cell, in any order. Cells that overlap
            are joined.
        n_pos, n_neg : array_like, shape (k,); as in `from_counts`
        grid: What cut the scores into cells; samples of different grids cannot be merged.
        """
        same_order(low=low, high=high, n_pos=n_pos, n_neg=n_neg)
        given = valid_scores(low, "low"), valid_scores(high, "high")
        pos, neg = valid_counts(n_pos, "n_pos"), valid_counts(n_neg, "n_neg")
        same_length(low=given[0], high=given[1], n_pos=pos, n_neg=neg)
        least, most, pos, neg = disjoint(*given, pos, neg)
        sample = cls.__new__(cls)
        sample._set(least, pos, neg)
        return sample.with_ends(CellEnds(least, most, grid) if (least < most).any() else None)

    @classmethod
    def merge(cls, samples: Iterable[Sample]) -> Sample:
        """Return all rows of disjoint samples in one, exactly; cells of condensed ones that overlap join."""
        parts = listed(samples, Sample)
        if any(part.ends is not None for part in parts):
            if any(part.clusters is not None for part in parts):
                raise InputError("samples with clusters cannot be merged with condensed ones")
            return cls.from_cells(
                np.concatenate([part.score if part.ends is None else part.ends.low for part in parts]),
                np.concatenate([part.score if part.ends is None else part.ends.high for part in parts]),
                np.concatenate([part.pos for part in parts]),
                np.concatenate([part.neg for part in parts]),
                grid=one_grid([part.ends for part in parts]),
            )
        ids = merged_ids([part.clusters for part in parts if part.n_pos + part.n_neg])
        cells = [
            (part.score, part.pos, part.neg)
            if part.clusters is None
            else (part.score[part.clusters.index], part.clusters.pos, part.clusters.neg)
            for part in parts
        ]
        score, pos, neg = (np.concatenate(column) for column in zip(*cells, strict=True))
        if ids is None and sum(part.n_pos + part.n_neg for part in parts) <= 2 * len(score):
            merged = cls.__new__(cls)
            merged._set(*counted(*in_order(np.repeat(score, neg), np.repeat(score, pos), runs=True)))
            return merged
        return cls.from_counts(score, pos, neg, cluster=ids)

    def with_ends(self, ends: CellEnds | None) -> Sample:
        """Return the same cells, which hold the scores between these ends; None: one score each."""
        sample = copy(self)
        _set_fields(sample, ends=ends)
        return sample

    def require_both_classes(self, *, at_least: int = 1, what: str = "") -> None:
        """Raise DegenerateDataError unless each class has `at_least` rows."""
        require_classes(self.n_pos, self.n_neg, at_least=at_least, what=what)

    def require_distinct_scores(self, model: str = "") -> None:
        """Raise DegenerateDataError if all rows have one score; `model` is what the message begins with."""
        if len(self.score) == 1:
            at = f"{self.score[0]:g}" if self.ends is None else "in one cell of the grid"
            raise DegenerateDataError(
                f"{model}all {self.n_pos + self.n_neg:,} scores are {at}: no threshold tells "
                "rows apart, and the ROC curve has no point between its ends; see whether the scoring is "
                "broken, or take rows whose scores differ (the AUC and cost curves do without)"
            )

    def __repr__(self) -> str:
        return f"Sample(n_pos={self.n_pos}, n_neg={self.n_neg}, distinct={len(self.score)})"

    def _set(self, score: Floats, pos: Counts, neg: Counts, clusters: Clusters | None = None) -> None:
        for array in (score, pos, neg):
            array.setflags(write=False)
        _set_fields(self, score=score, pos=pos, neg=neg, n_pos=int(pos.sum()), n_neg=int(neg.sum()))
        _set_fields(self, clusters=clusters, ends=None)

    def _set_cells(self, score: Floats, pos: Counts, neg: Counts, cluster: ArrayLike) -> None:
        ids = cluster_ids(cluster, len(score))
        plain, index = indexed(score, pos, neg)
        self._set(plain.score, plain.pos, plain.neg, clustered(ids, index, pos, neg))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PairedSample:
    """Labelled scores of two models on the same rows, refused as those of `Sample` are.

    Parameters
    ----------
    y_true, shape (n,): Labels, 1 for positive and 0 for negative.
    score_1, score_2, shape (n,): Finite scores of the two models; the scales need not agree.
    cluster, shape (n,): As for `Sample`.

    Attributes
    ----------
    first, second: Each model on its own.
    index_1, index_2, shape (c,): Position of each cell's score in ``first.score`` and ``second.score``.
    pos, neg, shape (c,): Positives and negatives in each cell (a cell is one row, or a group of equal rows).
    n_pos, n_neg: Class sizes.
    clusters: The same cells by cluster; `first` and `second` have theirs.

    Examples
    --------
    >>> pair = PairedSample([0, 1], [0.2, 0.7], [10, 20])
    >>> pair.first.score.tolist(), pair.second.score.tolist()
    ([0.2, 0.7], [10.0, 20.0])
    """

    first: Sample
    second: Sample
    index_1: NDArray[np.intp]
    index_2: NDArray[np.intp]
    pos: Counts
    neg: Counts
    n_pos: int
    n_neg: int
    clusters: Clusters | None

    def __init__(
        self,
        y_true: ArrayLike,
        score_1: ArrayLike,
        score_2: ArrayLike,
        *,
        cluster: ArrayLike | None = None,
    ) -> None:
        same_order(y_true=y_true, score_1=score_1, score_2=score_2, cluster=cluster)
        positive = valid_labels(y_true)
        s1, s2 = valid_scores(score_1, "score_1"), valid_scores(score_2, "score_2")
        same_length(y_true=positive, score_1=s1, score_2=s2)
        ids = None if cluster is None else cluster_ids(cluster, len(s1))
        self._set(s1, s2, positive.astype(np.int64), (~positive).astype(np.int64), ids)

    @classmethod
    def from_counts(
        cls,
        score_1: ArrayLike,
        score_2: ArrayLike,
        n_pos: ArrayLike,
        n_neg: ArrayLike,
        *,
        cluster: ArrayLike | None = None,
    ) -> PairedSample:
        """Return the pair of grouped counts: one cell for each (score_1, score_2), and each cluster."""
        same_order(score_1=score_1, score_2=score_2, n_pos=n_pos, n_neg=n_neg, cluster=cluster)
        s1, s2 = valid_scores(score_1, "score_1"), valid_scores(score_2, "score_2")
        pos, neg = valid_counts(n_pos, "n_pos"), valid_counts(n_neg, "n_neg")
        same_length(score_1=s1, score_2=s2, n_pos=pos, n_neg=neg)
        seen = (pos > 0) | (neg > 0)
        ids = None if cluster is None else cluster_ids(cluster, len(seen))[seen]
        pair = cls.__new__(cls)
        pair._set(s1[seen], s2[seen], pos[seen], neg[seen], ids)
        return pair

    @classmethod
    def merge(cls, samples: Iterable[PairedSample]) -> PairedSample:
        """Return all rows of disjoint paired samples in one, exactly; each cell stays a cell of its own."""
        parts = listed(samples, PairedSample)
        return cls.from_counts(
            np.concatenate([part.first.score[part.index_1] for part in parts]),
            np.concatenate([part.second.score[part.index_2] for part in parts]),
            np.concatenate([part.pos for part in parts]),
            np.concatenate([part.neg for part in parts]),
            cluster=merged_ids([part.clusters for part in parts if part.n_pos + part.n_neg]),
        )

    def swapped(self) -> PairedSample:
        """Return the same rows with the second model first; the arrays are shared, not copied."""
        pair = copy(self)
        _set_fields(pair, first=self.second, second=self.first, index_1=self.index_2, index_2=self.index_1)
        return pair

    def require_both_classes(self, *, at_least: int = 1) -> None:
        """Raise DegenerateDataError unless each class has `at_least` rows."""
        require_classes(self.n_pos, self.n_neg, at_least=at_least)

    def require_distinct_scores(self) -> None:
        """Raise DegenerateDataError if either model gives all rows one score."""
        self.first.require_distinct_scores("first model: ")
        self.second.require_distinct_scores("second model: ")

    def __repr__(self) -> str:
        return f"PairedSample(n_pos={self.n_pos}, n_neg={self.n_neg}, cells={len(self.pos)})"

    def _set(self, s1: Floats, s2: Floats, pos: Counts, neg: Counts, ids: NDArray[Any] | None = None) -> None:
        first, index_1 = indexed(s1, pos, neg)
        second, index_2 = indexed(s2, pos, neg)
        clusters = None if ids is None else clustered(ids, np.arange(len(ids)), pos, neg)
        if clusters is not None:
            _set_fields(first, clusters=replace(clusters, index=index_1))
            _set_fields(second, clusters=replace(clusters, index=index_2))
        _set_fields(self, clusters=clusters)
        for array in (index_1, index_2, pos, neg):
            array.setflags(write=False)
        _set_fields(self, first=first, second=second, index_1=index_1, index_2=index_2, pos=pos, neg=neg)
        _set_fields(self, n_pos=first.n_pos, n_neg=first.n_neg)


def _set_fields(frozen: Sample | PairedSample, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def indexed(score: Floats, pos: Counts, neg: Counts) -> tuple[Sample, NDArray[np.intp]]:
    """Return the sample of validated cells, and the position of each cell's score in ``sample.score``."""
    order = np.argsort(score)
    ordered = score[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(score)]
    rank = np.cumsum(first.astype(np.intp))  # adding up truth values takes ten times as long
    rank -= 1
    index = np.empty_like(order)
    index[order] = rank
    distinct = int(np.count_nonzero(first))
    sample = Sample.__new__(Sample)
    if distinct == len(score):
        sample._set(ordered, pos[order], neg[order])
    else:
        sample._set(ordered[first], add_up(index, pos, distinct), add_up(index, neg, distinct))
    return sample, index


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSample:
    """Labelled scores of which each has a share of its class, by weights; from `research.weighted_sample`.

    It has no numbers of rows, so only functions of the shares accept it: `auc_bounds`, `auc_distance` and
    `research.auc_path`. All that state a sampling error refuse it.
    """

    _proportional: Sample  # counts in proportion to the shares, about 2**52 for each class

    @property
    def score(self) -> Floats:
        """The distinct scores, increasing, shape (k,)."""
        return self._proportional.score

    @property
    def pos(self) -> Floats:
        """Share of the positives at each score, shape (k,)."""
        return self._proportional.pos / self._proportional.n_pos

    @property
    def neg(self) -> Floats:
        """Share of the negatives at each score, shape (k,)."""
        return self._proportional.neg / self._proportional.n_neg

    def __repr__(self) -> str:
        return f"WeightedSample(distinct={len(self.score)})"


_SAMPLES = (Sample, PairedSample)


def on_sample(function: Callable[Concatenate[Sample, P], R]) -> OnSample[Sample, P, R]:
    """Let a function of one `Sample` take ``(y_true, y_score)`` in its place."""
    return taking(Sample, ("y_true", "y_score"), function, samples=_SAMPLES, shares=WeightedSample)


def on_shares(function: Callable[Concatenate[Sample, P], R]) -> OnSample[Sample | WeightedSample, P, R]:
    """Wrap as `on_sample` does a function of the shares of the rows, which takes a `WeightedSample` too."""
    return taking(
        Sample, ("y_true", "y_score"), function, samples=_SAMPLES, shares=WeightedSample, weighted=True
    )


def on_pair(function: Callable[Concatenate[PairedSample, P], R]) -> OnPair[PairedSample, P, R]:
    """Let a function of one `PairedSample` take ``(y_true, score_1, score_2)`` in its place."""
    return taking(
        PairedSample, ("y_true", "score_1", "score_2"), function, samples=_SAMPLES, shares=WeightedSample
    )


def on_two(function: Callable[Concatenate[Sample, Sample, P], R]) -> OnTwo[Sample, P, R]:
    """Let a function of two `Sample` take ``(y_true, y_score)``, or two arrays, in place of either."""
    return taking_two(Sample, function)


class ScoreCounts(NamedTuple):
    """Unlabelled scores of one model; a pair of arrays, as `expected_auc` takes it."""

    score: Floats  # (k,): The distinct scores, increasing
    counts: Counts  # (k,): Rows at each

    @classmethod
    def of(cls, score: Floats, weight: Counts | None = None) -> ScoreCounts:
        """Count the rows at each score; `weight`, shape (n,), is how many rows each score stands for."""
        if weight is None:
            distinct, count = np.unique(score, return_counts=True)
            return cls(distinct, count.astype(np.int64, copy=False))
        distinct, place = np.unique(score, return_inverse=True)
        return cls(distinct, add_up(place, weight, len(distinct)))

    @property
    def rows(self) -> int:
        """Rows at all scores."""
        return int(self.counts.sum())

    def plus(self, other: ScoreCounts) -> ScoreCounts:
        """Return the rows of both."""
        if not len(other.score):
            return self
        score = np.concatenate([self.score, other.score])
        return ScoreCounts.of(score, np.concatenate([self.counts, other.counts]))


class PairedScoreCounts(NamedTuple):
    """Unlabelled scores of two models on the same rows: one cell for each row, or group of equal rows."""

    score_1: Floats  # (c,): As in `PairedSample`; a pair of scores may come more than once
    score_2: Floats
    counts: Counts  # (c,): Rows in each cell

    @classmethod
    def of(cls, score_1: Floats, score_2: Floats, weight: Counts | None = None) -> PairedScoreCounts:
        """Return a cell for each pair of scores; `weight`, shape (c,), is how many rows each stands for."""
        return cls(score_1, score_2, np.ones(len(score_1), dtype=np.int64) if weight is None else weight)

    @property
    def rows(self) -> int:
        """Rows in all cells."""
        return int(self.counts.sum())


def no_scores() -> ScoreCounts:
    """Return the counts of no rows."""
    return ScoreCounts(_EMPTY, np.zeros(0, dtype=np.int64))


_EMPTY: NDArray[np.float64] = np.zeros(0)
