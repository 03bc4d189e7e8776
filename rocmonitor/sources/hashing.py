"""Hashes of rows, in the SQL of each engine and here: the same ones each time, in every process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b, md5
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    String,
    Text,
    cast,
    collate,
    func,
    literal,
    literal_column,
)

Words = NDArray[np.uint64]

_HEX_DIGITS = 15  # 60 bits: below the largest BIGINT


def row_hashes(columns: Sequence[Sequence[Any]]) -> Words:
    """64 bits of the values of each row, shape (n,), for columns of n values each."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for values in columns:
        hashes = mixed(hashes + _words(values))
    return hashes


def _words(values: Sequence[Any]) -> Words:
    """64 bits of each value; 1 and 1.0 have others, 0.0 and -0.0 the same."""
    if set(map(type, values)) == {float}:
        return (np.array(values) + 0.0).view(np.uint64)
    is_number = np.fromiter((type(value) is float for value in values), np.bool_, len(values))
    others = [value for value in values if type(value) is not float]
    texts = {value: repr(value).encode("utf-8", "surrogatepass") for value in set(others)}
    word_of = {
        value: int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for value, text in texts.items()
    }
    words = np.empty(len(values), dtype=np.uint64)
    words[~is_number] = np.fromiter(map(word_of.__getitem__, others), np.uint64, len(others))
    if len(others) < len(values):
        words[is_number] = _words([value for value in values if type(value) is float])
    return words


def mixed(words: Words) -> Words:
    """SplitMix64 (Steele, Lea and Flood, 2014): each bit depends on all bits of its word."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def row_hash(
    backend: str, scores: Sequence[ColumnElement[Any]], segments: Sequence[ColumnElement[Any]]
) -> ColumnElement[Any] | None:
    """Return a whole number that changes with the scores or segments of a row; None where there is none."""
    rows = [*scores, *segments]
    match backend:
        case "postgresql":
            return func.hashtextextended(collate(_text(rows, Text()), "C"), literal(0, BigInteger()))
        case "mysql" | "mariadb":
            digits = func.left(func.md5(_text(rows, String())), _HEX_DIGITS)
            return cast(func.conv(digits, 16, 10), BigInteger())
        case "duckdb":
            return func.hash(*rows)
        case "spark":  # its hash passes over NULL
            return func.xxhash64(*rows, *(column.is_(None) for column in rows))
    return None


def _text(columns: Sequence[ColumnElement[Any]], kind: String) -> ColumnElement[Any]:
    parts: list[ColumnElement[Any]] = []
    for column in columns:
        parts += [func.coalesce(cast(column, kind), literal("(none)")), literal("|")]
    return func.concat(*parts)


def place_of(backend: str, seed: str, columns: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
    """Return random hexadecimal digits, the same for equal values and one seed (a text in SQL)."""
    parts: list[ColumnElement[Any]] = [literal_column(seed, String())]
    for column in columns:
        value = func.coalesce(cast(column, String), literal_column("'(none)'", String()), type_=String())
        parts += [literal_column("'|'", String()), value]
    text = reduce(add, parts)
    match backend:
        case "postgresql":
            return collate(func.md5(text, type_=String()), "C")
        case "trino":
            return func.to_hex(func.md5(func.to_utf8(text)))
        case "bigquery":
            return func.to_hex(func.md5(text))
        case "clickhousedb":
            return func.hex(func.MD5(text))
    return func.md5(text)


def hashed_text(text: str) -> str:
    """Return the hexadecimal digits that other databases than SQLite have a function for."""
    return md5(text.encode(), usedforsecurity=False).hexdigest()
