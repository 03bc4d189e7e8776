"""Times of SQLite that are read together are those that are read one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.sources.clock import Clock, _alike, read_times

WALL = Clock(ZoneInfo("Europe/Berlin"), " ")
INSTANTS = Clock(None, " ")
WRITTEN = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S+00:00",
    "%Y-%m-%d %H:%M:%S.%fZ",
    "%Y-%m-%d %H:%M:%S+02:00",
)
times = st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 31))  # noqa: DTZ001


def one_by_one(clock: Clock, values: Sequence[object]) -> list[int | None]:
    return [clock.read(value) for value in values]


def together(clock: Clock, values: Sequence[object]) -> list[int | None]:
    found, known = read_times(clock, values)
    return [time if is_known else None for time, is_known in zip(found.tolist(), known.tolist(), strict=True)]


@given(st.lists(times, max_size=5), st.sampled_from(WRITTEN), st.sampled_from([WALL, INSTANTS]))
def test_times_of_one_format(values, written, clock):
    texts = [f"{value:{written}}" for value in values]
    assert together(clock, texts) == one_by_one(clock, texts)


@given(
    st.lists(st.tuples(times, st.sampled_from(WRITTEN)), min_size=1, max_size=5),
    st.sampled_from([WALL, INSTANTS]),
    st.data(),
)
def test_formats_that_are_mixed_and_letters_that_are_wrong(values, clock, data):
    texts: list[object] = [f"{value:{written}}" for value, written in values]
    text = str(texts[0])
    at = data.draw(st.integers(0, len(text) - 1))
    texts[0] = text[:at] + data.draw(st.sampled_from("0123456789 T-:.+Zx/é\0")) + text[at + 1 :]
    assert together(clock, texts) == one_by_one(clock, texts)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30 00:00:00",
        "2024-13-01 00:00:00",
        "0000-01-01 00:00:00",
        "2024-01-01 24:00:00",
        "2024-01-01 00:60:00",
        "2024-01-01 23:59:60",
        "2024-01-01 00:00:00.12345x",
        "NaT                ",
        None,
        7,
        2.5,
        b"2024-01-01 00:00:00",
    ],
)
def test_what_is_no_time_beside_one_that_is(text):
    values = ["2024-01-01 00:00:00", text]
    assert together(WALL, values) == one_by_one(WALL, values)
    assert together(WALL, [text]) == one_by_one(WALL, [text])


def test_none_at_all():
    found, known = read_times(WALL, [])
    assert found.dtype == np.int64
    assert known.dtype == np.bool_
    assert len(found) == len(known) == 0


@pytest.mark.parametrize(
    ("clock", "end"), [(WALL, ""), (WALL, ".000001"), (INSTANTS, "Z"), (INSTANTS, "+00:00")]
)
def test_usual_times_are_read_together(clock, end):
    assert _alike(clock, [f"2024-03-31 02:30:00{end}"] * 3) is not None
