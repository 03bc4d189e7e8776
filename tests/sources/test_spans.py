"""Which Parquet files are opened for a window: fewer, and never one too few."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from scored import WEEK, monitor, opened

from rocmonitor.policy.windows import Window
from rocmonitor.sources import Batch, lake, spans
from rocmonitor.sources.spans import TimeBound, sides_of
from tests.benchmarks.opened import Opened

DAY = timedelta(days=1)
BOTH = [
    TimeBound("scored_at", "start", True, False, False),
    TimeBound("scored_at", "end", False, True, False),
]
OTHER = [
    TimeBound("scored_at", "start", True, True, False),
    TimeBound("scored_at", "end", False, False, False),
]
BY_DAY = [TimeBound("day", "start", True, False, True), TimeBound("day", "end", False, True, True)]
FIRST = datetime(2025, 12, 1, tzinfo=UTC)
DAYS = 60


def rows_of(day: int, **more: Any) -> pa.Table:
    """Four rows of a day: at its first and last instant, and two between."""
    start = FIRST + day * DAY
    times = [start, start + DAY / 3, start + DAY / 2, start + DAY - timedelta(microseconds=1)]
    plain = {
        "loan_id": [10 * day + number for number in range(4)],
        "scored_at": pa.array(times, pa.timestamp("us", tz="UTC")),
        "p1": [0.1, 0.4, 0.35, 0.8],
        "p2": [0.2, 0.3, 0.6, 0.7],
        "defaulted": [0, 0, 1, 1],
        "region": ["a", "b", "a", "b"],
    }
    return pa.table(plain | more)


def folder(tmp_path: Path, tables: Iterable[tuple[str, pa.Table]], **options: Any) -> str:
    for name, table in tables:
        path = tmp_path / "lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, path, **options)
    return f"files://{tmp_path / 'lake'}"


def daily(tmp_path: Path, **options: Any) -> str:
    names = ((f"day={(FIRST + day * DAY):%Y-%m-%d}/part.parquet", rows_of(day)) for day in range(DAYS))
    return folder(tmp_path, names, **options)


def without_narrowing(
    url: str, monkeypatch: pytest.MonkeyPatch, window: Window = WEEK, **changes: Any
) -> Batch:
    with monkeypatch.context() as patched:
        patched.setattr(spans, "sides_of", lambda *_: ())
        with opened(url) as source:
            return source.pull(monitor(**changes), window, count_labels=True)


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end", 7),
        ("SELECT * FROM scored WHERE p1 < 2 AND (:start <= scored_at AND :end > scored_at)", 7),
        ("SELECT s.* FROM scored s WHERE s.scored_at BETWEEN :start AND :end", 8),
        ("SELECT * FROM scored WHERE day >= CAST(:start AS DATE) AND day <= CAST(:end AS DATE)", 8),
        (
            "WITH w AS (FROM scored WHERE scored_at >= :start) SELECT * FROM w WHERE scored_at < :end",
            25,
        ),
        ("SELECT * FROM scored WHERE scored_at + INTERVAL 1 DAY >= :start AND scored_at < :end", 42),
        (
            "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end "
            "AND loan_id IN (SELECT max(loan_id) FROM scored GROUP BY loan_id % 2 = 9, loan_id)",
            60,
        ),
    ],
)
def test_a_window_opens_the_files_that_can_hold_its_rows(tmp_path, monkeypatch, query, files):
    url = daily(tmp_path)
    with opened(url) as source:
        source.label_counts(monitor(query=query), Window(FIRST, FIRST + DAY))
        with Opened(tmp_path / "lake") as seen:
            counted = source.label_counts(monitor(query=query), WEEK)
            batch = source.pull(monitor(query=query), WEEK)
    assert len(seen.files) == files
    assert batch.segments[""].counts.inside == 28
    plain = without_narrowing(url, monkeypatch, query=query)
    assert (batch.digest, counted, counted.digest) == (plain.digest, plain.labels, plain.labels.digest)


def test_files_are_listed_and_looked_at_once_while_they_stay_the_same(tmp_path):
    url = daily(tmp_path)
    with opened(url) as source, Opened(tmp_path / "lake") as seen:
        first = source.pull(monitor(), WEEK).segments[""].counts.rows
        once = sum(seen.files.values())
        for number in range(8):
            source.pull(monitor(), Window(WEEK.start - number * DAY, WEEK.end - number * DAY))
        assert once <= 4 * DAYS
        assert sum(seen.files.values()) - once <= 8 * (2 * 7 + 6)  # DuckDB opens a file once or twice
        folder(tmp_path, [("day=2026-01-07/late.parquet", rows_of(37, loan_id=[1, 2, 3, 4]))])
        assert source.pull(monitor(), WEEK).segments[""].counts.rows == first + 4


def test_files_at_an_address_are_listed_and_looked_at_once_a_minute(tmp_path, monkeypatch):
    daily(tmp_path)
    monkeypatch.setattr(lake, "_FRESH_SECONDS", 1e12)
    with opened(f"files://file://{tmp_path / 'lake'}") as source, Opened(tmp_path / "lake") as seen:
        first = source.pull(monitor(), WEEK).segments[""].counts
        once = sum(seen.files.values())
        for number in range(8):
            source.pull(monitor(), Window(WEEK.start - number * DAY, WEEK.end - number * DAY))
        assert (first.inside, len(seen.files)) == (28, DAYS)
        assert sum(seen.files.values()) - once <= 8 * (2 * 7 + 6)
        folder(tmp_path, [("day=2026-01-07/late.parquet", rows_of(37, loan_id=[1, 2, 3, 4]))])
        assert source.pull(monitor(), WEEK).segments[""].counts.inside == 28
        monkeypatch.setattr(lake, "_FRESH_SECONDS", 1e-12)
        assert source.pull(monitor(), WEEK).segments[""].counts.inside == 32


def test_a_file_without_statistics_is_always_read(tmp_path):
    url = daily(tmp_path, write_statistics=False)
    with opened(url) as source, Opened(tmp_path / "lake") as seen:
        assert source.pull(monitor(), WEEK).segments[""].counts.inside == 28
    assert len(seen.files) == DAYS


def test_a_window_without_a_file_has_no_rows(tmp_path):
    with opened(daily(tmp_path)) as source:
        assert source.label_counts(monitor(), Window(WEEK.start + 365 * DAY, WEEK.end + 365 * DAY)).rows == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_first_and_last_instants_of_any_unit(tmp_path, monkeypatch, unit, zone):
    names = []
    for day in range(DAYS):
        table = rows_of(day)
        times = table["scored_at"].cast(pa.timestamp(unit, tz=zone), safe=False)
        names.append((f"{day:03}.parquet", table.set_column(1, "scored_at", times)))
    url = folder(tmp_path, names)
    with opened(url) as source:
        batch = source.pull(monitor(), WEEK)
    assert batch.segments[""].counts.inside == 28
    assert batch.digest == without_narrowing(url, monkeypatch).digest


def test_columns_are_as_in_all_files_whichever_are_read(tmp_path, monkeypatch):
    """Numbers that are whole in a week, a column that came later, texts in folders that look like numbers."""
    later = WEEK.end + DAY
    names = []
    for day in range(DAYS):
        is_late = FIRST + day * DAY >= later
        more = {"region": [1.5, 2.0, 1.5, 2.0] if is_late else [1, 2, 1, 2]}
        more |= {"channel": ["web"] * 4} if is_late else {}
        names.append((f"part={'x' if is_late else '01'}/{day:03}.parquet", rows_of(day, **more)))
    url, segments = folder(tmp_path, names), ["region", "channel", "part"]
    with opened(url) as source:
        source.explain(monitor(segments=segments))
        with Opened(tmp_path / "lake") as seen:
            batch = source.pull(monitor(segments=segments), WEEK, count_labels=True)
    plain = without_narrowing(url, monkeypatch, segments=segments)
    assert list(batch.segments) == ["", "region=1", "region=2", "channel=(none)", "part=01"]
    assert (batch.digest, batch.labels.digest) == (plain.digest, plain.labels.digest)
    assert set(seen.files) == {f"part=01/{day:03}.parquet" for day in range(35, 42)}


@pytest.mark.parametrize(
    ("query", "sides"),
    [
        ("SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end", BOTH),
        ("SELECT * FROM scored WHERE SCORED_AT > :start AND Scored_At <= :end", OTHER),
        ("SELECT * FROM scored WHERE day >= CAST(:start AS DATE) AND day < CAST(:end AS DATE)", BY_DAY),
        ("SELECT * FROM (SELECT * FROM scored WHERE scored_at >= :start) WHERE scored_at < :end", BOTH[:1]),
        ("SELECT max(p1) FROM scored WHERE scored_at >= :start AND scored_at < :end GROUP BY loan_id", BOTH),
        ("SELECT * FROM scored WHERE scored_at >= :start OR scored_at < :end", []),
        ("SELECT * FROM scored WHERE NOT (scored_at >= :start AND scored_at < :end)", []),
        ("SELECT * FROM scored WHERE scored_at >= :start - INTERVAL 1 DAY", []),
        ("SELECT * FROM scored TABLESAMPLE 10% WHERE scored_at >= :start", []),
        ("SELECT * FROM scored AS s(a, scored_at) WHERE scored_at >= :start", []),
        ("SELECT p1 AS scored_at FROM scored WHERE scored_at >= :start", []),
        ("SELECT * REPLACE (p1 AS scored_at) FROM scored WHERE scored_at >= :start", []),
        ("SELECT * FROM scored a JOIN scored b USING (loan_id) WHERE a.scored_at >= :start", []),
        ("SELECT * FROM scored a JOIN other b USING (loan_id) WHERE a.scored_at >= :start", []),
        (
            "SELECT * FROM query_table('scored') JOIN (FROM scored WHERE scored_at > :start) USING (p1)",
            [],
        ),
        (
            "SELECT * FROM other o WHERE EXISTS (SELECT 1 FROM scored s WHERE o.scored_at >= :start "
            "AND s.scored_at < :end)",
            BOTH[1:],
        ),
    ],
)
def test_conditions_of_a_query(query, sides):
    assert list(sides_of(duckdb.connect(), query)) == sides
