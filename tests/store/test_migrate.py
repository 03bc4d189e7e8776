import gzip
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from store.examples import first_open, race, upgrade

from rocmonitor.errors import StoreError
from rocmonitor.store import (
    instance_id,
    migrate,
    open_store,
    tables,
)
from rocmonitor.store.connection import connect

ROOT = Path(__file__).resolve().parents[2]

MLFLOW = """
import sys
from mlflow import MlflowClient
client = MlflowClient(sys.argv[1])
client.create_experiment(sys.argv[2])
print(sorted(found.name for found in client.search_experiments()))
"""


def execute(url: str, statement: str) -> None:
    with connect(url) as store, store.writing() as connection:
        connection.execute(text(statement))


def names(url: str) -> set[str]:
    with connect(url) as store, store.reading() as connection:
        return set(inspect(connection).get_table_names())


def test_upgrading_an_empty_database_makes_the_tables_of_the_models(store_url: str) -> None:
    with pytest.raises(StoreError, match="run `rocmonitor db upgrade`"):
        migrate.check(store_url)
    migrate.upgrade(store_url)
    assert names(store_url) == {*tables.metadata.tables, "rocmonitor_alembic_version"}
    migrate.check(store_url)
    alembic(store_url)


def test_the_version_that_the_program_needs_is_that_of_the_last_migration() -> None:
    files = sorted((ROOT / "migrations" / "versions").glob("[0-9]*.py"))
    assert files[-1].name.startswith(f"{migrate.NEWEST}_")


def test_the_first_migration_makes_the_tables_of_the_first_release(tmp_path: Path) -> None:
    """A migration that was released is a promise: what changes later has one of its own."""
    made, released = (tmp_path / f"{name}.db" for name in ("made", "released"))
    run(
        sys.executable,
        "-m",
        "alembic",
        "-c",
        "pyproject.toml",
        "-x",
        f"url=sqlite:///{made}",
        "upgrade",
        "0001",
    )
    dump = gzip.decompress((ROOT / "tests/service/stores/0.1.0.sql.gz").read_bytes()).decode()
    with closing(sqlite3.connect(released)) as database:
        database.executescript(dump)
    assert schema(made) == schema(released)


def schema(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        return {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def test_upgrading_again_changes_nothing(store_url: str) -> None:
    migrate.upgrade(store_url)
    with open_store(store_url) as store:
        first = instance_id(store)
    migrate.upgrade(store_url)
    with open_store(store_url) as store:
        assert instance_id(store) == first


@pytest.mark.parametrize(
    "statement",
    [
        "DROP INDEX ix_rocmonitor_outbox_destination",
        "ALTER TABLE rocmonitor_alias DROP COLUMN version",
        "ALTER TABLE rocmonitor_alias ADD COLUMN remark VARCHAR",
        "CREATE TABLE rocmonitor_stray (id INTEGER)",
    ],
)
def test_tables_that_differ_from_the_models_are_found(store_url: str, statement: str) -> None:
    migrate.upgrade(store_url)
    execute(store_url, statement)
    with pytest.raises(StoreError, match="changed by hand"):
        migrate.check(store_url)


def test_an_upgrade_that_fails_leaves_nothing(store_url: str) -> None:
    execute(store_url, "CREATE TABLE rocmonitor_lease (id INTEGER)")
    with pytest.raises(StoreError, match=r"rocmonitor_lease.* already exists"):
        migrate.upgrade(store_url)
    assert names(store_url) == {"rocmonitor_lease"}


def test_a_database_of_a_newer_program_is_left_alone(store_url: str) -> None:
    migrate.upgrade(store_url)
    execute(store_url, "UPDATE rocmonitor_alembic_version SET version_num = '9999'")
    for use in (open_store, migrate.check, migrate.upgrade):
        with pytest.raises(StoreError, match=r"9999.*a newer rocmonitor made it") as caught:
            use(store_url)
        assert not caught.value.transient


def test_a_store_that_is_behind_is_refused(store_url: str) -> None:
    migrate.upgrade(store_url)
    execute(store_url, "UPDATE rocmonitor_alembic_version SET version_num = '0000'")
    needs = rf"schema is 0000, this program needs {migrate.NEWEST}; run `rocmonitor db upgrade`"
    for use in (open_store, migrate.check):
        with pytest.raises(StoreError, match=needs) as caught:
            use(store_url)
        assert not caught.value.transient


def test_a_sqlite_file_is_made_when_it_is_opened_and_not_when_it_is_checked(
    sqlite_url: str, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="does not exist; run `rocmonitor db upgrade`"):
        migrate.check(sqlite_url)
    assert list(tmp_path.iterdir()) == []
    with open_store(sqlite_url) as store:
        instance_id(store)
    migrate.check(sqlite_url)


def test_an_empty_postgresql_database_is_only_made_by_an_upgrade(postgres_url: str) -> None:
    with pytest.raises(StoreError, match=r"schema is not there.*run `rocmonitor db upgrade`") as caught:
        open_store(postgres_url)
    assert not caught.value.transient
    assert names(postgres_url) == set()


@pytest.mark.slow
def test_processes_that_open_a_new_file_at_once_make_it_once(sqlite_url: str) -> None:
    assert len(set(race(first_open, sqlite_url, processes=3))) == 1


@pytest.mark.slow
def test_processes_that_upgrade_at_once_do_it_once(postgres_url: str) -> None:
    assert race(upgrade, postgres_url, processes=3) == [None, None, None]


def test_the_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "100% of ours"
    folder.mkdir()
    url = f"sqlite:///{folder}/rocmonitor.db"
    open_store(url).close()
    migrate.check(url)


@pytest.mark.slow
def test_a_database_can_be_shared_with_mlflow(store_url: str) -> None:
    assert mlflow(store_url, "before") == "['Default', 'before']"
    theirs = names(store_url)
    with pytest.raises(StoreError, match="run `rocmonitor db upgrade`"):
        open_store(store_url)
    migrate.upgrade(store_url)
    migrate.check(store_url)
    alembic(store_url)
    assert names(store_url) == theirs | {*tables.metadata.tables, "rocmonitor_alembic_version"}
    assert mlflow(store_url, "after") == "['Default', 'after', 'before']"


def mlflow(url: str, experiment: str) -> str:
    """MLflow's own database creation, in a process of its own."""
    return run(sys.executable, "-c", MLFLOW, url, experiment)


def alembic(url: str) -> None:
    """The developer's gate: do the migrations still make the tables of the models?"""
    options = ["-c", "pyproject.toml", "-x", f"url={url}"]
    assert "No new upgrade operations" in run(sys.executable, "-m", "alembic", *options, "check")


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
