import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import inspect, text
from store.examples import NOW, a_lease, a_review, first_open, race, upgrade

from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.store import (
    Outgoing,
    evaluations,
    instance_id,
    migrate,
    open_store,
    pending,
    save_review,
    tables,
    transitions,
)
from rocmonitor.store.connection import connect
from rocmonitor.wording.verdicts import reasons, verdicts
from rocmonitor.wording.window import moved

ROOT = Path(__file__).resolve().parents[2]

MLFLOW = """
import sys
from mlflow import MlflowClient
client = MlflowClient(sys.argv[1])
client.create_experiment(sys.argv[2])
print(sorted(found.name for found in client.search_experiments()))
"""


def to_version(url: str, version: str) -> None:
    """The database as an earlier program made it."""
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    with connect(url) as store, store.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


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


def test_the_version_that_the_program_needs_is_that_of_the_last_migration() -> None:
    files = sorted((ROOT / "migrations" / "versions").glob("[0-9]*.py"))
    assert files[-1].name.startswith(f"{migrate.NEWEST}_")


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


def test_what_the_first_version_kept_is_kept(store_url: str) -> None:
    to_version(store_url, "0001")
    with pytest.raises(StoreError, match=r"schema is 0001, this program needs .*run `rocmonitor db upgrade`"):
        open_store(store_url)
    instant = "'2026-03-29 01:30:00'"
    execute(
        store_url,
        "INSERT INTO rocmonitor_evaluation (monitor, segment, window_start, window_end, revision, "
        "model_version, at, outcome, data_digest, label_counts, metrics, result) VALUES ('credit', '', "
        f"{instant}, {instant}, 0, '7', {instant}, 'ok', 'digest', '{{}}', '{{}}', '{{}}')",
    )
    for number in (1, 2):
        execute(
            store_url,
            "INSERT INTO rocmonitor_outbox (monitor, evaluation_id, destination, payload, state, attempts, "
            f"created_at, next_attempt_at, error) VALUES ('credit', 1, 'mlflow', '[{number}]', "
            f"'pending', {number}, {instant}, {instant}, 'down')",
        )
    migrate.upgrade(store_url)
    migrate.check(store_url)
    alembic(store_url)
    with open_store(store_url) as store:
        due = pending(store, NOW)
        assert [(each.id, each.evaluation_id, each.review_id, each.payload) for each in due] == [
            (1, 1, None, [1]),
            (2, 1, None, [2]),
        ]
        assert [each.created_at for each in due] == [NOW.replace(microsecond=0)] * 2
        told = Outgoing(destination="mlflow", payload={})
        save_review(store, a_review(), [told], lease=a_lease(store))
        assert [each.review_id is None for each in pending(store, NOW)] == [True, True, False]
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        execute(store_url, "UPDATE rocmonitor_outbox SET review_id = 99")


def test_what_the_landed_version_said_is_shown(store_url: str) -> None:
    """A window and two changes of status of the demo, as rocmonitor stored them at schema 0002."""
    landed = json.loads((Path(__file__).parent / "landed_0002.json").read_text(encoding="utf-8"))
    to_version(store_url, "0002")
    insert(store_url, "rocmonitor_evaluation", landed["evaluation"])
    for number, transition in enumerate(landed["transitions"], 1):
        insert(store_url, "rocmonitor_transition", transition | {"id": number, "told": True})
    migrate.upgrade(store_url)
    migrate.check(store_url)
    with open_store(store_url) as store:
        [evaluation] = evaluations(store, "late-arrivals")
        changes = transitions(store, "late-arrivals")
    stored = landed["evaluation"]["result"]
    assert verdicts(evaluation.verdicts) == [each["text"] for each in stored["verdicts"]]
    assert [each.kind for each in evaluation.verdicts] == ["forecast", "floor", "drop", "challenger"]
    assert moved(evaluation) == stored["explanation"]
    assert [reasons(each.reasons) for each in changes] == [[each["reason"]] for each in landed["transitions"]]
    assert [each.notified for each in changes] == [True, True]
    again = Evaluation.from_dict(json.loads(json.dumps(evaluation.to_dict())))
    assert again == evaluation


def test_a_shift_of_negated_scores_is_shown_as_the_models_score() -> None:
    """Earlier versions stored the bins of the shift negated where low scores are positive."""
    stored = json.loads((Path(__file__).parent / "landed_0002.json").read_text(encoding="utf-8"))[
        "evaluation"
    ]
    plain = {**stored["result"], "metrics": stored["metrics"]}
    plain["provenance"]["positive"] = {"label": 1, "negative": 0, "scores": "lower"}
    rows, explained = plain["tables"]["shift"], Evaluation.from_dict(plain)
    assert [row["low"] for row in explained.tables["shift"]] == [0.0 - row["high"] for row in reversed(rows)]
    assert "13.2 % of them score below -0.3342, 47.7 % in the reference" in moved(explained)
    assert Evaluation.from_dict(json.loads(json.dumps(explained.to_dict()))) == explained


def insert(url: str, table: str, row: dict[str, Any]) -> None:
    """A row as it was, JSON as text."""
    plain = {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
        for name, value in row.items()
    }
    columns = ", ".join(f'"{name}"' for name in plain)
    values = ", ".join(f":{name}" for name in plain)
    with connect(url) as store, store.writing() as connection:
        connection.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), plain)


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
