"""Spark as a source; the slow tests of `test_sql` read it like every other source."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from databases import ONE_SPARK, need_spark
from scored import LOOSE, MESSY, NOON, WEEK, both, fill, monitor, opened, same
from sqlalchemy import DateTime

from rocmonitor.config import Spark
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources import open_source
from rocmonitor.sources.failures import Origin, translate_errors
from rocmonitor.stats import auc

DIES = """
import os, signal
from pathlib import Path
from pyspark.sql import SparkSession
from rocmonitor.config import Spark
from rocmonitor.errors import SourceError
from rocmonitor.sources import open_source
from scored import WEEK, monitor
settings = {f"spark.driver.{each}": "127.0.0.1" for each in ("bindAddress", "host")}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
with open_source(Spark(timeout="60s"), Path(), name="cluster") as source:
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL)
    session.sparkContext._gateway.proc.wait()
    try:
        source.pull(monitor(), WEEK)
    except SourceError as error:
        print(error.transient, error, flush=True)
os._exit(0)
"""
CONNECTS = """
import os
from pathlib import Path
from pyspark.sql import SparkSession
from rocmonitor.config import Spark
from rocmonitor.sources import open_source
from scored import NOON, WEEK, monitor
server = SparkSession.builder.remote("local[1]").getOrCreate()
server.range(1000).selectExpr(
    f"TIMESTAMP_LTZ '{NOON}' AS scored_at", "id / 1000D AS p1", "CAST(id % 7 = 0 AS INT) AS defaulted"
).createOrReplaceTempView("scored")
os.environ["SPARK_REMOTE"] = "sc://localhost:15002"
columns = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
with open_source(Spark(remote_env="SPARK_REMOTE", timeout="120s"), Path(), name="cluster") as source:
    for grouped in ("database", "condensed"):
        watched = monitor(columns=columns, segments=[], grouped=grouped, condense={"per_unit": 1})
        rows = source.pull(watched, WEEK).segments[""]
        print(grouped, rows.counts.n_pos, rows.counts.n_neg, len(rows.champion.score), flush=True)
"""
NOBODY = """
import os
from pathlib import Path
from rocmonitor.config import Spark
from rocmonitor.errors import SourceError
from rocmonitor.sources import open_source
os.environ["SPARK_REMOTE"] = "sc://localhost:1/;token=abc-secret"
try:
    open_source(Spark(remote_env="SPARK_REMOTE"), Path(), name="cluster")
except SourceError as error:
    print(error.transient, error)
"""
BOUNDED = "scored_at >= :start AND scored_at < :end"


@ONE_SPARK
def test_spark_gives_the_batch_of_a_database(spark_url: str, sqlite_url: str) -> None:
    for url in (spark_url, sqlite_url):
        fill(url, MESSY)
    same(both(spark_url, query=LOOSE), both(sqlite_url, query=LOOSE))
    assert spark_session().conf.get("spark.sql.session.timeZone") != "UTC"


@ONE_SPARK
def test_wall_times_do_not_depend_on_the_zone_of_the_session(spark_url: str, sqlite_url: str) -> None:
    """02:30 on the day on which summer time begins in the session's zone: it is no time there."""
    times = [datetime(2026, 3, 8, 1, 30), datetime(2026, 3, 8, 2, 30), datetime(2026, 3, 8, 3, 30)]  # noqa: DTZ001
    rows = [(1, time, n / 10, 0.5, n % 2, "a") for n, time in enumerate(times)]  # the latest is kept
    for url in (spark_url, sqlite_url):
        fill(url, rows, scored_at=DateTime)
    same(both(spark_url, query=LOOSE), both(sqlite_url, query=LOOSE))


@ONE_SPARK
@pytest.mark.slow
def test_a_million_rows_are_grouped_on_the_cluster(spark: Any) -> None:
    """Counts, AUROC and its standard error, by the formulas over the 1,000 distinct scores."""
    spark.range(1_000_000).selectExpr(
        "id AS loan_id",
        f"TIMESTAMP_LTZ '{NOON}' AS scored_at",
        "pmod(id * 7919, 1000) / 1000D AS p1",
        "0.5D AS p2",
        "CASE WHEN pmod(id * 7919, 1000) > pmod(xxhash64(id), 1500) THEN 1 ELSE 0 END AS defaulted",
        "'a' AS region",
    ).createOrReplaceTempView("scored")
    columns = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
    watched = monitor(columns=columns, segments=[])
    seen: list[int] = []
    with opened("spark://") as source:
        batch = source.pull(watched, WEEK, on_progress=seen.append)
        counted = source.label_counts(watched, WEEK)
    rows = batch.segments[""]
    assert batch.grouped
    assert seen == [1_000_000, 1_000_000]
    assert counted.rows == rows.counts.used == 1_000_000
    assert len(rows.champion.score) == 1000
    by_score = spark.sql(
        "SELECT p1, sum(defaulted) y, count(*) n FROM scored GROUP BY p1 ORDER BY p1"
    ).collect()
    assert rows.champion.score.tolist() == [line.p1 for line in by_score]
    assert rows.champion.pos.tolist() == [line.y for line in by_score]
    below = higher = 0
    for line in by_score:
        higher += line.y * (2 * below + line.n - line.y)
        below += line.n - line.y
    assert auc(rows.champion).auc == pytest.approx(
        higher / 2 / rows.counts.n_pos / rows.counts.n_neg, rel=1e-12
    )


@ONE_SPARK
@pytest.mark.slow
def test_what_takes_long_is_stopped_on_the_cluster(spark_url: str, spark: Any) -> None:
    fill(spark_url, MESSY)
    many = "range(1000000) a, range(100000000) b"
    slow = f"SELECT scored.* FROM scored, {many} WHERE {BOUNDED} AND a.id * b.id % 7 = 8"
    with (
        opened(spark_url, deadline="5s") as source,
        pytest.raises(SourceError, match=r"reading took longer than 5 s in all") as caught,
    ):
        source.pull(monitor(query=slow), WEEK)
    assert caught.value.transient
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


@ONE_SPARK
def test_a_wrong_query(spark_url: str) -> None:
    fill(spark_url, MESSY)
    for query, says in (
        (f"SELECT p9 FROM scored WHERE {BOUNDED}", r"^monitors\.credit\.query: .*p9"),
        (f"SELECT * FORM scored WHERE {BOUNDED}", r"^monitors\.credit\.query: .*FORM|scored"),
    ):
        with opened(spark_url) as source, pytest.raises(ConfigError, match=says) as caught:
            source.pull(monitor(query=query), WEEK)
        assert "\n" not in str(caught.value)
    missing = f"SELECT * FROM elsewhere WHERE {BOUNDED}"
    with opened(spark_url) as source, pytest.raises(SourceError, match=r"^sources\.warehouse: .*elsewhere"):
        source.pull(monitor(query=missing), WEEK)


def connected(script: str, folder: Path) -> list[str]:
    """What a process of its own prints: Spark Connect and Spark in one process do not go together."""
    need_spark("grpc_status", "zstandard")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_spark_connect(tmp_path: Path) -> None:
    exact, cells = connected(CONNECTS, tmp_path)[-2:]
    assert exact == "database 143 857 1000"
    assert cells.startswith("condensed 143 857 ")
    assert int(cells.split()[-1]) < 30  # 15 cells of the grid: each class may have its own part of one


@pytest.mark.slow
def test_an_address_where_nothing_listens_is_said_at_once(tmp_path: Path) -> None:
    """And the process ends: Spark Connect would try for ten minutes at its exit."""
    [line] = connected(NOBODY, tmp_path)
    assert line.startswith("True sources.cluster: Spark cannot be reached or has stopped: ")
    assert "secret" not in line


@pytest.mark.slow
def test_a_session_that_dies(tmp_path: Path) -> None:
    """In a process of its own: nothing brings a Java that was killed back to life."""
    need_spark()
    done = subprocess.run(
        [sys.executable, "-c", DIES], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(
        "True sources.cluster: Spark cannot be reached or has stopped: "
    )


def spark_session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(
        SourceError, match=r"^sources\.cluster: needs .* pip install 'rocmonitor\[spark\]'"
    ) as caught:
        open_source(Spark(), Path(), name="cluster")
    assert not caught.value.transient


def test_a_package_of_spark_connect_that_is_not_installed() -> None:
    """Trying again does not help."""
    need_spark()
    from pyspark.errors.exceptions.base import PySparkImportError

    origin = Origin(name="cluster", spec=Spark(remote_env="SPARK_REMOTE"))
    says = r"^sources\.cluster: .*must be installed"
    with pytest.raises(SourceError, match=says) as caught, translate_errors(origin):
        raise PySparkImportError(
            errorClass="PACKAGE_NOT_INSTALLED",
            messageParameters={"package_name": "zstandard", "minimum_version": "0.25.0"},
        )
    assert not caught.value.transient


def test_no_message_shows_what_an_address_sends_to_its_server() -> None:
    from rocmonitor.sources.cluster import secrets_of

    address = "sc://me:pw@host:15002/;use_ssl=true;user_id=me;token=abc;x-api-key=k-1"
    assert secrets_of(address) == ("me:pw", "abc", "k-1")
    assert secrets_of("sc://host:15002") == secrets_of(None) == ()
    origin = Origin(name="lake", spec=Spark(), secrets=secrets_of(address))
    with pytest.raises(SourceError) as error, translate_errors(origin):
        raise OSError(f"cannot reach {address}")
    assert "sc://***@host:15002/;use_ssl=true;user_id=me;token=***;x-api-key=***" in str(error.value)
