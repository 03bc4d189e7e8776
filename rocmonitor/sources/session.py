"""Sessions: what every kind of source gives the queries that read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Select

from rocmonitor.caveat import Caveat

if TYPE_CHECKING:
    from rocmonitor.sources.chunk import Chunk
    from rocmonitor.sources.failures import Origin
    from rocmonitor.sources.query import Bound, Query
    from rocmonitor.sources.values import Encoder

CHUNK_ROWS = 50_000


class Session(Protocol):
    """A source that is open for reading; all statements of a session see one state of it."""

    @property
    def backend(self) -> str:
        """The dialect of its SQL: ``postgresql``, ``mariadb``, ``mysql``, ``sqlite``, ``duckdb``, …"""

    def types(self, statement: Select[Any], bound: Bound) -> dict[str, Any]:
        """The statement's columns, each with the driver's type code (None where it has none)."""

    def first(self, statement: Select[Any], bound: Bound) -> Any:
        """The first value of the first line; None without lines."""

    def labels(self, query: Query) -> Sequence[Sequence[Any]]:
        """The lines of `Query.labels`."""

    def parts(self, statement: Select[Any], query: Query) -> Iterator[Sequence[Sequence[Any]]]:
        """The lines of one of the query's statements, 50,000 at a time."""

    def chunks(self, statement: Select[Any], query: Query, encoder: Encoder) -> Iterator[Chunk]:
        """The same as the encoder reads them; at least one chunk."""

    def beyond_reading(self) -> Caveat | None:
        """What the account may do besides reading; None where it is nothing, or cannot be known."""


class Sessions(Protocol):
    """What opens sessions; safe to share between threads."""

    @property
    def kind(self) -> str:
        """What is read, for people."""

    def open(self, origin: Origin) -> AbstractContextManager[Session]:
        """A session, which ends with the context."""

    def close(self) -> None:
        """Give back what is kept between sessions."""
