"""A run is looked for unless its delivery was never begun, whatever became of processes and stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories import evaluation

from rocmonitor.tracking import Tracking, connect, finding

INSTANCE, OTHER = "store-a", "store-b"


@pytest.fixture
def uri(empty_mlflow: Path, tmp_path: Path) -> str:
    path = tmp_path / "mlflow.db"
    path.write_bytes(empty_mlflow.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture
def looked_for(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The windows that a run was looked for of."""
    stems: list[str] = []
    real = finding.revisions
    monkeypatch.setattr(
        finding, "revisions", lambda client, at, stem: stems.append(stem) or real(client, at, stem)
    )
    return stems


def opened(uri: str, tmp_path: Path) -> Tracking:
    """MLflow as a new process has it."""
    return connect(uri, tmp_path)


def publish(tracking: Tracking, place: int, number: int, last: int, *, instance: str = INSTANCE) -> None:
    tracking.publish_window(instance, evaluation(place), newest=True, number=(number, last))


def count(tracking: Tracking) -> int:
    [experiment] = [each for each in tracking.client.search_experiments() if each.name != "Default"]
    return len(tracking.client.search_runs([experiment.experiment_id]))


def test_no_run_is_looked_for_of_what_was_never_begun(uri, tmp_path, looked_for):
    tracking = opened(uri, tmp_path)
    for place in range(3):
        publish(tracking, place, place + 1, 3)
    publish(tracking, 3, 4, 4)
    assert looked_for == []
    assert count(tracking) == 4


def test_a_repeat_finds_the_run(uri, tmp_path, looked_for):
    tracking = opened(uri, tmp_path)
    for _ in range(2):
        publish(tracking, 0, 1, 2)
    assert len(looked_for) == 1
    assert count(tracking) == 1


@pytest.mark.slow
def test_another_process_finds_what_the_first_began(uri, tmp_path, looked_for):
    first = opened(uri, tmp_path)
    publish(first, 0, 1, 2)
    second = opened(uri, tmp_path)
    publish(second, 0, 1, 2)  # the first was killed before it could mark it
    publish(second, 1, 2, 2)  # and may have begun this one, too
    assert len(looked_for) == 2
    publish(second, 2, 3, 3)
    assert len(looked_for) == 2
    publish(first, 1, 2, 3)  # it was only asleep
    publish(first, 2, 3, 3)
    assert len(looked_for) == 4
    assert count(first) == 3


def test_a_store_from_a_backup_finds_the_runs_made_since(uri, tmp_path, looked_for):
    tracking = opened(uri, tmp_path)
    for place in range(3):
        publish(tracking, place, place + 1, 3)
    restored = opened(uri, tmp_path)
    for place in (1, 2):
        publish(restored, place, place + 1, place + 1)
    assert len(looked_for) == 2
    assert count(restored) == 3
    publish(restored, 3, 4, 4)
    assert len(looked_for) == 2


def test_an_experiment_from_before_is_looked_through(uri, tmp_path, looked_for):
    tracking = opened(uri, tmp_path)
    tracking.publish_window(INSTANCE, evaluation(0), newest=True)
    publish(tracking, 0, 1, 1)
    assert len(looked_for) == 2
    assert count(tracking) == 1


def test_two_stores_do_not_count_each_others(uri, tmp_path, looked_for):
    one, two = opened(uri, tmp_path), opened(uri, tmp_path)
    publish(one, 0, 1, 5)
    publish(two, 0, 1, 5, instance=OTHER)
    publish(one, 1, 2, 5)
    assert count(one) == 3
    assert len(looked_for) == 1  # by the other store: the experiment has runs already
