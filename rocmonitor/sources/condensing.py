"""Condensing scores in the database: which cell of a fixed grid a score lies in, in SQL that engines share.

The logarithm of two engines, or of two versions of one, may differ in its last bit, so that a score at the
edge of a cell falls into one or the other. No guarantee depends on it: each cell comes with its own lowest
and highest score. Only the digest of a window does, which is why digests of cells are compared within one
engine.
"""

from __future__ import annotations

import math
import re
import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, ColumnElement, Double, and_, case, cast, func, literal_column

from rocmonitor.stats import Grid
from rocmonitor.stats.cells import BESIDE, FAR

Floats = NDArray[np.float64]

_OF_MARIADB = {0, 1, 2, 3, 4, 5, 8, 9, 246}, {15, 249, 250, 251, 252, 253, 254}
_CODES: dict[str, tuple[set[int], set[int]]] = {
    "postgresql": ({20, 21, 23, 700, 701, 1700}, {25, 1042, 1043}),
    "mariadb": _OF_MARIADB,
    "mysql": _OF_MARIADB,
}
"""Codes of drivers for numbers (whole numbers, floats, numeric) and for texts."""
_NUMBERS = re.compile(r"u?(tiny|small|big|huge)?int(eger)?|float|double|decimal.*", re.IGNORECASE)
_TEXTS = ("varchar", "string")
"""The names of types, of DuckDB and Spark."""
_LARGEST = 1.7976931348623157e308

FINITE_CELLS = 2 * FAR
"""The largest number of a cell with finite scores."""


def cell(backend: str, score: ColumnElement[Any], grid: Grid) -> ColumnElement[Any]:
    """Return the number of the cell that a column of scores lies in; NULL for NaN and NULL."""
    number = cast(score, Double)
    zero, one, per_unit = double(0.0), double(1.0), double(grid.per_unit)
    near = double(FAR / grid.per_unit)
    beside = double(BESIDE if grid.scale == "logit" else 0.0)
    # Up to 0 the cells have numbers below 0, so that 0 and 1 are never in one.
    linear = [
        (number.between(-near, zero), -beside - one - func.floor(zero - number * per_unit)),
        (number.between(zero, near), beside + func.floor(number * per_unit)),
        (number.between(double(-_LARGEST), zero), double(-2 * FAR)),
        (number.between(zero, double(_LARGEST)), double(2 * FAR)),
        (number < double(-_LARGEST), double(-3 * FAR)),
        (zero - number < double(-_LARGEST), double(3 * FAR)),  # where NaN is larger than all numbers, too
    ]
    # LN(0) is an error in PostgreSQL: CASE keeps it from 0 and 1, and from all that is no number.
    odds = func.floor(func.ln(number / (one - number)) * per_unit)
    inside = [(and_(number > zero, number < one), odds)] if grid.scale == "logit" else []
    cell_number = case(*inside, *linear)
    if backend == "sqlite":
        return case((func.typeof(score).in_(["integer", "real"]), cell_number))
    # Spark takes a fifth less time to group by whole numbers than by doubles.
    return cast(cell_number, BigInteger) if backend == "spark" else cell_number


def define_functions(connection: sqlite3.Connection) -> None:
    """Give SQLite the functions that it may be built without, and a ``floor`` that takes NULL."""

    def logarithm(value: float | None) -> float | None:
        return math.log(value) if value is not None and value > 0 else None

    def floor(value: float | None) -> float | None:
        return None if value is None else float(math.floor(value))

    try:
        connection.execute("SELECT ln(2.0), floor(0.5)").fetchone()
    except sqlite3.OperationalError:
        connection.create_function("ln", 1, logarithm, deterministic=True)
    # SQLAlchemy gives SQLite one that fails for NULL.
    connection.create_function("floor", 1, floor, deterministic=True)


def is_number(backend: str, code: Any) -> bool:
    """Return True for a type, by the driver's code, of numbers or of texts that may be; and if unknown."""
    if backend in ("duckdb", "spark"):
        return is_text(backend, code) or _NUMBERS.fullmatch(str(code)) is not None
    return backend not in _CODES or any(code in codes for codes in _CODES[backend])


def is_text(backend: str, code: Any) -> bool:
    """Return True for a type of texts, by the driver's code; False if unknown."""
    if backend in ("duckdb", "spark"):
        return str(code).lower() in _TEXTS
    return backend in _CODES and code in _CODES[backend][1]


def double(value: float) -> ColumnElement[Any]:
    """Return a literal of double precision: MariaDB and DuckDB read one without an exponent as a decimal."""
    text = repr(value)
    # Typed, or SQLAlchemy divides by a decimal of fewer digits.
    return literal_column(text if "e" in text else f"{text}e0", Double)
