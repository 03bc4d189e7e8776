"""Values from a database, read as scores, labels, segment names and identities."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import ConfigError
from rocmonitor.policy.orientation import negated

if TYPE_CHECKING:
    from rocmonitor.config import Monitor
    from rocmonitor.sources.counting import RowCounter

POSITIVE, NEGATIVE, BAD, UNLABELLED = 1, 0, -1, -2

_MOST_SEGMENTS = 200
_EXAMPLES = 3
_INT64 = range(-(2**63), 2**63)
_HASH_KEYS = ("rocmonitor-id-01", "rocmonitor-id-02")


class Encoder:
    """Reads the values of one window; remembers segment names and a few values it could not read.

    Parameters
    ----------
    monitor : Monitor
        Its ``positive``, ``columns`` and ``segments`` define what the values mean.

    Attributes
    ----------
    bad_labels, text_scores : tuple of str
        Up to three examples each, the first in sorted order.
    counter : RowCounter or None
        Counts the rows by their labels on the way.
    """

    def __init__(self, monitor: Monitor, counter: RowCounter | None = None) -> None:
        self.counter = counter
        self.bad_labels: tuple[str, ...] = ()
        self.text_scores: tuple[str, ...] = ()
        self._monitor = monitor.name
        self._columns = monitor.segments
        self._low_is_positive = monitor.positive.low_is_positive
        # 1, True, 1.0 and Decimal(1) are equal and hash alike; text equals text only.
        self._labels: dict[object, int] = {
            None: UNLABELLED,
            monitor.positive.negative: NEGATIVE,
            monitor.positive.label: POSITIVE,
        }
        self._segments: tuple[dict[str, int], ...] = tuple({} for _ in monitor.segments)

    def label(self, value: object) -> int:
        """POSITIVE, NEGATIVE, UNLABELLED or BAD."""
        code = self._labels.get(value, BAD)
        if code == BAD:
            self.bad_labels = _first((*self.bad_labels, repr(value)))
        return code

    def segment(self, column: int, value: object) -> int:
        """The code of a value of one of the monitor's segment columns."""
        codes = self._segments[column]
        code = codes.setdefault(name_of(value), len(codes))
        if code >= _MOST_SEGMENTS:
            raise ConfigError(
                f"monitors.{self._monitor}.segments: {self._columns[column]} has more than {_MOST_SEGMENTS} "
                "values in one window; each would be watched on its own: group them in the query"
            )
        return code

    def segment_names(self, column: int) -> list[str]:
        """``column=value`` in sorted order."""
        return [f"{self._columns[column]}={value}" for value in sorted(self._segments[column])]

    def sorted_values(self) -> list[list[str]]:
        """The values of each segment column, in sorted order."""
        return [sorted(codes) for codes in self._segments]

    def show(self, *, bad_labels: Sequence[str], text_scores: Sequence[str]) -> None:
        """Take over examples that another encoder found."""
        self.bad_labels = _first((*self.bad_labels, *bad_labels))
        self.text_scores = _first((*self.text_scores, *text_scores))

    def segment_ranks(self) -> list[NDArray[np.uint8]]:
        """For each segment column, the place of each code in `segment_names`."""
        ranks = []
        for codes in self._segments:
            rank = np.empty(len(codes), dtype=np.uint8)
            rank[[codes[name] for name in sorted(codes)]] = np.arange(len(codes))
            ranks.append(rank)
        return ranks

    def scores(self, values: Sequence[object]) -> NDArray[np.float64]:
        """Float64, higher more positive; NaN for whatever is not a finite number."""
        kinds = set(map(type, values))
        numbers = {kind for kind in kinds if issubclass(kind, int | float | Decimal | np.number)}
        if not kinds <= numbers | {type(None)}:
            if str in kinds:
                text = {repr(value) for value in values if isinstance(value, str)}
                self.text_scores = _first((*self.text_scores, *text))
            values = [value if type(value) in numbers else None for value in values]
        return self.oriented(np.array(values, dtype=np.float64))

    def oriented(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for numbers: negated where low scores are the positive ones.

        `original` is the inverse.
        """
        oriented = self.original(scores)
        oriented[~np.isfinite(oriented)] = np.nan
        return oriented

    def original(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Oriented scores as the model gave them; -0.0 and 0.0 are one score."""
        return negated(scores) if self._low_is_positive else scores + 0.0


def encoded(values: Sequence[Any], code: Callable[[Any], int], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Each value's code; `code` is asked once for each distinct value."""
    try:
        codes = {value: code(value) for value in set(values)}
    except TypeError:  # lists and dicts of JSON and array columns
        values = [value if isinstance(value, Hashable) else str(value) for value in values]
        codes = {value: code(value) for value in set(values)}
    return np.fromiter(map(codes.__getitem__, values), dtype, len(values))


def identities(values: Sequence[Any]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Which values are not NULL, and words of shape (n, 1) or (n, 2) that are equal if the values are.

    A whole number is its own first word, in every chunk; anything else is hashed.
    """
    if set(map(type, values)) == {int}:
        try:
            known = np.array(values, dtype=np.int64)
        except OverflowError:
            pass  # hashed below
        else:
            return np.ones(len(known), dtype=np.bool_), known.view(np.uint64)[:, np.newaxis]
    has_id = np.fromiter((value is not None for value in values), np.bool_, len(values))
    numbers = [_whole(value) for value in values]
    words = np.array([number or 0 for number in numbers], dtype=np.int64).view(np.uint64)[:, np.newaxis]
    others = np.flatnonzero(has_id & np.array([number is None for number in numbers], dtype=np.bool_))
    if len(others):
        words = np.pad(words, ((0, 0), (0, 1)))
        words[others] = hashed([_text(values[at]) for at in others.tolist()])
    return has_id, words


def clusters(values: Sequence[Any]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Which values are not NULL, and one word for each, equal if the values are, shape (n,).

    A whole number is its own word; two of n texts have one word with a chance below n² / 2⁶⁵.
    """
    known, words = identities(values)
    return known, words[:, 0]


def each_its_own(
    cluster: NDArray[np.uint64], alone: NDArray[np.bool_], scores: NDArray[np.float64]
) -> NDArray[np.uint64]:
    """Clusters in which each row without one is a cluster by itself, also beside other batches."""
    start = int.from_bytes(hashlib.sha256(np.ascontiguousarray(scores).data).digest()[:8], "little")
    found = cluster.copy()
    found[alone] = np.arange(np.count_nonzero(alone), dtype=np.uint64) + np.uint64(start)  # wraps around
    return found


def hashed(texts: Sequence[str] | NDArray[np.object_]) -> NDArray[np.uint64]:
    """128 bits of each text: two of n different ones collide with a chance below n² / 2¹²⁹."""
    array = np.asarray(texts, dtype=object)
    from pandas.util import hash_array  # slow to import, and needed for ids only

    words = [hash_array(array, hash_key=key, categorize=False) for key in _HASH_KEYS]
    return np.column_stack(words)


def name_of(value: object) -> str:
    """How a value is written in segment names and label counts, the same for every database."""
    if value is None:
        return "(none)"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, bool):  # MariaDB and SQLite have none of their own and give 1 and 0
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return str(value)


def _whole(value: object) -> int | None:
    """The number, where it is whole and fits a word."""
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        value = int(value)
    return value if isinstance(value, int) and value in _INT64 else None


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else name_of(value)


def _first(examples: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(examples))[:_EXAMPLES])
