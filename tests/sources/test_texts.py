"""Text as scores, labels and times: one cell, one line and one file cost no more than themselves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pydantic import ValidationError
from scored import MODES, NOON, WEEK, monitor, opened, pull, same
from sklearn.metrics import roc_auc_score

from rocmonitor.config import Files
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.sources import Batch, lake
from rocmonitor.stats import auc

ALL = (*MODES, "condensed")
PLAIN = {"time": "t", "champion": "p", "label": "y"}
QUERY = "SELECT * FROM scored WHERE t >= :start AND t < :end"
GOOD = ["2026-01-07 12:00,0.25,0", "2026-01-07 13:00,0.5,1", "2026-01-08,0.75,1", "2026-01-08,0.375,0"]


def plain(mode: str = "raw", **changes: Any) -> Any:
    return monitor(**{"columns": PLAIN, "segments": [], "query": QUERY, "grouped": mode} | changes)


def csv(path: Path, *lines: str, head: str = "t,p,y", encoding: str = "utf-8", end: str = "\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(end.join([head, *lines, ""]).encode(encoding))
    return f"files://{path.parent}"


def alike(url: str, spec: dict[str, Any] | None = None, **changes: Any) -> Batch:
    """The batch of rows, after seeing that groups and cells count the same rows."""
    batches = [pull(url, plain(mode, **changes), WEEK, **(spec or {})) for mode in ALL]
    same(batches[0], batches[1])
    assert batches[2].segments[""].counts == batches[0].segments[""].counts
    assert [each.code for each in batches[2].segments[""].caveats if each.code != "condensed"] == [
        each.code for each in batches[0].segments[""].caveats
    ]
    return batches[0]


def shown(batch: Batch) -> dict[str, Any]:
    """Examples by the code of the caveat."""
    return {each.code: each.values.get("examples") for each in batch.segments[""].caveats}


def is_good(batch: Batch) -> None:
    rows = batch.segments[""]
    assert rows.counts == Counts(rows=4, n_pos=2, n_neg=2)
    assert rows.champion.score.tolist() == [0.25, 0.375, 0.5, 0.75]
    assert rows.champion.pos.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("words", "positive"),
    [
        (("yes", "no"), {"label": "yes", "negative": "no"}),
        (("t", "f"), {"label": "t", "negative": "f"}),
        (("True", "False"), {"label": "True", "negative": "False"}),
        (("True", "False"), {"label": True, "negative": False}),
        (("true", "false"), {}),
        (("1", "0"), {"label": "1", "negative": "0"}),
        (("1.0", "0.0"), {}),
        (("bad", "good"), {"label": "bad", "negative": "good"}),
        (("2", "1"), {"label": 2, "negative": 1}),
        ((" yes ", '"no"'), {"label": "yes", "negative": "no"}),
    ],
)
def test_labels_are_read_by_what_positive_says(
    tmp_path: Path, words: tuple[str, str], positive: dict[str, Any]
) -> None:
    """The audit's: all rows of a CSV with yes and no were neither 'yes' nor 'no' (found: False, True)."""
    lines = [line[:-1] + words[line[-1] == "0"] for line in GOOD]
    is_good(alike(csv(tmp_path / "a.csv", *lines), positive=positive))
    with opened(f"files://{tmp_path}") as source:
        counted = source.label_counts(plain(positive=positive), WEEK)
    assert (counted.rows, counted.labelled, counted.n_pos, counted.n_neg) == (4, 4, 2, 2)


@pytest.mark.parametrize("cell", ["\\N", "N/A", "unknown", "nein", "2", "85 %"])
def test_a_foreign_label_among_many_costs_one_row(tmp_path: Path, cell: str) -> None:
    """The audit's: one cell of 11,200 set aside all 400 rows of every window."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 11_200)
    p = np.round(1 / (1 + np.exp(-rng.normal(y))), 4)
    lines = [f"2026-01-{5 + at % 7:02} 12:00,{p[at]},{y[at]}" for at in range(11_200)]
    lines[9_000] = lines[9_000].rpartition(",")[0] + f",{cell}"
    batch = alike(csv(tmp_path / "a.csv", *lines))
    rows = batch.segments[""]
    assert (rows.counts.rows, rows.counts.used, rows.counts.bad_label) == (11_200, 11_199, 1)
    assert shown(batch) == {"rows-with-bad-labels": [cell if cell == "2" else repr(cell)]}
    others = np.arange(11_200) != 9_000
    assert auc(rows.champion).auc == pytest.approx(roc_auc_score(y[others], p[others]), abs=1e-14)


@pytest.mark.parametrize("cell", ["\\N", "N/A", "unknown", "0,5", "85 %", "1_000", "0x1f"])
def test_a_foreign_score_costs_one_row(tmp_path: Path, cell: str) -> None:
    batch = alike(csv(tmp_path / "a.csv", *GOOD, f'2026-01-09,"{cell}",1'))
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, bad_score=1)
    assert shown(batch) == {"text-scores": [repr(cell)]}


@pytest.mark.parametrize("cell", ["", '""', "  ", "nan", "NaN"])
def test_a_score_that_is_missing_costs_one_row(tmp_path: Path, cell: str) -> None:
    batch = alike(csv(tmp_path / "a.csv", *GOOD, f"2026-01-09,{cell},1"))
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, bad_score=1)


@pytest.mark.parametrize("cell", ["", '""', "  "])
def test_a_label_that_is_missing_is_waited_for(tmp_path: Path, cell: str) -> None:
    batch = alike(csv(tmp_path / "a.csv", *GOOD, f"2026-01-09,0.5,{cell}"))
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, unlabelled=1)


@pytest.mark.parametrize("cell", ["\\N", "unknown", "31.12.2026", "2026-01-07T12:00:00Z", "2026-13-01"])
def test_a_foreign_time_costs_one_row(tmp_path: Path, cell: str) -> None:
    batch = alike(csv(tmp_path / "a.csv", *GOOD, f"{cell},0.5,1"))
    is_good(batch)
    assert shown(batch) == {"cells-unreadable": [repr(cell)]}


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    lines = [f"2026-01-09,{cell},1" for cell in ("1e-3", "+.5", "5.", " 0.25", "1E+2", "-0.0")]
    found = alike(csv(tmp_path / "a.csv", *lines)).segments[""].champion.score
    assert found.tolist() == [0.0, 0.001, 0.25, 0.5, 5.0, 100.0]


def test_a_foreign_cell_of_a_column_that_is_computed_with(tmp_path: Path) -> None:
    url = csv(tmp_path / "a.csv", *GOOD, "2026-01-09,N/A,1", "2026-01-09,0.125,\\N")
    query = "SELECT t, 2 * p AS p, CASE WHEN y = 1 THEN 'b' ELSE 'g' END AS y FROM scored WHERE p < 0.7 AND"
    batch = alike(url, query=f"{query} t >= :start AND t < :end", positive={"label": "b", "negative": "g"})
    assert batch.segments[""].champion.score.tolist() == [0.25, 0.5, 0.75, 1.0]
    said = {each.values["column"]: each.values for each in batch.segments[""].caveats}
    assert {column: (each["count"], each["examples"]) for column, each in said.items()} == {
        "p": (1, ["'N/A'"]),
        "y": (1, ["'\\\\N'"]),
    }


def test_names_given_by_the_query(tmp_path: Path) -> None:
    url = csv(tmp_path / "a.csv", *GOOD, "2026-01-09,N/A,1", head="day,score,bad")
    query = "WITH x AS (SELECT day AS t, score AS s, bad AS y FROM scored) SELECT t, s AS p, y FROM x WHERE"
    batch = alike(url, query=f"{query} t BETWEEN :start AND :end")
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, bad_score=1)
    assert shown(batch) == {"text-scores": ["'N/A'"]}


def test_ids_and_segments_are_texts(tmp_path: Path) -> None:
    lines = ["2026-01-09,0.5,1,007,01", "2026-01-09,0.25,0,7,1", "2026-01-09,0.125,0, 007,01"]
    url = csv(tmp_path / "a.csv", *lines, head="t,p,y,id,region")
    batch = pull(url, plain(columns=PLAIN | {"id": "id"}, segments=["region"]))
    assert batch.segments[""].counts.duplicates == 1
    assert list(batch.segments) == ["", "region=01", "region=1"]


# Files as spreadsheets and other programs write them


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    ("encoding", "end"), [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("utf-16", "\n"), ("utf-8", "\r\n")]
)
def test_delimiters_encodings_and_line_ends(tmp_path: Path, delimiter: str, encoding: str, end: str) -> None:
    lines = [line.replace(",", delimiter) for line in GOOD]
    head = delimiter.join(["t", ' "p"', "y "])
    is_good(alike(csv(tmp_path / "a.csv", *lines, head=head, encoding=encoding, end=end)))


def test_german_files_need_two_keys(tmp_path: Path) -> None:
    lines = ["07.01.2026 12:00;0,25;0", "7.1.2026 13:00;0,5;1", "08.01.2026;0,75;1", "08.01.2026;0,375;0"]
    url = csv(tmp_path / "a.csv", *lines, head="t;p;y")
    keys = {"date_format": "%d.%m.%Y", "decimal": ","}
    is_good(alike(url, keys))
    is_good(alike(url, keys | {"delimiter": ";"}))
    for mode in ALL:
        with pytest.raises(ConfigError, match=r"^sources\.warehouse\.date_format: needed, .*%d\.%m\.%Y"):
            pull(url, plain(mode))
        with pytest.raises(ConfigError, match=r"^sources\.warehouse\.decimal: needed, .*p .* holds '0,"):
            pull(url, plain(mode), date_format="%d.%m.%Y")


@pytest.mark.parametrize("cell", ["1.234,5", "0.5", "1.234", ".5", "5."])
def test_a_point_is_no_decimal_where_the_comma_is(tmp_path: Path, cell: str) -> None:
    lines = [line.replace(",", ";").replace(".", ",") for line in GOOD]
    batch = alike(csv(tmp_path / "a.csv", *lines, f"2026-01-09;{cell};1", head="t;p;y"), {"decimal": ","})
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, bad_score=1)


@pytest.mark.parametrize("cells", [["k.A."], ["k,A.", "1.234"]])
def test_a_score_that_cannot_be_read_is_quoted_as_it_is_in_the_file(tmp_path: Path, cells: list[str]) -> None:
    odd = [f"2026-01-09;{cell};1" for cell in cells * 5]  # more than numbers, so the column is one of texts
    lines = [line.replace(",", ";").replace(".", ",") for line in GOOD]
    url = csv(tmp_path / "a.csv", *lines, *odd, head="t;p;y")
    for mode in ALL:
        [told] = [
            one
            for one in pull(url, plain(mode), decimal=",").segments[""].caveats
            if one.code == "text-scores"
        ]
        assert list(told.values["examples"]) == sorted(map(repr, cells))


def test_the_month_first(tmp_path: Path) -> None:
    lines = ["1/7/2026 12:00,0.25,0", "1/7/2026,0.5,1", "01/08/2026,0.75,1", "1/8/2026,0.375,0"]
    url = csv(tmp_path / "a.csv", *lines)
    is_good(alike(url, {"date_format": "%m/%d/%Y"}))


def test_latin_1_is_told_with_the_key(tmp_path: Path) -> None:
    lines = [f"{line},Köln" for line in GOOD]
    url = csv(tmp_path / "a.csv", *lines, head="t,p,y,ort", encoding="latin-1")
    is_good(alike(url))  # which does not read that column
    with pytest.raises(SourceError, match=r"^sources\.warehouse\.encoding: .*a\.csv is not utf-8") as told:
        pull(url, plain(segments=["ort"]))
    assert not told.value.transient
    is_good(alike(url, {"encoding": "latin-1"}, segments=["ort"]))
    url = csv(tmp_path / "b" / "a.csv", *GOOD, head="t,p,y,größe", encoding="latin-1")
    with pytest.raises(SourceError, match=r"^sources\.warehouse\.encoding: .*a\.csv is not utf-8"):
        pull(url, plain())


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_many_small_files_of_another_encoding_are_read(tmp_path: Path, encoding: str) -> None:
    """DuckDB keeps 32 MB for each file of these encodings, unless told how long its lines are."""
    for number in range(60):
        url = csv(
            tmp_path / f"{number}.csv", f"2026-01-07 12:00,0.{number:02d},{number % 2}", encoding=encoding
        )
    assert alike(url, {"encoding": encoding}).segments[""].counts.used == 60


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has one more each time that CSV files are looked through."""
    found: list[int] = []
    real = lake.text_table
    monkeypatch.setattr(lake, "text_table", lambda *given: found.append(1) or real(*given))
    return found


def test_files_that_change_between_two_sessions_of_a_source_are_looked_at_again(
    tmp_path: Path, looked: list[int]
) -> None:
    """Unchanged files are looked through once; other bytes, another name and more files are seen."""
    url = csv(tmp_path / "a.csv", *GOOD)
    with opened(url) as source:

        def used() -> int:
            return source.pull(plain(), WEEK).segments[""].counts.used

        first = used()
        looked.clear()
        assert (first, used(), used(), len(looked)) == (4, 4, 4, 0)
        text = (tmp_path / "a.csv").read_text()
        (tmp_path / "a.csv").write_text(text.replace("0.25,0", "x.25,0"))  # as many bytes
        assert (used(), len(looked)) == (3, 1)
        (tmp_path / "a.csv").rename(tmp_path / "b.csv")
        assert (used(), len(looked)) == (3, 2)
        csv(tmp_path / "c.csv", GOOD[0])
        assert (used(), used(), len(looked)) == (4, 4, 3)
        (tmp_path / "c.csv").unlink()
        assert (used(), len(looked)) == (3, 4)


def test_two_monitors_of_one_source_each_see_the_files_as_they_ask(
    tmp_path: Path, looked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has the files in memory, with its own types, and looks them through once; too large ones too."""
    url = csv(tmp_path / "a.csv", *(f"{line},{n}" for n, line in enumerate(GOOD)), head="t,p,y,q")
    other = plain(columns=PLAIN | {"champion": "q"}, segments=["p"])
    for bytes_in_memory in (1000, 0):
        monkeypatch.setattr(lake, "_SMALL_BYTES", bytes_in_memory)
        with opened(url) as source:
            for _ in range(3):
                looked.clear()
                is_good(source.pull(plain(), WEEK))
                batch = source.pull(other, WEEK)
                assert batch.segments[""].champion.score.tolist() == [0, 1, 2, 3]
                assert "p=0.375" in batch.segments
        assert not looked


# Files that differ


@pytest.mark.parametrize("content", ["t,p,y\n", "t,p,y", "", "\n", "\ufeff", "\ufefft,p,y\r\n", "y,p,t,z\n"])
def test_a_file_without_rows_costs_nothing(tmp_path: Path, content: str) -> None:
    """The audit's: a folder with one good CSV and one that has a header only was exit 5."""
    url = csv(tmp_path / "b.csv", *GOOD)
    for name in ("a.csv", "c.csv"):
        (tmp_path / name).write_text(content, encoding="utf-8")
    batch = alike(url)
    is_good(batch)
    assert shown(batch) == {}


@pytest.mark.parametrize("line", ["2026-01-09,0.5", "2026-01-09,0.5,1,2", "x"])
def test_a_line_with_another_number_of_cells_costs_one_row(tmp_path: Path, line: str) -> None:
    batch = alike(csv(tmp_path / "a.csv", GOOD[0], line, *GOOD[1:]))
    is_good(batch)
    assert shown(batch) == {"lines-unreadable": [f"line 3 of {tmp_path}/a.csv"]}


def test_a_quote_that_does_not_end_is_told_with_its_line(tmp_path: Path) -> None:
    url = csv(tmp_path / "a.csv", GOOD[0], '2026-01-09,"0.5,1', *GOOD[1:])
    with pytest.raises(SourceError, match=r"quote that begins in line 3 of .*a\.csv does not end") as told:
        pull(url, plain())
    assert told.value.transient


def test_two_columns_of_one_name_in_a_file_have_numbers(tmp_path: Path) -> None:
    url = csv(tmp_path / "a.csv", *(f"{line},0.5" for line in GOOD), head="t,p,y,P")
    told = r"the first line of .*a\.csv names p more than once, so its columns are p_1 and P_2: name the one"
    for query in (QUERY, QUERY.replace("*", "t, p, y")):
        with pytest.raises(ConfigError, match=told):
            pull(url, plain(query=query))
    is_good(alike(url, columns=PLAIN | {"champion": "p_1"}))


# Texts in other sources


@pytest.mark.parametrize("cells", [("yes", "no", "maybe", "N/A"), ("1", "0", "\\N", "")])
def test_texts_of_a_database_are_read_alike(any_database_url: str, cells: tuple[str, ...]) -> None:
    from scored import fill
    from sqlalchemy import String

    yes, no, other, none = cells
    rows = [
        (1, NOON, "0.25", "1", no, "a"),
        (2, NOON, " 0.5", "2", yes, "a"),
        (3, NOON, "0.75", "", f" {yes}", "a"),
        (4, NOON, "3.75e-1", "x", no, "a"),
        (5, NOON, none, "1", yes, "a"),
        (6, NOON, "0.9", "1", other, "a"),
        (7, NOON, "0.9", "1", "", "a"),
    ]
    fill(any_database_url, rows, p1=String(20), p2=String(20), defaulted=String(20))
    positive = {"label": "yes", "negative": "no"} if yes == "yes" else {}
    for columns in (
        {"time": "scored_at", "champion": "p1", "label": "defaulted"},
        {"time": "scored_at", "champion": "p1", "label": "defaulted", "challenger": "p2"},
    ):
        for mode in ALL:
            watched = monitor(columns=columns, segments=[], positive=positive, grouped=mode)
            found = pull(any_database_url, watched).segments[""]
            missing = 2 if "challenger" in columns else 0
            assert found.counts == Counts(
                rows=7, n_pos=2, n_neg=2, bad_score=1, bad_label=1, unlabelled=1, no_challenger=missing
            ), (mode, columns)
            assert found.champion.score.tolist() == [0.25, 0.375, 0.5, 0.75]
            examples = {each.code: each.values.get("examples") for each in found.caveats}
            assert examples["rows-with-bad-labels"] == [repr(other)]


def test_a_stray_text_among_the_numbers_of_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("CREATE TABLE scored (t TEXT, p REAL, y INTEGER)")
        rows = [line.split(",") for line in (*GOOD, "2026-01-09,N/A,1", "2026-01-09,0.5,\\N")]
        rows = [(t if ":" in t else f"{t} 00:00", p, y) for t, p, y in rows]
        connection.executemany("INSERT INTO scored VALUES (?, ?, ?)", rows)
    batch = alike(f"sqlite:///{tmp_path}/a.db")
    assert batch.segments[""].counts == Counts(rows=6, n_pos=2, n_neg=2, bad_score=1, bad_label=1)
    assert shown(batch) == {"rows-with-bad-labels": ["'\\\\N'"], "text-scores": ["'N/A'"]}


def test_texts_in_parquet(tmp_path: Path) -> None:
    table = {
        "t": [NOON] * 5,
        "p": ["0.25", "0.5", "0.75", "0.375", "N/A"],
        "y": ["no", "yes", "yes", "no", "no"],
    }
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    batch = alike(f"files://{tmp_path}", positive={"label": "yes", "negative": "no"})
    assert batch.segments[""].counts == Counts(rows=5, n_pos=2, n_neg=2, bad_score=1)
    flags = {"t": [NOON] * 2, "p": [0.25, 0.5], "y": [False, True]}
    (tmp_path / "b").mkdir()
    parquet.write_table(pa.table(flags), tmp_path / "b" / "a.parquet")
    batch = alike(f"files://{tmp_path}/b", positive={"label": "yes", "negative": "no"})
    assert batch.segments[""].counts == Counts(rows=2, n_pos=1, n_neg=1)


# Keys


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"decimal": ",", "delimiter": ","}, "decimal.*',' is the delimiter"),
        ({"decimal": "'"}, "decimal.*'.' or ','"),
        ({"delimiter": ";;"}, "delimiter.*at most 1 character"),
        ({"date_format": "%d.%m"}, r"date_format.*must say where year, month and day stand.*'%d\.%m'"),
        ({"date_format": "DD.MM.YYYY"}, "date_format.*must say where year"),
        ({"date_format": "%Q"}, "date_format.*must say where year"),
        ({"encoding": "cp1252"}, "encoding.*'utf-8', 'utf-16' or 'latin-1'"),
    ],
)
def test_keys_that_no_file_is_written_by(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=f"(?s){says}"):
        Files.model_validate({"path": "a.csv"} | spec)


def test_files_with_headers_alone_have_no_rows(tmp_path: Path) -> None:
    assert alike(csv(tmp_path / "a.csv")).segments[""].counts == Counts()


def test_folders_are_columns(tmp_path: Path) -> None:
    for day, lines in (("2026-01-07", GOOD[:2]), ("2026-01-08", GOOD[2:])):
        csv(tmp_path / f"day={day}" / "a.csv", *lines)
    days = "day BETWEEN CAST(:start AS DATE) AND CAST(:end AS DATE)"
    batch = alike(f"files://{tmp_path}", query=f"{QUERY} AND {days}", segments=["day"])
    is_good(batch)
    assert len(batch.segments) == 3
    assert all(batch.segments[name].counts.used == 2 for name in list(batch.segments)[1:])
