"""What MLflow loads of rocmonitor, called through MLflow: the evaluator and the dataset source.

The entry points themselves are loaded from an installed wheel in `test_deploy`.
"""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import oracle
import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.data.dataset_source_registry import _dataset_source_registry
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.models import MetricThreshold
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator
from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry
from mlflow.models.evaluation.validation import ModelValidationFailedException
from scenario import World, week
from servers import MlflowServer

from rocmonitor import store
from rocmonitor.config import load
from rocmonitor.errors import ConfigError, InputError, SourceError
from rocmonitor.plugin.dataset import RocmonitorWindowSource
from rocmonitor.plugin.evaluator import RocEvaluator
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.stats import Sample, auc, compare_auc_paired, forecast_interval
from rocmonitor.tracking import Tracking


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the entry points do, also where the package was installed before it had them."""
    monkeypatch.setitem(_model_evaluation_registry._registry, "rocmonitor", RocEvaluator)
    others = [
        each for each in _dataset_source_registry.sources if each._get_source_type() != "rocmonitor_window"
    ]
    monkeypatch.setattr(_dataset_source_registry, "sources", [*others, RocmonitorWindowSource])


def scored(n: int = 300, seed: int = 5) -> pd.DataFrame:
    """Labels and two columns of scores, with ties, and a column that is none of them."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    latent = rng.normal(size=n)
    return pd.DataFrame(
        {
            "label": label,
            "score": np.round(latent + 1.0 * label, 1),
            "score_2": np.round(latent + 1.4 * label, 1),
            "word": "plain",
        }
    )


@pytest.fixture
def client(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MlflowClient:
    """An MLflow of the test's own, and an experiment whose files lie in the test's folder."""
    shutil.copy(template / "mlflow.db", tmp_path / "mlflow.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    return MlflowClient()


@pytest.fixture
def run_id(client: MlflowClient, tmp_path: Path) -> Iterator[str]:
    """An active run."""
    experiment = client.create_experiment("scores", artifact_location=(tmp_path / "files").as_uri())
    with mlflow.start_run(experiment_id=experiment) as run:
        yield run.info.run_id


def evaluate(data: pd.DataFrame, config: dict[str, Any] | None, **changes: Any) -> EvaluationResult:
    plain: dict[str, Any] = {
        "data": data,
        "targets": "label",
        "predictions": "score",
        "model_type": "rocmonitor",
        "evaluators": "rocmonitor",
        "evaluator_config": config,
    }
    return mlflow.models.evaluate(**plain | changes)


def caveats(found: EvaluationResult, code: str) -> list[dict[str, Any]]:
    """Those of a code among the logged ones."""
    logged = found.artifacts["rocmonitor/result.json"].content["caveats"]
    return [caveat for caveat in logged if caveat["code"] == code]


class TestEvaluator:
    def test_it_finds_what_the_definitions_say(self, run_id: str) -> None:
        data = scored()
        found = evaluate(data, {"challenger": "score_2"}, model_type="classifier").metrics
        first, second = data["score"].to_numpy(), data["score_2"].to_numpy()
        assert found["champion/auc"] == pytest.approx(oracle.auc(data["label"], first), abs=1e-12)
        assert found["challenger/auc"] == pytest.approx(oracle.auc(data["label"], second), abs=1e-12)
        cov = oracle.delong_covariance(data["label"], [first, second])
        assert found["champion/auc_se"] == pytest.approx(math.sqrt(cov[0, 0]), abs=1e-12)
        se = math.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
        difference = oracle.auc(data["label"], second) - oracle.auc(data["label"], first)
        assert difference > 0.05  # the challenger is better, and the sign says so
        assert found["difference/auc"] == pytest.approx(difference, abs=1e-12)
        assert found["difference/auc_se"] == pytest.approx(se, abs=1e-12)
        low, high = compare_auc_paired(data["label"], second, first).ci()
        assert (found["difference/auc_low"], found["difference/auc_high"]) == (low, high)
        half = 1.959963984540054 * se  # an end may lie further out, for rows that the sample may lack
        assert low < difference - half + 1e-9
        assert high > difference + half - 1e-9
        assert found["difference/pvalue"] < 1e-6
        positives = int(data["label"].sum())
        assert (found["data/rows"], found["data/positives"], found["data/negatives"]) == (
            300,
            positives,
            300 - positives,
        )
        assert found["champion/auc_low"] < found["champion/auc"] < found["champion/auc_high"]
        for fpr in ("0.01", "0.05", "0.1"):
            point = f"champion/tpr_at_fpr_{fpr}"
            assert 0 <= found[f"{point}_low"] < found[point] < found[f"{point}_high"] <= 1

    def test_thresholds_and_another_level(self, run_id: str) -> None:
        data = scored()
        config = {"thresholds": [0.5, 1], "fpr": [0.2], "confidence_level": 0.8}
        found = evaluate(data, config).metrics
        flagged = data["score"] >= 0.5
        assert found["champion/tpr_at_threshold_0.5"] == pytest.approx(flagged[data["label"] == 1].mean())
        assert found["champion/fpr_at_threshold_0.5"] == pytest.approx(flagged[data["label"] == 0].mean())
        assert "champion/fpr_at_threshold_1_high" in found
        assert {key for key in found if "at_fpr" in key} == {
            f"champion/tpr_at_fpr_0.2{end}" for end in ("", "_low", "_high")
        }
        wide = evaluate(data, {"confidence_level": 0.99}).metrics
        assert (
            wide["champion/auc_low"]
            < found["champion/auc_low"]
            < found["champion/auc_high"]
            < wide["champion/auc_high"]
        )
        assert "difference/auc" not in found
        assert "forecast/margin" not in found

    def test_all_of_it_is_logged_once(self, client: MlflowClient, run_id: str) -> None:
        found = evaluate(scored(), {"challenger": "score_2"})
        run = client.get_run(run_id)
        assert run.data.metrics == found.metrics
        assert all(len(client.get_metric_history(run_id, name)) == 1 for name in found.metrics)
        files = {path.path for path in client.list_artifacts(run_id, "rocmonitor")}
        assert files == {"rocmonitor/result.json", "rocmonitor/roc.csv", "rocmonitor/roc.html"}
        assert set(found.artifacts) == files

    def test_what_people_look_for_comes_first(self, client: MlflowClient, run_id: str) -> None:
        found = evaluate(scored(), {"challenger": "score_2", "forecast": [0.71, 0.76]})
        assert list(found.metrics)[:4] == [f"champion/auc{end}" for end in ("", "_low", "_high")] + [
            "forecast/low"
        ]
        text = client.get_run(run_id).data.tags["mlflow.note.content"]
        assert text.startswith("**AUROC 0.")
        assert "normal range 0.71 to 0.76** (interval 0." in text
        assert "challenger minus champion +0." in text or "challenger minus champion -0." in text

    def test_a_description_that_somebody_wrote_stays(self, client: MlflowClient, run_id: str) -> None:
        client.set_tag(run_id, "mlflow.note.content", "ours")
        evaluate(scored(), {"challenger": "score_2"})
        assert client.get_run(run_id).data.tags["mlflow.note.content"] == "ours"

    def test_with_a_model_id_it_is_logged_once_too(self, client: MlflowClient, run_id: str) -> None:
        model = client.create_logged_model(client.get_run(run_id).info.experiment_id, name="credit")
        client.finalize_logged_model(model.model_id, "READY")
        found = evaluate(scored(), {"challenger": "score_2"}, model_id=model.model_id)
        assert client.get_run(run_id).data.metrics == found.metrics
        assert all(len(client.get_metric_history(run_id, name)) == 1 for name in found.metrics)
        kept = client.get_logged_model(model.model_id).metrics
        assert sorted(metric.key for metric in kept) == sorted(found.metrics)

    def test_the_artifacts_have_the_curves_and_no_rows(
        self, client: MlflowClient, run_id: str, tmp_path: Path
    ) -> None:
        found = evaluate(scored(), {"challenger": "score_2"})
        folder = Path(client.download_artifacts(run_id, "rocmonitor", str(tmp_path)))
        page = (folder / "roc.html").read_text()
        assert page.count('<path class="champion') == 2  # the curve and its intervals
        assert '<path class="challenger dashed" d="M0 300' in page
        rows = list(csv.DictReader((folder / "roc.csv").read_text().splitlines()))
        assert {row["model"] for row in rows} == {"champion", "challenger"}
        assert len(rows) <= 2 * 99
        told = json.loads((folder / "result.json").read_text())
        assert told["metrics"] == found.metrics
        assert found.artifacts["rocmonitor/result.json"].content == told
        assert list(found.artifacts["rocmonitor/roc.csv"].content.columns)[:2] == ["model", "fpr"]

    @pytest.mark.slow
    def test_on_a_server(self, mlflow_server: MlflowServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server.uri)
        client = MlflowClient()
        with mlflow.start_run(experiment_id=client.create_experiment("plugin")) as run:
            found = evaluate(scored(), {"forecast": [0.5, 0.9]}, model_type="classifier")
        assert client.get_run(run.info.run_id).data.metrics == found.metrics
        assert found.artifacts["rocmonitor/result.json"].content["metrics"] == found.metrics

    def test_a_dataset_of_mlflow(self, run_id: str) -> None:
        given = mlflow.data.from_pandas(scored(), targets="label", predictions="score")
        found = evaluate(given, {"challenger": "score_2"}, targets=None, predictions=None).metrics
        assert found == evaluate(scored(), {"challenger": "score_2"}).metrics

    def test_scores_that_are_all_alike_have_an_auroc_and_no_curve(
        self, client: MlflowClient, run_id: str
    ) -> None:
        found = evaluate(scored().assign(score=0.3), {"challenger": "score_2", "thresholds": [0.5]})
        assert found.metrics["champion/auc"] == 0.5
        assert not [name for name in found.metrics if name.startswith("champion/") and "_at_" in name]
        assert "challenger/tpr_at_threshold_0.5" in found.metrics
        (caveat,) = caveats(found, "no-curve")
        assert caveat["values"] == {"model": "champion", "rows": 300, "score": 0.3}
        assert "all its 300 scores are 0.3" in caveat["text"]

    def test_few_negatives_are_said(self, run_id: str) -> None:
        found = evaluate(scored(30), {"fpr": [0.01]})
        (caveat,) = caveats(found, "nearest-rate")
        negatives = int(found.metrics["data/negatives"])
        assert caveat["values"] == {
            "fpr": 0.01,
            "used_fpr": pytest.approx(1 / negatives),
            "n_neg": negatives,
        }


class TestForecast:
    def test_a_known_interval_gives_a_signed_margin_that_mlflow_can_validate(self, run_id: str) -> None:
        inside = {"forecast/margin": MetricThreshold(threshold=0, greater_is_better=True)}
        found = evaluate(scored(), {"forecast": [0.5, 0.9]})
        value = found.metrics["champion/auc"]
        assert found.metrics["forecast/margin"] == pytest.approx(min(value - 0.5, 0.9 - value))
        mlflow.validate_evaluation_results(inside, found)
        for ends in ([value + 0.01, 0.99], [0.1, value - 0.01]):
            outside = evaluate(scored(), {"forecast": ends})
            assert outside.metrics["forecast/margin"] == pytest.approx(-0.01)
            with pytest.raises(ModelValidationFailedException):
                mlflow.validate_evaluation_results(inside, outside)

    def test_rows_of_the_past_give_the_calibrated_interval(self, run_id: str, tmp_path: Path) -> None:
        windows = [scored(200, seed=seed).assign(window=f"2026-W{seed:02}") for seed in range(20, 45)]
        past, now = pd.concat(windows, ignore_index=True), scored()
        rows = {name: past[column].tolist() for name, column in
                (("labels", "label"), ("scores", "score"), ("windows", "window"))}  # fmt: skip
        found = evaluate(now, {"reference": rows}).metrics
        expected = forecast_interval(
            Sample(past["label"], past["score"]),
            windows=[Sample(each["label"], each["score"]) for each in windows],
            batch=(int(now["label"].sum()), int((1 - now["label"]).sum())),
        )
        assert (found["forecast/low"], found["forecast/high"]) == (expected.low, expected.high)
        assert found["forecast/margin"] == expected.margin(auc(now["label"], now["score"]).auc)

        past.sample(frac=1, random_state=1).to_parquet(tmp_path / "past.parquet")
        past.rename(columns={"label": "y", "score": "p", "window": "w"}).to_csv(tmp_path / "past.csv")
        for reference in (
            {"path": str(tmp_path / "past.parquet")},
            {"path": str(tmp_path / "past.csv"), "label": "y", "score": "p", "window": "w"},
        ):
            again = evaluate(now, {"reference": reference}).metrics
            assert again["forecast/margin"] == pytest.approx(found["forecast/margin"], abs=1e-12)


class TestBadInput:
    @pytest.mark.parametrize(
        ("config", "said"),
        [
            ({"challanger": "score_2", "fpr": [0.1]}, "unknown keys: challanger; known are challenger, conf"),
            ({"challenger": "score_3"}, "no column 'score_3' beside them; there are score_2, word"),
            ({"challenger": 2}, "must name a column; it is 2"),
            ({"challenger": "word"}, "challenger 'word': y_score must be numbers"),
            ({"confidence_level": 95}, "confidence_level"),
            ({"confidence_level": "high"}, "finite numbers and nothing else"),
            ({"fpr": 0.1}, "fpr must hold finite numbers"),
            ({"fpr": [0.1, True]}, "fpr must hold finite numbers"),
            ({"fpr": [0.1, 1.5]}, "1 of 2 do not"),
            ({"fpr": [0.1, 0.10000001]}, "have one name, 0.1"),
            ({"thresholds": [math.inf]}, "thresholds must hold finite numbers"),
            ({"forecast": [0.9, 0.5]}, "0 <= low <= high <= 1"),
            ({"forecast": 0.7}, "forecast must hold"),
            ({"forecast": [0.5, 0.9], "reference": {}}, "keep one"),
            ({"reference": "past.parquet"}, "reference must be a dict"),
            ({"reference": {"labels": [1], "scores": [1.0]}}, "has no windows"),
            ({"reference": {"labels": [1], "scores": [1.0], "windows": [1, 2]}}, "equally long"),
            ({"reference": {"labels": [1, 0], "scores": [1.0, 2.0], "windows": [1, None]}}, "1 rows have no"),
            ({"reference": {"path": "past.xlsx"}}, "must be a .parquet or .csv"),
            ({"reference": {"path": "nowhere.csv"}}, "cannot be read"),
            ({"reference": {"path": "here.csv"}}, "no column window; there are label, score"),
            ({"reference": {"path": "here.csv", "windows": "w"}}, "reference has unknown keys: windows"),
        ],
    )
    def test_a_configuration_says_what_is_wrong(self, run_id: str, config: Any, said: str) -> None:
        Path("here.csv").write_text("label,score\n1,0.5\n")
        with pytest.raises(MlflowException, match=said.replace(".", r"\.")) as failed:
            evaluate(scored(), config)
        assert failed.value.error_code == "INVALID_PARAMETER_VALUE"
        assert str(failed.value).startswith("rocmonitor: ")

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"score": [math.nan, *[0.5] * 299]}, "1 of 300"),
            ({"score": [math.inf, *[0.5] * 299]}, "1 of 300"),
            ({"label": [2, *[0, 1] * 149, 1]}, "predictions 'score'"),
            ({"label": [math.nan, *[0, 1] * 149, 1]}, "targets 'label'"),
            ({"label": ["yes", "no"] * 150}, "targets 'label'"),
            ({"label": 1}, "0 negative"),
            ({"label": [1, *[0] * 299]}, "1 positive"),
            ({"score_2": [math.nan, *[0.5] * 299]}, "challenger 'score_2'"),
        ],
    )
    def test_data_say_what_is_wrong(self, run_id: str, change: Any, said: str) -> None:
        with pytest.raises(MlflowException, match=said) as failed:
            evaluate(scored().assign(**change), {"challenger": "score_2"})
        assert failed.value.error_code == "INVALID_PARAMETER_VALUE"
        assert not mlflow.get_run(run_id).data.metrics

    def test_without_scores(self, run_id: str) -> None:
        with pytest.raises(MlflowException, match="score the rows first"):
            evaluate(scored(), {"fpr": [0.1]}, predictions=None)
        with pytest.raises(MlflowException, match="in place of the model"):
            evaluate(scored()[["label", "score"]], {}, predictions=None, model=lambda rows: rows["score"])
        with pytest.raises(MlflowException, match="no labels; name their column as targets"):
            evaluate(scored(), {}, targets=None)


class Toy(ModelEvaluator):
    """Somebody else's evaluator."""

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Any, **_: Any) -> bool:
        return True

    def evaluate(self, *, run_id: str, evaluator_config: Any, **_: Any) -> EvaluationResult:
        return EvaluationResult(metrics={"toy": 1.0}, artifacts={}, run_id=run_id)


class TestOptIn:
    @pytest.mark.parametrize(
        ("model_type", "config", "asked"),
        [
            ("rocmonitor", {}, True),
            ("rocmonitor", None, True),
            ("classifier", {"challenger": "s"}, True),
            ("classifier", {"challenger": "s", "typo": 1}, True),
            ("classifier", None, True),
            ("regressor", {"fpr": [0.1]}, False),
            (None, {"fpr": [0.1]}, False),
        ],
    )
    def test_it_takes_part_only_when_asked(self, model_type: str | None, config: Any, asked: bool) -> None:
        assert RocEvaluator.can_evaluate(model_type=model_type, evaluator_config=config) is asked

    def test_no_configuration_is_the_smallest(self, run_id: str) -> None:
        found = evaluate(scored(), None, model_type="classifier").metrics
        assert found == evaluate(scored(), {}, model_type="rocmonitor").metrics
        assert found["champion/auc"] == pytest.approx(oracle.auc(scored()["label"], scored()["score"]))

    def test_a_wrong_key_is_named_with_the_known_ones(self, run_id: str) -> None:
        with pytest.raises(
            MlflowException, match="unknown keys: alpha; known are challenger, confidence_level"
        ):
            evaluate(scored(), {"alpha": 0.05}, model_type="classifier")

    @pytest.mark.parametrize("installed", [True, False])
    def test_scores_that_mlflow_refuses_are_refused_as_without_it(
        self, run_id: str, monkeypatch: pytest.MonkeyPatch, installed: bool
    ) -> None:
        if not installed:
            monkeypatch.delitem(_model_evaluation_registry._registry, "rocmonitor")
        with pytest.raises(ValueError, match="mix of binary and continuous"):
            evaluate(scored(), None, model_type="classifier", evaluators=None)

    @pytest.mark.parametrize("config", [None, {"log_model_explainability": False}])
    def test_all_evaluators_together_are_as_if_it_were_not_installed(
        self, run_id: str, monkeypatch: pytest.MonkeyPatch, config: Any
    ) -> None:
        """Three classes, no scores: ours would refuse them."""
        monkeypatch.setitem(_model_evaluation_registry._registry, "toy", Toy)
        data = pd.DataFrame({"label": [0, 1, 2, 0] * 20, "predicted": [0, 1, 2, 2] * 20})
        found = evaluate(
            data, config, model_type="classifier", predictions="predicted", evaluators=None
        ).metrics
        monkeypatch.delitem(_model_evaluation_registry._registry, "rocmonitor")
        without = evaluate(
            data, config, model_type="classifier", predictions="predicted", evaluators=None
        ).metrics
        assert found == without
        assert found["toy"] == 1.0
        assert found["accuracy_score"] == pytest.approx(3 / 4)

    def test_beside_others_each_has_its_own_configuration(
        self, run_id: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(_model_evaluation_registry._registry, "toy", Toy)
        config = {"rocmonitor": {"challenger": "score_2"}, "toy": {"anything": 1}}
        found = evaluate(scored(), config, model_type="classifier", evaluators=["rocmonitor", "toy"]).metrics
        assert found["toy"] == 1.0
        assert found["difference/auc"] > 0

    @pytest.mark.slow
    def test_what_mlflow_imports_is_thin(self) -> None:
        """Neither our statistics nor a database, and nothing of ours runs, before it is asked."""
        script = (
            "import sys; import mlflow.models, mlflow.data; before = set(sys.modules);"
            "import rocmonitor.plugin.evaluator, rocmonitor.plugin.dataset;"
            "print(*sorted(set(sys.modules) - before))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
        )
        thin = {"rocmonitor", *(f"rocmonitor.plugin{name}" for name in ("", ".evaluator", ".dataset"))}
        assert set(done.stdout.split()) <= thin


# --- the dataset source ------------------------------------------------------------------------------------


def published(here: World, **configuration: str) -> list[Run]:
    """The window runs of the world's first two judged weeks, oldest first."""
    now = week(22) + timedelta(days=3)
    with here.runtime(now, **configuration) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now).evaluations
        # A server is shared with other tests, and has runs of theirs in the same experiment.
        links = [runtime.tracking.publish_window(str(here.folder), each, newest=True) for each in found]
        return [linked(runtime.tracking, link) for link in links]


def linked(tracking: Tracking, link: str) -> Run:
    """The run that a link leads to."""
    return tracking.client.get_run(re.split(r"[ /]", link.partition("?")[0])[-1])


def source_of(run: Run) -> RocmonitorWindowSource:
    (given,) = run.inputs.dataset_inputs
    found = mlflow.data.get_source(given)
    assert isinstance(found, RocmonitorWindowSource)
    return found


@pytest.fixture
def judged(here: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world with two judged weeks, one of which has rows that were set aside."""
    monkeypatch.delenv("ROCMONITOR_CONFIG", raising=False)
    scored_weeks(here)
    here.configure()
    return here


def scored_weeks(here: World) -> None:
    here.score(20, labelled=0.9)
    here.score(21, n=300, region="north")
    here.score(21, n=200, region="south", q=None)


@pytest.fixture(scope="module")
def runs(template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """The window runs of a world that is just like `judged`, told to MLflow once for all tests."""
    folder = tmp_path_factory.mktemp("told")
    for name in ("source.db", "mlflow.db"):
        shutil.copy(template / name, folder / name)
    like = World(folder=folder, source_url=f"sqlite:///{folder}/source.db")
    scored_weeks(like)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCENARIO_SOURCE_URL", like.source_url)
        return published(like)


class TestDataset:
    def test_a_run_gives_its_rows_again(self, judged: World, runs: list[Run]) -> None:
        first, second = runs
        rows = source_of(first).load(judged.folder / "rocmonitor.yaml")
        assert list(rows.columns) == ["id", "scored_at", "p", "q", "label"]
        assert len(rows) == int(first.data.metrics["data/used"]) == 360
        assert auc(rows["label"], rows["p"]).auc == pytest.approx(
            first.data.metrics["champion/auc"], abs=1e-12
        )
        assert rows["scored_at"].min() == f"{week(20):%Y-%m-%d %H:%M:%S}.000000"
        assert rows.attrs["rocmonitor"] == {"unchanged": True, "changed": []}
        others = source_of(second).load(judged.folder / "rocmonitor.yaml")
        assert len(others) == 500
        assert set(rows["id"]).isdisjoint(others["id"])

    @pytest.mark.slow
    def test_a_run_on_a_server_found_by_its_id(
        self, judged: World, mlflow_server: MlflowServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server.uri)
        first, _ = published(judged, mlflow=f"{{tracking_uri: '{mlflow_server.uri}'}}")
        monkeypatch.setenv("ROCMONITOR_CONFIG", str(judged.folder / "rocmonitor.yaml"))
        rows = source_of(mlflow.get_run(first.info.run_id)).load()
        assert len(rows) == 360

    @pytest.mark.slow
    def test_a_segment_gives_its_own_rows(self, judged: World) -> None:
        found = published(judged, segments="[region]")
        (north,) = [run for run in found if run.data.tags["rocmonitor.segment"] == "region=north"]
        rows = source_of(north).load(judged.folder / "rocmonitor.yaml")
        assert set(rows["region"]) == {"north"}
        assert len(rows) == int(north.data.metrics["data/used"]) == 300
        assert rows.attrs["rocmonitor"]["unchanged"] is True

    def test_late_labels_are_told(self, judged: World, runs: list[Run]) -> None:
        first, _ = runs
        judged.label_late(20)
        with pytest.warns(
            UserWarning, match=r"changed since they were judged, in 1 of 1 windows: 2026-05-25T"
        ):
            rows = source_of(first).load(judged.folder / "rocmonitor.yaml")
        assert rows.attrs["rocmonitor"]["unchanged"] is False
        assert len(rows) == 400

    def test_it_is_the_logged_query_that_is_asked(self, judged: World, runs: list[Run]) -> None:
        first, _ = runs
        path = judged.folder / "rocmonitor.yaml"
        path.write_text(path.read_text().replace("SELECT * FROM scored", "SELECT * FROM elsewhere"))
        assert len(source_of(first).load(path)) == 360
        path.write_text(path.read_text().replace("credit:", "renamed:"))  # nor is its monitor needed
        assert source_of(first).load(path).attrs["rocmonitor"]["unchanged"] is True

    def test_the_working_folder_has_the_configuration(
        self, judged: World, runs: list[Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, _ = runs
        with pytest.raises(ConfigError, match=r"load\(config=...\) or in the environment variable"):
            source_of(first).load("nowhere.yaml")
        monkeypatch.chdir(judged.folder)
        assert len(source_of(first).load()) == 360

    def test_a_source_that_is_not_there_is_told(self, judged: World, runs: list[Run]) -> None:
        first, _ = runs
        path = judged.folder / "rocmonitor.yaml"
        path.write_text(
            path.read_text().replace("here: {", "other: {").replace("source: here", "source: other")
        )
        with pytest.raises(
            ConfigError, match=r"source 'here', which is not defined under sources \(defined: other"
        ):
            source_of(first).load(path)

    def test_nothing_secret_is_logged(self, judged: World, runs: list[Run]) -> None:
        first, _ = runs
        told = source_of(first).to_dict()
        assert "sqlite" not in json.dumps(told)
        assert RocmonitorWindowSource.from_json(json.dumps(told)).to_dict() == told

    def test_a_review_gives_the_rows_that_both_scored(self, judged: World) -> None:
        judged.configure()
        path = judged.folder / "rocmonitor.yaml"
        path.write_text(path.read_text() + "    review: {n_resamples: 99}\n")
        config = load(path)
        with store.open_store(config.store_url) as kept:
            runtime = Runtime(config=config, store=kept, clock=lambda: week(23))
            told = review_monitor(runtime, config.monitors["credit"], now=week(23))
            run = linked(runtime.tracking, runtime.tracking.publish_review("instance", told))
        source = source_of(run)
        rows = source.load(path)
        assert len(rows) == int(told.metrics["data/rows"]) == 660  # without the 200 of the champion alone
        assert auc(rows["label"], rows["q"]).auc == pytest.approx(told.metrics["challenger/auc"], abs=1e-12)
        assert rows.attrs["rocmonitor"] == {"unchanged": True, "changed": []}
        judged.label_late(20)
        with pytest.warns(UserWarning, match="in 1 of 2 windows: 2026-05-25T"):
            source.load(path)

    def test_a_review_whose_windows_were_not_logged_cannot_say_whether_they_changed(
        self, judged: World, runs: list[Run]
    ) -> None:
        first, _ = runs
        plain = source_of(first).to_dict() | {"paired": True, "end": week(22).isoformat()}
        rows = RocmonitorWindowSource(plain).load(judged.folder / "rocmonitor.yaml")
        assert len(rows) == 660
        assert rows.attrs["rocmonitor"]["unchanged"] is None

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"query": None}, "without query"),
            ({"query": "DROP TABLE scored"}, "query: .*one SELECT"),
            ({"columns": {"time": "scored_at"}}, "columns.champion"),
            ({"start": "yesterday"}, "its windows"),
            ({"windows": [{"start": "2026-01-01T00:00:00+00:00"}]}, "its windows"),
        ],
    )
    def test_what_rocmonitor_did_not_log_is_refused(self, here: World, change: Any, said: str) -> None:
        config = here.configure()
        plain = {
            "source": "here",
            "query": config.monitors["credit"].query,
            "columns": {"time": "scored_at", "champion": "p", "label": "label"},
            "start": week(20).isoformat(),
            "end": week(21).isoformat(),
        }
        assert len(RocmonitorWindowSource(plain).load(here.folder / "rocmonitor.yaml")) == 0
        with pytest.raises(InputError, match=said):
            RocmonitorWindowSource(plain | change).load(here.folder / "rocmonitor.yaml")

    def test_more_rows_than_may_be_read_are_refused(self, judged: World, runs: list[Run]) -> None:
        first, _ = runs
        path = judged.folder / "rocmonitor.yaml"
        path.write_text(path.read_text().replace("timezone: UTC}", "timezone: UTC, max_rows: 10}"))
        with pytest.raises(SourceError, match=r"max_rows \(10\)"):
            source_of(first).load(path)

    def test_other_data_are_none_of_ours(self) -> None:
        given = mlflow.data.from_pandas(scored(), source="https://example.com/rows.csv")
        assert not isinstance(given.source, RocmonitorWindowSource)
