"""Parquet files as a source: python tests/benchmarks files. `ROWS`: 10^8 unless it is set, 1 GB.

`FILES`: over how many files the week is spread, 1 unless it is set.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from large import OWN, REFERENCE, REFERENCE_ROWS, ROWS, WEEK, answer, compare, stored, timed

FOLDER = "ROCMONITOR_BENCHMARK_FILES"
FILES = int(os.environ.get("FILES", "1"))
# 2 % positive, 1.5 standard deviations above the negatives on the scale of log-odds.
SCORED = """
COPY (
  SELECT TIMESTAMPTZ '{start}' + INTERVAL 1 SECOND * (k * {seconds} // {rows}) AS scored_at, y AS defaulted,
         1 / (1 + exp(4.0 - 1.5 * y - sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v))) AS p1
  FROM (SELECT range AS k, random() AS u, random() AS v, (random() < 0.02)::INT AS y FROM range({rows}))
) TO '{file}' (FORMAT parquet)
"""


def main() -> None:
    """Write the files and compare, or do one of the ways."""
    if sys.argv[1:] == ["own"]:
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE VIEW scored AS FROM '{os.environ[FOLDER]}/*.parquet'")
        answer(timed(lambda: connection.sql(OWN).to_arrow_table()))
    elif sys.argv[1:] == ["stored"]:
        with TemporaryDirectory() as folder:
            answer(stored(Path(folder), f"kind: files, path: {os.environ[FOLDER]}"))
    else:
        with TemporaryDirectory() as folder:
            part = timedelta(days=7) / FILES
            spans = [("reference", REFERENCE, timedelta(days=35), REFERENCE_ROWS)]
            spans += [(f"week_{at:04}", WEEK + at * part, part, ROWS // FILES) for at in range(FILES)]
            for name, start, span, rows in spans:
                file, seconds = Path(folder) / f"{name}.parquet", int(span.total_seconds())
                duckdb.connect().execute(SCORED.format(start=start, seconds=seconds, rows=rows, file=file))
            os.environ[FOLDER] = folder
            compare(__file__, f"{FILES} Parquet files, DuckDB", in_process=True)


if __name__ == "__main__":
    main()
