"""Evaluations in MLflow: against a real SQLite store and a real server."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

import pytest
from factories import evaluation, measured_evaluation, point, week
from mlflow import MlflowClient
from mlflow.entities import Run
from servers import MlflowServer

from rocmonitor.caveat import Caveat
from rocmonitor.errors import TrackingError
from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.tracking import Tracking, connect, content, note
from rocmonitor.tracking.content import HEADLINE
from rocmonitor.tracking.note import RUNS, of_experiment
from rocmonitor.wording.verdicts import verdict as verdict_words

INSTANCE = "0b5fc1f6-2f1a-4f0e-9a52-3d1f3a7f6f10"


@pytest.fixture(scope="module")
def sqlite_store(empty_mlflow: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A SQLite store and a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("beside the configuration")
    shutil.copy(empty_mlflow, folder)
    return f"sqlite:///{folder / 'mlflow.db'}", folder


@pytest.fixture(params=["sqlite", pytest.param("server", marks=pytest.mark.slow)])
def tracking(request: pytest.FixtureRequest, tmp_path: Path) -> Tracking:
    """A connection to each kind of MLflow."""
    if request.param == "sqlite":
        return connect(*request.getfixturevalue("sqlite_store"))
    return connect(request.getfixturevalue("mlflow_server").uri, tmp_path)


@pytest.fixture
def monitor(request: pytest.FixtureRequest) -> str:
    """A monitor of the test's own, so that tests share a store and not an experiment."""
    return "".join(sign if sign.isalnum() else "-" for sign in request.node.nodeid)


def runs(tracking: Tracking, monitor: str, *, kind: str | None = None, state: str | None = None) -> list[Run]:
    experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}")
    if experiment is None:
        return []
    wanted = {"rocmonitor.kind": kind, "rocmonitor.state": state}
    return [
        run
        for run in tracking.client.search_runs(
            [experiment.experiment_id], order_by=["attributes.start_time ASC"]
        )
        if all(value is None or run.data.tags.get(tag) == value for tag, value in wanted.items())
    ]


def history(tracking: Tracking, run: Run, name: str) -> list[tuple[int, int, float]]:
    return [
        (each.step, each.timestamp, each.value)
        for each in tracking.client.get_metric_history(run.info.run_id, name)
    ]


def everything(tracking: Tracking, monitor: str) -> list[Any]:
    """All that a repeat must leave as it is."""
    return sorted(
        (
            run.info.run_id,
            run.info.run_name,
            run.info.status,
            run.info.start_time,
            run.info.end_time,
            sorted(run.data.tags.items()),
            sorted(run.data.params.items()),
            [(name, history(tracking, run, name)) for name in sorted(run.data.metrics)],
            [(each.dataset.name, each.dataset.digest) for each in run.inputs.dataset_inputs],
        )
        for run in runs(tracking, monitor)
    )


def artifact(tracking: Tracking, run: Run, path: str, folder: Path) -> bytes:
    return Path(tracking.client.download_artifacts(run.info.run_id, path, str(folder))).read_bytes()


class TestWindowRun:
    def test_it_tells_all_of_the_evaluation(self, tracking: Tracking, monitor: str, tmp_path: Path) -> None:
        told = evaluation(monitor=monitor)
        bits = b"\x89PNG\r\n\x1a\n\x00not drawn here"
        link = tracking.publish_window(INSTANCE, told, newest=True, artifacts={"window.html": bits})
        (run,) = runs(tracking, monitor)
        assert run.info.run_id in link
        assert run.info.status == "FINISHED"  # people filter on FAILED for crashes
        judged, end = (round(at.timestamp() * 1000) for at in (told.evaluated_at, told.window.end))
        assert (run.info.start_time, run.info.end_time) == (judged, judged)
        assert run.info.run_name == "DEGRADED 0.701 · 2013-09-01 20:00"
        assert run.data.metrics == told.metrics
        assert history(tracking, run, "champion/auc") == [(0, end, 0.7012)]
        assert run.data.params["champion_version"] == "3"
        assert run.data.params["query"] == told.provenance["query"]
        assert run.data.params["rule/forecast"] == verdict_words(told.verdicts[0])
        tags = run.data.tags
        assert tags["rocmonitor.key"] == f"{INSTANCE}|{told.key}"
        assert (tags["rocmonitor.kind"], tags["rocmonitor.state"]) == ("window", "final")
        assert (tags["rocmonitor.status"], tags["rocmonitor.segment"]) == ("degraded", "")
        assert (tags["rocmonitor.rule.forecast"], tags["rocmonitor.rule.floor"]) == ("degraded", "ok")
        assert artifact(tracking, run, "window.html", tmp_path) == bits
        assert json.loads(artifact(tracking, run, "result.json", tmp_path)) == told.to_dict()
        assert json.loads(artifact(tracking, run, "tables/roc.json", tmp_path)) == told.tables["roc"]
        rows = list(csv.DictReader(artifact(tracking, run, "tables/roc.csv", tmp_path).decode().splitlines()))
        assert [float(row["tpr_low"]) for row in rows] == [0.25, 0.75]
        assert {path.path for path in tracking.client.list_artifacts(run.info.run_id, "tables")} == {
            "tables/roc.csv",
            "tables/roc.json",
        }

    def test_its_dataset_says_where_the_rows_came_from(self, tracking: Tracking, monitor: str) -> None:
        told = evaluation(monitor=monitor)
        tracking.publish_window(INSTANCE, told, newest=True)
        (run,) = runs(tracking, monitor)
        (given,) = run.inputs.dataset_inputs
        source = json.loads(given.dataset.source)
        assert given.dataset.source_type == "rocmonitor_window"
        assert source["query"] == told.provenance["query"]
        assert (source["start"], source["end"]) == (
            told.window.start.isoformat(),
            told.window.end.isoformat(),
        )
        assert json.loads(given.dataset.profile)["unlabelled"] == 88
        assert given.dataset.digest == told.provenance["data_digest"][:36]

    def test_equal_rows_in_two_windows_keep_their_own_source(self, tracking: Tracking, monitor: str) -> None:
        for number in range(2):
            told = evaluation(number, monitor=monitor)
            same = replace(told, provenance=told.provenance | {"data_digest": "e" * 64})
            tracking.publish_window(INSTANCE, same, newest=True)
        starts = [
            json.loads(run.inputs.dataset_inputs[0].dataset.source)["start"]
            for run in runs(tracking, monitor)
        ]
        assert starts == [week(0).start.isoformat(), week(1).start.isoformat()]

    def test_the_description_gives_the_finding_first(self, tracking: Tracking, monitor: str) -> None:
        told = evaluation(
            monitor=monitor, segment="origin=<b>JFK|*", status=Status.OK, counts=evaluation().counts
        )
        tracking.publish_window(INSTANCE, told, newest=True)
        (run,) = runs(tracking, monitor)
        text = run.data.tags["mlflow.note.content"]
        assert text.startswith(f"**DEGRADED.** {monitor}, origin")
        assert "origin=&lt;b>JFK\\|\\*" in text
        assert "stands at **ok**" in text
        assert "**forecast: degraded.** AUROC 0.70 is below its normal range" in text
        assert "| champion, version 3 | 0.701 | 0.685 to 0.717 |" in text
        assert "| challenger minus champion | +0.019 | +0.010 to +0.028 |" in text
        assert "used 1,200: 250 positive, 950 negative" in text
        assert "88 without a label, 12 with an id seen before" in text
        assert "What moved" not in text

    def test_the_description_says_what_moved(self) -> None:
        shares = {f"{key}_{when}": 1.0 for key in ("pos", "neg") for when in ("reference", "window")}
        metrics = evaluation().metrics | {"shift/from_positives": -0.0369, "shift/from_negatives": 0.0}
        told = note.of_window(evaluation(tables={"shift": [shares | {"high": 1.0}]}, metrics=metrics))
        paragraphs = told.split("\n\n")
        assert paragraphs[2] == (
            "**What moved.** The AUROC fell by 0.037, from 0.738 to 0.701. The positives' part is "
            "−0.037. The negatives' part is +0.000."
        )

    def test_the_description_has_a_line_for_each_cost_and_names_what_there_is(self) -> None:
        row = {"model": "champion", "w": 0.2, "threshold": 0.67462, "cost": 0.2023, "low": 0.19, "high": 0.22}
        costs = [row, row | {"w": 0.0, "threshold": None, "cost": 0.0, "low": 0.0, "high": 0.01}]
        told = note.of_window(evaluation(tables={"costs": costs}))
        assert "- cost at w = 0.2: 0.202 (0.190 to 0.220), threshold 0.6746\n" in told
        assert "- cost at w = 0: 0.000 (0.000 to 0.010), nothing flagged\n" in told
        assert "`tables/`" in told
        empty = note.of_window(evaluation(tables={}))
        assert "tables/" not in empty
        assert empty.endswith(
            "Artifacts: the window with its curves in `window.html`, all of it in `result.json`."
        )
        assert "cost at" not in empty

    def test_a_version_is_not_markup(self) -> None:
        told = note.of_window(evaluation(champion_version="7|<b>", challenger_version="`8`"))
        assert "version 7\\|&lt;b>" in told
        assert "<b>" not in told

    def test_publishing_again_changes_nothing(self, tracking: Tracking, monitor: str) -> None:
        told = [evaluation(number, monitor=monitor) for number in range(3)]
        for each in told:
            tracking.publish_window(INSTANCE, each, newest=True)
        before = everything(tracking, monitor)
        for each in told:
            tracking.publish_window(INSTANCE, each, newest=True)
        assert everything(tracking, monitor) == before
        assert len(before) == 3

    def test_a_new_revision_supersedes_the_old_and_a_replay_does_not_bring_it_back(
        self, tracking: Tracking, monitor: str
    ) -> None:
        first = evaluation(monitor=monitor, metrics={"champion/auc": 0.79})
        second = replace(first, revision=1, metrics={"champion/auc": 0.70})
        tracking.publish_window(INSTANCE, first, newest=True)
        tracking.publish_window(INSTANCE, second, newest=True)
        before = everything(tracking, monitor)
        (final,) = runs(tracking, monitor, state="final")
        (old,) = runs(tracking, monitor, state="superseded")
        assert final.data.metrics["champion/auc"] == 0.70
        assert old.data.tags["rocmonitor.superseded_by"] == final.info.run_id
        assert old.info.run_name == "superseded: DEGRADED 0.790 · 2013-09-01 20:00"
        tracking.publish_window(INSTANCE, first, newest=False)
        assert everything(tracking, monitor) == before
        tracking.publish_window(INSTANCE, first, newest=True)  # a caller who does not know yet
        assert everything(tracking, monitor) == before

    def test_an_old_revision_that_arrives_before_the_new_one_is_superseded_at_once(
        self, tracking: Tracking, monitor: str
    ) -> None:
        first = evaluation(monitor=monitor)
        tracking.publish_window(INSTANCE, first, newest=False)
        assert not runs(tracking, monitor, state="final")
        tracking.publish_window(INSTANCE, replace(first, revision=1), newest=True)
        (final,) = runs(tracking, monitor, state="final")
        (old,) = runs(tracking, monitor, state="superseded")
        assert old.data.tags["rocmonitor.superseded_by"] == final.info.run_id

    def test_ten_revisions_are_told_apart(self, tracking: Tracking, monitor: str) -> None:
        for revision in (1, 10):
            told = evaluation(monitor=monitor, revision=revision)
            tracking.publish_window(INSTANCE, told, newest=True)
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor, revision=1), newest=False)
        assert sorted(run.data.tags["rocmonitor.revision"] for run in runs(tracking, monitor)) == ["1", "10"]
        assert [run.data.tags["rocmonitor.revision"] for run in runs(tracking, monitor, state="final")] == [
            "10"
        ]

    def test_ghosts_are_adopted_or_deleted(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(1, monitor=monitor), newest=True)  # makes the experiment
        told = evaluation(monitor=monitor)
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
        start = int(told.evaluated_at.timestamp() * 1000)
        for _ in range(2):  # what a retried create_run leaves
            tracking.client.create_run(
                experiment, start_time=start, tags={"rocmonitor.key": f"{INSTANCE}|{told.key}"}
            )
        tracking.publish_window(INSTANCE, told, newest=True)
        published = [run for run in runs(tracking, monitor) if run.info.start_time == start]
        assert len(published) == 1
        assert published[0].data.tags["rocmonitor.state"] == "final"
        assert published[0].data.tags["rocmonitor.kind"] == "window"
        assert published[0].data.metrics == told.metrics

    @pytest.mark.parametrize("segment", ["origin=O'Hare", 'origin="x"', "origin=a\\", "origin=50%_`é", "o=["])
    def test_segments_may_hold_any_sign(self, tracking: Tracking, monitor: str, segment: str) -> None:
        for _ in range(2):
            tracking.publish_window(INSTANCE, evaluation(monitor=monitor, segment=segment), newest=True)
            tracking.publish_series(INSTANCE, monitor, segment, [point(0, 0.7)])
        assert [run.data.tags["rocmonitor.segment"] for run in runs(tracking, monitor)] == [segment] * 2

    def test_control_characters_of_a_segment_are_written_out(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_window(
            INSTANCE, evaluation(monitor=monitor, segment="o=x\nok 0.99\x1b[2J"), newest=True
        )
        (run,) = runs(tracking, monitor)
        assert run.data.tags["rocmonitor.segment"] == "o=x\\nok 0.99\\x1b[2J"
        assert run.info.run_name.isprintable()

    def test_two_stores_in_one_experiment_leave_each_other_alone(
        self, tracking: Tracking, monitor: str
    ) -> None:
        for instance in ("one", "two"):
            tracking.publish_window(instance, evaluation(monitor=monitor), newest=True)
            tracking.publish_series(instance, monitor, "", [point(0, 0.7)])
        assert len(runs(tracking, monitor, kind="window", state="final")) == 2
        assert len(runs(tracking, monitor, kind="series", state="final")) == 2

    @pytest.mark.slow
    def test_more_metrics_than_one_request_takes(self, tracking: Tracking, monitor: str) -> None:
        metrics = {f"champion/tpr_at_threshold_{number / 1000:g}": number / 1000 for number in range(1001)}
        for _ in range(2):
            tracking.publish_window(INSTANCE, evaluation(monitor=monitor, metrics=metrics), newest=True)
        (run,) = runs(tracking, monitor)
        assert run.data.metrics == metrics

    def test_long_values_are_cut_visibly_and_kept_whole_in_the_result(
        self, tracking: Tracking, monitor: str, tmp_path: Path
    ) -> None:
        told = evaluation(monitor=monitor)
        query = "SELECT " + "x, " * 5000 + "y FROM t WHERE t >= :start AND t < :end"
        told = replace(
            told,
            provenance=told.provenance | {"query": query},
            caveats=(Caveat("not-computed", why="word " * 3000),),
        )
        tracking.publish_window(INSTANCE, told, newest=True)
        (run,) = runs(tracking, monitor)
        assert len(run.data.params["query"]) <= 6000
        assert run.data.params["query"].endswith(f"… ({len(query):,} characters)")
        assert run.data.tags["mlflow.note.content"].endswith("characters)")
        assert json.loads(artifact(tracking, run, "result.json", tmp_path)) == told.to_dict()

    def test_a_parameter_worded_anew_does_not_block_a_replay(self, tracking: Tracking, monitor: str) -> None:
        told = evaluation(monitor=monitor)
        tracking.publish_window(INSTANCE, told, newest=True)
        reworded = replace(told, verdicts=(replace(told.verdicts[0], estimate=0.7),))
        tracking.publish_window(INSTANCE, reworded, newest=True)
        assert len(runs(tracking, monitor, state="final")) == 1

    @pytest.mark.slow
    def test_killed_after_the_run_was_made(self, tracking: Tracking, monitor: str) -> None:
        """A process that dies at once after create_run; the next one completes that run."""
        script = (
            "import os, sys; from pathlib import Path; from factories import evaluation;"
            "from rocmonitor.tracking import connect;"
            "tracking = connect(sys.argv[1], Path(sys.argv[2]));"
            "make = type(tracking.client).create_run;"
            "type(tracking.client).create_run = lambda *a, **k: (make(*a, **k), os._exit(9));"
            f"tracking.publish_window({INSTANCE!r}, evaluation(monitor=sys.argv[3]), newest=True)"
        )
        folder = str(tracking.files.parent if tracking.files else Path.cwd())
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        done = subprocess.run(
            [sys.executable, "-c", script, tracking.uri, folder, monitor],
            env=environment,
            check=False,
        )
        assert done.returncode == 9
        (ghost,) = runs(tracking, monitor, state="publishing")
        told = evaluation(monitor=monitor)
        tracking.publish_window(INSTANCE, told, newest=True)
        (run,) = runs(tracking, monitor)
        assert run.info.run_id == ghost.info.run_id
        assert run.data.tags["rocmonitor.state"] == "final"
        assert run.data.metrics == told.metrics


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"outcome": Status.OK}, "ok 0.701 · 2013-09-01 20:00"),
        (
            {"outcome": Status.IMPROVED, "segment": "origin=JFK", "revision": 2},
            "IMPROVED 0.701 · 2013-09-01 20:00 · origin=JFK · r2",
        ),
        ({"outcome": Status.INSUFFICIENT, "metrics": {}}, "INSUFFICIENT · 2013-09-01 20:00"),
    ],
)
def test_a_run_is_named_by_what_was_found(changes: dict[str, Any], name: str) -> None:
    assert content.window_name(evaluation(**changes)) == name


def test_run_and_experiment_link_to_the_page() -> None:
    told = note.of_window(evaluation(segment="origin=JFK"), page="https://watch.example/")
    assert "[On its page](https://watch.example/monitors/flights?segment=origin%3DJFK)" in told
    assert "On its page" not in note.of_window(evaluation())
    assert "[page](https://watch.example/monitors/x) · [lines]" in of_experiment(
        "1", page="https://watch.example/monitors/x"
    )


class TestSeriesRun:
    def test_one_step_a_window_in_order(self, tracking: Tracking, monitor: str) -> None:
        points = [point(number, auc) for number, auc in enumerate([0.74, 0.73, 0.70])]
        began = int(time.time() * 1000)
        tracking.publish_series(INSTANCE, monitor, "", points, lambda _: {"auc_over_time.png": b"png"})
        (run,) = runs(tracking, monitor)
        ends = [int(each.window.end.timestamp() * 1000) for each in points]
        assert history(tracking, run, "champion/auc") == list(
            zip([1, 2, 3], ends, [0.74, 0.73, 0.70], strict=True)
        )
        assert len(history(tracking, run, "champion/auc_low")) == 3
        assert began <= run.info.start_time <= run.info.end_time <= time.time() * 1000
        assert run.info.run_name == "AUROC over time"
        assert "Last window: AUROC 0.700" in run.data.tags["mlflow.note.content"]
        (figure,) = tracking.client.list_artifacts(run.info.run_id)
        assert figure.path == "auc_over_time.png"

    def test_what_people_look_for_comes_first(self, tracking: Tracking, monitor: str) -> None:
        """Charts are sorted by group, the table of metrics by when they were logged."""
        told = measured_evaluation(monitor=monitor)
        metrics = told.metrics | {"forecast/low": 0.7, "forecast/high": 0.8, "forecast/margin": 0.1}
        one = Point(window=told.window, revision=0, at=told.at, metrics=metrics)
        tracking.publish_series(INSTANCE, monitor, "", [one])
        (run,) = runs(tracking, monitor)
        names = ("auc", "auc_low", "auc_high", "forecast_low", "forecast_high", "margin")
        names += ("positives", "labelled_share")  # type: ignore[assignment]
        headline = {name: value for name, value in run.data.metrics.items() if name.startswith("AUROC/")}
        assert headline == {f"AUROC/{name}": metrics[HEADLINE[name]] for name in names}
        assert min(run.data.metrics, key=str.lower) == "AUROC/auc"
        assert list(content.with_headline(one).metrics)[: len(names)] == list(headline)

    def test_new_windows_are_appended(self, tracking: Tracking, monitor: str) -> None:
        points = [point(number, 0.74 - number / 100) for number in range(4)]
        for count in (1, 2, 2, 4):
            tracking.publish_series(INSTANCE, monitor, "", points[:count])
        (run,) = runs(tracking, monitor)
        assert [value for _, _, value in history(tracking, run, "champion/auc")] == [0.74, 0.73, 0.72, 0.71]
        assert run.data.tags["rocmonitor.state"] == "final"

    def test_publishing_again_changes_nothing(self, tracking: Tracking, monitor: str) -> None:
        points = [point(number, 0.7) for number in range(3)]
        link = tracking.publish_series(INSTANCE, monitor, "", points)
        before = everything(tracking, monitor)
        assert tracking.publish_series(INSTANCE, monitor, "", points) == link
        assert everything(tracking, monitor) == before

    def test_a_correction_downwards_shows_once(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75), point(1, 0.79)])
        corrected = [point(0, 0.75), point(1, 0.70)]
        for _ in range(2):
            tracking.publish_series(INSTANCE, monitor, "", corrected)
        (final,) = runs(tracking, monitor, state="final")
        (old,) = runs(tracking, monitor, state="superseded")
        assert [value for _, _, value in history(tracking, final, "champion/auc")] == [0.75, 0.70]
        assert final.data.metrics["champion/auc"] == 0.70
        assert old.data.tags["rocmonitor.superseded_by"] == final.info.run_id
        assert old.info.run_name == "superseded: AUROC over time"

    def test_a_window_found_later_in_the_middle_makes_a_new_run(
        self, tracking: Tracking, monitor: str
    ) -> None:
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75), point(2, 0.73)])
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75), point(1, 0.74), point(2, 0.73)])
        (final,) = runs(tracking, monitor, state="final")
        assert [value for _, _, value in history(tracking, final, "champion/auc")] == [0.75, 0.74, 0.73]

    def test_segments_are_runs_of_their_own(self, tracking: Tracking, monitor: str) -> None:
        for segment in ("", "origin=JFK", "origin=JFK2"):
            tracking.publish_series(INSTANCE, monitor, segment, [point(0, 0.7)])
        assert {run.info.run_name for run in runs(tracking, monitor, state="final")} == {
            "AUROC over time",
            "AUROC over time · origin=JFK",
            "AUROC over time · origin=JFK2",
        }

    def test_left_half_way_it_is_completed(self, tracking: Tracking, monitor: str) -> None:
        points = [point(number, 0.7) for number in range(3)]
        tracking.publish_series(INSTANCE, monitor, "", points[:1])
        with pytest.raises(_Killed):
            _killing(tracking, "set_terminated").publish_series(INSTANCE, monitor, "", points)
        (half,) = runs(tracking, monitor)
        assert half.data.tags["rocmonitor.state"] == "publishing"
        tracking.publish_series(INSTANCE, monitor, "", points)
        (run,) = runs(tracking, monitor)
        assert run.data.tags["rocmonitor.state"] == "final"
        assert len(history(tracking, run, "champion/auc")) == 3

    def test_left_half_way_and_corrected_meanwhile_it_is_replaced(
        self, tracking: Tracking, monitor: str
    ) -> None:
        points = [point(0, 0.75), point(1, 0.79)]
        tracking.publish_series(INSTANCE, monitor, "", points[:1])
        with pytest.raises(_Killed):
            _killing(tracking, "set_terminated").publish_series(INSTANCE, monitor, "", points)
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75), point(1, 0.70)])
        (final,) = runs(tracking, monitor, state="final")
        assert [value for _, _, value in history(tracking, final, "champion/auc")] == [0.75, 0.70]
        assert len(runs(tracking, monitor, state="superseded")) == 1

    def test_killed_before_the_old_run_was_marked(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.79)])
        with pytest.raises(_Killed):
            _killing(tracking, "set_terminated").publish_series(INSTANCE, monitor, "", [point(0, 0.70)])
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.70)])
        assert [run.data.metrics["champion/auc"] for run in runs(tracking, monitor, state="final")] == [0.70]
        assert len(runs(tracking, monitor)) == 2

    def test_what_comes_through_late_is_deleted(self, tracking: Tracking, monitor: str) -> None:
        """Of a window and of the series; one that nothing else stands for stays."""
        told, other = evaluation(monitor=monitor), evaluation(1, monitor=monitor)
        tracking.publish_window(INSTANCE, told, newest=True)
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        before = {run.info.run_id for run in runs(tracking, monitor)}
        for run in runs(tracking, monitor):  # the same requests once more, which nobody waits for
            late = run.data.tags | {"rocmonitor.state": "publishing"}
            _create(tracking, monitor, late, run.info.start_time)
        begun = {"rocmonitor.key": f"{INSTANCE}|{other.key}", "rocmonitor.state": "publishing"}
        half = _create(tracking, monitor, begun, 0).info.run_id
        assert len(runs(tracking, monitor)) == 5
        assert tracking.delete_doubles(INSTANCE, monitor) == 2
        assert {run.info.run_id for run in runs(tracking, monitor)} == {*before, half}
        assert tracking.delete_doubles("another", monitor) == tracking.delete_doubles(INSTANCE, "none") == 0

    def test_a_series_that_was_begun_twice_goes_on_with_the_complete_run(
        self, tracking: Tracking, monitor: str
    ) -> None:
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        (first,) = runs(tracking, monitor)
        _create(tracking, monitor, first.data.tags | {"rocmonitor.state": "publishing"}, 0)
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7), point(1, 0.8)])
        (left,) = runs(tracking, monitor)
        assert left.info.run_id == first.info.run_id

    def test_a_request_that_is_carried_out_twice_leaves_one_run(
        self, tracking: Tracking, monitor: str
    ) -> None:
        class Twice:
            def __getattr__(self, name: str) -> Any:
                real = getattr(tracking.client, name)
                return (
                    (lambda *args, **named: (real(*args, **named), real(*args, **named))[0])
                    if (name == "create_run")
                    else real
                )

        if not tracking.uri.startswith("http"):
            pytest.skip("nothing lies between it and its database")
        doubling = replace(tracking, client=Twice())
        doubling.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        doubling.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        assert [run.data.tags["rocmonitor.state"] for run in runs(tracking, monitor)] == ["final"] * 2

    def test_ghosts_without_points_are_deleted(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)  # makes the experiment
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
        for _ in range(2):
            tracking.client.create_run(
                experiment, start_time=0, tags={"rocmonitor.key": f"{INSTANCE}|{monitor}||series"}
            )
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        (run,) = runs(tracking, monitor, kind="series")
        assert run.data.tags["rocmonitor.state"] == "final"
        assert len(runs(tracking, monitor)) == 2


class TestExperiment:
    def test_its_description_links_to_the_lines_the_windows_and_the_reviews(
        self, tracking: Tracking, monitor: str
    ) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        found = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}")
        first = found.tags["mlflow.note.content"].splitlines()[0]
        filters = re.findall(
            rf"\]\(#/experiments/{found.experiment_id}/runs\?{RUNS}&searchFilter=([^&)]*)", first
        )
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        opened = json.loads(found.tags[note.VIEW])["searchFilter"]
        shown = [
            [
                run.data.tags["rocmonitor.kind"]
                for run in tracking.client.search_runs([found.experiment_id], unquote(each))
            ]
            for each in [opened, *filters]
        ]
        assert shown == [["series"], ["window"], ["window"], []]  # no review yet

    def test_a_description_that_somebody_wrote_stays(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
        tracking.client.set_experiment_tag(experiment, "mlflow.note.content", "ours")
        tracking.publish_window(INSTANCE, evaluation(1, monitor=monitor), newest=True)
        assert tracking.client.get_experiment(experiment).tags["mlflow.note.content"] == "ours"

    def test_it_shows_the_picture_and_the_last_windows(self, tracking: Tracking, monitor: str) -> None:
        expected = {"forecast/low": 0.716, "forecast/high": 0.761, "data/positives": 1310.0}
        points = [point(number, 0.74 - number / 100, **expected) for number in range(12)]
        points[-1].metrics["data/labelled_share"] = 0.873
        points = [replace(each, outcome=Status.DEGRADED) for each in points]
        tracking.publish_series(
            INSTANCE,
            monitor,
            "",
            points,
            lambda _: {"figures/small.png": b"png"},
            zone=ZoneInfo("America/New_York"),
            picture="figures/small.png",
        )
        (run,) = runs(tracking, monitor)
        text = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").tags["mlflow.note.content"]
        first, picture, table, *_ = text.split("\n\n")
        assert first.startswith(
            "▲ Degraded, window of 2013-11-17 19:00: AUROC 0.630, normal range 0.716 to 0.761 · [lines]("
        )
        assert f"(get-artifact?path=figures/small.png&run_uuid={run.info.run_id})" in picture
        head, _, newest, *older = table.splitlines()
        assert "window (America/New_York)" in head
        assert len(older) == 7
        assert newest == (
            "| 2013-11-17 19:00&emsp;| ▲ degraded&emsp;| 0.630&emsp;| 0.610 to 0.650&emsp;| "
            "0.716 to 0.761&emsp;| 1,310&emsp;| 87.3 % |"
        )

    def test_it_follows_the_windows_until_somebody_edits_it(self, tracking: Tracking, monitor: str) -> None:
        def text() -> str:
            found = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}")
            return str(found.tags["mlflow.note.content"])

        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75)])
        assert "AUROC 0.750" in text()
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.75), point(1, 0.64)])
        assert "AUROC 0.640" in text()
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
        tracking.client.set_experiment_tag(experiment, "mlflow.note.content", text() + " Ask Ana.")
        tracking.publish_series(INSTANCE, monitor, "", [point(number, 0.6) for number in range(3)])
        assert text().endswith(" Ask Ana.")

    def test_it_is_short_enough_for_mlflow(self) -> None:
        points = [
            replace(
                point(number, 0.74, **dict.fromkeys(HEADLINE.values(), 0.123456)),
                revision=12,
                outcome=Status.INSUFFICIENT,
            )
            for number in range(40)
        ]
        zone = ZoneInfo(max(available_timezones(), key=len))
        assert len(of_experiment("9" * 18, points, zone, "x" * 80, "y" * 80)) < 5000  # of an experiment's tag

    def test_its_charts_open_over_time(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        tags = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").tags
        view = json.loads(tags[note.VIEW])
        assert view["globalLineChartConfig"]["xAxisKey"] == "time"
        (lines,) = re.findall(r"\[lines\]\((.*?)\)", tags["mlflow.note.content"])
        assert lines.endswith("viewStateShareKey=rocmonitor")
        assert "searchFilter" not in lines  # beside one MLflow opens no view
        assert "series" in view["searchFilter"]
        assert set(view["compareRunCharts"][0]["selectedMetricKeys"]) <= {f"AUROC/{key}" for key in HEADLINE}


class TestModelVersion:
    def test_it_has_the_newest_window_and_its_model_the_run(
        self, tracking: Tracking, monitor: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.uri)  # where MLflow looks for the logged model
        client = tracking.client
        trained = client.create_logged_model(client.create_experiment(f"{monitor}-training"))
        client.finalize_logged_model(trained.model_id, "READY")
        client.create_registered_model(monitor)
        source = f"models:/{trained.model_id}"
        made = client.create_model_version(monitor, source, model_id=trained.model_id)
        version = str(made.version)
        told = evaluation(monitor=monitor, model=monitor, champion_version=version)
        points = [replace(point(0, 0.7), champion_version=version, outcome=Status.OK)]
        for _ in range(2):
            tracking.publish_window(INSTANCE, told, newest=True)
            tracking.publish_series(INSTANCE, monitor, "", points, model=monitor)
        (run,) = runs(tracking, monitor, kind="window")
        inputs = client.get_run(run.info.run_id).inputs  # a search leaves models out
        assert [each.model_id for each in inputs.model_inputs] == [trained.model_id]
        tags = client.get_model_version(monitor, version).tags
        assert tags == {f"rocmonitor.auroc.{monitor}": "● Ok, window of 2013-09-02: AUROC 0.700"}

    def test_one_that_is_not_registered_is_left_out(self, tracking: Tracking, monitor: str) -> None:
        tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)], model="nobody")
        assert runs(tracking, monitor, kind="series", state="final")


class TestOutage:
    @pytest.mark.slow
    def test_a_stopped_server_is_told_within_seconds_and_what_waited_arrives(
        self, mlflow_server: MlflowServer, monitor: str, tmp_path: Path
    ) -> None:
        tracking = connect(mlflow_server.uri, tmp_path)
        waiting: list[Evaluation] = [evaluation(number, monitor=monitor) for number in range(3)]
        tracking.publish_window(INSTANCE, waiting[0], newest=True)
        mlflow_server.stop()
        begun = time.monotonic()
        with pytest.raises(TrackingError, match="no answer") as failed:
            tracking.publish_window(INSTANCE, waiting[1], newest=True)
        assert failed.value.transient
        with pytest.raises(TrackingError) as failed:
            tracking.publish_series(INSTANCE, monitor, "", [point(0, 0.7)])
        assert failed.value.transient
        with pytest.raises(TrackingError) as failed:
            tracking.version("m", "champion")
        assert failed.value.transient
        assert time.monotonic() - begun < 15
        mlflow_server.start()
        for each in waiting:
            tracking.publish_window(INSTANCE, each, newest=True)
        assert [run.info.start_time for run in runs(tracking, monitor, state="final")] == [
            int(each.evaluated_at.timestamp() * 1000) for each in waiting
        ]
        assert len(runs(tracking, monitor)) == 3

    def test_connecting_does_not_need_the_server(self, tmp_path: Path) -> None:
        assert connect("http://127.0.0.1:9", tmp_path).page == "http://127.0.0.1:9"


class TestVersion:
    def test_an_alias_names_a_version(self, tracking: Tracking, monitor: str) -> None:
        tracking.client.create_registered_model(monitor)
        for number in (1, 2):
            made = tracking.client.create_model_version(monitor, source=f"s3://models/{number}")
            assert str(made.version) == str(number)
        tracking.client.set_registered_model_alias(monitor, "champion", "1")
        assert tracking.version(monitor, "champion") == "1"
        tracking.client.set_registered_model_alias(monitor, "champion", "2")
        assert tracking.version(monitor, "champion") == "2"

    def test_a_missing_alias_is_lasting_and_names_what_there_is(
        self, tracking: Tracking, monitor: str
    ) -> None:
        tracking.client.create_registered_model(monitor)
        tracking.client.create_model_version(monitor, source="s3://models/1")
        tracking.client.set_registered_model_alias(monitor, "best", "1")
        with pytest.raises(TrackingError, match=r"no alias 'champion'; it has: best \(version 1\)") as failed:
            tracking.version(monitor, "champion")
        assert not failed.value.transient

    def test_a_missing_model_is_lasting(self, tracking: Tracking, monitor: str) -> None:
        with pytest.raises(TrackingError, match=f"no registered model '{monitor}'") as failed:
            tracking.version(monitor, "champion")
        assert not failed.value.transient


class TestConnect:
    def test_a_deleted_experiment_is_lasting_and_says_how_to_restore(
        self, tracking: Tracking, monitor: str
    ) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
        tracking.client.delete_experiment(experiment)
        with pytest.raises(TrackingError, match=f"restore --experiment-id {experiment}") as failed:
            tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        assert not failed.value.transient

    def test_without_a_server_files_lie_beside_the_configuration(
        self, sqlite_store: tuple[str, Path], monitor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        link = connect(*sqlite_store).publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        assert link.startswith(f"experiment rocmonitor/{monitor}, run ")
        written = list((sqlite_store[1] / "mlartifacts" / monitor).rglob("result.json"))
        assert len(written) == 1
        assert (sqlite_store[1] / "mlartifacts").stat().st_mode & 0o777 == 0o700
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    def test_files_that_it_makes_are_their_owners_alone_and_what_was_left_goes(
        self, tmp_path: Path, monitor: str
    ) -> None:
        killed, working = (tmp_path / f".mlflow.db.{process}.part" for process in (1, 2))
        for part in (killed, working):
            part.touch(mode=0o600)
        os.utime(killed, (0, 0))
        before = os.umask(0o022)
        try:
            tracking = connect(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
            tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        finally:
            os.umask(before)
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
        assert modes == {"mlflow.db": "0o600", "mlartifacts": "0o700", working.name: "0o600"}

    @pytest.mark.parametrize(
        ("uri", "page"),
        [
            ("http://127.0.0.1:9", "http://127.0.0.1:9"),
            ("http://127.0.0.1:9/geheim", None),
            ("http://geheim@127.0.0.1:9", None),
            ("http://127.0.0.1:9?geheim", None),
        ],
    )
    def test_a_tracking_uri_that_may_hold_a_secret_is_no_link(
        self, tmp_path: Path, uri: str, page: str | None
    ) -> None:
        assert connect(uri, tmp_path).page == page

    def test_links_open_the_page_that_is_configured(
        self, sqlite_store: tuple[str, Path], monitor: str
    ) -> None:
        tracking = connect(*sqlite_store, page="https://mlflow.example/")
        link = tracking.publish_window(INSTANCE, evaluation(monitor=monitor), newest=True)
        (run,) = runs(tracking, monitor)
        assert link == (
            f"https://mlflow.example/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
            "?workflowType=machine_learning"
        )

    @pytest.mark.parametrize(
        ("uri", "transient"),
        [
            ("http://reader:geheim@127.0.0.1:9", True),
            ("http://127.0.0.1:9/geheim/", True),
            ("http://127.0.0.1:9?api_key=geheim", True),
            ("gopher://reader:geheim@127.0.0.1:9", False),
            ("postgresql+nodriver://reader:geheim@127.0.0.1:9/x?password=geheim", False),
        ],
    )
    def test_no_message_holds_a_password(self, tmp_path: Path, uri: str, transient: bool) -> None:
        with pytest.raises(TrackingError) as failed:
            connect(uri, tmp_path).publish_window(INSTANCE, evaluation(), newest=True)
        assert "geheim" not in str(failed.value)
        assert failed.value.__cause__ is None or "geheim" not in str(failed.value.__cause__)
        assert failed.value.transient is transient

    def test_a_database_that_cannot_be_made_is_lasting(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(TrackingError) as failed:
            connect(f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}", tmp_path)
        assert not failed.value.transient

    @pytest.mark.slow
    def test_importing_is_free_of_mlflow_and_connecting_is_silent(self, tmp_path: Path) -> None:
        script = (
            "import os, sys; from pathlib import Path; import rocmonitor.tracking as t;"
            "assert 'mlflow' not in sys.modules;"
            "os.environ['MLFLOW_HTTP_REQUEST_TIMEOUT'] = '3';"
            "before = dict(os.environ);"
            "t.connect(f'sqlite:///{sys.argv[1]}/new.db', Path(sys.argv[1]));"
            "assert os.environ['MLFLOW_HTTP_REQUEST_TIMEOUT'] == '3';"
            "assert os.environ['MLFLOW_HTTP_REQUEST_MAX_RETRIES'] == '1';"
            "import mlflow; assert not mlflow.is_tracking_uri_set();"
            "assert {key for key in os.environ if key not in before} <= set(t.access.ENVIRONMENT)"
        )
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "MLFLOW_"))
        }
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", "-c", script, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _create(tracking: Tracking, monitor: str, tags: dict[str, str], start: int) -> Run:
    experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{monitor}").experiment_id
    return tracking.client.create_run(experiment, start_time=start, tags=tags)


class _Killed(BaseException):
    """Stands for the death of the process: nothing in between may catch it."""


def _killing(tracking: Tracking, method: str) -> Tracking:
    """The same MLflow, whose client dies when it is asked for `method`."""

    class Dying(MlflowClient):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise _Killed

    setattr(Dying, method, die)
    return replace(tracking, client=Dying(tracking.uri))
