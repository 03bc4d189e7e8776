"""Scores from a file, for ``rocmonitor auc``."""

from __future__ import annotations

import lzma
import math
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.wording.counts import set_aside

_PAIRS = (("true", "false"), ("t", "f"), ("yes", "no"), ("y", "n"))
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_NOT_READ = (
    OSError,
    ValueError,
    OverflowError,
    EOFError,
    ImportError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)
"""What pandas raises on a file that is cut, of another kind, or compressed in a way that is not installed."""
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFile:
    """The usable rows of a file.

    Attributes
    ----------
    y_true : ndarray of bool, shape (n,)
    scores : dict of str to ndarray, shape (n,)
        By column.
    counts : dict of str to int
        ``rows``, and where they went: ``used``, ``unlabelled``, ``bad_label``, ``bad_score``.
    read_as : tuple of str
        What was found out about the file and is not said by its name.
    """

    y_true: NDArray[np.bool_]
    scores: dict[str, NDArray[np.float64]]
    counts: dict[str, int]
    read_as: tuple[str, ...] = ()


def read_scores(path: Path, label: str, scores: Sequence[str]) -> ScoreFile:
    """Read labels and scores from a ``.csv`` (also compressed, as ``.csv.gz``) or ``.parquet`` file.

    It is found out by looking whether a text file is UTF-8 or UTF-16, which of comma, semicolon, tab and bar
    separates its columns, and whether labels are 1 and 0, true and false, t and f, yes and no, or y and n.
    With semicolons, scores may have a decimal comma. A row is set aside, and counted, when any of its scores
    is not a finite number, or its label is empty or neither of the two.

    Raises
    ------
    InputError
        An unknown kind of file, an unreadable one, a missing column, or no usable row.
    """
    frame, read_as = _frame(path)
    decimal_comma = any(_SEPARATORS[";"] in found for found in read_as)
    _require_columns(path, frame, [label, *scores])
    labels, labels_as = _labels(frame[label])
    unlabelled = frame[label].isna().to_numpy()
    values = {name: _numbers(frame[name], decimal_comma=decimal_comma) for name in scores}
    good_score = np.logical_and.reduce([np.isfinite(column) for column in values.values()])
    good_label = (labels == 0) | (labels == 1)
    used = good_score & good_label
    counts = {
        "rows": len(frame),
        "used": int(used.sum()),
        "bad_score": int((~good_score).sum()),
        "unlabelled": int((good_score & unlabelled).sum()),
        "bad_label": int((good_score & ~unlabelled & ~good_label).sum()),
    }
    if not counts["used"]:
        raise InputError(
            f"{path}: none of {len(frame):,} rows is usable ({set_aside(counts) or 'no rows'})"
            f"{_found_labels(frame[label]) if counts['bad_label'] else ''}"
        )
    return ScoreFile(
        y_true=labels[used] == 1,
        scores={name: column[used] for name, column in values.items()},
        counts=counts,
        read_as=(*read_as, *labels_as),
    )


def _frame(path: Path) -> tuple[pd.DataFrame, list[str]]:
    try:
        if ".parquet" in path.suffixes:
            return pd.read_parquet(path), []
        if {".csv", ".tsv", ".txt"} & set(path.suffixes):
            return _text(path)
    except Exception as error:
        if not isinstance(error, _NOT_READ) and type(error).__name__ != "ZstdError":  # of an optional package
            raise
        raise InputError(f"{path}: cannot be read: {error or type(error).__name__}") from error
    raise InputError(f"{path}: must be a .csv, .tsv or .parquet file (a .gz of them is fine)")


def _text(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A file of text, by the encoding and the separator that fit its first line."""
    expected = "\t" if ".tsv" in path.suffixes else ","
    encoding, head = _head(path, expected)
    read_as = ["the file is UTF-16"] if encoding == "utf-16" else []
    separator = expected
    if len(head) == 1:
        separator = next((one for one in (*_SEPARATORS, ",") if one in head[0]), expected)
    if separator != expected:
        read_as.append(f"its columns are separated by {_SEPARATORS.get(separator, 'commas')}")
    return pd.read_csv(path, sep=separator, encoding=encoding, low_memory=False), read_as


def _head(path: Path, separator: str) -> tuple[str, list[str]]:
    """The encoding of a file, and its first line as cut by a separator."""
    try:
        return "utf-8", list(map(str, pd.read_csv(path, sep=separator, nrows=0).columns))
    except UnicodeDecodeError as error:
        try:
            head = list(map(str, pd.read_csv(path, sep=separator, nrows=0, encoding="utf-16").columns))
        except ValueError:
            head = []
        if not head or not head[0][:1].isascii():  # anything else reads as signs of the far east
            raise InputError(
                f"{path}: is neither UTF-8 nor UTF-16 ({error.reason} at byte {error.start}); save it as "
                "UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8"
            ) from error
        return "utf-16", head


def _require_columns(path: Path, frame: pd.DataFrame, wanted: Sequence[str]) -> None:
    there = list(map(str, frame.columns))
    missing = [name for name in dict.fromkeys(wanted) if name not in there]
    if not missing:
        return
    near = [(name, get_close_matches(name.lower(), there, n=1)) for name in missing]
    meant = "".join(f"; did you mean {found[0]}?" for _, found in near if found)
    raise InputError(f"{path}: no column {', '.join(missing)}; there are {', '.join(there[:30])}{meant}")


def _labels(column: pd.Series[Any]) -> tuple[NDArray[np.float64], list[str]]:
    """Labels as 1 and 0, NaN for anything else; and how words were read."""
    numbers = _numbers(column)
    if np.isfinite(numbers).any():
        return numbers, []
    words = column.astype("string").str.strip().str.lower()
    seen = set(words.dropna())
    for yes, no in _PAIRS:
        if seen and seen <= {yes, no}:
            return _numbers(words.map({yes: 1.0, no: 0.0})), [
                f"the label {yes} is read as 1 (positive), {no} as 0"
            ]
    return numbers, []


def _numbers(column: pd.Series[Any], *, decimal_comma: bool = False) -> NDArray[np.float64]:
    if decimal_comma and not pd.api.types.is_numeric_dtype(column):
        column = column.astype("string").str.replace(",", ".", n=1)
    try:
        numbers: NDArray[np.float64] = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    except OverflowError:  # an integer beyond every float
        return np.array([_number(value) for value in column], dtype=float)
    return numbers


def _number(value: object) -> float:
    """One value as a number; NaN where it is none or has no place among floats."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _found_labels(column: pd.Series[Any]) -> str:
    counted = column.dropna().astype("string").value_counts()
    shown = ", ".join(f"{value!r} ({count:,})" for value, count in counted.head(_MOST_SHOWN).items())
    more = "" if len(counted) <= _MOST_SHOWN else f" and {len(counted) - _MOST_SHOWN:,} others"
    return (
        f": the labels are {shown}{more}; write 1 for positive and 0 for negative (true and false, t and f, "
        "yes and no, y and n are read, too)"
    )
