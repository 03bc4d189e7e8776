"""A store of every earlier version, with data in it, is upgraded, read, and gone on with."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from scenario import Clock, World, until, week
from store.earlier import ALARM, insert_earlier
from store.test_migrate import to_version

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Window
from rocmonitor.service.delivery import drain
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.sources import open_source
from rocmonitor.store import migrate
from rocmonitor.wording.verdicts import reasons, verdicts

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations" / "versions"
VERSIONS = sorted(file.name[:4] for file in MIGRATIONS.glob("[0-9]*.py"))
JUDGED = Window(week(20), week(21))


@pytest.fixture
def scored(here: World) -> World:
    """Rows of the window that the earlier version judged, and of the next."""
    here.score(20)
    here.score(21)
    return here


def on_postgres(*versions: str) -> list[object]:
    return [pytest.param("postgres", version, marks=pytest.mark.slow) for version in versions]


ALL = [*(("sqlite", version) for version in VERSIONS), *on_postgres(VERSIONS[0], "0004", VERSIONS[-2])]


@pytest.mark.parametrize(("database", "version"), ALL)
def test_a_store_of_every_version_is_upgraded_and_read(
    database: str, version: str, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{database}_url")
    to_version(url, version)
    insert_earlier(url, JUDGED, {"0": 6, "1": 4})
    migrate.upgrade(url)
    migrate.check(url)
    with store.open_store(url) as kept:
        [evaluation] = store.evaluations(kept, "credit")
        assert (evaluation.window, evaluation.outcome) == (JUDGED, Status.DEGRADED)
        assert evaluation.metrics["champion/auc"] == 0.6067155826389752
        assert evaluation.tables["roc"]
        assert len(verdicts(evaluation.verdicts)) == 4
        [change] = store.transitions(kept, "credit")
        assert (change.after, change.notified, reasons(change.reasons)) == (Status.DEGRADED, True, [ALARM])
        with_review, with_outlook = version >= "0002", version >= "0004"
        assert len(store.reviews(kept, "credit")) == with_review
        assert len(store.outlooks(kept, "credit")) == with_outlook
        assert [each.id for each in store.pending(kept, week(30))] == ([2, 3] if with_review else [2])
        assert store.receipt_of(kept, 1) == "r1"
        assert store.alias(kept, "credit", "champion") is not None
        assert store.instance_id(kept) == "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("database", "version"),
    [
        ("sqlite", "0002"),
        *(pytest.param("sqlite", each, marks=pytest.mark.slow) for each in VERSIONS if each != "0002"),
        *on_postgres(VERSIONS[0], "0004", VERSIONS[-2]),
    ],
)
def test_the_service_goes_on_with_a_store_of_every_version(
    scored: World, request: pytest.FixtureRequest, database: str, version: str
) -> None:
    """The window that an earlier version judged is not judged again; its messages that waited go out."""
    file = scored.folder / "rocmonitor.db"
    url: str = f"sqlite:///{file}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    parts = {
        "mlflow": "{tracking_uri: 'foo://x'}",
        "window": until("2026-06-08"),
        "rules": "[{kind: floor, value: 0.6}]",
    }
    known = scored.configure(**parts)
    monitor = known.monitors["credit"]
    with open_source(known.sources["here"], known.folder, name="here") as source:
        labels = source.label_counts(monitor, JUDGED, as_of=week(30))
    to_version(url, version)
    insert_earlier(url, JUDGED, dict(labels.by_label))
    migrate.upgrade(url)
    with store.open_store(url) as kept:
        runtime = Runtime(config=known, store=kept, clock=Clock(week(22) + timedelta(days=3)))
        tick = run_monitor(runtime, monitor, now=runtime.clock())
        assert tick.error is None
        assert [each.window.start for each in tick.evaluations] == [week(21)]
        assert tick.status == {"": Status.OK}  # it was degraded
        assert sorted(drain(runtime).refused) == ["mlflow"]
        saved = store.evaluations(kept, "credit", every_revision=True)
        assert [(each.window.start, each.revision) for each in saved] == [(week(20), 0), (week(21), 0)]
        assert set(store.backlog(kept)) == {"mlflow"}
    titles = [line.split(":")[0] for line in scored.alarms.splitlines() if line.startswith(("DEGR", "OK "))]
    assert titles == ["DEGRADED credit", "OK credit"]
