"""Reviews in MLflow: a run, and tags on both versions, against a real SQLite store and a real server."""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from factories import WEEK, evaluation, week
from mlflow import MlflowClient
from mlflow.entities import Run

from rocmonitor.caveat import Caveat
from rocmonitor.errors import TrackingError
from rocmonitor.policy.review.checks import TOO_FEW
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.policy.review.settings import ReviewRule
from rocmonitor.policy.windows import Window
from rocmonitor.tracking import Tracking, connect, review_run
from rocmonitor.tracking.note import RUNS, line
from rocmonitor.wording.review import summary, with_verdict

INSTANCE = "0b5fc1f6-2f1a-4f0e-9a52-3d1f3a7f6f10"
PERIOD = Window(week(0).start, week(3).end)
PREFIX = "rocmonitor.cc."


@pytest.fixture(scope="module")
def sqlite_store(empty_mlflow: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("beside the configuration")
    shutil.copy(empty_mlflow, folder)
    return f"sqlite:///{folder / 'mlflow.db'}", folder


@pytest.fixture
def tracking(request: pytest.FixtureRequest, tmp_path: Path) -> Tracking:
    """SQLite; a server for the tests marked so, each of which takes seconds there."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return connect(*request.getfixturevalue("sqlite_store"))
    return connect(request.getfixturevalue("mlflow_server").uri, tmp_path)


on_both = pytest.mark.parametrize(
    "tracking", ["sqlite", pytest.param("server", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture
def name(request: pytest.FixtureRequest, tracking: Tracking) -> str:
    """A monitor of the test's own, and a registered model of the same name with three versions."""
    name = "".join(sign if sign.isalnum() else "-" for sign in request.node.nodeid)
    tracking.client.create_registered_model(name)
    for number in (1, 2, 3):
        tracking.client.create_model_version(name, source=f"s3://models/{number}")
    tracking.client.set_registered_model_alias(name, "champion", "1")
    tracking.client.set_registered_model_alias(name, "challenger", "2")
    return name


def review(name: str, **changes: Any) -> Review:
    rule = ReviewRule(margin=0.005, fpr=(0.05,))
    plain = Review(
        monitor=name,
        model=name,
        champion_version="1",
        challenger_version="2",
        period=PERIOD,
        registered=True,
        reviewed_at=PERIOD.end + timedelta(days=2, minutes=5),
        decision=Decision.CHALLENGER,
        decided_at=week(2).end,
        comparisons=(
            Comparison(fpr=None, estimate=0.0201, low=0.0061, high=0.0323, checks=4, better="challenger"),
            Comparison(fpr=0.05, estimate=-0.003, low=-0.03, high=0.022, checks=4, better=""),
        ),
        rule=rule.to_dict() | {"digest": rule.digest},
        metrics={
            "data/rows": 4800.0,
            "data/positives": 1000.0,
            "data/negatives": 3800.0,
            "review/windows": 4.0,
            "review/checks": 4.0,
            "champion/auc": 0.7012,
            "challenger/auc": 0.7204,
            "difference/auc": 0.0192,
            "difference/auc_low": 0.0101,
            "difference/auc_high": 0.0283,
            "difference/auc_mean": 0.0201,
            "difference/auc_anytime_low": 0.0061,
            "difference/auc_anytime_high": 0.0323,
            "difference/tpr_at_fpr_0.05": -0.004,
            "difference/tpr_at_fpr_0.05_low": -0.02,
            "difference/tpr_at_fpr_0.05_high": 0.012,
            "difference/tpr_at_fpr_0.05_anytime_low": -0.03,
            "difference/tpr_at_fpr_0.05_anytime_high": 0.022,
        },
        tables={
            "windows": [
                {
                    "start": week(n).start.isoformat(),
                    "end": week(n).end.isoformat(),
                    "rows": 1200,
                    "n_pos": 200,
                    "n_neg": 1000,
                    "why_not": "" if n else TOO_FEW,
                }
                for n in range(4)
            ],
            "costs": [],
        },
        provenance={
            "source": "warehouse",
            "query": "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end",
            "columns": {"time": "scored_at", "champion": "p1", "challenger": "p2", "label": "late"},
            "timezone": "America/New_York",
            "data_digest": "d" * 64,
            "seed": 42,
        },
        caveats=(Caveat("one-model-only", champion=12, challenger=0, compared=4800),),
    )
    return replace(plain, **changes)


def later(told: Review, weeks: int = 1, **changes: Any) -> Review:
    """The review of a period that ends later."""
    return replace(
        told,
        period=Window(told.period.start, told.period.end + weeks * WEEK),
        reviewed_at=told.reviewed_at + weeks * WEEK,
        provenance=told.provenance | {"data_digest": f"{weeks:064x}"},
        **changes,
    )


def reviews(tracking: Tracking, name: str) -> list[Run]:
    experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{name}")
    return list(
        tracking.client.search_runs(
            [experiment.experiment_id],
            "tags.`rocmonitor.kind` = 'review'",
            order_by=["attributes.start_time"],
        )
    )


def verdict(tracking: Tracking, name: str, version: str) -> dict[str, str]:
    tags = tracking.client.get_model_version(name, version).tags
    return {key.removeprefix(PREFIX): value for key, value in tags.items() if key.startswith(PREFIX)}


def everything(tracking: Tracking, name: str) -> list[Any]:
    """All that a repeat must leave as it is: runs, tags of the versions, aliases."""
    client = tracking.client
    return [
        [
            (
                (run.info.run_id, run.info.run_name, run.info.status, run.info.start_time, run.info.end_time),
                sorted(run.data.tags.items()),
                sorted(run.data.params.items()),
                [
                    (
                        key,
                        [
                            (p.step, p.timestamp, p.value)
                            for p in client.get_metric_history(run.info.run_id, key)
                        ],
                    )
                    for key in sorted(run.data.metrics)
                ],
                [(given.dataset.name, given.dataset.digest) for given in run.inputs.dataset_inputs],
            )
            for run in reviews(tracking, name)
        ],
        [verdict(tracking, name, version) for version in ("1", "2", "3")],
        client.get_registered_model(name).aliases,
    ]


def artifact(tracking: Tracking, run: Run, path: str, folder: Path) -> bytes:
    return Path(tracking.client.download_artifacts(run.info.run_id, path, str(folder))).read_bytes()


class TestRun:
    @on_both
    def test_it_tells_all_of_the_review(self, tracking: Tracking, name: str, tmp_path: Path) -> None:
        told = review(name)
        page = "<!doctype html><title>review</title>"
        link = tracking.publish_review(
            INSTANCE, told, artifacts={"report.html": page, "figures/roc.png": b"\x89PNG"}
        )
        (run,) = reviews(tracking, name)
        assert run.info.run_id in link
        assert (run.info.status, run.data.tags["rocmonitor.state"]) == ("FINISHED", "final")
        assert run.info.run_name == (
            "review: challenger better · 2 against 1 · 2013-09-01 20:00 to 2013-09-29 20:00"
        )
        assert run.info.start_time == told.reviewed_at.timestamp() * 1000
        assert run.data.metrics == told.metrics
        (only,) = tracking.client.get_metric_history(run.info.run_id, "difference/auc")
        assert (only.step, only.timestamp) == (0, PERIOD.end.timestamp() * 1000)
        tags, params = run.data.tags, run.data.params
        assert tags["rocmonitor.key"] == f"{INSTANCE}|{told.key}"
        assert tags["rocmonitor.decision"] == "challenger better"
        assert tags["rocmonitor.chosen_by_hand"] == params["chosen_by_hand"] == "false"
        assert "rocmonitor.not_tagged" not in tags
        assert (params["champion_version"], params["challenger_version"]) == ("1", "2")
        assert (params["rule/margin"], params["rule/fpr"]) == ("0.005", "[0.05]")
        assert (params["seed"], params["data_digest"]) == ("42", "d" * 64)
        assert params["period_end"] == PERIOD.end.isoformat()
        assert json.loads(artifact(tracking, run, "review.json", tmp_path)) == with_verdict(told)
        assert artifact(tracking, run, "report.html", tmp_path).decode() == page
        assert json.loads(artifact(tracking, run, "tables/windows.json", tmp_path)) == told.tables["windows"]
        lines = artifact(tracking, run, "tables/windows.csv", tmp_path).decode().splitlines()
        rows = list(csv.DictReader(lines))
        assert [row["rows"] for row in rows] == ["1200"] * 4
        assert rows[0]["why_not"] == "too few rows of a class"  # words for people, codes in JSON
        kept = {path.path for path in tracking.client.list_artifacts(run.info.run_id, "tables")}
        assert kept == {"tables/windows.csv", "tables/windows.json"}

    def test_its_dataset_says_where_the_rows_came_from(self, tracking: Tracking, name: str) -> None:
        windows = [
            {"start": week(n).start.isoformat(), "end": week(n).end.isoformat(), "digest": f"{n:064x}"}
            for n in range(4)
        ]
        told = review(name)
        told = replace(told, provenance=told.provenance | {"windows": windows, "segments": ["origin"]})
        tracking.publish_review(INSTANCE, told)
        (given,) = reviews(tracking, name)[0].inputs.dataset_inputs
        source = json.loads(given.dataset.source)
        assert given.dataset.source_type == "rocmonitor_window"
        assert (source["query"], source["segments"]) == (told.provenance["query"], ["origin"])
        assert (source["start"], source["end"]) == (PERIOD.start.isoformat(), PERIOD.end.isoformat())
        assert (source["windows"], source["paired"]) == (windows, True)
        assert json.loads(given.dataset.profile)["num_rows"] == 4800

    def test_a_period_of_very_many_windows_keeps_its_dataset(self, tracking: Tracking, name: str) -> None:
        told = review(name)
        windows = [{"start": "2013-09-01T00:00:00+00:00", "end": "", "digest": "0" * 64}] * 1000
        tracking.publish_review(INSTANCE, replace(told, provenance=told.provenance | {"windows": windows}))
        (given,) = reviews(tracking, name)[0].inputs.dataset_inputs
        assert json.loads(given.dataset.source)["end"] == PERIOD.end.isoformat()

    def test_the_description_gives_the_decision_first_and_links_to_the_report(
        self, tracking: Tracking, name: str
    ) -> None:
        tracking.publish_review(INSTANCE, review(name), artifacts={"report.html": "<p>"})
        (run,) = reviews(tracking, name)
        text = run.data.tags["mlflow.note.content"]
        first, second, *_ = text.split("\n\n")
        assert first.startswith("**CHALLENGER BETTER.** ")
        assert "version 2 (challenger) against version 1 (champion), 2013-09-01 20:00 to" in first
        assert second == "\n".join(f"- {line(each)}" for each in summary(review(name)))
        assert "| AUROC | +0.019 | +0.010 to +0.028 | +0.020, +0.006 to +0.032 |" in text
        assert "| TPR at FPR 0.05 | -0.004 | -0.020 to +0.012 | -0.030 to +0.022 |" in text
        assert text.count("\n| TPR") == 1
        assert "- 12 rows scored by the champion only are not compared" in text
        where = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}/artifacts/report.html"
        where += f"?{RUNS}"
        assert first.endswith(f" [Open the report]({where}).")

    def test_a_bare_review_has_a_description(self) -> None:
        bare = review("m", metrics={}, tables={}, comparisons=(), rule={}, caveats=(), registered=False)
        text = review_run.of_review(bare, [], None)
        assert "chosen by hand" in text
        assert text.endswith("Artifacts: all of it in `review.json`.")

    @on_both
    def test_publishing_again_changes_nothing(self, tracking: Tracking, name: str) -> None:
        told = [review(name), later(review(name))]
        for each in told:
            tracking.publish_review(INSTANCE, each, artifacts={"report.html": "<p>"})
        before = everything(tracking, name)
        for each in told:
            tracking.publish_review(INSTANCE, each, artifacts={"report.html": "<p>"})
        assert everything(tracking, name) == before
        assert len(before[0]) == 2

    def test_the_experiment_links_to_reviews_alone(self, tracking: Tracking, name: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=name), newest=True)
        tracking.publish_review(INSTANCE, review(name))
        found = tracking.client.get_experiment_by_name(f"rocmonitor/{name}")
        first = found.tags["mlflow.note.content"].splitlines()[0]
        wanted = re.search(
            r"\[reviews\]\(#/experiments/\d+/runs\?workflowType=machine_learning&searchFilter=([^&)]*)", first
        )
        assert wanted is not None
        (run,) = tracking.client.search_runs([found.experiment_id], unquote(wanted[1]))
        assert run.data.tags["rocmonitor.kind"] == "review"

    def test_two_stores_in_one_experiment_leave_each_other_alone(self, tracking: Tracking, name: str) -> None:
        for instance in ("one", "two"):
            tracking.publish_review(instance, review(name))
        assert len(reviews(tracking, name)) == 2

    def test_ghosts_are_adopted_or_deleted(self, tracking: Tracking, name: str) -> None:
        tracking.publish_window(INSTANCE, evaluation(monitor=name), newest=True)  # makes the experiment
        told = review(name)
        experiment = tracking.client.get_experiment_by_name(f"rocmonitor/{name}").experiment_id
        for _ in range(2):  # what a retried create_run leaves
            tracking.client.create_run(experiment, tags={"rocmonitor.key": f"{INSTANCE}|{told.key}"})
        tracking.publish_review(INSTANCE, told)
        (run,) = reviews(tracking, name)
        assert (run.data.tags["rocmonitor.state"], run.data.metrics) == ("final", told.metrics)
        assert len(tracking.client.search_runs([experiment])) == 2


class TestVersions:
    @on_both
    def test_both_are_tagged_and_no_alias_moves(self, tracking: Tracking, name: str) -> None:
        before = tracking.client.get_registered_model(name).aliases
        tracking.publish_review(INSTANCE, review(name))
        (run,) = reviews(tracking, name)
        common = {
            "verdict": "challenger better",
            "delta_auroc": "0.0201",
            "ci_lo": "0.0061",
            "ci_hi": "0.0323",
            "window": "2013-09-02T00:00Z/2013-09-30T00:00Z",
            "run_id": run.info.run_id,
            "reviewed_at": review(name).reviewed_at.isoformat(),
            "chosen_by_hand": "false",
        }
        assert verdict(tracking, name, "1") == common | {"role": "champion", "against_version": "2"}
        assert verdict(tracking, name, "2") == common | {"role": "challenger", "against_version": "1"}
        assert verdict(tracking, name, "3") == {}
        for version in ("1", "2"):  # MLflow sorts the tags: the first says all
            tags = tracking.client.get_model_version(name, version).tags
            assert tags[min(tags)] == (
                "challenger better, challenger 2 against champion 1: AUROC +0.020 (+0.006 to +0.032)"
            )
        assert tracking.client.get_registered_model(name).aliases == before
        found = tracking.client.search_model_versions(
            f"name='{name}' and tags.`{PREFIX}verdict`='challenger better'"
        )
        assert {str(each.version) for each in found} == {"1", "2"}

    def test_one_that_is_better_only_during_a_loss_is_said_to_be_so_in_every_tag(
        self, tracking: Tracking, name: str
    ) -> None:
        rows = [{"part": "before", "low": -0.01}, {"part": "in", "low": 0.02}]
        rows = [row | {"high": 0.05, "difference": 0.03, "windows": 2} for row in rows]
        told = review(name, tables={"episodes": rows})
        tracking.publish_review(INSTANCE, told)
        said = "challenger better, but only during a loss of the champion"
        (run,) = reviews(tracking, name)
        assert run.data.tags["rocmonitor.decision"] == said
        assert verdict(tracking, name, "2")["verdict"] == said
        assert (with_verdict(told)["decision"], with_verdict(told)["verdict"]) == ("challenger better", said)

    def test_the_latest_review_is_written_and_a_replay_of_an_older_one_leaves_it(
        self, tracking: Tracking, name: str
    ) -> None:
        old, new = review(name), later(review(name), decision=Decision.TRADE_OFF)
        tracking.publish_review(INSTANCE, old)
        tracking.publish_review(INSTANCE, new)
        before = everything(tracking, name)
        assert verdict(tracking, name, "1")["verdict"] == "trade-off"
        tracking.publish_review(INSTANCE, old)
        assert everything(tracking, name) == before

    def test_of_one_period_the_later_review_is_written(self, tracking: Tracking, name: str) -> None:
        first = review(name)
        second = replace(
            first,
            reviewed_at=first.reviewed_at + timedelta(days=1),
            decision=Decision.UNDECIDED,
            provenance=first.provenance | {"data_digest": "e" * 64},
        )
        for each in (second, first):  # in the wrong order
            tracking.publish_review(INSTANCE, each)
        assert verdict(tracking, name, "2")["verdict"] == "no decision yet"
        assert len(reviews(tracking, name)) == 2

    def test_a_period_chosen_by_hand_does_not_replace_the_registered_one(
        self, tracking: Tracking, name: str
    ) -> None:
        by_hand = later(review(name), registered=False, decision=Decision.CHAMPION)
        tracking.publish_review(INSTANCE, by_hand)
        assert verdict(tracking, name, "1")["chosen_by_hand"] == "true"
        tracking.publish_review(INSTANCE, review(name))
        assert verdict(tracking, name, "1")["verdict"] == "challenger better"
        tracking.publish_review(INSTANCE, by_hand)
        assert verdict(tracking, name, "1")["verdict"] == "challenger better"

    def test_nor_does_one_by_hand_of_another_challenger(self, tracking: Tracking, name: str) -> None:
        by_hand = later(review(name), challenger_version="3", registered=False, decision=Decision.CHAMPION)
        for each in (review(name), by_hand):
            tracking.publish_review(INSTANCE, each)
        assert verdict(tracking, name, "1")["against_version"] == "2"
        assert verdict(tracking, name, "1")["chosen_by_hand"] == "false"
        assert verdict(tracking, name, "3")["chosen_by_hand"] == "true"  # which had none

    def test_a_new_challenger_takes_the_tags_of_the_champion_over(
        self, tracking: Tracking, name: str
    ) -> None:
        old, new = review(name), later(review(name), challenger_version="3", decision=Decision.UNDECIDED)
        for each in (old, new, old):
            tracking.publish_review(INSTANCE, each)
        assert verdict(tracking, name, "1")["against_version"] == "3"
        assert verdict(tracking, name, "2")["against_version"] == "1"
        assert verdict(tracking, name, "3")["role"] == "challenger"

    def test_numbers_that_a_review_lacks_do_not_stay_from_the_one_before(
        self, tracking: Tracking, name: str
    ) -> None:
        tracking.publish_review(INSTANCE, review(name))
        tracking.publish_review(
            INSTANCE, later(review(name), metrics={}, comparisons=(), decision=Decision.UNDECIDED)
        )
        assert not {"delta_auroc", "ci_lo", "ci_hi"} & set(verdict(tracking, name, "1"))

    def test_a_segment_is_no_verdict_on_a_version(self, tracking: Tracking, name: str) -> None:
        part = replace(review(name), segment="region=south", registered=False)
        tracking.publish_review(INSTANCE, part)
        (run,) = reviews(tracking, name)
        assert "region=south" in run.info.run_name
        assert run.data.params["segment"] == "region=south"
        assert verdict(tracking, name, "1") == verdict(tracking, name, "2") == {}

    def test_tags_that_others_wrote_stay(self, tracking: Tracking, name: str) -> None:
        tracking.client.set_model_version_tag(name, "1", "owner", "risk")
        tracking.client.set_model_version_tag(name, "1", f"{PREFIX}window", "by hand")
        tracking.publish_review(INSTANCE, review(name))
        assert tracking.client.get_model_version(name, "1").tags["owner"] == "risk"
        assert verdict(tracking, name, "1")["window"] == "2013-09-02T00:00Z/2013-09-30T00:00Z"

    @on_both
    @pytest.mark.parametrize("missing", ["deleted", "never there", "no number", "no model"])
    def test_a_version_that_is_not_registered_is_said_and_loses_nothing(
        self, tracking: Tracking, name: str, missing: str
    ) -> None:
        told = review(name)
        if missing == "deleted":
            tracking.client.delete_model_version(name, "2")
        elif missing == "never there":
            told = replace(told, challenger_version="9")
        elif missing == "no number":
            told = replace(told, challenger_version="seven")
        else:
            told = replace(told, model="nobody's")
        tracking.publish_review(INSTANCE, told)
        (run,) = reviews(tracking, name)
        assert run.data.tags["rocmonitor.state"] == "final"
        assert run.data.metrics == told.metrics
        assert f"challenger, version {told.challenger_version}" in run.data.tags["rocmonitor.not_tagged"]
        assert "it is not registered" in run.data.tags["mlflow.note.content"]
        assert verdict(tracking, name, "1").get("verdict") == (
            None if missing == "no model" else "challenger better"
        )

    def test_a_version_that_is_registered_later_is_tagged_by_a_replay(
        self, tracking: Tracking, name: str
    ) -> None:
        told = review(name, challenger_version="4")
        tracking.publish_review(INSTANCE, told)
        tracking.client.create_model_version(name, source="s3://models/4")
        tracking.publish_review(INSTANCE, told)
        (run,) = reviews(tracking, name)
        assert run.data.tags["rocmonitor.not_tagged"] == ""
        assert "not registered" not in run.data.tags["mlflow.note.content"]
        assert verdict(tracking, name, "4")["role"] == "challenger"


class TestInterrupted:
    @pytest.mark.parametrize("method", ["log_batch", "log_inputs", "log_artifacts", "set_terminated"])
    def test_killed_while_the_run_is_written(self, tracking: Tracking, name: str, method: str) -> None:
        told = review(name)
        with pytest.raises(_Killed):
            _killing(tracking, method).publish_review(INSTANCE, told)
        assert [run.data.tags["rocmonitor.state"] for run in reviews(tracking, name)] == ["publishing"]
        tracking.publish_review(INSTANCE, told)
        (run,) = reviews(tracking, name)
        assert run.data.tags["rocmonitor.state"] == "final"
        assert verdict(tracking, name, "2")["run_id"] == run.info.run_id

    @pytest.mark.parametrize("after", [0, 2, 3, 6])
    def test_killed_while_the_versions_are_tagged_none_has_a_verdict_with_numbers_of_another(
        self, tracking: Tracking, name: str, after: int
    ) -> None:
        old, new = review(name), later(review(name), decision=Decision.UNDECIDED)
        tracking.publish_review(INSTANCE, old)
        with pytest.raises(_Killed):
            _killing(tracking, "set_model_version_tag", after=after).publish_review(INSTANCE, new)
        for version in ("1", "2"):
            seen = verdict(tracking, name, version)
            whole = {str(each.decision): each.reviewed_at.isoformat() for each in (old, new)}
            assert "verdict" not in seen or whole[seen["verdict"]] == seen["reviewed_at"]
        assert reviews(tracking, name)[-1].data.tags["rocmonitor.state"] == "publishing"
        tracking.publish_review(INSTANCE, new)
        for version in ("1", "2"):
            assert verdict(tracking, name, version)["verdict"] == "no decision yet"
            assert verdict(tracking, name, version)["reviewed_at"] == new.reviewed_at.isoformat()
        assert {run.data.tags["rocmonitor.state"] for run in reviews(tracking, name)} == {"final"}


def test_an_absent_server_is_told_within_seconds(closed_port: int, tmp_path: Path) -> None:
    """That the review arrives when the server is back is shown with the outbox, in test_review."""
    begun = time.monotonic()
    with pytest.raises(TrackingError, match="no answer") as failed:
        connect(f"http://127.0.0.1:{closed_port}", tmp_path).publish_review(INSTANCE, review("outage"))
    assert failed.value.transient
    assert time.monotonic() - begun < 15


class _Killed(BaseException):
    """Stands for the death of the process: nothing in between may catch it."""


def _killing(tracking: Tracking, method: str, *, after: int = 0) -> Tracking:
    """The same MLflow, whose client dies when it is asked for `method` once more than `after` times."""
    calls = [0]

    class Dying(MlflowClient):
        pass

    def die(self: Any, *arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] > after:
            raise _Killed
        return getattr(MlflowClient, method)(self, *arguments, **named)

    setattr(Dying, method, die)
    return replace(tracking, client=Dying(tracking.uri))
