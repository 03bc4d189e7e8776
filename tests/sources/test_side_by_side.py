"""Windows read together are what they are one by one, to the last bit."""

from __future__ import annotations

import pickle
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from scored import WEEK, Row, fill, monitor, opened, same
from sqlalchemy import DateTime, Integer, String

from rocmonitor.policy.windows import Window
from rocmonitor.sources import sql
from rocmonitor.sources.frame import bare_frame, read_frame
from rocmonitor.sources.side_by_side import is_divisible

DAYS = [Window(WEEK.start + timedelta(days=day), WEEK.start + timedelta(days=day + 1)) for day in range(7)]
LATER = WEEK.end + timedelta(days=30)


def messy(rows: int = 700, seed: int = 1) -> list[Row]:
    """Rows with ties, repeats, bad scores and no labels; one region is in one day only, one day empty."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 7 * 86_400, rows))
    made: list[Row] = []
    for number, second in enumerate(at.tolist()):
        if second // 86_400 == 3:
            continue
        odd = rng.random(6)
        region = "only today" if second // 86_400 == 5 else str(rng.choice(["north", "south"]))
        made.append(
            (
                int(rng.integers(0, rows)) if odd[0] < 0.2 else number + rows,
                WEEK.start + timedelta(seconds=second // 3600 * 3600 if odd[5] < 0.1 else second),
                float("nan") if odd[1] < 0.05 else round(float(rng.normal()), 2),
                None if odd[2] < 0.05 else round(float(rng.normal()), 2),
                None if odd[3] < 0.1 else 7 if odd[3] < 0.13 else int(rng.random() < 0.4),
                None if odd[4] < 0.05 else region,
            )
        )
    order = rng.permutation(len(made))
    return [made[place] for place in order]


def equal(one: Any, other: Any) -> None:
    """Batches are the same, with their caveats, labels and cells."""
    same(one, other)
    assert one.labels == other.labels
    assert one.labels.digest == other.labels.digest
    for name, rows in one.segments.items():
        assert astuple(rows.counts) == astuple(other.segments[name].counts)
        assert rows.caveats == other.segments[name].caveats


@pytest.mark.parametrize("where", ["files", "postgres"])
@pytest.mark.parametrize("kind", ["plain", "wall", "words"])
def test_windows_read_together(where: str, kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{where}_url")
    rows, changes, spec = messy(), dict[str, Any](), dict[str, Any]()
    if kind == "wall":
        spec, types = {"timezone": "America/New_York"}, {"scored_at": DateTime}
        rows = [(row[0], row[1].replace(tzinfo=None) - timedelta(hours=5), *row[2:]) for row in rows]
    elif kind == "words":
        types = {"loan_id": String, "defaulted": String}
        words = {None: None, 0: "no", 1: "Yes ", 7: "perhaps"}
        rows = [(f"n{row[0]}", *row[1:4], words[row[4]], row[5]) for row in rows]
        changes = {"positive": {"label": "yes", "negative": "no"}, "grouped": "raw"}
    else:
        types = {"defaulted": Integer}
    fill(url, rows, **types)
    watched = monitor(**changes)
    with opened(url, **spec) as source:
        assert source.side_by_side(watched, DAYS) == DAYS
        batches = source.pull_together(watched, DAYS, as_of=LATER, explain=["region", "p2"])
        assert batches is not None
        counted = dict(source.label_counts_together(watched, DAYS, as_of=LATER))
        for window, batch in zip(DAYS, batches, strict=True):
            alone = source.pull(watched, window, as_of=LATER, count_labels=True)
            equal(batch, alone)
            labels = source.label_counts(watched, window, as_of=LATER)
            assert counted[window] == labels == batch.labels
            assert counted[window].digest == labels.digest
            for labelled in (True, False):
                asked: dict[str, Any] = {"extra": ["region", "p2"], "labelled": labelled, "bare": True}
                frame = read_frame(source, watched, window, as_of=LATER, **asked)
                kept = bare_frame(watched, ["region", "p2"], batch.explaining, labelled=labelled)
                assert kept.positive.tolist() == frame.positive.tolist()
                assert kept.rows.astype(str).equals(frame.rows.astype(str))
                assert frame.rows.empty or list(kept.rows.dtypes) == list(frame.rows.dtypes)
        for sent, batch in zip(pickle.loads(pickle.dumps(batches)), batches, strict=True):
            equal(sent, batch)  # another process may read them
        [alone] = source.pull_together(watched, DAYS[:1], as_of=LATER) or []
        equal(alone, batches[0])
    assert len(batches[5].segments) != len(batches[0].segments)


def test_labels_known_later_do_not_count(postgres_url: str) -> None:
    fill(postgres_url, messy())
    columns = {"id": "loan_id", "time": "scored_at", "champion": "p1", "label": "defaulted"}
    query = (
        "SELECT loan_id, scored_at, p1, p2, defaulted, scored_at + (loan_id % 40) * interval '1 day' AS known"
        " FROM scored WHERE scored_at >= :start AND scored_at < :end"
    )
    watched = monitor(query=query, columns=columns | {"labelled_at": "known"}, segments=[])
    as_of = WEEK.end + timedelta(days=20)
    with opened(postgres_url) as source:
        batches = source.pull_together(watched, DAYS, as_of=as_of)
        assert batches is not None
        for window, batch in zip(DAYS, batches, strict=True):
            equal(batch, source.pull(watched, window, as_of=as_of, count_labels=True))


def test_what_is_read_one_by_one(files_url: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(files_url, messy())
    with opened(files_url) as source:
        assert source.side_by_side(monitor(), [DAYS[0], *DAYS[2:]]) == DAYS[:1]
        assert source.side_by_side(monitor(), DAYS, most=3) == DAYS[:3]
        between = monitor(query="SELECT * FROM scored WHERE scored_at BETWEEN :start AND :end")
        assert source.side_by_side(between, DAYS) == DAYS[:1]
        assert source.pull_together(monitor(grouped="database"), DAYS) is None
        absent = monitor(query="SELECT * FROM nothing WHERE scored_at >= :start AND scored_at < :end")
        assert source.pull_together(absent, DAYS) is None
        monkeypatch.setattr(sql, "ROWS_TOGETHER", 100)
        assert source.pull_together(monitor(), DAYS) is None
    with opened(files_url, max_rows=500) as source:
        assert source.pull_together(monitor(), DAYS) is None
    fill(sqlite_url, messy())
    with opened(sqlite_url) as source:
        assert source.side_by_side(monitor(), DAYS) == DAYS[:1]
        assert source.pull_together(monitor(), DAYS) is None
        counted = dict(source.label_counts_together(monitor(), DAYS))
        assert list(counted) == DAYS


def test_labels_counted_together_in_every_database(any_database_url: str) -> None:
    fill(any_database_url, [(*row[:2], 0.5 if row[2] != row[2] else row[2], *row[3:]) for row in messy()])
    with opened(any_database_url) as source:
        for window, labels in source.label_counts_together(monitor(), DAYS):
            alone = source.label_counts(monitor(), window)
            assert (labels, labels.digest) == (alone, alone.digest)


def test_a_repeated_hour(files_url: str) -> None:
    """Of a clock that is set back, the second occurrence of the hour is in the window of the first."""
    day = datetime(2024, 10, 27, tzinfo=UTC)
    hours = [Window(day + timedelta(hours=at), day + timedelta(hours=at + 1)) for at in range(-2, 4)]
    walls = [datetime(2024, 10, 27) + timedelta(minutes=10 * at) for at in range(36)]  # noqa: DTZ001
    fill(
        files_url,
        [(at, time, 0.1 * (at % 7), 0.2, at % 2, "n") for at, time in enumerate(walls)],
        scored_at=DateTime,
    )
    with opened(files_url, timezone="Europe/Berlin") as source:
        batches = source.pull_together(monitor(), hours)
        assert batches is not None
        for window, batch in zip(hours, batches, strict=True):
            equal(batch, source.pull(monitor(), window, count_labels=True))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM scored WHERE at >= :start AND at < :end",
        'SELECT id, "at", p FROM s WHERE "at" >= :start AND :end > "at" AND (y = 1 OR y = 0)',
        "SELECT s.id, s.made AS at, p FROM s JOIN l ON l.id = s.id WHERE s.made >= :start AND s.made < :end",
        "SELECT id, at FROM s WHERE known <= :as_of AND :start <= at AND at < :end",
        "SELECT *, p AS q FROM s WHERE y IS NOT NULL AND at >= :start AND at < :end",
    ],
)
def test_queries_whose_rows_depend_on_their_time_alone(query: str) -> None:
    assert is_divisible(query, "at")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM s WHERE at >= :start AND at <= :end",
        "SELECT * FROM s WHERE at > :start AND at < :end",
        "SELECT * FROM s WHERE at BETWEEN :start AND :end",
        "SELECT * FROM s WHERE day >= :start AND day < :end",
        "SELECT * FROM s WHERE y = 1 OR at >= :start AND at < :end",
        "SELECT * FROM s WHERE NOT at >= :start AND at < :end",
        "SELECT * FROM s WHERE at >= :start AND at < :end AND day >= CAST(:start AS date)",
        "SELECT * FROM s WHERE (at >= :start AND at < :end)",
        "SELECT * FROM s, t WHERE s.at >= :start AND s.at < :end",
        "SELECT id, at + interval '1 day' AS at FROM s WHERE at >= :start AND at < :end",
        "SELECT id, lower(x) at FROM s WHERE at >= :start AND at < :end",
        "SELECT id, s.made AS at, at FROM s WHERE s.made >= :start AND s.made < :end",
        "SELECT DISTINCT id, at FROM s WHERE at >= :start AND at < :end",
        "SELECT id, at, rank() OVER (PARTITION BY id) FROM s WHERE at >= :start AND at < :end",
        "SELECT id, at, max(p) FROM s WHERE at >= :start AND at < :end GROUP BY id, at",
        "SELECT * FROM s WHERE at >= :start AND at < :end ORDER BY at LIMIT 10",
        "SELECT * FROM s WHERE at >= :start AND at < :end UNION SELECT * FROM t",
        "SELECT * FROM (SELECT * FROM s) WHERE at >= :start AND at < :end",
        "WITH t AS (SELECT 1) SELECT * FROM s WHERE at >= :start AND at < :end",
        "SELECT * FROM s WHERE at >= :start /* so */ AND at < :end",
        "SELECT * FROM s TABLESAMPLE 10 % WHERE at >= :start AND at < :end",
        "SELECT * FROM s WHERE random() < 0.1 AND at >= :start AND at < :end",
        "SELECT * FROM s WHERE at >= :start",
        "TABLE s",
    ],
)
def test_other_queries(query: str) -> None:
    assert not is_divisible(query, "at")
