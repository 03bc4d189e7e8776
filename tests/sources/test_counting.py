"""Rows of SQLite that are counted by their labels, against adding up Python's hashes one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.sources.counting import RowCounter
from rocmonitor.sources.hashing import float_hashes, row_hashes

FLOATS = st.floats(allow_nan=False)  # SQLite keeps NaN as NULL
VALUES = st.one_of(FLOATS, st.none(), st.integers(-(2**63), 2**63 - 1), st.text(), st.binary())
LINES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 1.0, None, "1", b"1"]),
        st.sampled_from([-2, -1, 0, 3, 127]),
        VALUES,
        FLOATS,
        VALUES,
    )
)


def counted(parts: Iterable[Mapping[str, Sequence[Any]]]) -> list[tuple[Any, ...]]:
    """The lines of rows that come in parts."""
    counter = RowCounter()
    for columns in parts:
        counter.add(columns)
    return counter.lines()


def one_by_one(*values: object) -> int:
    """The hash of a row."""
    return hash(tuple(each if isinstance(each, float) else crc32(repr(each).encode()) for each in values))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_have_pythons_hash(values: list[float]) -> None:
    assert float_hashes(np.array(values, dtype=np.float64)).view(np.int64).tolist() == list(map(hash, values))


def test_numbers_at_the_edges_have_pythons_hash() -> None:
    powers = [sign * 2.0**power for power in range(-1074, 1024) for sign in (1, -1)]
    values = [*powers, 0.0, -0.0, *np.nextafter(powers, 0.0).tolist()]
    assert float_hashes(np.array(values)).view(np.int64).tolist() == list(map(hash, values))


@given(st.lists(st.tuples(FLOATS, VALUES), min_size=1))
def test_rows_have_the_hash_of_their_values(rows: list[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    assert row_hashes(columns).tolist() == [one_by_one(*row) for row in rows]
    assert row_hashes(columns[:1]).tolist() == [one_by_one(row[0]) for row in rows]


@given(LINES, st.integers(1, 5), st.booleans())
def test_rows_are_counted_by_label(lines: list[tuple[Any, ...]], size: int, arrivals: bool) -> None:
    names = ["label", "arrival", "champion", "challenger", "segment_0"]
    kept = [at for at, name in enumerate(names) if arrivals or name != "arrival"]
    parts = [lines[start : start + size] for start in range(0, len(lines) + 1, size)]
    columns = [{names[at]: [line[at] for line in part] for at in kept} for part in parts]
    expected: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        arrived = 0 if line[1] in range(127) else line[1]  # at any age
        total = expected[(line[0], arrived) if arrivals else line[:1]]
        total[0] += 1
        total[1] += one_by_one(*line[2:])
    found = {tuple(key): (rows, total) for *key, rows, total in counted(columns)}
    assert found == {key: (rows, str(total)) for key, (rows, total) in expected.items()}
