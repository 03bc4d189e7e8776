"""Rows as frames: those that the batch counts, from every database."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from scored import LOOSE, MESSY, NOON, WEEK, fill, monitor, opened, pull

from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.windows import Window
from rocmonitor.sources.frame import Frame, read_frame
from rocmonitor.stats import PairedSample, Sample


def frame(
    url: str, *, segment: str = "", paired: bool = False, window: Window = WEEK, **changes: object
) -> Frame:
    with opened(url) as source:
        return read_frame(source, monitor(**changes), window, segment=segment, paired=paired)


@pytest.fixture
def messy(any_database_url: str) -> str:
    fill(any_database_url, MESSY)
    return any_database_url


def test_the_rows_are_those_of_the_batch(messy: str) -> None:
    batch = pull(messy, monitor(query=LOOSE))
    for segment, rows in batch.segments.items():
        given = frame(messy, segment=segment, query=LOOSE)
        assert given.digest == batch.digest
        assert len(given.rows) == rows.counts.used
        found = Sample(given.rows["defaulted"].to_numpy(int), given.rows["p1"].to_numpy())
        for column in ("score", "pos", "neg"):
            np.testing.assert_array_equal(getattr(found, column), getattr(rows.champion, column))
        both = frame(messy, segment=segment, paired=True, query=LOOSE).rows
        assert rows.pair is not None
        pair = PairedSample(both["defaulted"].to_numpy(int), both["p2"], both["p1"])
        assert (pair.n_pos, pair.n_neg) == (rows.pair.n_pos, rows.pair.n_neg)
        np.testing.assert_array_equal(pair.first.score, rows.pair.first.score)


def test_they_keep_the_names_and_values_of_the_query(messy: str) -> None:
    rows = frame(messy).rows.sort_values("loan_id", ignore_index=True)
    assert list(rows.columns) == ["loan_id", "scored_at", "p1", "p2", "defaulted", "region"]
    first = rows.iloc[0]
    assert (first["loan_id"], first["p1"], first["p2"], first["defaulted"]) == (1, 0.25, 0.5, 0)
    assert first["region"] == "north"
    assert str(first["scored_at"]).startswith(f"{NOON:%Y-%m-%d %H:%M}")
    assert rows["p1"].dtype == rows["p2"].dtype == np.float64


def test_scores_of_which_a_lower_one_is_positive_keep_their_direction(messy: str) -> None:
    lower = {"label": 1, "scores": "lower"}
    rows = frame(messy, positive=lower).rows
    assert sorted(rows["p1"]) == sorted(frame(messy).rows["p1"])
    assert not np.signbit(rows["p1"]).any()
    assert frame(messy, positive=lower).digest == pull(messy, monitor(positive=lower)).digest


def test_a_changed_label_changes_the_digest_and_another_order_does_not(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    before = frame(any_database_url).digest
    fill(any_database_url, reversed(MESSY))
    assert frame(any_database_url).digest == before
    changed = [(*row[:4], 1, *row[5:]) if row[0] == 5 else row for row in MESSY]
    fill(any_database_url, changed)
    assert frame(any_database_url).digest != before


def test_an_empty_window_has_the_columns_and_no_rows(sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    later = Window(WEEK.start + timedelta(weeks=9), WEEK.end + timedelta(weeks=9))
    rows = frame(sqlite_url, window=later).rows
    assert (len(rows), list(rows.columns)[:2]) == (0, ["loan_id", "scored_at"])


def test_without_challenger_id_and_segments(sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    columns = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
    given = frame(sqlite_url, columns=columns, segments=[])
    assert list(given.rows.columns) == ["scored_at", "p1", "defaulted"]
    assert given.digest == pull(sqlite_url, monitor(columns=columns, segments=[])).digest
    assert len(frame(sqlite_url, columns=columns, segments=[], paired=True).rows) == 0


@pytest.mark.slow
def test_more_than_one_chunk(sqlite_url: str) -> None:
    fill(sqlite_url, [(n, NOON, n / 7, n / 5, n % 2, f"r{n % 3}") for n in range(50_003)])
    given = frame(sqlite_url)
    assert len(given.rows) == 50_003
    assert given.digest == pull(sqlite_url, monitor()).digest
    assert len(frame(sqlite_url, segment="region=r1").rows) == 16_668


def test_more_rows_than_the_source_lets_in_are_refused_not_cut(sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    with (
        opened(sqlite_url, max_rows=5) as source,
        pytest.raises(SourceError, match=r"max_rows \(5\)") as failed,
    ):
        read_frame(source, monitor(), WEEK)
    assert not failed.value.transient


def test_nothing_can_be_written(written_database_url: str) -> None:
    messy = written_database_url
    fill(messy, MESSY)
    with (
        opened(messy) as source,
        pytest.raises(ConfigError, match=r"(?i)read.?only"),
        source.reading(monitor(), WEEK) as (session, _, _),
    ):
        session.connection.exec_driver_sql("DELETE FROM scored")
    assert len(frame(messy).rows) > 0
