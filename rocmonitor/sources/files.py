"""Scores from a file, for ``rocmonitor auc``."""

from __future__ import annotations

import lzma
import math
import re
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.sources.values import DECIMAL_COMMA, LONGEST_TEXT, WORDS, name_of, number_of, too_long
from rocmonitor.wording.format import set_aside

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
"""The errors of pandas for a file that is cut, of another kind, or of a compression not installed."""
_MOST_SHOWN = 5
_FEW_ROWS = 8192  # looked at together, before all are read
_ODD_LINE = re.compile(r"Skipping (line \d+: expected \d+ fields, saw \d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFile:
    """The usable rows of a file: labels, shape (n,), and scores by column.

    `counts` are ``rows``, and where they went: ``used``, ``unlabelled``, ``bad_label``, ``bad_score``;
    `read_as` is what was found out about the file and is not said by its name.
    """

    y_true: NDArray[np.bool_]
    scores: dict[str, NDArray[np.float64]]
    counts: dict[str, int]
    read_as: tuple[str, ...] = ()


def read_scores(
    path: Path,
    label: str,
    scores: Sequence[str],
    *,
    positive: str | None = None,
    negative: str | None = None,
    decimal: str | None = None,
) -> ScoreFile:
    """Read labels and scores from a ``.csv`` (also compressed, as ``.csv.gz``) or ``.parquet`` file.

    It is found out by looking whether a text file is UTF-8 or UTF-16, and which of comma, semicolon, tab and
    bar separates its columns. A row is set aside, and counted, when any of its scores is not a finite number,
    or its label is empty or neither of the two.

    The two labels are left out where 1, true, t, yes and y are positive, 0, false, f, no and n negative. With
    `positive` alone the negative one is the only other label. Where `decimal` is left out, a decimal comma is
    read, too, in a file with semicolons between columns.
    """
    frame, read_as = _frame(path, [label, *scores])
    if decimal is None:
        decimal = "," if frame.attrs.get("separator") == ";" else "."
        anyway = decimal == ","
    else:
        anyway = False
    _require_columns(path, frame, [label, *scores])
    given = _plain(frame[label])
    labels, labels_as = _labels(path, given, positive, negative)
    unlabelled = given.isna().to_numpy()
    values = {name: _numbers(_plain(frame[name]), decimal, anyway=anyway) for name in scores}
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
        why = f"{path}: none of {len(frame):,} rows is usable ({set_aside(counts) or 'no rows'})"
        if counts["bad_label"]:
            times = given.dropna().map(name_of).value_counts()
            listed = _listed([f"{value!r} ({count:,})" for value, count in times.items()])
            why += f": the labels are {listed}; name the two with --positive and --negative"
        if counts["bad_score"]:
            why += _found_scores(frame, values)
        raise InputError(why)
    return ScoreFile(
        y_true=labels[used] == 1,
        scores={name: column[used] for name, column in values.items()},
        counts=counts,
        read_as=(*read_as, *labels_as),
    )


def _frame(path: Path, wanted: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    try:
        if ".parquet" in path.suffixes:
            return _parquet(path, wanted), []
        if {".csv", ".tsv", ".txt"} & set(path.suffixes):
            return _text(path)
    except InputError:
        raise
    except Exception as error:
        if not isinstance(error, _NOT_READ) and type(error).__name__ != "ZstdError":  # of an optional package
            raise
        raise InputError(f"{path}: cannot be read: {error or type(error).__name__}") from error
    raise InputError(f"{path}: must be a .csv, .tsv or .parquet file (a .gz of them is fine)")


def _parquet(path: Path, wanted: Sequence[str]) -> pd.DataFrame:
    """Return the columns wanted; without rows where one is not there, or comes twice."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        if any(names.count(name) != 1 for name in wanted):
            return pd.DataFrame(columns=names)
        for part in file.iter_batches(_FEW_ROWS, columns=list(wanted)):
            for name, column in zip(part.schema.names, part.columns, strict=True):
                if _longest(column) > LONGEST_TEXT:
                    raise InputError(f"{path}: {too_long(name)}")
    return pd.read_parquet(path, columns=list(wanted))


def _longest(column: Any) -> int:
    """Return the length of the longest text of an Arrow array; 0 where it has none."""
    from pyarrow import ArrowNotImplementedError, compute

    try:
        return compute.max(compute.binary_length(getattr(column, "dictionary", column))).as_py() or 0
    except ArrowNotImplementedError:  # numbers, lists
        return 0


def _text(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return a file of text, by the encoding and the separator that fit its first line."""
    expected = "\t" if ".tsv" in path.suffixes else ","
    encoding, head = _head(path, expected)
    read_as = ["the file is UTF-16"] if encoding == "utf-16" else []
    separator = expected
    if len(head) == 1:
        separator = next((one for one in (*_SEPARATORS, ",") if one in head[0]), expected)
    if separator != expected:
        read_as.append(f"its columns are separated by {_SEPARATORS.get(separator, 'commas')}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        frame = pd.read_csv(
            path,
            sep=separator,
            encoding=encoding,
            dtype=str,
            keep_default_na=False,
            na_values=[""],
            skipinitialspace=True,
            index_col=False,
            on_bad_lines="warn",
        )
    messages = " ".join(str(warning.message) for warning in caught)
    if "does not match length of data" in messages:
        raise InputError(f"{path}: its lines have more columns than its first line names; fix the first line")
    odd = _ODD_LINE.findall(messages)
    more = "" if len(odd) <= _MOST_SHOWN else f" and {len(odd) - _MOST_SHOWN:,} other lines"
    read_as += [f"{'; '.join(odd[:_MOST_SHOWN])}{more}: left out"] if odd else []
    head = _first_line(path, separator, encoding)
    frame.columns = pd.Index([name.strip() for name in head])
    frame.attrs["separator"] = separator
    return frame, read_as


def _first_line(path: Path, separator: str, encoding: str) -> list[str]:
    line = pd.read_csv(
        path,
        sep=separator,
        encoding=encoding,
        header=None,
        nrows=1,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
    )
    return [str(name).removeprefix("\ufeff") for name in line.iloc[0]]


def _head(path: Path, separator: str) -> tuple[str, list[str]]:
    try:
        return "utf-8", _first_line(path, separator, "utf-8")
    except UnicodeDecodeError as error:
        try:
            head = _first_line(path, separator, "utf-16")
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
    if twice := [name for name in dict.fromkeys(wanted) if there.count(name) > 1]:
        raise InputError(f"{path}: has {there.count(twice[0])} columns named {twice[0]}; rename one of them")
    missing = [name for name in dict.fromkeys(wanted) if name not in there]
    if not missing:
        return
    near = [(name, get_close_matches(name.lower(), there, n=1)) for name in missing]
    meant = "".join(f"; did you mean {matches[0]}?" for _, matches in near if matches)
    raise InputError(f"{path}: no column {', '.join(missing)}; there are {', '.join(there[:30])}{meant}")


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column with bytes and lists as texts, and blank texts as missing."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.astype(object).map(_one, na_action="ignore")
    if not all(isinstance(value, str) for value in texts.dropna()):
        return texts
    stripped = texts.astype("string").str.strip()
    return stripped.mask(stripped == "")


def _one(value: Any) -> Any:
    return value if isinstance(value, Hashable) and not isinstance(value, bytes) else name_of(value)


def _labels(
    path: Path, column: pd.Series[Any], positive: str | None, negative: str | None
) -> tuple[NDArray[np.float64], list[str]]:
    """Return labels as 1 and 0, NaN for anything else; and how words were read."""
    different = {value: name_of(value) for value in column.dropna().unique()}
    notes: list[str] = []
    if positive is None:
        read = {
            value: WORDS.get(name.casefold(), math.nan) if (number := number_of(name)) is None else number
            for value, name in different.items()
        }
        words = {name.casefold() for name in different.values()} & set(WORDS) - {"true", "false"}
        yes, no = (" and ".join(sorted(word for word in words if WORDS[word] == is_yes)) for is_yes in (1, 0))
        notes += [f"the label {yes or 'true'} is read as 1 (positive), {no or 'false'} as 0"] if words else []
    else:
        names = set(different.values())
        others = sorted(names - {positive})
        listed = _listed([*map(repr, others)])
        if positive not in names:
            raise InputError(f"{path}: --positive: no label is {positive!r}; they are {listed}")
        if negative is None and len(others) != 1:
            raise InputError(
                f"{path}: --negative: needed, because the labels beside {positive!r} are {listed or 'none'}"
            )
        pair = {others[0] if negative is None else negative: 0.0, positive: 1.0}
        read = {value: pair.get(name, math.nan) for value, name in different.items()}
    labels: NDArray[np.float64] = column.map(read).to_numpy(float, na_value=np.nan)
    return labels, notes


def _listed(labels: Sequence[str]) -> str:
    more = "" if len(labels) <= _MOST_SHOWN else f" and {len(labels) - _MOST_SHOWN:,} others"
    return f"{', '.join(labels[:_MOST_SHOWN])}{more}"


def _found_scores(frame: pd.DataFrame, values: Mapping[str, NDArray[np.float64]]) -> str:
    """Return what the first column holds of which no value is a number, and what reads a decimal comma."""
    for name, numbers in values.items():
        given = _plain(frame[name]).dropna()
        if len(given) and np.isnan(numbers).all():
            text = name_of(given.iloc[0])
            comma = "; --decimal , reads a decimal comma" if DECIMAL_COMMA.fullmatch(repr(text)) else ""
            return f": the column {name} holds {text!r}, which is not a number{comma}"
    return ""


def _numbers(column: pd.Series[Any], decimal: str, *, anyway: bool = False) -> NDArray[np.float64]:
    """Return scores, NaN for what is no number; `anyway`: a decimal point is read beside a decimal comma."""
    if decimal == "," and not pd.api.types.is_numeric_dtype(column):
        column = column.astype("string")
        if not anyway:
            column = column.mask(column.str.contains(".", regex=False))
        column = column.str.replace(",", ".", n=1)
    try:
        numbers: NDArray[np.float64] = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    except (OverflowError, TypeError):  # an integer beyond every float; lists
        return np.array([_number(value) for value in column], dtype=float)
    return numbers


def _number(value: object) -> float:
    """One value as a number; NaN where it is none or has no place among floats."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return math.nan
