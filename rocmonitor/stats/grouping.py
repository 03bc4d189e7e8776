"""The groups that a column makes of the rows of two samples: values, bins of numbers, missing values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError, quoted
from rocmonitor.stats.nouns import many

Label = str | int | float | bool | None  # A value of a column, the name of a bin, or None for missing values

Codes = NDArray[np.intp]

MOST_GROUPS = 500  # groups that a column may make
BINS = 10

_GLANCE = 1024  # rows that mostly show whether a column of numbers has more values than bins
_FEWEST_IDS = 6  # rows: the values of fewer may well be all different
_FEWEST_NUMBERED = 20
_MISSING = ("NoneType", "NAType", "NaTType")
_SAMPLES = ("reference", "window")


class Grouping(NamedTuple):
    """The name of each group, and the number of the group of each row, of the reference and of the window."""

    labels: tuple[Label, ...]
    reference: Codes
    window: Codes


class Groups(NamedTuple):
    """The groups of a column in its reference: values, or bins of numbers below `ends` and above the last.

    Other values, and missing ones, are groups of their own: the last two of `codes`.
    """

    labels: tuple[Label, ...]
    ends: tuple[float, ...]
    kind: Literal["numbers", "texts"]


class _Column(NamedTuple):
    """A column of one sample; values that are `missing` mean nothing. Numbers are float64."""

    kind: Literal["numbers", "texts", "nothing"]
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    whole: bool = False

    @property
    def present(self) -> NDArray[Any]:
        return self.values[~self.missing] if self.missing.any() else self.values


def grouping(reference: ArrayLike, window: ArrayLike, *, bins: int = BINS, name: str = "group") -> Grouping:
    """Return the groups that a column makes of the rows of two samples.

    reference, window, shape (n0,) and (n1,): Numbers, texts or truth values. None, NaN and the NA of pandas
        are a group of their own.
    bins: At least 2. Numbers with more than `bins` values are cut at quantiles of the reference.
    name: What messages call the column.

    Cost: O(n), and O(n log n) for numbers with few values.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= MOST_GROUPS:
        raise InputError(f"bins must be a whole number from 2 to {MOST_GROUPS}; it is {bins!r}")
    columns = [
        _column(values, f"{name} of the {side}")
        for values, side in zip((reference, window), _SAMPLES, strict=True)
    ]
    for column, side in zip(columns, _SAMPLES, strict=True):
        if column.missing.all():
            raise InputError(
                f"{name} is missing in all {many(len(column.values), 'row')} of the {side}: see whether the "
                "column is still filled, or leave it out"
            )
    kinds = {column.kind for column in columns}
    if len(kinds) > 1:
        held = " and ".join(
            f"{column.kind} in the {side}" for column, side in zip(columns, _SAMPLES, strict=True)
        )
        raise InputError(f"{name} holds {held}: convert one of the two, so that equal values are equal")
    labels, coded = _by_number(columns, bins, name) if "numbers" in kinds else _by_value(columns, name)
    if not any(column.missing.any() for column in columns):
        return Grouping(labels, *coded)
    codes = []  # with a last group for the rows without a value
    for column, of_present in zip(columns, coded, strict=True):
        of_row = np.full(len(column.values), len(labels), dtype=np.intp)
        of_row[~column.missing] = of_present
        codes.append(of_row)
    return Grouping((*labels, None), *codes)


_MANY, _SELDOM = 10, 0.1
"""Share of values that come again, below which a column of many values does not group rows."""

OTHERS = "others"  # the label of the values that have too few rows each


def learned_groups(values: ArrayLike, weight: Codes | None, *, bins: int, fewest: int, name: str) -> Groups:
    """Return the groups of a column from its reference, for later rows too; arguments as in `grouping`.

    weight: Rows of each entry, where equal rows were counted; by default each is one.
    fewest: Rows from which a value is a group of its own.
    """
    column = _column(values, f"{name} of the reference")
    of_row = np.ones(len(column.values), dtype=np.int64) if weight is None else weight
    rows, present = int(of_row.sum()), of_row[~column.missing]
    if column.missing.all():
        raise InputError(
            f"{name} is missing in all {many(rows, 'row')} of the reference: see whether the column is "
            "still filled, or leave it out"
        )
    if column.kind == "numbers" and _few_values(column.present, bins) is None:
        if column.whole and weight is None:
            _require_no_numbered_rows([column.present], name)
        return Groups((), tuple(_ends(np.repeat(column.present, present), bins).tolist()), "numbers")
    distinct, codes = _values(column, name)
    if int(present.max()) == 1:
        _require_no_id([codes], name)
    of_value = np.bincount(codes, weights=present, minlength=len(distinct))
    kept = [value for value, number in zip(distinct, of_value.tolist(), strict=True) if number >= fewest]
    if not kept:
        raise InputError(
            f"{name} has {len(distinct):,} values in {rows:,} rows, none of them in {fewest:,} (min_group): "
            "give a coarser column"
        )
    if len(kept) > MOST_GROUPS:
        raise InputError(
            f"{name} has {len(kept):,} values in {rows:,} rows, and at most {MOST_GROUPS} groups are "
            "compared: put the rare ones together, or give a coarser column"
        )
    return Groups(tuple(kept), (), "numbers" if column.kind == "numbers" else "texts")


def named_groups(groups: Groups) -> tuple[Label, ...]:
    """Return the names of the groups of a reference, without those of all other rows."""
    return _names(np.array(groups.ends)) if groups.ends else groups.labels


def codes_of(
    groups: Groups, values: ArrayLike, weight: Codes | None = None, *, fewest: int, name: str
) -> tuple[tuple[Label, ...], Codes]:
    """Return the groups of rows (the reference's, new values, `OTHERS`, None), and each row's number."""
    column = _column(values, f"{name} of the window")
    of_row = np.ones(len(column.values), dtype=np.int64) if weight is None else weight
    if column.missing.all() and len(of_row):
        raise InputError(
            f"{name} is missing in all {many(int(of_row.sum()), 'row')} of the window: see whether the "
            "column is still filled, or leave it out"
        )
    if len(of_row) and column.kind != groups.kind:
        raise InputError(
            f"{name} holds {groups.kind} in the reference and {column.kind} in the window: convert one of "
            "the two, so that equal values are equal"
        )
    if groups.ends:
        labels = _names(np.array(groups.ends))
        known = np.searchsorted(np.array(groups.ends), column.present)
    else:
        distinct, codes = _values(column, name)
        number: dict[Label, int] = {value: at for at, value in enumerate(groups.labels)}
        again = len(number.keys() & set(distinct))
        if len(number) >= _MANY and again <= _SELDOM * len(number) and len(of_row):
            raise InputError(
                f"{name} has {len(number)} values in the reference, of which {again} come again in the "
                "window, as days do: give a coarser column"
            )
        rows = np.bincount(codes, weights=of_row[~column.missing], minlength=len(distinct))
        for value, many_rows in zip(distinct, rows.tolist(), strict=True):
            if many_rows >= fewest:
                number.setdefault(value, len(number))
        if len(number) > MOST_GROUPS:
            raise InputError(
                f"{name} has {len(number):,} values, and at most {MOST_GROUPS} groups are compared: put the "
                "rare ones together, or give a coarser column"
            )
        labels = tuple(number)
        place = np.array([number.get(value, len(number)) for value in distinct], dtype=np.intp)
        known = place[codes]
    of_each = np.full(len(column.values), len(labels) + 1, dtype=np.intp)
    of_each[~column.missing] = known
    return (*labels, OTHERS, None), of_each


def _values(column: _Column, name: str) -> tuple[list[Label], Codes]:
    """Return the values of the rows that have one, in order, and the number of each row's."""
    if column.kind == "numbers":
        values, codes = np.unique(column.present, return_inverse=True)
        return [_plain(value) for value in values.tolist()], codes.astype(np.intp)
    labels, coded = _by_value([column], name, most=None)
    return list(labels), coded[0]


def _column(values: ArrayLike, name: str) -> _Column:
    if isinstance(values, np.ma.MaskedArray):
        values = np.array([*values.tolist(), None], dtype=object)[:-1]  # masked ones are None
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, a value for each row; its shape is {array.shape}")
    kind = array.dtype.kind
    if kind in "iuf":
        numbers = array.astype(np.float64)
        return _Column("numbers", numbers, np.isnan(numbers), kind != "f")
    if kind in "Mm":
        raise InputError(
            f"{name} holds dates or durations: give a part of them, such as the month, the hour or the age"
        )
    if kind in "cV":
        raise InputError(f"{name} must hold numbers, texts or truth values, not {array.dtype}")
    if kind != "O":
        return _Column("texts", array, np.zeros(len(array), dtype=np.bool_))
    kinds = {type(value) for value in array.tolist()}
    missing = np.zeros(len(array), dtype=np.bool_)
    if any(kind.__name__ in _MISSING for kind in kinds):
        missing |= np.array([type(value).__name__ in _MISSING for value in array.tolist()], dtype=np.bool_)
    if any(issubclass(kind, float) for kind in kinds):
        missing |= np.array([isinstance(value, float) and value != value for value in array.tolist()])
    kinds = {type(value) for value in array[~missing].tolist()}
    if kinds and all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in kinds):
        numbers = np.full(len(array), np.nan)
        numbers[~missing] = array[~missing].astype(np.float64)
        return _Column("numbers", numbers, missing, all(issubclass(kind, int) for kind in kinds))
    return _Column("texts", array, missing)


def _by_value(
    columns: Iterable[_Column], name: str, *, most: int | None = MOST_GROUPS
) -> tuple[tuple[Label, ...], list[Codes]]:
    """Return the values in order, and the number of each row's."""
    number: dict[Any, int] = {}
    coded, rows = [], 0
    for column in columns:
        present = column.present.tolist()
        try:
            coded.append(
                np.array([number.setdefault(value, len(number)) for value in present], dtype=np.intp)
            )
        except TypeError as error:
            raise InputError(f"{name} must hold single numbers, texts or truth values: {error}") from error
        rows += len(present)
    if most is not None:
        _require_no_id(coded, name)
    if most is not None and len(number) > most:
        raise InputError(
            f"{name} has {len(number):,} values in {rows:,} rows, and at most {most} groups are "
            "compared: put the rare ones together, or give a coarser column"
        )
    values = list(number)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # texts beside numbers
        order = sorted(range(len(values)), key=lambda at: (type(values[at]).__name__, str(values[at])))
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.arange(len(values))
    return tuple(values[at] for at in order), [place[codes] for codes in coded]


def _by_number(columns: list[_Column], bins: int, name: str) -> tuple[tuple[Label, ...], list[Codes]]:
    """Return the values where there are at most `bins`; else bins, cut at quantiles of the reference."""
    present = [column.present for column in columns]
    few = [_few_values(values, bins) for values in present]
    if all(distinct is not None for distinct in few):
        values = np.unique(np.concatenate([distinct for distinct in few if distinct is not None]))
        if len(values) <= bins:
            codes = [np.searchsorted(values, column) for column in present]
            _require_no_id(codes, name)
            return tuple(_plain(value) for value in values.tolist()), codes
    if all(column.whole for column in columns):
        _require_no_numbered_rows(present, name)
    ends = _ends(present[0], bins)
    return _names(ends), [np.searchsorted(ends, column) for column in present]


def _few_values(values: NDArray[Any], most: int) -> NDArray[Any] | None:
    """Return the distinct values, in order; None where there are more than `most`."""
    if len(np.unique(values[:_GLANCE])) > most:
        return None
    distinct = np.unique(values)
    return distinct if len(distinct) <= most else None


def _ends(reference: NDArray[Any], bins: int) -> NDArray[Any]:
    """Upper ends of all bins but the last: order statistics, so that none lies between two equal rows."""
    n = len(reference)
    ranks = np.unique(np.ceil(np.arange(1, bins) * n / bins).astype(np.intp) - 1)
    ends = np.unique(np.partition(reference, ranks)[ranks])
    inner = ends[ends < reference.max()]
    return inner if len(inner) else ends[:1]


def _names(ends: NDArray[Any]) -> tuple[Label, ...]:
    """Return names of the bins, with as few digits as tell their ends apart."""
    texts: list[str] = []
    for digits in range(4, 18):
        texts = [f"{end:.{digits}g}" for end in ends.tolist()]
        if len(set(texts)) == len(texts):
            break
    between = [f"above {low} to {high}" for low, high in itertools.pairwise(texts)]
    return (f"up to {texts[0]}", *between, f"above {texts[-1]}")


def _plain(value: float) -> Label:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _require_no_id(codes: list[Codes], name: str) -> None:
    if max(map(len, codes)) >= _FEWEST_IDS and all(len(np.unique(code)) == len(code) for code in codes):
        rows = zip(codes, _SAMPLES, strict=False)
        held = " and ".join(f"{len(code):,} rows of the {side}" for code, side in rows)
        raise InputError(
            f"{name} looks like an id: all values differ, in {held}; give a column whose values many rows "
            "share"
        )


def _require_no_numbered_rows(present: list[NDArray[Any]], name: str) -> None:
    for values in present:
        spread = float(values.max() - values.min())
        if len(values) < _FEWEST_NUMBERED or spread > 2 * len(values) or len(np.unique(values)) < len(values):
            return
    raise InputError(
        f"{name} looks like an id: whole numbers that are all different, such as "
        f"{quoted(int(present[0][0]))}; give a column whose values many rows share"
    )
