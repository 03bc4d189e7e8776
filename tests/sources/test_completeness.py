"""No row of a window is lost in silence: all are counted once over a wider span."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from scored import WEEK, fill, monitor, opened

from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Window

DAYS = [Window(WEEK.start + timedelta(days=day), WEEK.start + timedelta(days=day + 1)) for day in range(7)]
HALF_DAYS = [timedelta(hours=12 * number) for number in range(14)]


def filled(url: str) -> None:
    rows = [(number, WEEK.start + at, 0.1, 0.2, number % 2, "n") for number, at in enumerate(HALF_DAYS)]
    fill(url, rows)


def test_every_source_counts_what_its_query_gives(any_database_url: str) -> None:
    filled(any_database_url)
    watched = monitor()
    with opened(any_database_url) as source:
        read = {window: source.pull(watched, window).segments[""].counts.inside for window in DAYS}
        assert set(read.values()) == {2}
        assert {window: rows for window, (rows, *_) in source.rows_by_window(watched, DAYS).items()} == read
        source.require_complete(watched, read)
        told = r"gives 1 of the 2 rows of the window 2026-01-08 to 2026-01-09; their times go from"
        with pytest.raises(ConfigError, match=told):
            source.require_complete(watched, read | {DAYS[3]: 1})


def test_a_condition_that_loses_rows_at_the_start_of_a_window_is_named(any_database_url: str) -> None:
    filled(any_database_url)
    where = "scored_at > :start AND scored_at < :end"
    watched = monitor(query=f"SELECT * FROM scored WHERE {where}")
    with opened(any_database_url) as source:
        read = {window: source.pull(watched, window).segments[""].counts.inside for window in DAYS}
        if source.kind == "sqlite":  # compares texts, of which a day is before its midnight
            source.require_complete(watched, read)
            return
        with pytest.raises(ConfigError, match=r"monitors.credit.query: gives 1 of the 2 rows"):
            source.require_complete(watched, read)


CONFIGURATION = """
sources: {warehouse: {url: "sqlite:///source.db", timezone: UTC}}
channels: {log: {url: "file://alarms.log"}}
monitors:
  credit:
    model: {name: credit, version: 1}
    source: warehouse
    query: SELECT * FROM scored WHERE {time} >= :start AND {time} < :end
    columns: {time: scored_at, champion: p, label: label}
    window: {every: 6h}
    min_per_class: 20
    reference: {from: 2026-01-05, to: 2026-01-12}
    rules: [{kind: drop}]
    notify: [log]
"""


@pytest.fixture
def two_spellings(tmp_path: Path) -> Path:
    """A row a minute, its time written with a T and with a space in turn."""
    rng = np.random.default_rng(1)
    with closing(sqlite3.connect(tmp_path / "source.db")) as database, database:
        database.execute("CREATE TABLE scored (scored_at TEXT, p REAL, label INTEGER)")
        label = rng.random(8 * 1440) < 0.5
        times = (WEEK.start.replace(tzinfo=None) + timedelta(minutes=at) for at in range(len(label)))
        rows = [
            (time.isoformat(sep="T" if at % 2 else " "), float(rng.normal(label[at])), int(label[at]))
            for at, time in enumerate(times)
        ]
        database.executemany("INSERT INTO scored VALUES (?, ?, ?)", rows)
    return tmp_path


def test_times_spelled_in_two_ways_are_an_error_of_check_and_run(two_spellings, rocmonitor):
    (two_spellings / "rocmonitor.yaml").write_text(CONFIGURATION.replace("{time}", "scored_at"))
    told = "monitors.credit.query: gives 180 of the 360 rows of the window"
    spelled = "go from 2026-01-05 00:00:00 to 2026-01-05T05:59:00: SQLite compares them as text"
    for command in ("check", "run"):
        ended = rocmonitor(command, code=2)
        assert told in ended.stdout + ended.stderr
        assert spelled in ended.stdout + ended.stderr
    assert json.loads(rocmonitor("history", "credit", "--json").stdout)["evaluations"] == []


def test_the_way_out_reads_every_row(two_spellings, rocmonitor):
    text = CONFIGURATION.replace("SELECT *", "SELECT datetime(scored_at) AS scored_at, p, label")
    (two_spellings / "rocmonitor.yaml").write_text(text.replace("{time}", "datetime(scored_at)"))
    rocmonitor("run", "--at", "2026-01-13T00:00Z")
    windows = json.loads(rocmonitor("history", "credit", "--json").stdout)["evaluations"]
    assert {window["counts"]["rows"] for window in windows} == {360}
