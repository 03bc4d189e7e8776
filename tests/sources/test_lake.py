"""Files as a source: which ones are read, and how; `test_sql` reads them like every other source."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from costing import cost
from pyarrow import parquet
from scored import LOOSE, MESSY, MODES, NOON, WEEK, both, fill, monitor, opened, pull, same

from rocmonitor.config import Files
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.windows import Window
from rocmonitor.sources import open_source
from rocmonitor.sources.frame import read_frame
from rocmonitor.sources.lake import LakeSession

DAY = timedelta(days=1)
HEAD = "loan_id,scored_at,p1,p2,defaulted,region"


def line(number: int, time: Any = NOON, label: Any = 1, **changes: Any) -> dict[str, Any]:
    return {
        "loan_id": number,
        "scored_at": time,
        "p1": number / 100,
        "p2": 0.5,
        "defaulted": label,
        "region": "a",
    } | changes


def write(path: Path, lines: Iterable[dict[str, Any]], **options: Any) -> str:
    """A Parquet file, and the address of its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(lines)), path, **options)
    return f"files://{path.parent}"


def text(path: Path, *lines: str, head: str = HEAD) -> str:
    """A CSV file, and the address of its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return f"files://{path.parent}"


def counted(url: str, window: Window = WEEK, **spec: Any) -> Counts:
    return both(url, window, spec).segments[""].counts


# Which files


def test_files_that_come_later_are_read_at_the_next_call(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    with opened(url) as source:
        assert source.label_counts(monitor(), WEEK).rows == 1
        write(tmp_path / "deep" / "down" / "b.parquet", [line(2), line(3)])
        assert source.label_counts(monitor(), WEEK).rows == 3
        (tmp_path / "a.parquet").unlink()
        assert source.pull(monitor(), WEEK).segments[""].counts.rows == 2


def test_one_duckdb_serves_until_a_file_changes_or_a_query_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    real = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **settings: made.append(0) or real(**settings))
    url = write(tmp_path / "a.parquet", [line(1)])
    with opened(url) as source:
        for _ in range(3):
            assert source.label_counts(monitor(), WEEK).rows == 1
        assert len(made) == 1
        write(tmp_path / "a.parquet", [line(1), line(2)])
        for _ in range(2):
            assert source.label_counts(monitor(), WEEK).rows == 2
        assert len(made) == 2
        with pytest.raises(ConfigError):
            source.label_counts(monitor(query="SELECT nosuch FROM scored WHERE :start < :end"), WEEK)
        assert source.label_counts(monitor(), WEEK).rows == 2
        assert len(made) == 3


def test_what_spark_leaves_behind_is_not_read(tmp_path: Path) -> None:
    url = write(tmp_path / "part-0.parquet", [line(1)])
    for name in ("_temporary/0/part-1.parquet", ".part-2.parquet", "_part-3.parquet"):
        write(tmp_path / name, [line(2)])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.md").write_text("not a table")
    assert counted(url).rows == 1


@pytest.mark.parametrize(
    "path", ["*.parquet", "scores/*.parquet", "**/*.parquet", "scores", "scores/b.parquet"]
)
def test_a_path_is_a_pattern_a_folder_or_a_file(tmp_path: Path, path: str) -> None:
    write(tmp_path / "a.parquet", [line(1)])
    write(tmp_path / "scores" / "b.parquet", [line(2), line(3)])
    rows = {"*.parquet": 1, "**/*.parquet": 3}.get(path, 2)
    assert counted(f"files://{tmp_path}/{path}").rows == rows


def test_a_folder_whose_name_has_signs_of_patterns_and_of_sql(tmp_path: Path) -> None:
    url = write(tmp_path / "it's [new] *" / "a'b.parquet", [line(1)])
    assert counted(url).rows == 1


def test_a_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "*.parquet"):
        with pytest.raises(
            SourceError, match=r"^sources\.warehouse\.path: there is no file at .*\.csv"
        ) as caught:
            opened(f"files://{path}")
        assert caught.value.transient


def test_a_file_with_several_names_is_read_once(tmp_path: Path) -> None:
    url = write(tmp_path / "region=a" / "a.parquet", [{**line(1), "loan_id": None}])
    (tmp_path / "again").symlink_to(tmp_path)  # leads back
    (tmp_path / "latest").symlink_to(tmp_path / "region=a")
    (tmp_path / "region=a" / "0.parquet").symlink_to(tmp_path / "region=a" / "a.parquet")
    for path in (tmp_path, tmp_path / "**" / "*.parquet"):
        batch = both(f"files://{path}")
        assert batch.segments[""].counts.rows == 1
        assert list(batch.segments) == ["", "region=a"]
    assert counted(f"{url.removesuffix('region=a')}latest").rows == 1
    assert counted(f"{tmp_path.as_uri()}/region=a/0.parquet".replace("file:", "files:")).rows == 1


def test_endings_in_capitals(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    write(tmp_path / "B.PARQUET", [line(2)])
    assert counted(url).rows == 2
    assert counted(f"{url}/*.PARQUET").rows == 1
    assert counted(f"{url}/B.PARQUET").rows == 1


@pytest.mark.parametrize("column", ["loan_id", "region"])
@pytest.mark.parametrize("value", ["x" * 40_000, b"x" * 40_000], ids=["text", "bytes"])
def test_what_a_small_file_makes_large_is_refused_before_it_fills_the_memory(
    tmp_path: Path, column: str, value: str | bytes
) -> None:
    """2 GB of ids in a file of some kilobytes."""
    rows = 50_000
    columns = {name: pa.array([value]).take(pa.array([0] * rows)) for name, value in line(1, NOON).items()}
    long = pa.array([value]).dictionary_encode()
    columns[column] = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), long.dictionary)
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 500_000
    before = pa.total_allocated_bytes()

    def refused() -> None:
        said = "has a text of more than 1,000 characters; name another column"
        with pytest.raises(ConfigError, match=said):
            counted(f"files://{tmp_path}")

    assert cost(refused) < 100  # a thousand where all of it is read
    assert pa.total_allocated_bytes() - before < 20e6


@pytest.mark.parametrize("column", ["loan_id", "region", "defaulted"])
@pytest.mark.parametrize(("length", "refused"), [(1000, False), (1001, True)])
def test_the_longest_text(tmp_path: Path, column: str, length: int, refused: bool) -> None:
    lines = [line(1) | {column: "x" * length}, line(2) | {column: "x" * (length - 1) + "y"}]
    url = write(tmp_path / "a.parquet", lines)
    if refused and column != "defaulted":
        with pytest.raises(ConfigError, match="more than 1,000 characters"):
            counted(url)
        return
    found = both(url, WEEK, {})
    assert found.segments[""].counts.bad_label == (2 if column == "defaulted" else 0)
    assert found.segments[""].counts.duplicates == 0
    assert "x" * 100 not in str(found.segments[""].caveats)


@pytest.mark.parametrize("pattern", ["", "/*/*.parquet", "/**/*.parquet", "/**", "/*/b.parquet"])
def test_a_folder_that_may_not_be_read_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    url = write(tmp_path / "a.parquet", [line(1)]) + pattern
    write(tmp_path / "open" / "b.parquet", [line(3)])
    write(tmp_path / "closed" / "b.parquet", [line(2)])
    (tmp_path / "_closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> Any:  # whoever runs the tests may read all folders
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def refuse_within(path: Any, **options: Any) -> Any:
        if "/closed/" in str(path):
            raise PermissionError(13, "Permission denied", str(path).removesuffix("/."))
        return stat(path, **options)

    stat = os.stat
    monkeypatch.setattr("os.scandir", refuse)
    monkeypatch.setattr("os.stat", refuse_within)
    says = r"^sources\.warehouse\.path: a file cannot be read: .*Permission denied: '.*/closed'"
    with pytest.raises(SourceError, match=says) as caught:
        opened(url)
    assert caught.value.transient


@pytest.mark.parametrize("path", ["_new/*.parquet", "_new", "_new/a.parquet"])
def test_the_folder_of_the_configuration_is_no_pattern(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "[x] *"
    write(folder / "_new" / "a.parquet", [line(1)])
    with open_source(Files(path=path, timezone="UTC"), folder, name="warehouse") as source:
        assert source.label_counts(monitor(), WEEK).rows == 1


def test_files_of_two_kinds(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    text(tmp_path / "b.csv", "2,2026-01-07 12:00,0.5,0.5,1,a")
    with pytest.raises(SourceError, match=r"more than one kind \(.*a\.parquet and .*b\.csv\)") as caught:
        opened(url)
    assert not caught.value.transient
    assert counted(f"{url}/*.csv").rows == 1


def test_a_file_that_is_only_half_there(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(n) for n in range(1, 500)])
    write(tmp_path / "b.parquet", [line(1)])
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        SourceError, match=r"sources\.warehouse\.path: a file cannot be read: .*a\.parquet"
    ) as caught:
        opened(url)
    assert caught.value.transient
    assert "\n" not in str(caught.value)
    (tmp_path / "a.parquet").write_bytes(whole)
    assert counted(url).rows == 500


def test_a_page_that_is_damaged(tmp_path: Path) -> None:
    """Seen only when its rows are read; and rows of other times are not read at all."""
    days = [[line(n, WEEK.start + day * DAY) for n in range(1000)] for day in range(-3, 3)]
    table = pa.Table.from_pylist([each for day in days for each in day])
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, row_group_size=1000, compression="snappy")
    groups = parquet.ParquetFile(path).metadata
    data = bytearray(path.read_bytes())
    for number in (0, 1, 2):  # before the week
        for column in range(groups.num_columns):
            chunk = groups.row_group(number).column(column)
            start = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
            data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(data)
    url = f"files://{tmp_path}"
    assert counted(url).used == 1000 * 3 - 2 * 1000  # ids come again each day
    with pytest.raises(SourceError, match=r"sources\.warehouse"):
        pull(url, monitor(), Window(WEEK.start - 3 * DAY, WEEK.end))


def test_a_line_that_breaks_off_costs_one_row(tmp_path: Path) -> None:
    lines = ["1,2026-01-07 12:00:00,0.5,0.5,1,a"] * 30_000
    url = text(tmp_path / "a.csv", *lines, "2,2026-01-07 12:00:00,0.7")
    for mode in (*MODES, "condensed"):
        watched = monitor(grouped=mode, columns={"time": "scored_at", "champion": "p1", "label": "defaulted"})
        rows = pull(url, watched).segments[""]
        assert rows.counts.used == 30_000
        [caveat] = (each for each in rows.caveats if each.code == "lines-unreadable")
        assert caveat.values["count"] == 1
        assert caveat.values["examples"] == [f"line 30002 of {tmp_path}/a.csv"]


def test_no_room_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    monkeypatch.setattr("rocmonitor.sources.lake._MEMORY", "1MiB")
    query = f"SELECT * REPLACE (range AS loan_id) FROM scored, range(3000000) WHERE {BOUNDED}"
    with pytest.raises(SourceError, match=r"^sources\.warehouse: DuckDB has no room .*TMPDIR") as caught:
        pull(url, monitor(query=query, grouped="database"))
    assert caught.value.transient


# What may be done


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "SELECT * FROM read_csv('{other}') WHERE :start < :end",
            "reads the table scored, which has the files",
        ),
        ("SELECT * FROM '{other}' WHERE :start < :end", "reads the table scored"),
        ("SELECT * FROM read_text('/etc/passwd') WHERE :start < :end", "reads the table scored"),
        ("SELECT * FROM 'https://localhost/a.parquet' WHERE :start < :end", "reads the table scored"),
        (
            "SELECT 1) AS a; COPY scored TO '{target}'; SELECT * FROM (SELECT :start, :end",
            "must be one SELECT",
        ),
        ("SELECT * FROM scored WHERE :start < :end AND p1 > ?", r"parameter without a value \(\$1; "),
        ("SELECT 1) AS a; ATTACH '{target}'; SELECT * FROM (SELECT :start, :end", "must be one SELECT"),
    ],
)
def test_a_query_reaches_nothing_but_its_files(tmp_path: Path, query: str, says: str) -> None:
    url = write(tmp_path / "lake" / "a.parquet", [line(1)])
    text(tmp_path / "other.csv", "1,2026-01-07 12:00,0.5,0.5,1,a")
    before = (tmp_path / "lake" / "a.parquet").read_bytes()
    target = tmp_path / "lake" / "a.parquet"
    asked = query.format(other=tmp_path / "other.csv", target=target)
    with pytest.raises(ConfigError, match=rf"^monitors\.credit\.query: .*{says}"):
        pull(url, monitor(query=asked))
    assert os.listdir(tmp_path / "lake") == ["a.parquet"]
    assert target.read_bytes() == before


def test_a_time_that_is_text_says_how_to_read_it(tmp_path: Path) -> None:
    url = write(tmp_path / "lake" / "a.parquet", [line(1, f"{NOON:%Y-%m-%d %H:%M:%S}")])
    with pytest.raises(
        ConfigError, match=r"needs a cast in the query, such as CAST\(scored_at AS TIMESTAMP\)"
    ):
        pull(url, monitor())
    columns = "loan_id, CAST(scored_at AS TIMESTAMP) AS scored_at, p1, p2, defaulted, region"
    where = "CAST(scored_at AS TIMESTAMP) >= :start AND CAST(scored_at AS TIMESTAMP) < :end"
    found = pull(url, monitor(query=f"SELECT {columns} FROM scored WHERE {where}"))
    assert found.segments[""].counts.rows == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_external_access = true",
        "SET memory_limit = '1TB'",
        "COPY scored TO '{target}' (USE_TMP_FILE false)",
        "ATTACH '{target}.db'",
        "LOAD httpfs",
        "INSTALL httpfs",
    ],
)
def test_a_session_is_locked(tmp_path: Path, statement: str) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    target = tmp_path / "new.parquet"
    with opened(url) as source, source._reading() as session:
        assert isinstance(session, LakeSession)
        with pytest.raises(duckdb.Error, match=r"disabled|locked"):
            session.connection.execute(statement.format(target=target))
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_no_variable_of_the_program_is_a_table(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    session = origin = statement = pa.table({"p1": [1]})  # names that are in scope where the query runs
    for name in ("session", "origin", "statement", "parsed", "spec"):
        with pytest.raises(SourceError, match=rf"{name} does not exist"):
            pull(url, monitor(query=f"SELECT * FROM {name} WHERE :start < :end"))
    assert session is origin is statement


def test_nothing_is_left_in_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = write(tmp_path / "lake" / "a.parquet", [line(1)])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert counted(url).rows == 1
    assert os.listdir(scratch) == []


def test_a_deadline_ends_what_takes_long(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    query = f"SELECT scored.* FROM scored, range(100000) a, range(1000000) b WHERE {BOUNDED}"
    with pytest.raises(
        SourceError, match=r"reading took longer than 1 s in all .*warehouse\.deadline"
    ) as caught:
        pull(url, monitor(query=query, grouped="database"), deadline="1s")
    assert caught.value.transient


BOUNDED = "scored_at >= :start AND scored_at < :end"


def test_a_package_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    monkeypatch.delitem(sys.modules, "rocmonitor.sources.lake", raising=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(
        SourceError, match=r"needs the Python package duckdb: pip install 'rocmonitor\[duckdb\]'"
    ):
        opened(url)


# Times


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_wall_times_of_any_unit(tmp_path: Path, unit: str) -> None:
    """On the day on which the clocks go back; 02:30 is counted once, as the hour that comes first."""
    times = [
        datetime(2024, 10, 27, hour, 30)  # noqa: DTZ001
        for hour in (1, 2, 3)
    ]
    table = pa.table({"scored_at": pa.array(times, pa.timestamp(unit))})
    for name, values in (
        ("p1", [0.1, 0.2, 0.3]),
        ("p2", [1.0] * 3),
        ("defaulted", [1] * 3),
        ("region", ["a"] * 3),
    ):
        table = table.append_column(name, pa.array(values))
    table = table.append_column("loan_id", pa.array([1, 2, 3]))
    parquet.write_table(table, tmp_path / "a.parquet")
    start = datetime(2024, 10, 27, 0, tzinfo=UTC)  # 02:00 the first time; an hour later it is 02:00 again
    hours = [Window(start + n * DAY / 24, start + (n + 1) * DAY / 24) for n in (-1, 0, 1, 2)]
    url = f"files://{tmp_path}"
    assert [counted(url, hour, timezone="Europe/Berlin").used for hour in hours] == [1, 1, 0, 1]


def test_days(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(n, date(2026, 1, n)) for n in range(1, 20)])
    assert counted(url).used == 7


def test_instants_come_back_with_their_zone(tmp_path: Path) -> None:
    """DuckDB's own way to Python needs pytz for that."""
    noon = NOON.astimezone(ZoneInfo("Europe/Berlin"))
    url = write(tmp_path / "a.parquet", [line(1, noon)])
    with opened(url, timezone=None) as source:
        rows = read_frame(source, monitor(), WEEK).rows
    assert list(rows["scored_at"]) == [NOON]


def test_files_with_and_without_a_zone_are_refused(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1)])
    write(tmp_path / "b.parquet", [line(2, NOON.replace(tzinfo=None))])
    says = r"column scored_at has times with a zone in .*a\.parquet, times without a zone in .*b\.parquet"
    with pytest.raises(SourceError, match=says) as caught:
        opened(url)
    assert not caught.value.transient


def test_days_beside_instants_are_refused(tmp_path: Path) -> None:
    """DuckDB would take the days as days of UTC, whatever the zone of the source."""
    url = write(tmp_path / "a.parquet", [line(1)])
    write(tmp_path / "b.parquet", [line(2, date(2026, 1, 7))])
    with pytest.raises(SourceError, match=r"scored_at has times with a zone in .*without a zone in .*b"):
        opened(url)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_instants_of_any_unit(tmp_path: Path, unit: str) -> None:
    """As pandas writes them; each file may have its own."""
    times = [WEEK.start, NOON, WEEK.end]
    table = pa.Table.from_pylist([line(n, time) for n, time in enumerate(times)])
    place = table.schema.get_field_index("scored_at")
    table = table.set_column(place, "scored_at", pa.array(times, pa.timestamp(unit, "UTC")))
    parquet.write_table(table, tmp_path / "a.parquet")
    url = write(tmp_path / "b.parquet", [line(5)])
    assert counted(f"{url}/a.parquet").used == 2
    assert counted(url).used == 3


# Files that differ


def test_a_column_that_comes_with_later_files_is_null_in_earlier_ones(tmp_path: Path) -> None:
    old = line(1)
    del old["p2"]
    url = write(tmp_path / "a.parquet", [old])
    write(tmp_path / "b.parquet", [line(2)])
    assert counted(url) == Counts(rows=2, n_pos=2, no_challenger=1)


def test_whole_numbers_and_fractions_are_one_column(tmp_path: Path) -> None:
    url = write(tmp_path / "a.parquet", [line(1, p1=1)])
    write(tmp_path / "b.parquet", [line(2, p1=0.5, defaulted=True)])
    assert both(url).segments[""].champion.score.tolist() == [0.5, 1.0]


def test_partitions_are_columns(tmp_path: Path) -> None:
    for region in ("north", "south"):
        plain = line(1 if region == "north" else 2)
        del plain["region"]
        write(tmp_path / f"region={region}" / "a.parquet", [plain])
    batch = both(f"files://{tmp_path}")
    assert list(batch.segments) == ["", "region=north", "region=south"]


def test_numbers_that_arrow_does_not_have(tmp_path: Path) -> None:
    big = 2**100
    uuid = "'12345678-1234-5678-1234-56781234567{}'::UUID"
    for kind, ids in (
        ("huge", [f"{big}::HUGEINT", f"{big + 1}::HUGEINT"]),
        ("uuid", [uuid.format(1), uuid.format(2)]),
    ):
        with duckdb.connect(str(tmp_path / f"{kind}.duckdb")) as connection:
            rows = " UNION ALL ".join(
                f"SELECT {one} AS loan_id, TIMESTAMP '2026-01-07' AS scored_at, 0.5 AS p1, 0.5 AS p2, "
                "1 AS defaulted, 'a' AS region"
                for one in (*ids, ids[0])
            )
            connection.execute(f"CREATE TABLE scored AS {rows}")
        assert counted(f"files://{tmp_path}/{kind}.duckdb").duplicates == 1


# CSV


def test_csv_gives_the_batch_of_a_database(tmp_path: Path, sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    lines = [",".join("" if value is None else str(value) for value in row) for row in MESSY]
    half = len(lines) // 2
    url = text(tmp_path / "lake" / "a.csv", *lines[:half])
    packed = "\n".join([HEAD.replace(",", ";"), *(each.replace(",", ";") for each in lines[half:])])
    (tmp_path / "lake" / "b.csv.gz").write_bytes(gzip.compress(packed.encode()))
    same(both(url, query=LOOSE), both(sqlite_url, query=LOOSE))


def test_a_column_that_is_empty_in_a_file_has_no_type_there(tmp_path: Path) -> None:
    url = text(tmp_path / "a.csv", "1,2026-01-07 12:00,0.5,0.5,1,a", "2,2026-01-07 12:00,0.5,0.5,0,a")
    text(tmp_path / "b.csv", "3,2026-01-07 12:00,1,0.5,,", "4,2026-01-07 12:00,1,0.5,,")
    assert counted(url) == Counts(rows=4, n_pos=1, n_neg=1, unlabelled=2)


@pytest.mark.parametrize(
    "lines",
    [
        [HEAD, "2,2026-01-07 12:00,0.5"],
        [HEAD, "2,2026-01-07 12:00,0.5,0.5,1,a,b"],
        ["2,2026-01-07 12:00,0.5,0.5,1,a"],
    ],
)
def test_a_file_whose_columns_are_not_found_is_not_passed_over(tmp_path: Path, lines: list[str]) -> None:
    """Beside others it would be rows without a time, which are in no window."""
    url = text(tmp_path / "a.csv", "1,2026-01-07 12:00,0.5,0.5,1,a")
    text(tmp_path / "b.csv", *lines[1:], head=lines[0])
    says = r"^sources\.warehouse\.path: .*first line of .*b\.csv does not name its columns, or its lines "
    with pytest.raises(SourceError, match=says) as caught:
        counted(url)
    assert caught.value.transient
    (tmp_path / "b.csv").write_text("")
    assert counted(url).rows == 1


def test_words_in_one_file_and_numbers_in_another_are_words(tmp_path: Path) -> None:
    url = text(tmp_path / "a.csv", "1,2026-01-07 12:00,0.5,0.5,1,a")
    text(tmp_path / "b.csv", "x2,2026-01-07 12:00,0.25,0.5,1,7", "1,2026-01-07 12:00,0.25,0.5,1,7")
    batch = both(url)
    assert batch.segments[""].counts == Counts(rows=3, n_pos=2, duplicates=1)
    assert list(batch.segments) == ["", "region=7", "region=a"]


@pytest.mark.parametrize("value", ["07.01.2026 12:00", "07/01/2026 12:00", "01/13/2026", "07-01-2026"])
def test_days_before_years_are_not_guessed(tmp_path: Path, value: str) -> None:
    url = text(tmp_path / "a.csv", f"1,{value},0.5,0.5,1,a")
    for query in (LOOSE, monitor().query):
        with pytest.raises(
            ConfigError, match=rf"^sources\.warehouse\.date_format: needed, .*scored_at holds '{value}'"
        ):
            pull(url, monitor(query=query))


def test_days_before_years_are_read_as_the_query_says(tmp_path: Path) -> None:
    url = text(tmp_path / "a.csv", "1,07/01/2026 12:00,0.5,0.5,1,a")
    time = "strptime(scored_at, '%d/%m/%Y %H:%M')"
    query = f"SELECT * REPLACE ({time} AS scored_at) FROM scored WHERE {time} >= :start AND {time} < :end"
    assert both(url, query=query).segments[""].counts.used == 1


@pytest.mark.parametrize("written", ["2026-01-07T12:00:00Z", "2026-01-07 13:00:00+01:00"])
def test_instants_in_csv(tmp_path: Path, written: str) -> None:
    url = text(tmp_path / "a.csv", f"1,{written},0.5,0.5,1,a")
    window = Window(NOON, NOON + DAY / 24)
    assert counted(url, window, timezone=None).used == 1


# Delta tables


def delta(folder: Path, lines: list[dict[str, Any]], **options: Any) -> str:
    deltalake = pytest.importorskip(
        "deltalake", reason="`pip install 'rocmonitor[delta]'` to see Delta tables read"
    )
    deltalake.write_deltalake(str(folder), pa.Table.from_pylist(lines), **options)
    return f"files://{folder}"


def test_a_delta_table_is_read_as_it_is_now(tmp_path: Path, sqlite_url: str) -> None:
    url = delta(tmp_path / "lake", [line(1, label=0), line(2)], partition_by=["region"])
    with opened(url) as source:
        assert source.label_counts(monitor(), WEEK).by_label == {"0": 1, "1": 1}
        delta(tmp_path / "lake", [line(3, region="b"), line(4, WEEK.end)], mode="append")
        assert source.label_counts(monitor(), WEEK).by_label == {"0": 1, "1": 2}
        delta(tmp_path / "lake", [line(1, label=0), line(5, p1=0.75)], mode="overwrite")
    fill(sqlite_url, [tuple(line(1, label=0).values()), tuple(line(5, p1=0.75).values())])
    same(both(url), both(sqlite_url))


def test_a_delta_table_that_is_broken(tmp_path: Path) -> None:
    url = delta(tmp_path / "lake", [line(1)])
    [log] = (tmp_path / "lake" / "_delta_log").glob("*.json")
    log.write_text("{")
    with pytest.raises(SourceError, match=r"sources\.warehouse\.path: the Delta table cannot be read: .*$"):
        opened(url)


# DuckDB databases


def test_a_database_of_duckdb(tmp_path: Path, sqlite_url: str) -> None:
    path = tmp_path / "scored.duckdb"
    fill(sqlite_url, MESSY)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        kinds = "loan_id BIGINT, scored_at TIMESTAMPTZ, p1 DOUBLE, p2 DOUBLE, defaulted INTEGER, region TEXT"
        connection.execute(f"CREATE TABLE scored ({kinds})")
        connection.executemany("INSERT INTO scored VALUES (?, ?, ?, ?, ?, ?)", MESSY)
    url = f"files://{path}"
    same(both(url, query=LOOSE), both(sqlite_url, query=LOOSE))
    with pytest.raises(ConfigError, match="must be one SELECT"):
        pull(url, monitor(query="SELECT 1) AS a; DELETE FROM scored; SELECT * FROM (SELECT :start, :end"))
    assert both(url).segments[""].counts.rows == 12


def test_an_address_of_duckdb_says_which_kind_reads_it(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"sources\.warehouse\.url_env: .*kind: files, path: .*scored\.duckdb"
    ) as caught:
        opened(f"duckdb:///{tmp_path}/scored.duckdb")
    assert not caught.value.transient
