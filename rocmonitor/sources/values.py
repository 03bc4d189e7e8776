"""Values from a database, read as scores, labels, segment names and identities."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.config import Monitor
from rocmonitor.conventions import NO_VALUE, group_name
from rocmonitor.errors import ConfigError, quoted
from rocmonitor.policy.record import negated

if TYPE_CHECKING:
    from rocmonitor.sources.counting import RowCounter

POSITIVE, NEGATIVE, BAD, UNLABELLED = 1, 0, -1, -2

LONGEST_TEXT = 1000
"""Characters of an id, a segment or a label: a small file may hold texts that no memory does."""

FARTHEST = 1e300
"""The number that stands for infinity: farther than any score, and its sums are finite."""

FINITE = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?"
NUMBER = f"{FINITE}|[+-]?inf(inity)?|nan"
"""A number as text, in lower case; databases read it alike."""
DECIMAL_COMMA = re.compile(r"'[+-]?[0-9]*,[0-9]+'")
"""A score that was not read, as `Encoder.text_scores` shows it, and that has a decimal comma."""
WORDS = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0}
"""Words for labels, in lower case, and the numbers they mean."""

_MOST_SEGMENTS = 200
_EXAMPLES = 3
_NUMBER = re.compile(NUMBER, re.ASCII | re.IGNORECASE)
_INT64 = range(-(2**63), 2**63)
_HASH_KEYS = ("rocmonitor-id-01", "rocmonitor-id-02")


class Encoder:
    """Reads the values of one window; remembers segment names and a few values it could not read.

    Of these, `bad_labels` and `text_scores` are up to three examples each, the first in sorted order. The
    `counter` counts the rows by their labels on the way.
    """

    def __init__(self, monitor: Monitor, counter: RowCounter | None = None, decimal: str = ".") -> None:
        self.counter = counter
        self.bad_labels: tuple[str, ...] = ()
        self.text_scores: tuple[str, ...] = ()
        self._swapped = str.maketrans(".,", ",.") if decimal == "," else {}  # by the query
        self._monitor = monitor.name
        self._columns = monitor.segments
        self._low_is_positive = monitor.positive.low_is_positive
        self._farthest = FARTHEST if monitor.ranks_infinite else math.inf
        # 1, True, 1.0 and Decimal(1) are equal and hash alike.
        positive, negative = monitor.positive.label, monitor.positive.negative
        self._labels: dict[object, int] = {None: UNLABELLED, negative: NEGATIVE, positive: POSITIVE}
        meant = {_meaning(negative): NEGATIVE, _meaning(positive): POSITIVE}
        self._meant: dict[object, int] = {"": UNLABELLED}
        if len(meant) == 2 and all(isinstance(meaning, float) for meaning in meant):
            self._meant |= meant
        self._segments: tuple[dict[str, int], ...] = tuple({} for _ in monitor.segments)

    def label(self, value: object) -> int:
        """Return POSITIVE, NEGATIVE, UNLABELLED or BAD.

        Text is read without spaces around it: as one of the labels, else, where both labels are numbers or
        words such as yes and no, as what it means (yes, true, t, y, 1 and 1.0 mean the same). Blank text is
        no label.
        """
        code = self._labels.get(value, BAD)
        if code == BAD:
            code = self._labels.get(value.strip(), BAD) if isinstance(value, str) else BAD
        if code == BAD:
            code = self._meant.get(_meaning(value), BAD)
        if code == BAD:
            shown = value if isinstance(value, str) and number_of(value) is not None else quoted(value)
            self.bad_labels = _first((*self.bad_labels, shown))
        return code

    def segment(self, column: int, value: object) -> int:
        """Return the code of a value of one of the monitor's segment columns."""
        codes, name = self._segments[column], segment_value(value)
        if len(name) > LONGEST_TEXT:
            raise too_long(f"monitors.{self._monitor}.segments: {self._columns[column]}")
        code = codes.setdefault(name, len(codes))
        if code >= _MOST_SEGMENTS:
            raise ConfigError(
                f"monitors.{self._monitor}.segments: {self._columns[column]} has more than {_MOST_SEGMENTS} "
                "values in one window; each would be watched on its own: group them in the query"
            )
        return code

    def sorted_values(self) -> list[list[str]]:
        """Return the names of the values of each segment column, in sorted order."""
        return [sorted(codes) for codes in self._segments]

    def show(self, *, bad_labels: Sequence[str], text_scores: Sequence[str]) -> None:
        """Take over examples that another encoder found."""
        self.bad_labels = _first((*self.bad_labels, *bad_labels))
        self.text_scores = _first((*self.text_scores, *text_scores))

    def segment_ranks(self) -> list[NDArray[np.uint8]]:
        """For each segment column, the place of each code in `sorted_values`."""
        ranks = []
        for codes in self._segments:
            rank = np.empty(len(codes), dtype=np.uint8)
            rank[[codes[name] for name in sorted(codes)]] = np.arange(len(codes))
            ranks.append(rank)
        return ranks

    def scores(self, values: Sequence[object]) -> NDArray[np.float64]:
        """Return float64, higher more positive; NaN for whatever is not a number, or text of one."""
        kinds = set(map(type, values))
        numbers = {kind for kind in kinds if issubclass(kind, int | float | Decimal | np.number)}
        if str in kinds:
            read = {value: number_of(value) for value in set(values) if isinstance(value, str)}
            unread = (text for text, number in read.items() if number is None and text.strip())
            shown = (quoted(text.translate(self._swapped)) for text in unread)
            self.text_scores = _first((*self.text_scores, *shown))
            values = [read[value] if isinstance(value, str) else value for value in values]
            numbers.add(float)
        if not kinds <= numbers | {type(None), str}:
            values = [value if type(value) in numbers else None for value in values]
        return self.oriented(np.array(values, dtype=np.float64))

    def oriented(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same for numbers: negated where low scores are the positive ones.

        `original` is the inverse. Infinite scores are the farthest number of their side, so that they rank at
        the ends and no other code meets infinity.
        """
        oriented = np.clip(self.original(scores), -self._farthest, self._farthest)
        oriented[~np.isfinite(oriented)] = np.nan
        return oriented

    def original(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Oriented scores as the model gave them; -0.0 and 0.0 are one score."""
        return negated(scores) if self._low_is_positive else scores + 0.0


def number_of(text: str) -> float | None:
    """Return the number that a text is, with a decimal point; None if it is none.

    Examples
    --------
    >>> [number_of(text) for text in (" 0.5", "1e-3", "-inf", "0,5", "1,000.5", "85 %", "N/A")]
    [0.5, 0.001, -inf, None, None, None, None]
    """
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _meaning(value: object) -> object:
    """Return the number of a label that is one or a word such as yes; else the label."""
    if isinstance(value, int | Decimal):
        return float(value) if -(2**53) < value < 2**53 else value
    if not isinstance(value, str):
        return value
    word = value.strip()
    if (number := number_of(word)) is not None:
        return number
    return WORDS.get(word.casefold(), word)


def encoded(values: Sequence[Any], code: Callable[[Any], int], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Return each value's code; `code` is asked once for each distinct value."""
    try:
        codes = {value: code(value) for value in set(values)}
    except TypeError:  # lists and dicts of JSON and array columns
        values = [value if isinstance(value, Hashable) else str(value) for value in values]
        codes = {value: code(value) for value in set(values)}
    return np.fromiter(map(codes.__getitem__, values), dtype, len(values))


def identities(values: Sequence[Any]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Return which values are not NULL, and words of shape (n, 1) or (n, 2) that are equal if the values are.

    A whole number is its own first word, in every chunk; anything else is hashed.
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        return np.ones(len(values), dtype=np.bool_), hashed(values)
    if kinds == {int}:
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
        hashable = (values[at] for at in others.tolist())
        texts = [value.hex() if isinstance(value, bytes) else name_of(value) for value in hashable]
        words[others] = hashed(texts)
    return has_id, words


def hashed(texts: Sequence[str] | NDArray[np.object_]) -> NDArray[np.uint64]:
    """128 bits of each text: two of n different ones collide with a chance below n² / 2¹²⁹."""
    array = np.asarray(texts, dtype=object)
    if len(array) and max(map(len, array)) > LONGEST_TEXT:
        raise too_long("columns.id or columns.cluster")
    from pandas.util import hash_array  # slow to import, and needed for ids only

    words = [hash_array(array, hash_key=key, categorize=False) for key in _HASH_KEYS]
    return np.column_stack(words)


def too_long(column: str) -> ConfigError:
    """Return the error of a column with texts that are no ids, segments or labels."""
    return ConfigError(
        f"{column} has a text of more than {LONGEST_TEXT:,} characters; name another column, or shorten "
        "or hash it in the query"
    )


def name_of(value: object) -> str:
    """Return how a value is written in segment names and label counts, the same for every database."""
    if value is None:
        return NO_VALUE
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


def segment_value(value: object) -> str:
    """Return how a value is written in the name of a segment."""
    return group_name(None if value is None else name_of(value))


def _whole(value: object) -> int | None:
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        value = int(value)
    return value if isinstance(value, int) and value in _INT64 else None


def _first(examples: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(examples))[:_EXAMPLES])
