"""Configuration and store behind the pages: changes are seen, and what is wrong is said."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

from web.world import NOW, configuration

from rocmonitor.store import open_store
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


def test_a_changed_configuration_is_read_again(tmp_path: Path) -> None:
    path = configuration(tmp_path)
    client = create_app(Site(path=path, clock=lambda: NOW)).test_client()
    assert len(client.get("/overview.json").get_json()["monitors"]) == 6
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("\n  unborn:")], encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert len(client.get("/overview.json").get_json()["monitors"]) == 5


def test_without_a_configuration_the_page_says_what_is_missing(tmp_path: Path) -> None:
    client = create_app(Site(path=tmp_path / "absent.yaml")).test_client()
    for address in ("/", "/overview.json"):
        answer = client.get(address)
        assert answer.status_code == 503
        assert "absent.yaml: cannot be read" in answer.text
        assert "ROCMONITOR_CONFIG" in answer.text


def test_what_a_site_opened_is_closed_with_it(tmp_path: Path) -> None:
    site = Site(path=configuration(tmp_path))
    store = site.store()
    assert store.stands_in
    folder = Path(str(store.engine.url.database)).parent
    assert folder.is_dir()
    del site
    gc.collect()
    assert not folder.exists()


def test_a_store_of_a_newer_program_is_said(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = configuration(tmp_path)
    open_store(f"sqlite:///{tmp_path}/rocmonitor.db").close()
    with closing(sqlite3.connect(tmp_path / "rocmonitor.db")) as connection, connection:
        connection.execute("UPDATE rocmonitor_alembic_version SET version_num = '9999'")
    answer = create_app(Site(path=path)).test_client().get("/")
    assert answer.status_code == 503
    assert "9999" in answer.text


def test_nothing_judged_says_so_and_nothing_fails(tmp_path: Path) -> None:
    client = create_app(Site(path=configuration(tmp_path), clock=lambda: NOW)).test_client()
    page = client.get("/").text
    assert "6 have not been judged yet. Not checked yet." in page
    assert "fails at" not in page
    shutil.rmtree(tmp_path)
