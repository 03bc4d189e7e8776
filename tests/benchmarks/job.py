"""A whole job of one monitor, command by command: python tests/benchmarks job.

87 weeks of 1,150 rows: 43 are the reference, 44 are judged by the rules that `rocmonitor init` writes, and
delivered to MLflow in SQLite. Beside it the same weeks judged by a z rule in pandas, and by NannyML if it is
installed.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from timing import result, skipped, title

FIRST, WEEK = datetime(2024, 1, 1, tzinfo=UTC), timedelta(weeks=1)
REFERENCE, JUDGED, ROWS = 43, 44, 1150
GOALS = {"check": 2.0, "run": 4.0, "history": 0.6, "status": 0.6}
CONFIGURATION = """
sources: {{here: {source}}}
channels: {{log: {{url: "file://alarms.log"}}}}
monitors:
  credit:
    model: {{name: credit, version: 7}}
    source: here
    query: SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{id: id, time: scored_at, champion: p, label: y}}
    window: {{every: 7d, label_delay: 1d, end: {end:%Y-%m-%d}}}
    reference: {{from: {first:%Y-%m-%d}, to: {until:%Y-%m-%d}}}
    min_per_class: 50
    operating_points: {{fpr: [0.01, 0.05, 0.1], thresholds: [0.5]}}
    rules:
      - {{kind: forecast, confidence_level: 0.95}}
      - {{kind: lasting, false_alarm_probability: 0.05}}
      - {{kind: floor, value: 0.70, confidence_level: 0.99}}
    notify: [log]
"""
SOURCES = {
    "SQLite": '{url: "sqlite:///scored.db", timezone: UTC}',
    "Parquet": "{kind: files, path: scored.parquet, timezone: UTC}",
}
Z_RULE = """
import pandas as pd, sqlite3, sys
from sklearn.metrics import roc_auc_score
parquet = sys.argv[1] == "Parquet"
connection = None if parquet else sqlite3.connect("scored.db")
rows = pd.read_parquet("scored.parquet") if parquet else pd.read_sql("SELECT * FROM scored", connection)
rows["week"] = pd.to_datetime(rows["scored_at"]).dt.to_period("W")
area = pd.Series({week: roc_auc_score(part["y"], part["p"]) for week, part in rows.groupby("week")})
known, judged = area[:43], area[43:]
print((abs(judged - known.mean()) > 1.96 * known.std()).sum())
"""
NANNYML = """
import pandas as pd, sqlite3, sys
import nannyml
parquet = sys.argv[1] == "Parquet"
connection = None if parquet else sqlite3.connect("scored.db")
rows = pd.read_parquet("scored.parquet") if parquet else pd.read_sql("SELECT * FROM scored", connection)
rows["p"] = rows["p"].rank(pct=True)  # it asks for probabilities
calculator = nannyml.PerformanceCalculator(metrics=["roc_auc"], y_true="y", y_pred_proba="p",
    problem_type="classification_binary", chunk_size=1150)
calculator.fit(rows[: 43 * 1150]).calculate(rows[43 * 1150 :]).to_df()
"""


def main() -> None:
    """Print the processor seconds of each command."""
    for kind in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            job(Path(folder), kind)


def job(folder: Path, kind: str) -> None:
    """Run all commands on one kind of source."""
    prepare(folder, kind)
    title(f"{REFERENCE} reference weeks and {JUDGED} judged, {ROWS:,} rows each, from {kind}: CPU-s")
    total = 0.0
    for command, goal in GOALS.items():
        named = [command, "credit"] if command == "history" else [command]
        taken = used(folder, "-m", "rocmonitor", *named)
        total += taken
        result(f"rocmonitor {command}", f"{taken:.2f}", f"{goal:g}")
    result("the whole job", f"{total:.2f}", "8")
    result("rocmonitor run, with nothing due", f"{used(folder, '-m', 'rocmonitor', 'run'):.2f}")
    peer = used(folder, "-c", Z_RULE, kind)
    result("a z rule in pandas, no uncertainty, no store", f"{peer:.2f}")
    result("the whole job / the z rule", f"{total / peer:.1f} x")
    if find_spec("nannyml") is None:
        skipped("NannyML is not installed")
        return
    peer = used(folder, "-c", NANNYML, kind)
    result("NannyML, fit and calculate of its AUROC", f"{peer:.2f}")
    result("the whole job / NannyML", f"{total / peer:.1f} x")


def prepare(folder: Path, kind: str) -> None:
    """Write the rows and the configuration; the last ten weeks are worse."""
    rng = np.random.default_rng(1)
    week = np.repeat(np.arange(REFERENCE + JUDGED), ROWS)
    y = (rng.random(len(week)) < 0.3).astype(int)
    gap = np.where(week >= REFERENCE + JUDGED - 10, 0.9, 1.2)
    times = np.arange(len(week)) * (WEEK / ROWS)
    rows = pd.DataFrame(
        {
            "id": np.arange(len(week)),
            "scored_at": pd.Timestamp(FIRST).tz_localize(None) + pd.to_timedelta(times),
            "p": np.round(rng.normal(gap * y), 4),
            "y": y,
        }
    )
    if kind == "Parquet":
        rows.to_parquet(folder / "scored.parquet")
    else:
        rows["scored_at"] = rows["scored_at"].dt.strftime("%Y-%m-%d %H:%M:%S.%f")
        with closing(sqlite3.connect(folder / "scored.db")) as connection, connection:
            rows.to_sql("scored", connection, index=False, dtype={"scored_at": "DATETIME"})
            connection.execute("CREATE INDEX by_time ON scored (scored_at)")
        connection.close()
    dates = {
        "first": FIRST,
        "until": FIRST + REFERENCE * WEEK,
        "end": FIRST + (REFERENCE + JUDGED) * WEEK,
    }
    (folder / "rocmonitor.yaml").write_text(CONFIGURATION.format(source=SOURCES[kind], **dates))


def used(folder: Path, *arguments: str, python: str = sys.executable) -> float:
    """Run Python in the folder; return the processor seconds of it and its children."""
    before = os.times()
    environment = os.environ | {"NML_DISABLE_USAGE_LOGGING": "1"}
    done = subprocess.run(
        [python, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3, 4):  # 3: degraded, 4: a doubt of `check`
        raise SystemExit(done.stderr)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
