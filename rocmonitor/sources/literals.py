"""Statements as text, with their values written out: DuckDB and Spark are asked without SQLAlchemy between.

Only instants, numbers and a few texts of our own are ever bound; each is written in the SQL of its dialect.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Dialect, Select
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import GenericTypeCompiler, IdentifierPreparer, SQLCompiler

from rocmonitor.sources.query import Bound


def text_of(statement: Select[Any], bound: Bound, dialect: Dialect) -> str:
    """The statement as text, with all of its values.

    Examples
    --------
    >>> from datetime import UTC
    >>> from sqlalchemy import select, text
    >>> statement = select(text("*")).select_from(text("scored")).where(text("at >= :start"))
    >>> found = text_of(statement, {"start": datetime(2026, 1, 5, tzinfo=UTC)}, DuckDB())
    >>> " ".join(found.split())
    "SELECT * FROM scored WHERE at >= TIMESTAMPTZ '2026-01-05 00:00:00+00:00'"
    """
    compiled = statement.params(**bound).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return str(compiled)


def _literal(value: Any, *, wall_time: str, instant: str) -> str:
    """A value in SQL, by its kind: what the user binds has no type."""
    if isinstance(value, datetime):
        return f"{wall_time if value.tzinfo is None else instant} '{value}'"
    return repr(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


class _DuckDBCompiler(PGCompiler):
    """PostgreSQL's SQL, which DuckDB speaks."""

    def render_literal_value(self, value: Any, type_: Any) -> str:  # noqa: ARG002 SQLAlchemy's
        return _literal(value, wall_time="TIMESTAMP", instant="TIMESTAMPTZ")


class DuckDB(PGDialect):
    """The SQL of DuckDB."""

    statement_compiler = _DuckDBCompiler
    supports_statement_cache = False

    def __init__(self) -> None:
        super().__init__(paramstyle="named")  # type: ignore[no-untyped-call] # else percent signs are doubled


class _SparkCompiler(SQLCompiler):
    def render_literal_value(self, value: Any, type_: Any) -> str:  # noqa: ARG002 SQLAlchemy's
        return _literal(value, wall_time="TIMESTAMP_NTZ", instant="TIMESTAMP_LTZ")


class _SparkTypes(GenericTypeCompiler):
    def visit_datetime(self, type_: Any, **_: Any) -> str:
        return "TIMESTAMP_LTZ" if type_.timezone else "TIMESTAMP_NTZ"

    def visit_string(self, type_: Any, **_: Any) -> str:  # noqa: ARG002
        return "STRING"


class _SparkNames(IdentifierPreparer):
    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`")


class SparkSQL(DefaultDialect):
    """The SQL of Spark."""

    name = "spark"
    statement_compiler = _SparkCompiler
    type_compiler_cls = _SparkTypes
    preparer = _SparkNames  # type: ignore[assignment]
    supports_statement_cache = False

    def __init__(self) -> None:
        super().__init__(paramstyle="named")
