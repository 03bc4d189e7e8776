"""Arrow columns as chunks: without a Python object for each value, and with the same result as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from rocmonitor.sources.chunk import Chunk, assembled
from rocmonitor.sources.values import Encoder, encoded, hashed, identities

if TYPE_CHECKING:
    pass


Values = Callable[[str, Any], Sequence[Any]]
"""The Python values of a column, given its role and the Arrow array."""


def values_of(role: str, column: Any) -> list[Any]:  # noqa: ARG001 one of `Values`
    """Return the values that Arrow gives."""
    plain: list[Any] = column.to_pylist()
    return plain


@dataclass(frozen=True, slots=True)
class ArrowTable:
    """A whole answer as Arrow columns by role, which share no dictionary, and how their values are read."""

    columns: Mapping[str, Any]
    values: Values

    def __len__(self) -> int:
        return len(self.columns["inside"])

    @property
    def inside(self) -> NDArray[Any]:
        """The number of the window in which each row lies; 0 for none."""
        return _filled(self.columns["inside"], 0)

    def cut(self, windows: int) -> Iterator[ArrowTable]:
        """Yield the rows of each of some windows by ``inside``, in the order they came."""
        place = self.inside
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(1, windows + 2))
        for first, end in pairwise(starts.tolist()):
            rows = order[first:end]
            if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
                parts = {name: column.slice(rows[0], len(rows)) for name, column in self.columns.items()}
            else:
                parts = {name: column.take(pa.array(rows)) for name, column in self.columns.items()}
            yield ArrowTable(parts, self.values)

    def plain(self, role: str) -> NDArray[Any]:
        """Return a column as floats or whole numbers where all rows have one, else as objects."""
        column = self.columns[role]
        if not column.null_count and pa.types.is_floating(column.type):
            return _array(column.cast(pa.float64()))
        if not column.null_count and pa.types.is_integer(column.type) and column.type != pa.uint64():
            return _array(column.cast(pa.int64()))
        return _objects(role, column, self.values)


def whole(table: pa.Table, values: Values) -> ArrowTable:
    """Return an Arrow table, or parts of one, with one array for each column."""
    return ArrowTable({name: table.column(name).combine_chunks() for name in table.column_names}, values)


def joined(parts: Sequence[ArrowTable]) -> ArrowTable:
    """Return parts of an answer as one, without dictionaries, which would hold the values of all rows."""
    columns = {name: [part.columns[name] for part in parts] for name in parts[0].columns}
    plain = {
        name: [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in arrays]
        for name, arrays in columns.items()
    }
    return ArrowTable({name: pa.concat_arrays(arrays) for name, arrays in plain.items()}, parts[0].values)


def _objects(role: str, column: Any, values: Values) -> NDArray[np.object_]:
    try:
        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        decoded, place = values(role, column.dictionary), _filled(column.indices, len(column.dictionary))
    except pa.ArrowNotImplementedError:  # lists and structs
        decoded, place = values(role, column), np.arange(len(column))
    objects = np.empty(len(decoded) + 1, dtype=object)
    for at, value in enumerate(decoded):
        objects[at] = value
    taken: NDArray[np.object_] = objects[place]
    return taken


def chunk_of(columns: Mapping[str, Any], encoder: Encoder, values: Values = values_of) -> Chunk:
    """Return rows from Arrow arrays by role; each distinct label and segment is read once."""
    if encoder.counter is not None:
        counted: dict[str, Any] = {"label": _objects("label", columns["label"], values).tolist()}
        counted |= {role: columns[role].to_pylist() for role in ("arrival", "weight") if role in columns}
        hashes = columns["checksum"]
        counted["checksum"] = hashes.to_pylist() if "weight" in columns else _array(hashes)
        encoder.counter.add(counted)
    identity: dict[str, Any] = {}
    if "id" in columns:
        identity["has_id"], identity["id"] = _words(columns["id"])
        identity |= {
            role: _filled(columns[role].cast(pa.int64()), 0) for role in ("time", "known") if role in columns
        }
    if "cluster" in columns:
        identity["has_cluster"], words = _words(columns["cluster"])
        identity["cluster"] = words[:, 0]
    numbers = {name: _filled(columns[name], 0) for name in ("inside", "weight", "arrival") if name in columns}
    return assembled(
        columns,
        encoder,
        lambda role: _scores(columns[role], encoder),
        lambda role, code, kind: _codes(role, columns[role], code, kind, values),
        inside=numbers["inside"] == 1,
        weight=numbers["weight"].astype(np.int64, copy=False) if "weight" in numbers else None,
        arrival=numbers["arrival"].astype(np.int8, copy=False) if "arrival" in numbers else None,
        **identity,
    )


def _filled(column: Any, value: Any) -> NDArray[Any]:
    return _array(column.fill_null(value) if column.null_count else column)


def _array(column: Any) -> NDArray[Any]:
    """Return a column as an array, if possible without `to_numpy`, which imports pandas in half a second."""
    is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_plain and not column.null_count:
        return np.from_dlpack(column)
    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.from_dlpack(column.cast(pa.uint8())).view(np.bool_)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _scores(column: Any, encoder: Encoder) -> NDArray[np.float64]:
    """Return numbers as they are; decimals and others one by one, where Arrow would round in its own way."""
    if pa.types.is_string(column.type):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:  # one of them is no number, or has spaces around it
            return encoder.scores(column.to_pylist())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
        return encoder.oriented(_array(column))
    return encoder.scores(column.to_pylist())


def _codes(
    role: str, column: Any, code: Callable[[Any], int], dtype: type[np.integer[Any]], values: Values
) -> NDArray[Any]:
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowNotImplementedError:  # lists and structs
            return encoded(values(role, column), code, dtype)
    of_value = encoded(values(role, column.dictionary), code, dtype)
    of_null = code(None) if column.null_count else 0
    place = _filled(column.indices, len(of_value))
    codes: NDArray[Any] = np.append(of_value, np.array([of_null], dtype=dtype))[place]
    return codes


def _words(ids: Any) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Return values as `rocmonitor.sources.values.identities` does."""
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        present = _array(ids.is_valid())
        return present, hashed(_filled(ids, ""))
    if pa.types.is_integer(ids.type) and ids.type != pa.uint64():
        present = _array(ids.is_valid())
        words = _filled(ids, 0).astype(np.int64)
        return present, words.view(np.uint64)[:, np.newaxis]
    return identities(ids.to_pylist())
