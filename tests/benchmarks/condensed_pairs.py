"""Two models condensed in PostgreSQL, beside reading all rows: python tests/benchmarks condensed_pairs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import condensed
import pytest
from timing import result, title

from rocmonitor.config import Database, Monitor
from rocmonitor.sources import Rows, open_source
from rocmonitor.stats import CondensedPair, PairedSample, compare_auc_condensed, compare_auc_paired

ROWS = 10_000_000
# 2 % positive; given the label the log-odds of the models have a correlation of 0.81.
TABLE = """
CREATE UNLOGGED TABLE scored AS
SELECT t, y, 1 / (1 + exp(4.0 - 1.5 * y - 0.9 * common - 0.436 * own * cos(angle))) AS p,
       1 / (1 + exp(4.0 - 1.6 * y - 0.9 * common - 0.436 * own * sin(angle))) AS q FROM (
  SELECT timestamptz '2026-01-05' + mod(k, 600000) * interval '1 second' AS t, (random() < 0.02)::int AS y,
         sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS common,
         sqrt(-2 * ln(1 - random())) AS own, 2 * pi() * random() AS angle
  FROM generate_series(1, {rows}) AS k
) AS drawn
"""


def pulled(mode: str, columns: dict[str, str]) -> tuple[Rows, float, float]:
    """The rows of the week, with the processor seconds and the seconds that reading took."""
    monitor = Monitor.model_validate(
        {
            "name": "big",
            "model": {"name": "big", "version": 1},
            "source": "here",
            "query": "SELECT t, p, q, y FROM scored WHERE t >= :start AND t < :end",
            "columns": {"time": "t", "champion": "p", "label": "y", **columns},
            "window": {"every": "7d"},
            "reference": {"from": "2026-01-05", "to": "2026-01-12"},
            "operating_points": {"thresholds": [0.1]},
            "rules": [{"kind": "floor", "value": 0.5}],
            "grouped": mode,
        }
    )
    spec = Database.model_validate({"url_env": "BENCHMARK_URL", "timeout": "600s", "deadline": "1200s"})
    with open_source(spec, Path(), name="here") as source:
        cpu, wall = time.process_time(), time.perf_counter()
        rows = source.pull(monitor, condensed.WEEK).segments[""]
        return rows, time.process_time() - cpu, time.perf_counter() - wall


def main(rows: int = ROWS) -> None:
    """Print the table of docs/how-to/big-tables.md on two models."""
    title(f"{rows:,} rows of two models, 2 % positive, from PostgreSQL")
    two = {"challenger": "q"}
    ways = {"one model, condensed": {}, "condensed": two, "raw": two}
    found: dict[str, Rows] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(condensed, "TABLE", TABLE)
        with condensed.table(rows) as url:
            patch.setenv("BENCHMARK_URL", url)
            for way, columns in ways.items():
                mode = way.rpartition(" ")[2]
                found[way], cpu, wall = pulled(mode, columns)
                result(f"{way}: processor seconds of the client", f"{cpu:.2f}")
                result(f"{way}: seconds", f"{wall:.1f}")
    few, pair = found["condensed"].pair, found["raw"].pair
    assert isinstance(few, CondensedPair)
    assert isinstance(pair, PairedSample)
    result("cells of the models", f"{len(few.cells_1.low):,} and {len(few.cells_2.low):,}")
    result("pairs of strips", f"{len(few.joint.rows):,}")
    cells, exact = compare_auc_condensed(few), compare_auc_paired(pair)
    assert cells.error is not None
    off, of_se = abs(cells.difference - exact.difference), abs(cells.se - exact.se) / exact.se
    result("error of the difference", f"{off:.1e}", f"{cells.error[0]:.1e} (guaranteed)")
    result("error of its standard error, as a share", f"{of_se:.1e}", f"{cells.error[1] / cells.se:.1e}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
