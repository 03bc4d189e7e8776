"""A monitor whose rows are files: the same evaluations as from a database, and a word for what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from commands import Rocmonitor
from pyarrow import parquet
from scenario import CONFIGURATION, DEFAULTS, World, runtime_of, scored, week
from sqlalchemy import select, update

from rocmonitor import config, store
from rocmonitor.config import Monitor
from rocmonitor.policy.windows import Window
from rocmonitor.service.progress import Step
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.sources import SqlSource

DAY = timedelta(days=1)
DATABASE = "sources: {here: {url_env: SCENARIO_SOURCE_URL, timezone: UTC}}"
FILES = "sources: {here: {kind: files, path: lake, timezone: UTC}}"


def exported(here: World, number: int) -> Path:
    """A week's rows as a file of the folder `lake`."""
    with here._engine() as engine, engine.begin() as connection:
        chosen = select(scored).where(scored.c.id >= number * 100_000, scored.c.id < (number + 1) * 100_000)
        rows = [dict(row) for row in connection.execute(chosen).mappings()]
    path = here.folder / "lake" / f"{number}.parquet"
    path.parent.mkdir(exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=50)
    return path


def configured(here: World, sources: str, **changes: str) -> Path:
    path = here.folder / "rocmonitor.yaml"
    text = CONFIGURATION.format(**{**DEFAULTS, **changes})
    assert DATABASE in text
    path.write_text(text.replace(DATABASE, sources), encoding="utf-8")
    return path


def tick(here: World, sources: str, number: int, name: str, **changes: str) -> Tick:
    """Judge all weeks before this one, into a store of that name."""
    known, now = config.load(configured(here, sources, **changes)), week(number) + 2 * DAY
    with store.open_store(f"sqlite:///{here.folder}/{name}.db") as kept:
        return run_monitor(runtime_of(known, kept, lambda: now), known.monitors["credit"], now=now)


@pytest.mark.parametrize("grouped", ["raw", "database"])
@pytest.mark.slow
def test_files_give_the_evaluations_of_the_database(here: World, grouped: str) -> None:
    here.score(20, shift=0.5)
    here.score(21, labelled=0.9)
    for number in range(22):
        exported(here, number)
    changes = {"grouped": grouped, "segments": "[region]", "outlook": "{after: 6h}"}
    there = tick(here, DATABASE, 22, "there", **changes).evaluations
    found = tick(here, FILES, 22, "found", **changes).evaluations
    assert len(found) == len(there) == 4
    for one, other in zip(found, there, strict=True):
        assert (one.segment, one.counts, one.outcome) == (other.segment, other.counts, other.outcome)
        assert one.provenance == other.provenance  # with the digest of the rows
        assert one.metrics == pytest.approx(other.metrics, rel=1e-12, abs=1e-15)


@pytest.mark.slow
def test_a_file_that_comes_between_two_ticks_is_judged(here: World) -> None:
    for number in range(20):
        exported(here, number)
    here.score(20)
    assert [each.counts.rows for each in tick(here, FILES, 21, "kept").evaluations] == [0]
    exported(here, 20)
    [late] = tick(here, FILES, 21, "kept").evaluations
    assert (late.counts.rows, late.revision) == (400, 1)


@pytest.mark.slow
def test_a_window_of_cells_is_scanned_once_and_its_corrections_are_seen(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(name: str) -> None:
        own = getattr(SqlSource, name)
        monkeypatch.setattr(
            SqlSource, name, lambda *given, **named: asked.append(name) or own(*given, **named)
        )

    noted("label_counts")
    noted("pull")
    here.score(20)
    for number in range(21):
        exported(here, number)
    changes = {
        "grouped": "condensed",
        "model": "{name: credit, version: 7}",
        "rules": "[{kind: forecast}]",
        "columns": "{time: scored_at, champion: p, label: label}",
    }
    [found] = tick(here, FILES, 21, "kept", **changes).evaluations
    assert asked == ["pull"] * 21  # 20 of the reference
    asked.clear()
    assert not tick(here, FILES, 21, "kept", **changes).evaluations
    assert asked == ["label_counts"]  # the same as came with the cells
    with here._engine() as engine, engine.begin() as connection:
        positive = (scored.c.id >= 20 * 100_000) & (scored.c.label == 1)
        connection.execute(update(scored).where(positive).values(p=scored.c.p / 2))
    exported(here, 20)
    [again] = tick(here, FILES, 21, "kept", **changes).evaluations
    assert (again.revision, again.counts) == (1, found.counts)


def test_a_folder_without_files_ends_with_5_and_a_wrong_query_with_2(here: World) -> None:
    rocmonitor = Rocmonitor(here.folder)
    configured(here, FILES)
    for command in (("check",), ("run", "--at", "2026-06-15")):
        said = rocmonitor(*command, code=5)
        assert "sources.here.path: there is no file at" in said.stdout + said.stderr
    exported(here, 0).write_bytes(b"PAR1")
    said = rocmonitor("check", "--explain", code=5)
    assert "sources.here.path: a file cannot be read: " in said.stdout + said.stderr
    exported(here, 0)
    path = configured(here, FILES)
    path.write_text(
        path.read_text("utf-8").replace("FROM scored", "FROM '/etc/passwd.csv'"), encoding="utf-8"
    )
    said = rocmonitor("check", "--explain", code=2)
    assert "monitors.credit.query: " in said.stdout + said.stderr


@pytest.mark.slow
def test_check_warns_of_a_file_whose_dates_are_written_otherwise(two_weeks: World) -> None:
    here = two_weeks
    rocmonitor = Rocmonitor(here.folder)
    path = configured(here, FILES, window="{every: 7d, label_delay: 2d, end: 2026-06-08}")
    lake = here.folder / "lake"
    for number in range(22):
        file = exported(here, number)
        rows = parquet.read_table(file).to_pandas()
        rows["scored_at"] = rows.scored_at.dt.strftime("%Y-%m-%d %H:%M:%S")
        rows.to_csv(file.with_suffix(".csv"), index=False)
        file.unlink()
    assert "cannot be read" not in rocmonitor("check").stdout
    head, *lines = (lake / "21.csv").read_text("utf-8").splitlines()
    at = head.split(",").index("scored_at")

    def german(line: str, number: int) -> str:
        cells = line.split(",")
        year, month, day = cells[at][:10].split("-")
        return ",".join([str(9_000_000 + number), *cells[1:at], f"{day}.{month}.{year}", *cells[at + 1 :]])

    written = [german(line, number) for number, line in enumerate(lines[:120])]
    (lake / "late.csv").write_text("\n".join([head, *written]), "utf-8")
    said = " ".join(rocmonitor("check", code=4).stdout.split())
    assert said.count("WARNING") == 1
    assert "WARNING: 120 of 120 times in " in said
    assert "late.csv cannot be read (column scored_at, such as '" in said
    assert "their rows are in no window: set sources.here.date_format to the way they are written" in said
    path.write_text(
        path.read_text("utf-8").replace("timezone: UTC}}", "timezone: UTC, date_format: '%d.%m.%Y'}}")
    )
    assert "cannot be read" not in rocmonitor("check").stdout
    # One cell in a hundred or fewer is told by --explain alone.
    (lake / "late.csv").write_text(
        "\n".join([head, *(f"70{line}" for line in lines), german(lines[0], 1).replace("202", "x")]), "utf-8"
    )
    assert "cannot be read" not in rocmonitor("check").stdout
    assert "1 cell of the column scored_at cannot be read as times" in rocmonitor("check", "--explain").stdout


Asked = list[tuple[int, bool]]
"""How many windows were read by each query, and whether that worked."""


@pytest.fixture
def catching_up(here: World) -> World:
    """Ten weeks that are due, the last of them worse."""
    for number in range(20, 30):
        here.score(number, shift=1.2 if number > 27 else 0.0)
    for number in range(30):
        exported(here, number)
    return here


def spied(monkeypatch: pytest.MonkeyPatch, *, works: bool = True) -> tuple[Asked, list[Window]]:
    """What is read by one query, and what alone, from now on."""
    together, alone = list[tuple[int, bool]](), list[Window]()
    both, one = SqlSource.pull_together, SqlSource.pull

    def pull_together(self: SqlSource, monitor: Monitor, windows: Sequence[Window], **how: Any) -> Any:
        found = both(self, monitor, windows, **how) if works else None
        together.append((len(windows), found is not None))
        return found

    def pull(self: SqlSource, monitor: Monitor, window: Window, **how: Any) -> Any:
        alone.append(window)
        return one(self, monitor, window, **how)

    monkeypatch.setattr(SqlSource, "pull_together", pull_together)
    monkeypatch.setattr(SqlSource, "pull", pull)
    return together, alone


@pytest.mark.slow
def test_a_catch_up_is_one_query_and_the_same_to_the_last_bit(
    catching_up: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "{id: id, time: scored_at, champion: p, challenger: q, label: label, explain: [region]}"
    changes = {"segments": "[region]", "columns": columns}
    together, alone = spied(monkeypatch)
    one_query = tick(catching_up, FILES, 30, "together", **changes)
    # The first of the reference shows how many rows there are; then come those that explain an alarm.
    assert together[:2] == [(19, True), (10, True)]
    assert alone == [Window(week(0), week(1))]
    together, alone = spied(monkeypatch, works=False)
    one_by_one = tick(catching_up, FILES, 30, "alone", **changes)
    assert len(alone) == 20 + 10
    assert together[:2] == [(19, False), (10, False)]  # once it fails, it is not tried again
    assert len(one_query.evaluations) == 20
    for one, other in zip(one_query.evaluations, one_by_one.evaluations, strict=True):
        assert replace(one, evaluated_at=other.evaluated_at) == other


def test_a_stop_within_a_catch_up_loses_no_window(
    catching_up: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, now = config.load(configured(catching_up, FILES)), week(30) + 2 * DAY
    kept_url = f"sqlite:///{catching_up.folder}/stopped.db"
    together, _ = spied(monkeypatch)
    with store.open_store(kept_url) as kept:
        runtime = runtime_of(known, kept, lambda: now)

        def stop_at_the_fifth(text: str) -> None:
            if isinstance(text, Step) and (text.done, text.total) == (5, 10):
                runtime.stop.set()

        run_monitor(runtime, known.monitors["credit"], now=now, progress=stop_at_the_fifth)
        assert len(store.evaluations(kept, "credit")) == 5
    with store.open_store(kept_url) as kept:
        runtime = runtime_of(known, kept, lambda: now)
        assert run_monitor(runtime, known.monitors["credit"], now=now).error is None
        assert len(store.evaluations(kept, "credit")) == 10
    assert together == [(19, True), (10, True), (5, True)]
