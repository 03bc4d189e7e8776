"""Commands that change nothing make nothing in a new folder either."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Rocmonitor
from scenario import World

from rocmonitor.errors import TrackingError
from rocmonitor.service.checking.outside import model_lines
from rocmonitor.store import open_store
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.slow
def test_a_command_that_changes_nothing_makes_nothing(here: World, rocmonitor: Rocmonitor) -> None:
    (here.folder / "mlflow.db").unlink()
    before = files(here.folder)
    for command, code in (
        ("run --dry-run", 0),
        ("backfill credit --from 2026-05-25 --to 2026-06-08 --dry-run", 0),
        ("review credit --dry-run", 0),
        ("check", 0),
        ("status", 0),
        ("history credit", 0),
        ("report credit --output ../report.html", 2),  # has not been judged
        ("db clean", 0),
        ("db check", 5),
    ):
        rocmonitor(*command.split(), code=code)
        assert files(here.folder) == before, command


def test_an_alias_makes_no_database_of_mlflow(here: World, rocmonitor: Rocmonitor) -> None:
    known = here.configure(model="{name: credit, champion: champion}")
    (here.folder / "mlflow.db").unlink()
    before = files(here.folder)
    says = "mlflow.db is not there yet, so no model has an alias in it"
    assert says in rocmonitor("run", "--dry-run", code=5).stderr
    with pytest.raises(TrackingError, match=says):
        model_lines(known, known.monitors["credit"])
    assert files(here.folder) == before


@pytest.mark.slow
def test_the_page_makes_nothing_and_shows_what_is_made_later(here: World, rocmonitor: Rocmonitor) -> None:
    before = files(here.folder)
    client = create_app(Site(path=here.folder / "rocmonitor.yaml")).test_client()
    for page in ("/", "/monitors/credit"):
        assert client.get(page).status_code == 200
    assert files(here.folder) == before
    rocmonitor("run")
    assert "2026-06-01" in client.get("/monitors/credit").text


def test_what_stands_in_for_a_store_leaves_with_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/rocmonitor.db"
    store = open_store(url, make=False)
    folder = Path(str(store.engine.url.database)).parent
    assert store.stands_in
    assert folder.is_dir()
    store.close()
    del store
    assert not folder.exists()
    assert not list(tmp_path.iterdir())
    with open_store(url) as made:
        assert not made.stands_in
    with open_store(url, make=False) as found:
        assert not found.stands_in
