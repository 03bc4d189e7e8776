"""The SQL that databases differ in: how a transaction begins, how a row is hashed.

Any other one, such as BigQuery, needs its SQLAlchemy dialect installed, and a case here where it differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Dialect,
    String,
    Text,
    cast,
    collate,
    func,
    literal,
    literal_column,
)

_HEX_DIGITS = 15  # 60 bits: below the largest BIGINT


def settings(dialect: Dialect, longest: float) -> tuple[str, ...]:
    """Return the statements that begin a read-only transaction of at most `longest` seconds."""
    milliseconds = math.ceil(longest * 1000)
    match dialect.name:
        case "postgresql":
            return (
                f"SET LOCAL statement_timeout = {milliseconds}",
                "SET LOCAL TIME ZONE 'UTC'",
                "SET LOCAL datestyle = ISO",
                "SET LOCAL extra_float_digits = 1",
            )
        case "mysql" | "mariadb":
            mariadb = getattr(dialect, "is_mariadb", False)
            return (
                f"SET SESSION max_statement_time = {longest}"
                if mariadb
                else f"SET SESSION max_execution_time = {milliseconds}",
                "SET SESSION time_zone = '+00:00'",
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            )
        case "sqlite":
            return ("PRAGMA query_only = ON", "BEGIN")
        case _:
            return ()


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
