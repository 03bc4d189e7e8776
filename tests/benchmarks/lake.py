"""A year of daily Parquet files, and of one German CSV, command by command: python tests/benchmarks lake.

185,546 rows of two models in 357 folders named by their day, three columns that explain an alarm; weekly
windows, 17 weeks of reference, the last 15 weeks worse. Beside it the same weeks judged by NannyML from the
same files, in an environment of its own (`.nannyml`, made once; skipped where it cannot be installed). Last a
week of 10^7 rows in 400 files beside DuckDB's own aggregation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from job import used
from opened import Opened
from timing import result, skipped, title

ROWS, DAYS, WEEKS = 185_546, 357, 51
LINES, LEFT_OUT = 177_664, 3
REFERENCE, WORSE = 17, 15
FIRST = date(2025, 1, 6)
VERSION = "0.13.1"
"""Of NannyML."""
COMMANDS = ("check", "run --dry-run", "run", "run")
GOALS = {"Parquet": (5, 8, 15), "CSV": (4, 6, 12)}
CONFIGURATION = """
sources: {{here: {source}}}
channels: {{log: {{url: "file://alarms.log"}}}}
monitors:
  credit:
    model: {{name: credit, version: 7, challenger_version: 8}}
    source: here
    query: {query}
    columns:
      {{id: id, time: scored_at, champion: p, challenger: q, label: y, explain: [region, channel, amount]}}
    window: {{every: 7d, label_delay: 1d, end: {end}}}
    reference: {{from: {first}, to: {until}}}
    min_per_class: 50
    operating_points: {{fpr: [0.01, 0.05, 0.1], thresholds: [0.5]}}
    rules:
      - {{kind: forecast, confidence_level: 0.95}}
      - {{kind: lasting, false_alarm_probability: 0.05}}
      - {{kind: floor, value: 0.70, confidence_level: 0.99}}
    notify: [log]
"""
SOURCES = {
    "Parquet": "{kind: files, path: scored, timezone: UTC}",
    "CSV": "{kind: files, path: scored.csv, timezone: UTC, decimal: ',', date_format: '%d.%m.%Y'}",
}
QUERY = "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end"
COUNTED = """
import sys
import duckdb
class Counted:
    queries = 0
    def __init__(self, real): self._real = real
    def __getattr__(self, name): return getattr(self._real, name)
    def sql(self, *asked):
        Counted.queries += 1
        return self._real.sql(*asked)
    def execute(self, text, *values):
        Counted.queries += str(text).lstrip().upper().startswith(("SELECT", "FROM", "WITH"))
        return self._real.execute(text, *values)
real = duckdb.connect
duckdb.connect = lambda *given, **how: Counted(real(*given, **how))
from rocmonitor.cli import main
try:
    main()
finally:
    open("queries", "w").write(str(Counted.queries))
"""
NANNYML = """
import pandas as pd, sys, nannyml
parquet = sys.argv[1] == "Parquet"
rows = pd.read_parquet("scored") if parquet else pd.read_csv("scored.csv", sep=";", decimal=",")
rows["p"] = rows["p"].rank(pct=True)  # it asks for probabilities
at = pd.to_datetime(rows["scored_at"], dayfirst=not parquet)
calculator = nannyml.PerformanceCalculator(metrics=["roc_auc"], y_true="y", y_pred_proba="p",
    problem_type="classification_binary", chunk_size=len(rows) // 51)
until = at.min() + pd.Timedelta(weeks=17)
calculator.fit(rows[at < until]).calculate(rows[at >= until]).to_df()
"""


def main() -> None:
    """Print the processor seconds of each command, its queries, and the files that it opens."""
    python = nannyml()
    for kind in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), kind)
            commands(Path(folder), kind)
            if python is not None:
                taken = used(Path(folder), "-c", NANNYML, kind, python=python)
                result(f"NannyML {VERSION}, fit and calculate of its AUROC", f"{taken:.2f}")
    large = {"ROWS": "1e7", "FILES": "400"}
    subprocess.run([sys.executable, Path(__file__).with_name("files.py")], check=True, env=os.environ | large)


def nannyml() -> str | None:
    """Return the Python of an environment that has NannyML; None where it cannot be made, which is said."""
    python = Path(".nannyml/bin/python").absolute()
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", ".nannyml"], check=True, capture_output=True)
        wanted = ["-m", "pip", "install", "--quiet", f"nannyml=={VERSION}", "pyarrow", "statsmodels"]
        subprocess.run([python, *wanted], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr or error).strip().splitlines()
        skipped(f"NannyML {VERSION} cannot be installed: {lines[-1]}")
        return None
    return str(python)


def commands(folder: Path, kind: str) -> None:
    """Run all commands on one kind of source."""
    weeks, rows = (WEEKS, ROWS) if kind == "Parquet" else (WEEKS - LEFT_OUT, LINES)
    title(f"{REFERENCE} reference weeks and {weeks - REFERENCE} judged, {rows:,} rows, from {kind}: CPU-s")
    for command, goal in zip(COMMANDS, (*GOALS[kind], ""), strict=True):
        with Opened(folder / "scored" if kind == "Parquet" else folder) as seen:
            taken = used(folder, "-c", COUNTED, *command.split())
        files = sum(times for name, times in seen.files.items() if name.endswith((".parquet", ".csv")))
        queries = int((folder / "queries").read_text())
        result(f"rocmonitor {command}{'' if goal else ', with nothing due'}", f"{taken:.2f}", str(goal))
        each = f"{queries / weeks:.1f} a window, {files / weeks:.1f}"
        result(f"  queries {queries:,}, files opened {files:,}:", each)


def prepare(folder: Path, kind: str) -> None:
    """Write the rows and the configuration."""
    rng = np.random.default_rng(1)
    at = np.sort(rng.integers(0, DAYS * 86_400, ROWS))
    week = at // (7 * 86_400)
    y = (rng.random(ROWS) < 0.3).astype(int)
    region = rng.choice(["north", "east", "south", "west"], ROWS)
    gap = np.where((week >= WEEKS - WORSE) & (region == "east"), 0.3, 1.2)
    rows = pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "scored_at": pd.Timestamp(FIRST) + pd.to_timedelta(at, unit="s"),
            "p": np.round(rng.normal(gap * y), 4),
            "q": np.round(rng.normal(1.1 * y), 4),
            "y": y,
            "region": region,
            "channel": rng.choice(["web", "shop", "phone"], ROWS, p=[0.6, 0.3, 0.1]),
            "amount": np.round(rng.lognormal(5, 1, ROWS), 2),
        }
    )
    if kind == "Parquet":
        connection = duckdb.connect()
        connection.register("rows", rows)
        connection.execute(
            f"COPY (SELECT *, strftime(scored_at, '%Y-%m-%d') AS day FROM rows) TO '{folder}/scored' "
            "(FORMAT parquet, PARTITION_BY (day))"
        )
    else:
        rows = rows[:LINES].assign(scored_at=rows["scored_at"].dt.strftime("%d.%m.%Y %H:%M:%S"))
        rows.to_csv(folder / "scored.csv", index=False, sep=";", decimal=",")
    dates = {
        "first": FIRST,
        "until": FIRST + timedelta(weeks=REFERENCE),
        "end": FIRST + timedelta(weeks=WEEKS if kind == "Parquet" else WEEKS - LEFT_OUT),
    }
    (folder / "rocmonitor.yaml").write_text(CONFIGURATION.format(source=SOURCES[kind], query=QUERY, **dates))


if __name__ == "__main__":
    if sys.argv[1:]:  # a folder to look into
        os.makedirs(sys.argv[2], exist_ok=True)
        prepare(Path(sys.argv[2]), sys.argv[1])
    else:
        main()
