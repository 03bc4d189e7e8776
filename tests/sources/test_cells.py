"""Batches packed into bytes and back: what is kept of a window is the window."""

from __future__ import annotations

import json
import zlib
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import LOOSE, MESSY, NOON, WEEK, Row, fill, monitor, opened, pull, same

from rocmonitor.policy.windows import Window, tiling
from rocmonitor.sources.batch import Batch, to_batch
from rocmonitor.sources.cells import packed, unpacked
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.values import Encoder, encoded

WITHOUT_ID = {"time": "scored_at", "champion": "p1", "challenger": "p2", "label": "defaulted"}
rows = st.lists(
    st.tuples(
        st.sampled_from([None, -0.5, 0.0, 5e-324, 0.25, float(np.nextafter(0.25, 1)), 1e308]),
        st.sampled_from([None, 0.0, 0.25]),
        st.sampled_from([None, 0, 1, 2, "x"]),
        st.sampled_from([None, "n", "s", "ü=|\n"]),
        st.integers(1, 3),
    ),
    max_size=12,
)


def batch(given: list[Row], **changes: Any) -> Batch:
    watched = monitor(columns=WITHOUT_ID, **changes)
    encoder = Encoder(watched)
    champion, challenger, labels, regions, weight = zip(*given, strict=True) if given else [()] * 5
    chunk = Chunk(
        inside=np.array([score != 0.0 for score in champion], dtype=np.bool_),
        champion=encoder.scores(champion),
        challenger=encoder.scores(challenger),
        label=encoded(labels, encoder.label, np.int8),
        segments=(encoded(regions, lambda value: encoder.segment(0, value), np.uint8),),
        weight=np.array(weight, dtype=np.int64),
    )
    return to_batch([chunk], encoder, watched, grouped=True, truncated=False)


def again(*batches: Batch, **changes: Any) -> Batch:
    parts = [packed(each) for each in batches]
    assert None not in parts
    return unpacked(parts, monitor(columns=WITHOUT_ID, **changes))


@given(rows)
def test_a_batch_comes_back_as_it_was(given):
    found = batch(given)
    same(again(found), found)


@given(rows, rows)
def test_windows_together_are_the_whole(one, other):
    whole = batch([*one, *other])
    same(again(batch(one), batch(other)), whole)
    assert again(batch(other), batch(one)).digest == whole.digest


@given(rows)
def test_low_scores_that_are_positive_are_not_turned_twice(given):
    low = {"positive": {"label": 1, "scores": "lower"}}
    found = batch(given, **low)
    same(again(found, **low), found)


def test_repeats_rows_outside_and_what_is_said_of_them_come_back(sqlite_url):
    fill(sqlite_url, MESSY)
    for mode in ("raw", "database"):
        watched = monitor(query=LOOSE, grouped=mode)
        found = pull(sqlite_url, watched)
        assert found.segments[""].counts.duplicates
        assert found.segments[""].counts.outside
        content = packed(found)
        assert content is not None
        came = unpacked([content], watched)
        same(came, found)
        assert came.grouped is (mode == "database")
        assert packed(came) is None  # it is there already


@pytest.mark.parametrize("mode", ["raw", "database", "condensed"])
def test_rows_of_one_model_come_back(sqlite_url, mode):
    fill(sqlite_url, [(row, NOON, 0.2 + row / 1e4, None, row % 3 == 0, "n") for row in range(200)])
    alone = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
    watched = monitor(columns=alone, grouped=mode, condense={"per_unit": 20})
    found = pull(sqlite_url, watched)
    assert (found.segments[""].champion.ends is not None) is (mode == "condensed")
    same(unpacked([packed(found)], watched), found)


def test_ages_of_labels_come_back(sqlite_url):
    days = [timedelta(days=number) for number in range(4)]
    lines = [
        (number, NOON, number / 7 % 1, 0.5, number % 2, "n", NOON + days[number % 4]) for number in range(40)
    ]
    from sqlalchemy import DateTime

    fill(sqlite_url, lines, known=DateTime(timezone=True))
    watched = monitor(columns={**WITHOUT_ID, "labelled_at": "known"}, window={"every": "7d"})
    with opened(sqlite_url) as source:
        as_of = WEEK.end + days[1]
        found = source.pull(watched, WEEK, as_of=as_of, ages=[timedelta(), days[1]])
    came = unpacked([packed(found)], watched)
    same(came, found)
    assert [(each.n_pos, each.n_neg) for each in came.segments[""].by_age] == [
        (each.n_pos, each.n_neg) for each in found.segments[""].by_age
    ]


def test_nothing_of_a_person_is_kept(sqlite_url):
    secret = 887_766_554_433
    fill(sqlite_url, [(secret + row, NOON, row / 10, 0.5, row % 2, "n") for row in range(10)])
    content = zlib.decompress(packed(pull(sqlite_url, monitor())))
    assert str(secret).encode() not in content
    header = json.loads(content.partition(b"\n")[0])
    assert set(header["columns"]) == {
        *("inside", "champion", "challenger", "label", "segment_0", "weight", "repeated", "two_labels")
    }
    clustered = monitor(columns={**WITHOUT_ID, "cluster": "loan_id"})
    assert packed(pull(sqlite_url, clustered)) is None


def test_what_was_cut_is_not_kept(sqlite_url):
    fill(sqlite_url, MESSY)
    with opened(sqlite_url, max_rows=3) as source:
        assert packed(source.pull(monitor(grouped="raw"), WEEK)) is None


def test_few_bytes():
    rng = np.random.default_rng(1)
    scores = rng.beta(2, 5, (20_000, 2)).round(2).tolist()
    lines = [
        (*both, int(label), "n", 1) for both, label in zip(scores, rng.random(20_000) < 0.1, strict=True)
    ]
    content = packed(batch(lines))
    assert len(content) < 30_000  # at two digits: a byte and a half a row
    same(again(batch(lines)), batch(lines))


def test_windows_fill_a_period_or_leave_a_gap():
    day = timedelta(days=1)
    days = [Window(WEEK.start + number * day, WEEK.start + (number + 1) * day) for number in range(7)]
    assert tiling(days, WEEK) == days
    assert tiling([WEEK, *days], WEEK) == [WEEK]
    assert tiling([days[0], Window(days[1].start, days[3].end), *days[1:]], WEEK) == [
        *(days[0], Window(days[1].start, days[3].end)),
        *days[4:],
    ]
    assert tiling(days[:3] + days[4:], WEEK) == []
    assert tiling(days[1:], WEEK) == tiling(days[:-1], WEEK) == tiling([], WEEK) == []
