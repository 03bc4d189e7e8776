"""Arrays of rows as users give them: checked, converted, or refused with a count of what is wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError, quoted
from rocmonitor.stats.nouns import classes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

T = TypeVar("T")

_LARGEST_EXACT_INTEGER = 2**53
_AT_ONCE = 1 << 15
_MISSING = ("NAType", "NaTType")  # of pandas, which is not imported here; comparing them has no truth value
_SEARCHED = 1 << 10
_POSITIVE = ("1", "1.0", "true", "t", "yes", "y", "pos", "positive")


def valid_labels(y_true: ArrayLike) -> NDArray[np.bool_]:
    """Labels 0 and 1 as booleans, shape (n,)."""
    labels = _one_dimensional(y_true, "y_true")
    if labels.dtype == np.bool_:
        return labels
    missing = 0
    if labels.dtype.kind == "f":
        missing = int(np.count_nonzero(np.isnan(labels)))
    elif labels.dtype == object:
        missing = sum(value is None or type(value).__name__ in _MISSING or value != value for value in labels)
    if missing:
        raise InputError(
            f"y_true is missing in {missing} of {len(labels)} rows (None, NaN or NA); set those rows aside "
            "first, in every array"
        )
    try:
        positive, negative = labels == 1, labels == 0
        bad = len(labels) - np.count_nonzero(positive) - np.count_nonzero(negative)
    except TypeError as error:
        raise InputError(f"y_true must hold labels 0 and 1, not {labels.dtype}") from error
    if bad:
        example = labels[~np.asarray(positive | negative, dtype=np.bool_)][:1].tolist()[0]
        shown = set(map(repr, labels.tolist()))
        way_out = "map the labels or set the rows aside"
        if isinstance(example, str) and len(shown) == 2:  # a wrong positive one would turn the AUROC around
            sure = [name for name in shown if name.strip("'\" ").casefold() in _POSITIVE]
            named = f"name the positive one, as in auc(…, pos_label={sure[0] if len(sure) == 1 else '…'})"
            way_out = f"of {' and '.join(sorted(shown))} {named}, or map the labels"
        elif isinstance(example, float) and not example.is_integer():
            way_out = "labels come first, scores second: are they swapped?"
        raise InputError(
            f"y_true must hold only 0 and 1: {bad} of {len(labels)} labels are neither, "
            f"for example {example!r}; {way_out}"
        )
    return np.asarray(positive, dtype=np.bool_)


def valid_scores(y_score: ArrayLike, name: str) -> Floats:
    """Finite scores as float64, shape (n,); `name` is what messages call them."""
    values = _one_dimensional(y_score, name)
    if values.dtype.kind in "cMmSUV":
        raise InputError(f"{name} must be numbers, not {values.dtype}; convert it first")
    largest = 0  # whole number, without its sign; floats were chosen by the caller
    if values.dtype.kind in "iu" and values.size:
        largest = max(abs(int(values.min())), abs(int(values.max())))
    elif values.dtype.kind == "O":
        largest = max((abs(int(value)) for value in values if isinstance(value, Integral)), default=0)
    if largest > _LARGEST_EXACT_INTEGER:
        raise InputError(
            f"{name} holds integers beyond 2**53 ({quoted(largest)}), which float64 would merge; "
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
    if values.dtype.kind == "f" and values.dtype.itemsize > scores.dtype.itemsize:
        merged = len(np.unique(values)) - len(np.unique(scores))
        if merged:
            raise InputError(
                f"{name} holds {values.dtype} scores of which float64 would merge {merged:,} with others; "
                "rescale or rank them first"
            )
    return scores


def valid_counts(values: ArrayLike, name: str) -> Counts:
    """Whole numbers >= 0 as int64, shape (k,)."""
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
    if array.ndim == 2 and array.shape[1] == 2:
        raise InputError(
            f"{name} must be one-dimensional; its shape is {array.shape}: of what predict_proba returns, "
            "take the column of the positive class, [:, 1]"
        )
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional; its shape is {array.shape}")
    return array


def same_order(**arrays: object) -> None:
    """Refuse pandas objects whose indexes hold the same labels in another order: rows are paired by position.

    Arguments that are None, or have no index, are passed over; so are indexes with other labels.
    """
    indexes: list[tuple[str, Any]] = [
        (name, index)
        for name, array in arrays.items()
        if hasattr(index := getattr(array, "index", None), "isin")
    ]
    for (name, index), (other, further) in itertools.pairwise(indexes):
        if len(index) != len(further) or index.equals(further):
            continue
        if index.isin(further).all() and further.isin(index).all():
            raise InputError(
                f"{name} and {other} have the same index labels in another order, and rows are paired by "
                f"position: put them in one order, such as {other}.loc[{name}.index]"
            )


def same_length(**arrays: NDArray[Any]) -> None:
    """Refuse arrays, by the name of their argument, that differ in length."""
    if len({len(array) for array in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise InputError(f"{' and '.join(arrays)} must have equal length: {sizes}")


def require_classes(n_pos: int, n_neg: int, *, at_least: int = 1, what: str = "") -> None:
    """Raise DegenerateDataError unless there are `at_least` rows of each class; `what` begins the message."""
    if min(n_pos, n_neg) < at_least:
        raise DegenerateDataError(
            f"{what}needs at least {at_least} of each class; there are {classes(n_pos, n_neg, ' and ')}: "
            "take more rows or wait for more labels"
        )


def in_order(neg: Floats, pos: Floats, *, runs: bool = False) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the scores of negatives and positives, sorted together, and which of them are positives'.

    The two are sorted in place. That and merging is several times faster than one argsort of all. Where each
    is some sorted `runs`, they are merged.
    """
    for scores in (neg, pos):
        scores.sort(kind="stable" if runs else None)
    both = np.concatenate([neg, pos])
    order = np.argsort(both, kind="stable")
    return both[order], order >= len(neg)


def places_among(score: Floats, other: Floats) -> NDArray[np.intp]:
    """Return `np.searchsorted` for increasing `other`: a few at once, whose part of `score` fits a cache."""
    stops = np.append(np.searchsorted(score, other[::_SEARCHED]), len(score)).tolist()
    at = np.empty(len(other), dtype=np.intp)
    for number, (start, stop) in enumerate(itertools.pairwise(stops)):
        few = slice(number * _SEARCHED, (number + 1) * _SEARCHED)
        at[few] = np.searchsorted(score[start:stop], other[few])
        at[few] += start
    return at


def counted(score: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Counts, Counts]:
    """Count the rows at the distinct values of sorted scores."""
    if not len(score):
        return score, np.zeros(0, np.int64), np.zeros(0, np.int64)
    new = score[1:] != score[:-1]
    if new.all():
        pos = positive.astype(np.int64)
        return score, pos, 1 - pos
    first = np.flatnonzero(np.concatenate([[True], new]))
    size = np.diff(first, append=len(score))
    pos = np.add.reduceat(positive, first, dtype=np.int64)
    return score[first], pos, size - pos


def run_starts(pos: Counts, neg: Counts) -> NDArray[np.bool_]:
    """Return where runs of scores of one class begin, (k,); a score of both classes is its own."""
    kind = (pos > 0).view(np.int8) * np.int8(2)  # small: there may be many
    kind += (neg > 0).view(np.int8)
    return np.concatenate([[True], (kind[1:] != kind[:-1]) | (kind[1:] == 3)])


def weighted_sum(weights: Counts | Floats, values: Floats | Counts) -> float:
    """Return the sum of values that occur `weights` times, in parts that fit a cache: no memory of that size.

    Not @: its rounding and its time depend on the processors.
    """
    if len(values) <= _AT_ONCE:
        return float(np.sum(weights * values))
    return math.fsum([float(np.sum(weights[part] * values[part])) for part in parts(len(values))])


def class_sums(weights: Floats, values: Floats) -> Floats:
    """(2,): sums over the cells of each class, shape (2, k), as in `weighted_sum`."""
    if weights.shape[1] <= _AT_ONCE:
        return np.asarray(np.add.reduce(weights * values, axis=1))
    total = np.zeros(2)
    for part in parts(weights.shape[1]):
        total += np.add.reduce(weights[:, part] * values[:, part], axis=1)
    return total


@lru_cache(maxsize=64)  # a search asks for the same ones again and again
def parts(size: int) -> tuple[slice, ...]:
    """`size` places in parts that fit a cache, at least one."""
    return tuple([slice(i, i + _AT_ONCE) for i in range(0, max(size, 1), _AT_ONCE)])


def add_up(index: NDArray[np.intp], counts: Counts, length: int) -> Counts:
    """Return sums of the counts at each index, shape (length,)."""
    # Weighted bincount adds in float64: exact below 2**53 rows.
    return np.bincount(index, weights=counts, minlength=length).astype(np.int64)


def listed(samples: Iterable[T], kind: type[T]) -> list[T]:
    """Return the samples to merge, at least one, each of the kind."""
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


def number_list(values: ArrayLike, name: str, unit: str = "number") -> Floats:
    """At least one number, as an array of its own, shape (h,)."""
    try:
        numbers = np.array(values, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
    if numbers.ndim != 1 or not len(numbers):
        raise InputError(f"{name} must be a list of at least one {unit}; its shape is {numbers.shape}")
    return numbers


def require_all(kept: NDArray[np.bool_], name: str, rule: str, hint: str) -> None:
    """Refuse values of which some do not keep a rule, such as "be finite"."""
    if not kept.all():
        verb = "are" if rule.startswith("be ") else "do"
        count = np.count_nonzero(~kept)
        raise InputError(f"{name} must {rule}: {count} of {kept.size} {verb} not; {hint}")


def window_numbers(values: ArrayLike, name: str) -> Floats:
    """Finite numbers, one for each window, as float64, shape (k,)."""
    try:
        given = np.asarray(values)
        numbers = given.astype(np.float64, casting="unsafe" if given.dtype == object else "safe")
    except (TypeError, ValueError) as exc:
        raise InputError(f"{name} must be numbers, one for each window") from exc
    if numbers.ndim != 1:
        raise InputError(
            f"{name} must be one-dimensional, one number for each window; it has {numbers.ndim} axes"
        )
    require_all(np.isfinite(numbers), name, "be finite", "leave those windows out")
    return numbers
