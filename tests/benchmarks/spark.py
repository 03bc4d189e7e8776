"""Spark as a source: python tests/benchmarks spark. `ROWS` generated rows, 10^8 unless it is set."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from large import OWN, REFERENCE, REFERENCE_ROWS, ROWS, WEEK, answer, compare, stored, timed
from timing import skipped

# 2 % positive, 1.5 standard deviations above the negatives on the scale of log-odds.
SCORED = """
SELECT TIMESTAMP_LTZ '{start}' + make_dt_interval(0, 0, 0, id * {seconds} DIV {rows}) AS scored_at,
       y AS defaulted, 1 / (1 + exp(4.0 - 1.5 * y - sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v))) AS p1
FROM (SELECT id, rand(1) AS u, rand(2) AS v, CAST(rand(3) < 0.02 AS INT) AS y FROM range({rows}))
"""


def main() -> None:
    """Compare, or do one of the ways."""
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        skipped("pyspark is not installed: pip install 'rocmonitor[spark]'")
        return
    if sys.argv[1:] not in (["own"], ["stored"]):
        compare(__file__, "Spark within one machine", in_process=False)
        return
    session = opened(SparkSession)
    if sys.argv[1:] == ["own"]:
        answer(timed(lambda: session.sql(OWN).toArrow()))
    else:
        with TemporaryDirectory() as folder:
            answer(stored(Path(folder), "kind: spark"))
    session.stop()


def opened(kind: Any) -> Any:
    """A session with the rows as a view, whose workers have started."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
    }
    session = kind.builder.master("local[*]").config(map=settings).getOrCreate()
    parts = [
        SCORED.format(start=start, seconds=days * 86_400, rows=rows)
        for start, days, rows in ((REFERENCE, 35, REFERENCE_ROWS), (WEEK, 7, ROWS))
    ]
    session.sql(" UNION ALL ".join(parts)).createOrReplaceTempView("scored")
    session.sql("SELECT count(*), min(scored_at) FROM scored WHERE p1 < 0.001").toArrow()
    return session


if __name__ == "__main__":
    main()
