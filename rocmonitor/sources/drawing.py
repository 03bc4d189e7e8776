"""Drawing rows at random in the database, the same ones each time: by a hash of what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import md5
from operator import add
from typing import Any

from sqlalchemy import ColumnElement, String, cast, collate, func, literal_column


def place_of(backend: str, seed: str, columns: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
    """Return a text of hexadecimal digits that is random, and the same for equal values.

    Parameters
    ----------
    seed: A text in SQL, such as ``'1f0e'``; another one gives other digits.
    """
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
