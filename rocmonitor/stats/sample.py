"""Samples: labelled scores, validated and sorted once, held as counts at distinct scores.

Every statistic of the ROC curve depends on the rows only through the number of positives and
negatives at each distinct score, so rows, a SQL ``GROUP BY`` and a cluster aggregate give the same
sample and the same answers. Ties need no special case anywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

S = TypeVar("S", "Sample", "PairedSample")

_LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample:
    """Labelled scores of one model.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 (or True) for positive and 0 (or False) for negative.
    y_score : array_like, shape (n,)
        Finite scores; higher means more positive. Converted to float64.

    Attributes
    ----------
    score : ndarray, shape (k,)
        The distinct scores, increasing.
    pos, neg : ndarray of int64, shape (k,)
        Positives and negatives at each distinct score.
    n_pos, n_neg : int
        Class sizes.

    Raises
    ------
    InputError
        Unequal lengths, not one-dimensional, labels other than 0 and 1, scores that are not finite numbers.

    Notes
    -----
    A sample may be empty or hold one class only (windows do); a statistic that needs both says so
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

    def __init__(self, y_true: ArrayLike, y_score: ArrayLike) -> None:
        positive = valid_labels(y_true)
        score = valid_scores(y_score, "y_score")
        _same_length(y_true=positive, y_score=score)
        # Sorting plain values and merging two sorted runs is several times faster than one argsort.
        both = np.concatenate([np.sort(score[~positive]), np.sort(score[positive])])
        order = np.argsort(both, kind="stable")
        self._set(*_counted(both[order], order >= len(score) - np.count_nonzero(positive)))

    @classmethod
    def from_counts(cls, score: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike) -> Sample:
        """The sample of grouped counts, as from ``SELECT score, count(…) … GROUP BY score``.

        Parameters
        ----------
        score : array_like, shape (k,)
            Finite scores, in any order; a score may come more than once.
        n_pos, n_neg : array_like, shape (k,)
            Whole, non-negative numbers of positives and negatives in each cell.
        """
        values = valid_scores(score, "score")
        pos, neg = _counts(n_pos, "n_pos"), _counts(n_neg, "n_neg")
        _same_length(score=values, n_pos=pos, n_neg=neg)
        seen = (pos > 0) | (neg > 0)
        return indexed(values[seen], pos[seen], neg[seen])[0]

    @classmethod
    def merge(cls, samples: Iterable[Sample]) -> Sample:
        """All rows of disjoint samples in one sample, exactly."""
        parts = _listed(samples, Sample)
        return cls.from_counts(
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.pos for part in parts]),
            np.concatenate([part.neg for part in parts]),
        )

    def require_both_classes(self, *, at_least: int = 1) -> None:
        """Raise DegenerateDataError unless each class has `at_least` rows."""
        require_classes(self.n_pos, self.n_neg, at_least=at_least)

    def require_distinct_scores(self, model: str = "") -> None:
        """Raise DegenerateDataError if all rows have one score; `model` is what the message begins with."""
        if len(self.score) == 1:
            raise DegenerateDataError(
                f"{model}all {self.n_pos + self.n_neg:,} scores are {self.score[0]:g}: no threshold tells "
                "rows apart, and the ROC curve has no point between its ends; see whether the scoring is "
                "broken, or take rows whose scores differ (the AUC and cost curves do without)"
            )

    def __repr__(self) -> str:
        return f"Sample(n_pos={self.n_pos}, n_neg={self.n_neg}, distinct={len(self.score)})"

    def _set(self, score: Floats, pos: Counts, neg: Counts) -> None:
        for array in (score, pos, neg):
            array.setflags(write=False)
        object.__setattr__(self, "score", score)
        object.__setattr__(self, "pos", pos)
        object.__setattr__(self, "neg", neg)
        object.__setattr__(self, "n_pos", int(pos.sum()))
        object.__setattr__(self, "n_neg", int(neg.sum()))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PairedSample:
    """Labelled scores of two models on the same rows.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative.
    score_1, score_2 : array_like, shape (n,)
        Finite scores of the two models; the scales need not agree.

    Attributes
    ----------
    first, second : Sample
        Each model on its own.
    index_1, index_2 : ndarray of intp, shape (c,)
        Position of each cell's score in ``first.score`` and ``second.score``.
    pos, neg : ndarray of int64, shape (c,)
        Positives and negatives in each cell (a cell is one row, or a group of equal rows).
    n_pos, n_neg : int
        Class sizes.

    Raises
    ------
    InputError
        As for `Sample`.

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

    def __init__(self, y_true: ArrayLike, score_1: ArrayLike, score_2: ArrayLike) -> None:
        positive = valid_labels(y_true)
        s1, s2 = valid_scores(score_1, "score_1"), valid_scores(score_2, "score_2")
        _same_length(y_true=positive, score_1=s1, score_2=s2)
        self._set(s1, s2, positive.astype(np.int64), (~positive).astype(np.int64))

    @classmethod
    def from_counts(
        cls, score_1: ArrayLike, score_2: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike
    ) -> PairedSample:
        """The paired sample of grouped counts: one cell for each (score_1, score_2)."""
        s1, s2 = valid_scores(score_1, "score_1"), valid_scores(score_2, "score_2")
        pos, neg = _counts(n_pos, "n_pos"), _counts(n_neg, "n_neg")
        _same_length(score_1=s1, score_2=s2, n_pos=pos, n_neg=neg)
        seen = (pos > 0) | (neg > 0)
        pair = cls.__new__(cls)
        pair._set(s1[seen], s2[seen], pos[seen], neg[seen])
        return pair

    @classmethod
    def merge(cls, samples: Iterable[PairedSample]) -> PairedSample:
        """All rows of disjoint paired samples in one, exactly; each cell stays a cell of its own.

        Examples
        --------
        >>> first, second = PairedSample([0, 1], [0.2, 0.7], [10, 20]), PairedSample([1], [0.7], [10])
        >>> PairedSample.merge([first, second]).first
        Sample(n_pos=2, n_neg=1, distinct=2)
        """
        parts = _listed(samples, PairedSample)
        return cls.from_counts(
            np.concatenate([part.first.score[part.index_1] for part in parts]),
            np.concatenate([part.second.score[part.index_2] for part in parts]),
            np.concatenate([part.pos for part in parts]),
            np.concatenate([part.neg for part in parts]),
        )

    def swapped(self) -> PairedSample:
        """The same rows with the second model first; the arrays are shared, not copied.

        Examples
        --------
        >>> pair = PairedSample([0, 1], [0.2, 0.7], [10, 20]).swapped()
        >>> pair.first.score.tolist(), pair.second.score.tolist()
        ([10.0, 20.0], [0.2, 0.7])
        """
        pair = PairedSample.__new__(PairedSample)
        pair._keep(self.second, self.first, self.index_2, self.index_1, self.pos, self.neg)
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

    def _set(self, s1: Floats, s2: Floats, pos: Counts, neg: Counts) -> None:
        first, index_1 = indexed(s1, pos, neg)
        second, index_2 = indexed(s2, pos, neg)
        for array in (index_1, index_2, pos, neg):
            array.setflags(write=False)
        self._keep(first, second, index_1, index_2, pos, neg)

    def _keep(
        self,
        first: Sample,
        second: Sample,
        index_1: NDArray[np.intp],
        index_2: NDArray[np.intp],
        pos: Counts,
        neg: Counts,
    ) -> None:
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)
        object.__setattr__(self, "index_1", index_1)
        object.__setattr__(self, "index_2", index_2)
        object.__setattr__(self, "pos", pos)
        object.__setattr__(self, "neg", neg)
        object.__setattr__(self, "n_pos", first.n_pos)
        object.__setattr__(self, "n_neg", first.n_neg)


def _listed(samples: Iterable[S], kind: type[S]) -> list[S]:
    """The samples to merge, at least one, each of the kind."""
    name = kind.__name__
    if not isinstance(samples, Iterable):
        raise InputError(f"samples must be a list of {name}, not a {type(samples).__name__}")
    parts = list(samples)
    if not parts:
        raise InputError(f"samples is empty; give at least one {name} to merge")
    for place, part in enumerate(parts):
        if not isinstance(part, kind):
            raise InputError(f"samples must hold only {name}; samples[{place}] is a {type(part).__name__}")
    return parts


def indexed(score: Floats, pos: Counts, neg: Counts) -> tuple[Sample, NDArray[np.intp]]:
    """The sample of validated cells, and the position of each cell's score in ``sample.score``."""
    order = np.argsort(score)
    ordered = score[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(score)]
    rank = np.cumsum(first)
    rank -= 1
    index = np.empty_like(order)
    index[order] = rank
    distinct = int(np.count_nonzero(first))
    sample = Sample.__new__(Sample)
    if distinct == len(score):
        sample._set(ordered, pos[order], neg[order])
    else:
        sample._set(ordered[first], _add_up(index, pos, distinct), _add_up(index, neg, distinct))
    return sample, index


P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class OnSample(Protocol[P, R_co]):
    """A statistic that takes ``(y_true, y_score)`` or one `Sample`."""

    @overload
    def __call__(self, sample: Sample, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, y_true: ArrayLike, y_score: ArrayLike, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class OnPair(Protocol[P, R_co]):
    """A statistic that takes ``(y_true, score_1, score_2)`` or one `PairedSample`."""

    @overload
    def __call__(self, sample: PairedSample, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self,
        y_true: ArrayLike,
        score_1: ArrayLike,
        score_2: ArrayLike,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R_co: ...


def on_sample(function: Callable[Concatenate[Sample, P], R]) -> OnSample[P, R]:
    """Let a function of one `Sample` take ``(y_true, y_score)`` in its place."""
    return _taking(Sample, ("y_true", "y_score"), function)


def on_pair(function: Callable[Concatenate[PairedSample, P], R]) -> OnPair[P, R]:
    """Let a function of one `PairedSample` take ``(y_true, score_1, score_2)`` in its place."""
    return _taking(PairedSample, ("y_true", "score_1", "score_2"), function)


def _taking(
    kind: type[Sample] | type[PairedSample], names: tuple[str, ...], function: Callable[..., R]
) -> Callable[..., R]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if args and isinstance(args[0], Sample | PairedSample):
            if not isinstance(args[0], kind):
                raise InputError(
                    f"{function.__name__} takes a {kind.__name__}, not a {type(args[0]).__name__}"
                )
            return function(*args, **kwargs)
        given = list(args[: len(names)])
        for name in names[len(given) :]:
            if name not in kwargs:
                raise InputError(
                    f"{function.__name__} needs {', '.join(names)}, or one {kind.__name__}; {name} is missing"
                )
            given.append(kwargs.pop(name))
        return function(kind(*given), *args[len(names) :], **kwargs)

    # What help() shows: the arrays in place of the sample.
    shown = inspect.signature(function)
    arrays = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    others = list(shown.parameters.values())[1:]
    call.__signature__ = shown.replace(parameters=arrays + others)  # type: ignore[attr-defined]
    return call


def valid_labels(y_true: ArrayLike) -> NDArray[np.bool_]:
    """Labels 0 and 1 as booleans, shape (n,)."""
    labels = _one_dimensional(y_true, "y_true")
    if labels.dtype == np.bool_:
        return labels
    try:
        positive, negative = labels == 1, labels == 0
        bad = len(labels) - np.count_nonzero(positive) - np.count_nonzero(negative)
    except TypeError as error:
        raise InputError(f"y_true must hold labels 0 and 1, not {labels.dtype}") from error
    if bad:
        example = labels[~np.asarray(positive | negative, dtype=np.bool_)][:1].tolist()[0]
        raise InputError(
            f"y_true must hold only 0 and 1: {bad} of {len(labels)} labels are neither, "
            f"for example {example!r}; map the labels or set the rows aside"
        )
    return np.asarray(positive, dtype=np.bool_)


def valid_scores(y_score: ArrayLike, name: str) -> Floats:
    """Finite scores as float64, shape (n,); `name` is what messages call them."""
    values = _one_dimensional(y_score, name)
    if values.dtype.kind in "cMmSUV":
        raise InputError(f"{name} must be numbers, not {values.dtype}; convert it first")
    if values.dtype.kind in "iu" and values.size:
        largest = max(abs(int(values.min())), abs(int(values.max())))
        if largest > _LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} holds integers beyond 2**53 ({largest}), which float64 would merge; "
                "rescale or rank them first"
            )
    try:
        with np.errstate(over="ignore"):  # what float64 cannot hold is infinite, and refused below
            scores = values.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
    bad = len(scores) - np.count_nonzero(np.isfinite(scores))
    if bad:
        raise InputError(
            f"{name} must be finite: {bad} of {len(scores)} scores are NaN or infinite; "
            "set those rows aside first"
        )
    return scores


def _counts(values: ArrayLike, name: str) -> Counts:
    counts = _one_dimensional(values, name)
    try:
        with np.errstate(invalid="ignore"):  # NaN and what int64 cannot hold come out unequal below
            whole = counts.astype(np.int64)
        wrong = np.count_nonzero((whole != counts) | (whole < 0))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be whole numbers >= 0: {error}") from error
    if wrong:
        raise InputError(f"{name} must be whole numbers >= 0: {wrong} of {len(counts)} cells are not")
    if whole.sum(dtype=np.float64) > _LARGEST_EXACT_INTEGER:
        raise InputError(f"{name} adds up to more than 2**53 rows, where float64 loses single rows")
    return whole


def _one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray) and (masked := np.count_nonzero(np.ma.getmaskarray(values))):
        raise InputError(
            f"{name} has {masked} masked values; set the masked rows aside first, in every array"
        )
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a list of single numbers: {error}") from error
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional; its shape is {array.shape}")
    return array


def _same_length(**arrays: NDArray[Any]) -> None:
    if len({len(array) for array in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise InputError(f"{' and '.join(arrays)} must have equal length: {sizes}")


def require_classes(n_pos: int, n_neg: int, *, at_least: int) -> None:
    """Raise DegenerateDataError unless there are `at_least` rows of each class."""
    if min(n_pos, n_neg) < at_least:
        raise DegenerateDataError(
            f"needs at least {at_least} of each class; there are {n_pos} positives and {n_neg} negatives: "
            "take a longer window or wait for more labels"
        )


def _counted(score: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Counts, Counts]:
    """Counts at the distinct values of sorted scores."""
    if not len(score):
        return score, np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    if len(first) == len(score):
        pos = positive.astype(np.int64)
        return score, pos, 1 - pos
    size = np.diff(first, append=len(score))
    pos = np.add.reduceat(positive, first, dtype=np.int64)
    return score[first], pos, size - pos


def _add_up(index: NDArray[np.intp], counts: Counts, length: int) -> Counts:
    # Weighted bincount adds in float64: exact below 2**53 rows.
    return np.bincount(index, weights=counts, minlength=length).astype(np.int64)
