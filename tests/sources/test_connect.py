from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scored import MESSY, NOON, WEEK, fill, monitor, opened, pull, writing
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from rocmonitor.config import Database
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources import open_source
from rocmonitor.sources.connect import reading

BOUNDS = "WHERE scored_at >= :start AND scored_at < :end"
SECRET = "p4ssw0rd-in-no-message"


def closed_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def rows_left(url: str) -> int:
    with writing(url) as connection:
        count: int = connection.execute(text("SELECT count(*) FROM scored")).scalar()
        return count


@pytest.mark.parametrize(
    "statement", ["DELETE FROM scored", "UPDATE scored SET p1 = 0", "CREATE TABLE t (a int)"]
)
def test_a_reading_connection_cannot_write(written_database_url: str, statement: str) -> None:
    fill(written_database_url, MESSY)
    with (
        opened(written_database_url) as source,
        reading(source._sessions.engine, 5) as connection,
        pytest.raises(DBAPIError, match=r"(?i)read.?only"),
    ):
        connection.exec_driver_sql(statement)
    assert rows_left(written_database_url) == len(MESSY)


def test_a_query_that_deletes_is_refused(postgres_url: str) -> None:
    fill(postgres_url, MESSY)
    query = f"WITH gone AS (DELETE FROM scored RETURNING *) SELECT * FROM gone {BOUNDS}"
    with pytest.raises(ConfigError, match=r"^monitors\.credit\.query: "):
        pull(postgres_url, monitor(query=query))
    assert rows_left(postgres_url) == len(MESSY)


@pytest.mark.parametrize("mode", ["raw", "database"])
def test_a_function_that_writes_is_refused(postgres_url: str, mariadb_url: str, mode: str) -> None:
    postgres = """CREATE FUNCTION log_read() RETURNS float8 LANGUAGE plpgsql AS
        $$ BEGIN UPDATE scored SET p1 = 0; RETURN 1; END $$"""
    mariadb = """CREATE FUNCTION log_read() RETURNS double NOT DETERMINISTIC MODIFIES SQL DATA
        BEGIN INSERT INTO log VALUES (1); RETURN 1; END"""
    for url, function in ((postgres_url, postgres), (mariadb_url, mariadb)):
        fill(url, MESSY)
        with writing(url) as connection:
            connection.exec_driver_sql("CREATE TABLE log (n int)")
            connection.exec_driver_sql(function)
        query = f"SELECT loan_id, scored_at, log_read() AS p1, p2, defaulted, region FROM scored {BOUNDS}"
        with pytest.raises(ConfigError, match=r"monitors\.credit\.query: .*only ever read from"):
            pull(url, monitor(query=query, grouped=mode))
        with writing(url) as connection:
            assert connection.execute(text("SELECT count(*) FROM log")).scalar() == 0


def test_a_reading_sees_one_state(postgres_url: str, mariadb_url: str, sqlite_url: str) -> None:
    with writing(sqlite_url) as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    for url in (postgres_url, mariadb_url, sqlite_url):
        fill(url, MESSY)
        with opened(url) as source, reading(source._sessions.engine, 5) as connection:
            before = connection.exec_driver_sql("SELECT count(*) FROM scored").scalar()
            with writing(url) as other:
                other.execute(text("DELETE FROM scored"))
            assert connection.exec_driver_sql("SELECT count(*) FROM scored").scalar() == before == len(MESSY)


SLOW = {
    "postgresql": "SELECT loan_id, scored_at, p1, p2 + length(pg_sleep(20)::text) AS p2, defaulted, region "
    f"FROM scored {BOUNDS}",
    "mysql": "SELECT loan_id, scored_at, p1, p2 + sleep(20) AS p2, defaulted, region FROM scored " + BOUNDS,
    "sqlite": f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT loan_id, scored_at, p1, i AS p2, defaulted, region FROM scored, n {BOUNDS} AND i < 0""",
}
SLOW["spark"] = (
    f"SELECT scored.* FROM scored, range(1000000) a, range(100000000) b {BOUNDS} AND a.id * b.id % 7 = 8"
)
SLOW["files"] = SLOW["sqlite"]


@pytest.mark.parametrize("mode", ["raw", "database"])
@pytest.mark.slow
def test_a_slow_query_is_stopped(any_database_url: str, mode: str) -> None:
    fill(any_database_url, MESSY)
    query = SLOW[make_url(any_database_url).get_backend_name()]
    with pytest.raises(
        SourceError, match=r"sent nothing for longer than 1 s .* raise sources\.warehouse\.timeout"
    ) as caught:
        pull(any_database_url, monitor(query=query, grouped=mode), timeout="1s")
    assert caught.value.transient


@pytest.mark.parametrize("mode", ["raw", "database"])
def test_a_failure_in_the_middle_of_the_rows(postgres_url: str, mode: str) -> None:
    fill(postgres_url, [(n, NOON, 0.5, 1.0 if n < 1999 else 0.0, 1, "a") for n in range(2000)])
    query = f"SELECT loan_id, scored_at, p1, p1 / p2 AS p2, defaulted, region FROM scored {BOUNDS}"
    with opened(postgres_url) as source:
        with pytest.raises(SourceError, match=r"^sources\.warehouse: division by zero$") as caught:
            source.pull(monitor(query=query, grouped=mode), WEEK)
        assert not caught.value.transient
        assert source.pull(monitor(grouped=mode), WEEK).segments[""].counts.rows == 2000


@pytest.mark.slow
def test_a_locked_sqlite_file(sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    with closing(sqlite3.connect(make_url(sqlite_url).database or "", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            SourceError, match=r"sources\.warehouse: the database is locked by another"
        ) as caught:
            pull(sqlite_url, monitor(), timeout="1s")
        assert caught.value.transient
    assert pull(sqlite_url, monitor(), timeout="1s").segments[""].counts.rows == 12


def test_a_missing_sqlite_file_is_not_created(sqlite_url: str) -> None:
    with pytest.raises(SourceError, match=r"sources\.warehouse\.url_env: there is no SQLite file") as caught:
        opened(sqlite_url)
    assert caught.value.transient  # it may be on a disk that is mounted later
    assert not Path(make_url(sqlite_url).database or "").exists()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "scored.csv"
    path.write_text("loan_id,scored_at\n" * 100)
    with pytest.raises(SourceError, match=r"sources\.warehouse: file is not a database") as caught:
        pull(f"sqlite:///{path}", monitor())
    assert not caught.value.transient


def test_a_path_with_signs_that_mean_something_in_a_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a b%20c#1.db'}"
    fill(url, MESSY)
    assert pull(url, monitor()).segments[""].counts.rows == 12


@pytest.mark.parametrize(
    "driver", ["postgresql", "postgres", "postgresql+psycopg", "mysql+pymysql", "mariadb"]
)
def test_a_server_that_is_not_there(driver: str) -> None:
    url = f"{driver}://someone:{SECRET}@127.0.0.1:{closed_port()}/scores"
    with pytest.raises(SourceError, match=r"sources\.warehouse: the database cannot be reached") as caught:
        opened(url)
    assert caught.value.transient
    assert SECRET not in everything(caught.value)


def test_a_wrong_password_is_never_printed(mariadb_url: str) -> None:
    server = make_url(mariadb_url)
    user = f"u{(server.database or '')[-20:]}"
    with writing(mariadb_url) as connection:
        connection.exec_driver_sql(f"CREATE USER '{user}'@'%%' IDENTIFIED BY 'right'")
    try:
        url = server.set(username=user, password=SECRET).render_as_string(hide_password=False)
        with pytest.raises(
            SourceError, match=r"refuses the login: Access denied .* sources\.warehouse\.url_env"
        ) as caught:
            opened(url)
    finally:
        with writing(mariadb_url) as connection:
            connection.exec_driver_sql(f"DROP USER '{user}'@'%%'")
    assert not caught.value.transient
    assert SECRET not in everything(caught.value)


def test_an_unknown_database_or_role(postgres_url: str) -> None:
    server = make_url(postgres_url)
    for url in (server.set(database="nowhere"), server.set(username="nobody", password=SECRET)):
        with pytest.raises(SourceError, match=r"refuses the login: .*does not exist") as caught:
            opened(url.render_as_string(hide_password=False))
        assert not caught.value.transient
        assert SECRET not in everything(caught.value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"not a url {SECRET}", "is not an SQLAlchemy URL"),
        (f"postgresql://me:{SECRET}@host:abc/db", "is not an SQLAlchemy URL"),
        (f"postgresql://me@host:{SECRET}/db", "is not an SQLAlchemy URL"),
        (f"nosuch://me:{SECRET}@host/db", "'nosuch' is not a database that SQLAlchemy knows"),
        (f"mysql+MySQLdb://me:{SECRET}@host/db", "is not a database|needs the Python package"),
        (f"postgresql+psycopg2://me:{SECRET}@host/db", "needs the Python package psycopg2: pip install"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, problem: str) -> None:
    with pytest.raises(SourceError, match=rf"^sources\.warehouse\.url_env: .*({problem})") as caught:
        opened(url)
    assert not caught.value.transient
    assert SECRET not in everything(caught.value)


def test_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCMONITOR_NOT_SET", raising=False)
    with pytest.raises(ConfigError, match=r"^sources\.warehouse\.url_env: .*ROCMONITOR_NOT_SET is not set"):
        open_source(Database(url_env="ROCMONITOR_NOT_SET"), Path(), name="warehouse")


def test_a_relative_file_is_beside_the_configuration(tmp_path: Path) -> None:
    fill(f"sqlite:///{tmp_path}/scored.db", [(1, NOON, 0.5, 0.5, 1, "a")])
    spec = Database.model_validate({"url": "sqlite:///scored.db", "timezone": "UTC"})
    with open_source(spec, tmp_path, name="warehouse") as source:
        assert source.label_counts(monitor(), WEEK).rows == 1


def everything(error: BaseException) -> str:
    """What a log with a traceback could show."""
    told: Any = error
    texts = []
    while told is not None:
        texts += [str(told), repr(told)]
        told = told.__cause__ or (None if told.__suppress_context__ else told.__context__)
    return "\n".join(texts)
