"""Failures: what a database error means, in words that name the key to change and never hold a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from typing import Literal

from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from rocmonitor.config import Source
from rocmonitor.deadline import Overdue
from rocmonitor.errors import ConfigError, SourceError

Kind = Literal[
    "timeout", "locked", "down", "login", "query", "writes", "missing", "file", "outside", "other", "full"
]

# SQLSTATE prefixes, the longest match first.
_POSTGRES: dict[str, Kind] = {
    "57014": "timeout",
    "25006": "writes",
    "42P01": "missing",
    "42501": "other",
    "55P03": "locked",
    "3D": "login",
    "28": "login",
    "42": "query",
    "0A": "query",
    "08": "down",
    "40": "down",
    "53": "down",
    "57": "down",
}
_POSTGRES_LOGIN = ("authentication failed", "no pg_hba.conf entry", "does not exist", "no password supplied")
_MARIADB: dict[int, Kind] = {
    1044: "login", 1045: "login", 1049: "login", 1698: "login",
    1054: "query", 1060: "query", 1064: "query", 1305: "query", 1052: "query",
    1146: "missing",
    1290: "writes", 1792: "writes",
    1205: "locked", 1213: "locked",
    1969: "timeout", 3024: "timeout",
    1040: "down", 1053: "down", 1203: "down", 2002: "down", 2003: "down", 2006: "down", 2013: "down",
}  # fmt: skip
_SQLITE: dict[str, Kind] = {
    "SQLITE_BUSY": "locked",
    "SQLITE_LOCKED": "locked",
    "SQLITE_INTERRUPT": "timeout",
    "SQLITE_READONLY": "writes",
    "SQLITE_IOERR": "down",
    "SQLITE_ERROR": "query",
}
_DUCKDB: dict[str, Kind] = {
    "BinderException": "query",
    "ParserException": "query",
    "CatalogException": "missing",
    "InterruptException": "timeout",
    "PermissionException": "outside",
    "IOException": "file",
    "InvalidInputException": "file",
    "HTTPException": "down",
    "OutOfMemoryException": "full",
}
_DUCKDB_NAMES = re.compile(
    r"(Invalid Input|IO|Conversion|Out of Memory|Out of Range|Permission|INTERRUPT) Error: "
)
"""The beginning of DuckDB's errors where they come as errors of a stream."""
_SPARK: dict[str, Kind] = {
    "ParseException": "query",
    "AnalysisException": "query",
    "UnsupportedOperationException": "query",
    "ArithmeticException": "other",
    "SparkRuntimeException": "other",
    "PySparkImportError": "other",
}
_ROOM = (
    "make room in the folder for temporary files (TMPDIR names another one), or read less: shorter windows, "
    "or no columns.id"
)
_FOREIGN = ("psycopg", "sqlite3", "duckdb", "_duckdb", "pyspark", "py4j", "grpc")
"""Packages whose errors do not pass through SQLAlchemy."""
_SUBJECTS = {
    "database": ("the database", "give the table an index on its time column"),
    "files": ("DuckDB", "compare the time column itself with :start and :end, so that files are skipped"),
    "spark": ("Spark", "bound the query by a column that the table is partitioned by"),
}
"""The name of the reader by the kind of source, and the way to make it faster."""


_NEAR = re.compile(r"near ['\"]?(?P<word>\w+)", re.IGNORECASE)
"""The word at which a database stops reading."""
_TEXT_TIME = re.compile(r"VARCHAR and type TIMESTAMP|(text|character varying) [<>]=? timestamp")
"""The words of DuckDB and PostgreSQL where a time that is text is compared."""
ONE_NAME = "give each its own name in the query, such as SELECT o.score AS other_score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The source, and the monitor if any, that error messages name."""

    name: str
    spec: Source
    secrets: tuple[str, ...] = ()
    monitor: str | None = None

    @property
    def key(self) -> str:
        """Dotted path of the source."""
        return f"sources.{self.name}"

    @property
    def where_key(self) -> str:
        """Dotted path of what says where it is."""
        keys = ("url_env", "url_file", "url", "path", "remote_env")
        given = (f"{self.key}.{key}" for key in keys if getattr(self.spec, key, None) is not None)
        return next(given, self.key)

    @property
    def query_key(self) -> str:
        """Dotted path of the query; of a first look at a table, the option that names it."""
        return "--table" if self.monitor is None else f"monitors.{self.monitor}.query"


@contextmanager
def translate_errors(origin: Origin) -> Iterator[None]:
    """Turn a database error into a SourceError, or a ConfigError where the query is at fault."""
    try:
        yield
    except Overdue as overdue:
        subject, advice = _SUBJECTS[origin.spec.kind]
        timeout, deadline = (
            f"{limit.total_seconds():g} s" for limit in (origin.spec.timeout, origin.spec.deadline)
        )
        problems = {
            "connect": f"{subject} cannot be reached: it does not answer",
            "silence": f"{subject} sent nothing for longer than {timeout} and was stopped; raise "
            f"{origin.key}.timeout, or {advice}",
            "whole": f"reading took longer than {deadline} in all and was stopped; raise "
            f"{origin.key}.deadline, or set grouped: database",
        }
        raise SourceError(f"{origin.key}: {problems[overdue.part]}") from None
    except SQLAlchemyError as error:
        raise _failure(error, origin) from None
    except Exception as error:
        # To a Spark that has died there is no way from Python; a stream of DuckDB has no errors of its own.
        outside = isinstance(error, OSError) and origin.spec.kind in ("spark", "files")
        if not outside and type(error).__module__.partition(".")[0] not in _FOREIGN:
            raise
        raise _failure(error, origin) from None


def _failure(error: Exception, origin: Origin) -> SourceError | ConfigError:
    cause: BaseException = error.orig if isinstance(error, DBAPIError) and error.orig else error
    line = _first_line(cause, origin.secrets)
    query = origin.query_key
    seconds = f"{origin.spec.timeout.total_seconds():g} s"
    match _kind(cause, origin):
        case "timeout":
            return SourceError(
                f"{origin.key}: the database stopped the query, which took too long ({line}); give the table "
                "an index on its time column, or raise the limit of the account"
            )
        case "locked":
            return SourceError(
                f"{origin.key}: the database is locked by another process ({line}), and stayed so for "
                f"{seconds}; it is tried again later; if this lasts, end that process or raise "
                f"{origin.key}.timeout"
            )
        case "down":
            subject, _ = _SUBJECTS[origin.spec.kind]
            return SourceError(f"{origin.key}: {subject} cannot be reached or has stopped: {line}")
        case "login":
            return SourceError(
                f"{origin.key}: the database refuses the login: {line}; check user, password and "
                f"database name in {origin.where_key}",
                transient=False,
            )
        case "query" | "writes" | "outside" as kind:
            return ConfigError(f"{query}: {line}{_advice(kind, origin, line, cause)}")
        case "file" if line.endswith(" encoded"):  # as of Windows, with a euro sign
            return SourceError(
                f"{origin.where_key}: {line}; save it as UTF-8, such as with: iconv -f cp1252 -t utf-8 "
                "FILE > NEW",
                transient=False,
            )
        case "file":
            return SourceError(
                f"{origin.where_key}: a file cannot be read: {line}; if it is still being written, it is "
                "read at the next run; else fix it or move it away"
            )
        case "full":
            return SourceError(f"{origin.key}: DuckDB has no room for its work: {line}; {_ROOM}")
        case "missing":
            return SourceError(f"{origin.key}: {line}; see {query}", transient=False)
        case "other":
            # Where the database gave a code of its own, an unlisted one is no outage.
            coded = bool(cause.args) and isinstance(cause.args[0], int)
            coded |= any(hasattr(cause, name) for name in ("sqlstate", "pgcode", "sqlite_errorname"))
            transient = isinstance(error, OperationalError | InterfaceError) and not coded
            return SourceError(f"{origin.key}: {line}", transient=transient)


def _advice(kind: Kind, origin: Origin, line: str, cause: BaseException) -> str:
    if kind == "writes":
        return "; a source is only ever read from"
    if kind == "outside":
        files = f"which has the files of {origin.where_key}"
        return f"; the query reads the table scored, {files}, and nothing else"
    if "Duplicate column name" in line:  # MariaDB, which takes no such query as a table
        return f"; {ONE_NAME}"
    if _TEXT_TIME.search(line):
        return "; a time that is text needs a cast in the query, such as CAST(scored_at AS TIMESTAMP)"
    near = _NEAR.search(line)
    if near is None or near["word"].lower() not in RESERVED_WORDS:
        return ""
    sign = "`" if type(cause).__module__.startswith(("pymysql", "pyspark")) else '"'
    return f"; if {near['word']} is a column, quote it: {sign}{near['word']}{sign}"


def _kind(cause: BaseException, origin: Origin) -> Kind:
    if origin.spec.kind == "files":
        return _kind_of_duckdb(cause)
    if isinstance(cause, OSError):
        return "down"
    number = cause.args[0] if cause.args else None
    if isinstance(number, int):
        return _MARIADB.get(number, "other")
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    if isinstance(state, str):
        return next((kind for prefix, kind in _POSTGRES.items() if state.startswith(prefix)), "other")
    if isinstance(name := getattr(cause, "sqlite_errorname", None), str):
        if "no such table" in str(cause):
            return "missing"
        return next((kind for prefix, kind in _SQLITE.items() if name.startswith(prefix)), "other")
    if type(cause).__module__.startswith(("pyspark", "py4j", "grpc")):
        missing = "TABLE_OR_VIEW_NOT_FOUND" in str(cause)
        kinds = (_SPARK[base.__name__] for base in type(cause).__mro__ if base.__name__ in _SPARK)
        return "missing" if missing else next(kinds, "down")
    if type(cause).__module__.startswith("psycopg"):  # not connected: there is no SQLSTATE
        return "login" if any(words in str(cause) for words in _POSTGRES_LOGIN) else "down"
    return "other"


def _kind_of_duckdb(cause: BaseException) -> Kind:
    words = str(cause)
    if "No space left" in words or getattr(cause, "errno", None) == ENOSPC:
        return "full"
    if "Could not set lock" in words:
        return "locked"
    if "CSV Error" in words:
        return "file"
    name = type(cause).__name__
    if isinstance(cause, OSError):
        match = _DUCKDB_NAMES.match(words)
        name = match[1].title().replace(" ", "") + "Exception" if match else "IOException"
        name = name.replace("IoEx", "IOEx")
    return _DUCKDB.get(name, "other")


def _first_line(cause: BaseException, secrets: Sequence[str]) -> str:
    numbered = len(cause.args) > 1 and isinstance(cause.args[0], int) and not isinstance(cause, OSError)
    words = cause.args[1] if numbered else cause
    lines = (str(words).strip() or type(cause).__name__).splitlines()
    line = lines[0]
    if "CSV Error" in line:  # the next one is the line of the file, with data of somebody
        reason = next((detail for detail in lines[1:] if not detail.startswith("Original Line")), "")
        file = next((detail.partition("=")[2] for detail in lines if detail.startswith("  file = ")), "")
        line = f"{line} of{file}: {reason}"
    for secret in secrets:
        line = line.replace(secret, "***")
    return line
