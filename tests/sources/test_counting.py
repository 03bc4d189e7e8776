"""Rows of SQLite that are counted by their labels, against adding up the hashes of single rows."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.sources.counting import RowCounter
from rocmonitor.sources.hashing import mixed, row_hashes

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
    return int(row_hashes([[each] for each in values])[0])


def test_words_are_mixed_as_by_splitmix64() -> None:
    """The first outputs for the seed 1234567, as published on Rosetta Code."""
    state, found = 1234567, []
    for _ in range(5):
        found.append(int(mixed(np.array([state], dtype=np.uint64))[0]))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.slow
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1))
def test_a_row_has_the_same_hash_in_any_company(rows: list[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    assert row_hashes(columns).tolist() == [one_by_one(*row) for row in rows]


def test_other_rows_have_other_hashes() -> None:
    values = [0.0, 1.0, 1, -1.0, 5e-324, math.inf, None, "", "1", "1.0", b"1", "north", 2**63 - 1]
    pairs = list(itertools.product(values, repeat=2))
    assert len({one_by_one(*pair) for pair in pairs}) == len(pairs)
    assert one_by_one(0.0) == one_by_one(-0.0)


@pytest.mark.slow
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
