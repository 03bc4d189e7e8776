"""Parquet files as a source: python tests/benchmarks files. `ROWS`: 10^8 unless it is set, 1 GB."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from large import OWN, REFERENCE, REFERENCE_ROWS, ROWS, WEEK, answer, compare, stored, timed

FOLDER = "ROCMONITOR_BENCHMARK_FILES"
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
            for name, start, days, rows in (
                ("reference", REFERENCE, 35, REFERENCE_ROWS),
                ("week", WEEK, 7, ROWS),
            ):
                file = Path(folder) / f"{name}.parquet"
                duckdb.connect().execute(
                    SCORED.format(start=start, seconds=days * 86_400, rows=rows, file=file)
                )
            os.environ[FOLDER] = folder
            compare(__file__, "Parquet files, DuckDB", in_process=True)


if __name__ == "__main__":
    main()
