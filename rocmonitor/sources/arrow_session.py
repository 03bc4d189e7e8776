"""Sessions whose engine answers in Arrow's batches: DuckDB and Spark."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from sqlalchemy import Select

from rocmonitor.deadline import Guard
from rocmonitor.sources.arrow import ArrowTable, chunk_of, values_of, whole
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.connect import PlainValues, Session, guarded
from rocmonitor.sources.query import Bound, Query
from rocmonitor.sources.values import Encoder

if TYPE_CHECKING:
    import pandas as pd


class ArrowSession(Session):
    """The common part of sessions whose engine answers in Arrow's batches."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    @abstractmethod
    def _answer(self, statement: Select[Any], bound: Bound) -> tuple[Any, Iterable[Any]]:
        """Return the schema of an answer, and its batches."""

    def rows(self, statement: Select[Any]) -> pd.DataFrame:
        """Do as `Session.rows` says."""
        schema, batches = self._answer(statement, {})
        frame: pd.DataFrame = pa.Table.from_batches(batches, schema=schema).to_pandas()
        return frame

    def first(self, statement: Select[Any], bound: Bound) -> Any:
        """Do as `Session.first` says."""
        schema, batches = self._answer(statement, bound)
        values = pa.Table.from_batches(batches, schema=schema).column(0)
        return values[0].as_py() if len(values) else None

    def lines(self, statement: Select[Any], query: Query) -> Sequence[Sequence[Any]]:
        """Do as `Session.lines` says."""
        _, batches = self._answer(statement, query.bound)
        parts = [[column.to_pylist() for column in part.columns] for part in guarded(self._guard, batches)]
        return [line for columns in parts for line in zip(*columns, strict=True)]

    def table(
        self,
        statement: Select[Any],
        query: Query,
        extra: Sequence[str],  # noqa: ARG002 its values are plain
        on_part: Callable[[], object],
    ) -> ArrowTable:
        """Do as `Session.table` says."""
        schema, batches = self._answer(statement, query.bound)
        parts = []
        for part in guarded(self._guard, batches):
            parts.append(part)
            on_part()
        return whole(pa.Table.from_batches(parts, schema=schema), values_of)

    def chunks_and_values(
        self, statement: Select[Any], query: Query, encoder: Encoder
    ) -> Iterator[tuple[Chunk, PlainValues]]:
        """Do as `Session.chunks_and_values` says."""
        schema, batches = self._answer(statement, query.bound)
        none = [pa.nulls(0, field.type) for field in schema]  # an empty table would import pandas
        for part in chain((part.columns for part in guarded(self._guard, batches)), [none]):
            columns = dict(zip(schema.names, part, strict=True))
            yield chunk_of(columns, encoder), partial(_plain, columns)


def _plain(columns: Mapping[str, Any], name: str) -> list[Any]:
    return values_of(name, columns[name])
