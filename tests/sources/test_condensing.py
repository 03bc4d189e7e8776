from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scored import NOON, WEEK, Row, fill, monitor, opened, pull
from sqlalchemy import Double, Integer, Numeric, String, column, func, select, table
from sqlalchemy.dialects import postgresql

from rocmonitor.errors import ConfigError
from rocmonitor.sources import Batch
from rocmonitor.sources.condensing import cell, define_functions
from rocmonitor.stats import Grid, Sample, auc, condensed_error

COLUMNS = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
INFINITE = 1e308 * 10


def watched(**changes: Any) -> Any:
    return monitor(**{"columns": COLUMNS, "grouped": "condensed", "segments": []} | changes)


def scored(scores: Sequence[Any], labels: Sequence[Any], regions: Sequence[str] | None = None) -> list[Row]:
    places = regions or ["north"] * len(scores)
    rows = zip(scores, labels, places, strict=True)
    return [(k, NOON, p, None, y, where) for k, (p, y, where) in enumerate(rows)]


def drawn(n: int = 800, seed: int = 1) -> list[Row]:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    p = 1 / (1 + np.exp(2.0 - rng.normal(size=n) - 1.5 * y))
    label = [None if k % 17 == 0 else int(each) for k, each in enumerate(y)]
    return scored(p.tolist(), label, ["north" if k % 3 else "south" for k in range(n)])


def hold(cells: Sample, exact: Sample) -> None:
    """The cells have the rows of the exact sample, and the guarantee holds."""
    ends = cells.ends
    low, high = (cells.score, cells.score) if ends is None else (ends.low, ends.high)
    at = np.searchsorted(low, exact.score, side="right") - 1
    assert (exact.score <= high[at]).all()
    for own, of in ((cells.pos, exact.pos), (cells.neg, exact.neg)):
        np.testing.assert_array_equal(np.bincount(at, weights=of, minlength=len(low)), own)
    assert set(low) | set(high) <= set(exact.score)
    if min(exact.n_pos, exact.n_neg) > 1:
        error = condensed_error(cells)
        assert abs(auc(cells).auc - auc(exact).auc) <= error.auc
        assert abs(auc(cells).se - auc(exact).se) <= error.se


@pytest.mark.parametrize("grid", [{"per_unit": 20}, {"scale": "linear", "per_unit": 50}])
def test_cells_hold_all_rows_of_a_window(any_database_url: str, grid: dict[str, Any]) -> None:
    fill(any_database_url, drawn())
    raw = pull(any_database_url, watched(grouped="raw", segments=["region"]))
    found = pull(any_database_url, watched(segments=["region"], condense=grid))
    assert found.condensed
    assert found.grouped
    assert not raw.condensed
    assert list(found.segments) == list(raw.segments) == ["", "region=north", "region=south"]
    for name, rows in raw.segments.items():
        cells = found.segments[name]
        assert cells.counts == rows.counts
        assert len(cells.champion.score) < 150 < len(rows.champion.score)
        hold(cells.champion, rows.champion)
        assert cells.unlabelled.rows == rows.unlabelled.rows
        assert cells.champion.ends is not None
        assert cells.champion.ends.grid == watched(condense=grid).condense.grid
    parts = [found.segments[name].champion for name in ("region=north", "region=south")]
    merged, whole = Sample.merge(parts), found.segments[""].champion
    assert merged.pos.tolist() == whole.pos.tolist()


def test_the_engines_give_the_same_cells(sqlite_url: str, postgres_url: str, mariadb_url: str) -> None:
    edges = [1 / (1 + math.exp(-k / 20)) for k in range(-60, 61)]
    batches: list[Batch] = []
    for url in (sqlite_url, postgres_url, mariadb_url):
        fill(url, [*drawn(), *scored(edges, [k % 2 for k in range(len(edges))])])
        batches.append(pull(url, watched(condense={"per_unit": 20})))
        exact = pull(url, watched(grouped="raw"))
        hold(batches[-1].segments[""].champion, exact.segments[""].champion)
    # Scores that are meant to lie on the edge of a cell may fall to either side of it; all others may not.
    fill(sqlite_url, drawn())
    ends = []
    for url in (sqlite_url, postgres_url, mariadb_url):
        fill(url, drawn())
        of = pull(url, watched(condense={"per_unit": 20}))
        assert of.segments[""].champion.ends is not None
        ends.append((of.segments[""].champion.ends.high.tolist(), of.digest))
    assert ends[0] == ends[1] == ends[2]


def test_duckdb_gives_the_same_cells() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    grid, scores = Grid(per_unit=20), [row[2] for row in drawn()] + [0.0, 1.0, -3.5, 7.25, math.nan, INFINITE]
    key = cell("duckdb", column("p"), grid)
    asked = select(key, func.min(column("p")), func.count()).select_from(table("t")).group_by(key)
    statement = str(asked.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))
    assert "NUMERIC" not in statement  # of fewer digits than a float
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (p DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?)", [(p,) for p in scores])
    found = connection.execute(statement).fetchall()
    finite = sorted(tuple(line) for line in found if line[0] is not None)
    assert sum(rows for *_, rows in finite) == len(scores) - 1
    assert [line[1:] for line in finite] == [*by_hand(scores[:-2], grid), (INFINITE, 1)]  # in this order


def by_hand(scores: Sequence[float], grid: Grid) -> list[tuple[float, int]]:
    """Lowest score and rows of each cell, by Python's own logarithm."""
    cells: dict[tuple[int, float], list[float]] = {}
    for p in scores:
        inside = 0 < p < 1
        number = (math.log(p / (1 - p)) if inside else abs(p)) * grid.per_unit
        cells.setdefault((1 if inside else 0 if p <= 0 else 2, math.floor(number)), []).append(p)
    return sorted((min(each), len(each)) for each in cells.values())


def test_scores_that_are_no_probabilities_have_cells_too(any_database_url: str) -> None:
    """Exactly 0 and 1, log-odds below and above, the smallest and the largest numbers."""
    scores = [
        0.0,
        0.0,
        1.0,
        1.0,
        -0.0,
        5e-324,
        1 - 2**-53,
        0.5,
        -7.31,
        -7.32,
        12.5,
        12.6,
        1e300,
        -1e300,
        1.7e308,
    ]
    if "mysql" in any_database_url:  # MariaDB refuses what is below 2.2e-308
        scores[5] = 3e-308
    fill(any_database_url, scored(scores, [k % 2 for k in range(len(scores))]))
    exact = pull(any_database_url, watched(grouped="raw")).segments[""]
    for grid in ({"per_unit": 10}, {"scale": "linear", "per_unit": 10}, {"per_unit": 1e6}):
        found = pull(any_database_url, watched(condense=grid)).segments[""]
        assert found.counts == exact.counts
        hold(found.champion, exact.champion)
        at = found.champion.score.tolist()
        assert found.champion.pos[at.index(0.0)] + found.champion.neg[at.index(0.0)] >= 3  # 0 and -0 are one


def test_what_is_no_number_is_set_aside(any_database_url: str) -> None:
    scores: list[Any] = [0.25, None, 0.75, 0.5, 0.125, 0.375]
    if "postgres" in any_database_url:
        scores += [math.nan, INFINITE, -INFINITE]
    if "sqlite" in any_database_url:
        scores += [INFINITE, -INFINITE]
    fill(any_database_url, scored(scores, [k % 2 for k in range(len(scores))]))
    exact, found = (
        pull(any_database_url, watched(grouped=mode)).segments[""] for mode in ("raw", "condensed")
    )
    assert found.counts == exact.counts
    infinite = sum(score is not None and math.isinf(score) for score in scores)
    assert found.counts.bad_score == len(scores) - 5 - infinite
    refused = pull(any_database_url, watched(grouped="condensed", infinite_scores="refuse")).segments[""]
    assert refused.counts.bad_score == len(scores) - 5
    assert found.champion.ends is None  # each score in a cell of its own: nothing is lost
    assert auc(found.champion) == auc(exact.champion)


def test_text_among_the_scores_of_sqlite_is_set_aside(sqlite_url: str) -> None:
    fill(sqlite_url, scored(["0.25", "high", "0.5", "n/a"], [0, 1, 1, 0]), p1=String(10))
    exact, found = (pull(sqlite_url, watched(grouped=mode)).segments[""] for mode in ("raw", "condensed"))
    assert found.counts == exact.counts
    assert [each.code for each in found.caveats] == ["text-scores"]


@pytest.mark.parametrize("kind", [Integer, Numeric(12, 3), String(10)])
def test_other_types_of_columns(any_database_url: str, kind: Any) -> None:
    """Whole numbers and decimals are divided as numbers; a column of texts holds no scores in any mode."""
    scores = [str(score) if isinstance(kind, String) else score for score in (3, 5, 0, 1, 5, 8)]
    fill(any_database_url, scored(scores, [0, 1, 0, 1, 1, 0]), p1=kind)
    exact, found = (
        pull(any_database_url, watched(grouped=mode)).segments[""] for mode in ("raw", "condensed")
    )
    assert found.counts == exact.counts
    assert found.champion.score.tolist() == exact.champion.score.tolist()


def test_low_scores_are_the_positive_ones(any_database_url: str) -> None:
    fill(any_database_url, drawn())
    lower = {"positive": {"label": 1, "scores": "lower"}, "condense": {"per_unit": 20}}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **lower)).segments[""] for mode in ("raw", "condensed")
    )
    hold(found.champion, exact.champion)
    assert found.champion.score.max() < 0


def test_rows_with_one_id_are_counted_once(any_database_url: str) -> None:
    """The latest of them, with its own score, even if all are in one cell."""
    later = NOON + timedelta(hours=1)
    rows: list[Row] = [
        (1, NOON, 0.5, None, 1, "north"),
        (1, later, 0.5001, None, 0, "north"),
        (2, NOON, 0.5002, None, 1, "north"),
        (None, NOON, 0.5003, None, 1, "north"),
        (None, NOON, 0.5003, None, 1, "north"),
        (3, NOON, 0.9, None, 0, "north"),
        (4, WEEK.end + timedelta(days=1), 0.5, None, 1, "north"),
    ]
    fill(any_database_url, rows)
    settings = {"columns": COLUMNS | {"id": "loan_id"}, "condense": {"per_unit": 10}}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **settings)).segments[""]
        for mode in ("raw", "condensed")
    )
    assert found.counts == exact.counts
    assert found.counts.duplicates == 1
    hold(found.champion, exact.champion)


def test_labels_by_age(any_database_url: str) -> None:
    """Cells keep apart what became known at different ages."""
    fill(any_database_url, drawn(400))
    columns = COLUMNS | {"labelled_at": "scored_at"}
    as_of, ages = WEEK.end + timedelta(days=9), [timedelta(days=1)]
    found = []
    for mode in ("raw", "condensed"):
        with opened(any_database_url) as source:
            own = watched(grouped=mode, columns=columns, condense={"per_unit": 20})
            found.append(source.pull(own, WEEK, as_of=as_of, ages=ages).segments[""])
    for exact, cells in zip(*(each.by_age for each in found), strict=True):
        assert (exact.n_pos, exact.n_neg) == (cells.n_pos, cells.n_neg)


def test_auto_condenses_where_it_would_have_been_cut(any_database_url: str) -> None:
    fill(any_database_url, drawn())
    settings = {"grouped": "auto", "condense": {"per_unit": 20}}
    assert not pull(any_database_url, watched(**settings), max_rows=800).condensed
    batch = pull(any_database_url, watched(**settings), max_rows=799)
    assert batch.condensed
    assert not batch.segments[""].counts.truncated
    assert batch.segments[""].counts.rows == 800
    ids = {"columns": COLUMNS | {"challenger": "p2", "id": "loan_id"}}
    two = pull(any_database_url, watched(**settings | ids), max_rows=799)
    assert two.segments[""].counts.truncated  # rows that share an id are told apart by both scores
    assert not two.condensed


def test_auto_does_not_read_rows_that_were_counted_as_too_many(sqlite_url: str) -> None:
    fill(sqlite_url, drawn())
    seen: list[int] = []
    with opened(sqlite_url, max_rows=799) as source:
        own = watched(grouped="auto", condense={"per_unit": 1})
        assert source.pull(own, WEEK, expected_rows=800, on_progress=seen.append).condensed
        assert set(seen) == {800}  # rows in the cells
        assert source.pull(own, WEEK, expected_rows=799, on_progress=seen.append).condensed
        assert 799 in seen  # rows that were read in vain


def test_too_many_cells_are_refused_and_never_cut(any_database_url: str) -> None:
    fill(any_database_url, drawn())
    with pytest.raises(
        ConfigError, match=r"condense: .*max_rows \(100\) cells with logit, 1638.4 cells a unit; "
    ):
        pull(any_database_url, watched(), max_rows=100)


def test_the_digest_goes_with_the_cells(sqlite_url: str) -> None:
    fill(sqlite_url, drawn())
    one = pull(sqlite_url, watched(condense={"per_unit": 20}))
    fill(sqlite_url, reversed(drawn()))
    assert pull(sqlite_url, watched(condense={"per_unit": 20})).digest == one.digest
    assert pull(sqlite_url, watched(condense={"per_unit": 30})).digest != one.digest
    moved = [(*row[:2], row[2] + 1e-9, *row[3:]) if row[0] == 100 else row for row in drawn()]
    fill(sqlite_url, moved)
    assert pull(sqlite_url, watched(condense={"per_unit": 1e6})).digest != one.digest


def test_sqlite_without_a_logarithm_gets_one() -> None:
    """What is defined gives the cells of what is built in."""
    scores = [row[2] for row in drawn(500)] + [0.0, 1.0, -2.5, 3.5, None]
    key = cell("sqlite", column("p", Double), Grid(per_unit=20))
    asked = select(key, func.count()).select_from(table("t")).group_by(key)
    statement = str(asked.compile(compile_kwargs={"literal_binds": True}))
    found = []
    for own in (False, True):
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE t (p DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", [(p,) for p in scores])
        if own:
            define_functions(connection)
        found.append(sorted(connection.execute(statement).fetchall(), key=repr))
        connection.close()
    assert found[0] == found[1]
    assert len(found[0]) > 50
