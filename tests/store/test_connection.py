import socket
import sqlite3
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest
from sqlalchemy import make_url
from store.examples import NOW

from rocmonitor.errors import StoreError
from rocmonitor.store import Store, alias, connection, open_store, save_alias, save_reference, tables


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("rocmonitor.db", "is not a SQLAlchemy URL"),
        ("", "is not a SQLAlchemy URL"),
        ("postgresql://me:hunter2@host:five/db", "is not a SQLAlchemy URL"),
        ("postgresql://me:hun@ter2@host/db", "%40"),
        ("nosuchdb://me:hunter2@host/db", "must be SQLite or PostgreSQL; it is nosuchdb"),
        ("mysql+pymysql://me:hunter2@host/db", "must be SQLite or PostgreSQL; it is mysql"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("sqlite:///rocmonitor.db?timeout=soon", "what follows the .: .*'soon'"),
        ("sqlite:////no/such/folder/rocmonitor.db", "the folder /no/such/folder does not exist; create it"),
    ],
)
def test_an_url_that_cannot_be_used_says_why_and_keeps_its_password(url: str, says: str) -> None:
    with pytest.raises(StoreError, match=says) as caught:
        open_store(url)
    assert not caught.value.transient
    assert "ter2" not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_transient_and_named_without_the_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    url = f"postgresql://me:hunter2@127.0.0.1:{port}/db?application_name=hunter3"
    with pytest.raises(StoreError, match="check that the server runs") as caught:
        open_store(url)
    assert caught.value.transient
    assert f"store postgresql+psycopg://127.0.0.1:{port}/db: " in str(caught.value)
    assert "hunter" not in "".join(traceback.format_exception(caught.value))


def test_neither_an_unknown_role_nor_its_password_is_printed(postgres_url: str) -> None:
    url = make_url(postgres_url).set(username="nobody-here", password="hunter2")
    with pytest.raises(StoreError, match=r"role of store\.url.*user, password and database in") as caught:
        open_store(url.render_as_string(hide_password=False))
    assert "nobody-here" not in str(caught.value)
    assert "hunter" not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_is_no_database_is_no_passing_trouble(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes, " * 100)
    with pytest.raises(StoreError, match="file is not a database") as caught:
        open_store(f"sqlite:///{tmp_path}/notes.txt")
    assert not caught.value.transient


def test_a_locked_database_is_passing_trouble(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.05)
    open_ = connection.connect(store_url)
    tables.metadata.create_all(open_.engine)
    with open_ as store, store.writing() as holder:
        if store.engine.dialect.name == "postgresql":
            holder.exec_driver_sql("LOCK TABLE rocmonitor_alias")
        with pytest.raises(StoreError, match="another program holds it") as caught:
            save_alias(store, "m", "champion", "1", NOW)
    assert caught.value.transient


def test_a_new_file_that_another_program_writes_is_waited_for(sqlite_url: str) -> None:
    # SQLite does not wait where it turns a file to write-ahead logging: without care this fails at once.
    with closing(sqlite3.connect(make_url(sqlite_url).database or "", check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        finish = Timer(0.2, other.commit)
        finish.start()
        with open_store(sqlite_url) as store:
            save_alias(store, "m", "champion", "1", NOW)
        finish.join()


def test_reading_goes_on_while_another_writes(store: Store) -> None:
    save_alias(store, "m", "champion", "1", NOW)
    with store.writing() as writer:
        writer.execute(tables.alias.update().values(version="2"))
        assert alias(store, "m", "champion") == ("1", NOW)
    assert alias(store, "m", "champion") == ("2", NOW)


def test_an_error_in_a_transaction_takes_everything_back(store: Store) -> None:
    save_alias(store, "m", "champion", "1", NOW)

    def write_and_fail() -> None:
        with store.writing() as writer:
            writer.execute(tables.alias.update().values(version="2"))
            raise LookupError

    with pytest.raises(LookupError):
        write_and_fail()
    assert alias(store, "m", "champion") == ("1", NOW)


def test_threads_share_a_store(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: save_alias(store, "m", f"a{n}", str(n), NOW), range(40)))
    assert [alias(store, "m", f"a{n}") for n in range(40)] == [(str(n), NOW) for n in range(40)]


def test_a_naive_instant_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="needs a time zone") as caught:
        save_alias(store, "m", "champion", "1", NOW.replace(tzinfo=None))
    assert not caught.value.transient


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_have_is_refused(store: Store, value: float) -> None:
    with pytest.raises(StoreError, match="not JSON compliant"):
        save_reference(store, "m", "d", {"": {"auc": value}})


def test_a_row_that_points_nowhere_is_refused(store: Store) -> None:
    values = {"monitor": "m", "segment": "", "before": "ok", "after": "ok", "reasons": [], "notified": False}
    with pytest.raises(StoreError, match=r"(?i)foreign key"), store.writing() as writer:
        writer.execute(tables.transition.insert().values(**values, at=NOW, since=NOW, evaluation_id=99))
