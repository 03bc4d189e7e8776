"""The evaluator's work: read its settings, compute, draw and log."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from mlflow.models.evaluation import EvaluationResult
from mlflow.models.evaluation.artifacts import (
    CsvEvaluationArtifact,
    JsonEvaluationArtifact,
    TextEvaluationArtifact,
)
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

from rocmonitor.errors import InputError
from rocmonitor.plugin import EVALUATOR_KEYS
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.measure import Measured, Wanted, data_metrics, measure
from rocmonitor.policy.record import caveats_of
from rocmonitor.report import shapes
from rocmonitor.report.html import render
from rocmonitor.stats import ForecastInterval, PairedSample, Sample, forecast_interval
from rocmonitor.tracking import note
from rocmonitor.tracking.content import HEADLINE, as_csv
from rocmonitor.tracking.note import NOTE
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import area, beside_normal, percent, span, with_interval

_FOLDER = "rocmonitor"
_KINDS: dict[str, Any] = {
    "roc.html": TextEvaluationArtifact,
    "roc.csv": CsvEvaluationArtifact,
    "result.json": JsonEvaluationArtifact,
}
_MLFLOWS_OWN = frozenset({"col_mapping"})
_ROWS = ("labels", "scores", "windows")
_FILE = ("path", "label", "score", "window")
_DATA = ("data/rows", "data/positives", "data/negatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the evaluator: the statistics to compute.

    Attributes
    ----------
    challenger: Column of the challenger's scores.
    fpr, thresholds: Operating points to report.
    forecast: A known interval ``[low, high]``, such as that of a monitor's reference.
    reference: Rows of the past from which the calibrated forecast interval is computed: ``{"labels": [...],
        "scores": [...], "windows": [...]}``, equally long, where `windows` names the past window of each row;
        or ``{"path": "past.parquet"}`` (or .csv), with the column names ``label`` and ``score`` (by default
        those of the data) and ``window`` (by default ``window``).
    """

    challenger: str | None = None
    confidence_level: float = 0.95
    fpr: tuple[float, ...] = (0.01, 0.05, 0.1)
    thresholds: tuple[float, ...] = ()
    forecast: tuple[float, float] | None = None
    reference: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Settings:
        """Check the given values; an InputError names an unknown key, or a value of the wrong type."""
        _known("evaluator_config", config, sorted(EVALUATOR_KEYS), extra=_MLFLOWS_OWN)
        given: dict[str, Any] = {key: config[key] for key in EVALUATOR_KEYS if config.get(key) is not None}
        if not isinstance(given.get("challenger", ""), str):
            raise InputError(f"challenger must name a column; it is {given['challenger']!r}")
        if "confidence_level" in given:
            (given["confidence_level"],) = _numbers("confidence_level", [given["confidence_level"]])
        for key in ("fpr", "thresholds"):
            if key in given:
                given[key] = _points(key, given[key])
        if "forecast" in given:
            if "reference" in given:
                raise InputError("evaluator_config has both forecast and reference; keep one")
            ends = _numbers("forecast", given["forecast"])
            if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1:
                raise InputError(
                    f"forecast must be [low, high] with 0 <= low <= high <= 1; it is {given['forecast']!r}"
                )
            given["forecast"] = ends
        if "reference" in given:
            reference = given["reference"]
            if not isinstance(reference, Mapping):
                raise InputError(
                    "reference must be a dict, either of labels, scores and windows or with the path of a "
                    f"file; it is of type {type(reference).__name__}"
                )
            _known("reference", reference, _FILE if "path" in reference else _ROWS)
            if "path" not in reference and (missing := [key for key in _ROWS if key not in reference]):
                raise InputError(
                    f"reference has no {' and no '.join(missing)}; it needs labels, scores and windows "
                    "(which name the past window of each row), or the path of a file"
                )
        return cls(**given)

    def interval(self, sample: Sample, names: Mapping[str, str]) -> ForecastInterval | None:
        """Return the reference's forecast for the sample's class sizes; None without a reference."""
        if self.reference is None:
            return None
        past = self.reference if "labels" in self.reference else _from_file(self.reference, names)
        label, score, window = (np.asarray(past[key]) for key in _ROWS)
        if len({len(label), len(score), len(window)}) > 1:
            sizes = ", ".join(f"{key} {len(past[key])}" for key in _ROWS)
            raise InputError(f"reference: labels, scores and windows must be equally long; there are {sizes}")
        whole, (codes, _) = Sample(label, score), pd.factorize(pd.Series(window))
        if (codes < 0).any():
            raise InputError(
                f"reference: {(codes < 0).sum()} rows have no window; leave them out, or name it"
            )
        order = np.argsort(codes, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        return forecast_interval(
            whole,
            windows=[Sample(label[rows], score[rows]) for rows in groups],
            confidence_level=self.confidence_level,
            batch=(sample.n_pos, sample.n_neg),
        )


def evaluate(
    dataset: Any, config: Mapping[str, Any], run_id: str, *, model: Any, logged_by_mlflow: bool
) -> Any:
    """Evaluate the scores of a dataset; log files, and metrics where MLflow does not (without a model ID)."""
    names = {"label": dataset.targets_name or "targets", "score": dataset.predictions_name or "predictions"}
    try:
        settings = Settings.read(config)
        pair, champion = _samples(dataset, settings, names, model)
        measured = find(champion, pair, settings, names)
        files = _files(measured, settings, champion)
    except InputError as error:
        raise MlflowException(f"rocmonitor: {error}", error_code=INVALID_PARAMETER_VALUE) from error
    client = MlflowClient()
    if not logged_by_mlflow:
        now = round(time.time() * 1000)
        client.log_batch(run_id, [Metric(key, value, now, 0) for key, value in measured.metrics.items()])
    run = client.get_run(run_id)
    if NOTE not in run.data.tags:  # somebody else's words are left as they are
        client.set_tag(run_id, NOTE, _note(measured))
    artifacts, place = {}, run.info.artifact_uri
    with TemporaryDirectory(prefix="rocmonitor-") as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
            uri = f"{place}/{_FOLDER}/{name}"
            artifacts[f"{_FOLDER}/{name}"] = _KINDS[name](uri=uri)
        client.log_artifacts(run_id, folder, _FOLDER)
    result: Callable[..., Any] = EvaluationResult  # MLflow does not say its types
    return result(metrics=measured.metrics, artifacts=artifacts, run_id=run_id)


def find(
    champion: Sample, pair: PairedSample | None, settings: Settings, names: Mapping[str, str]
) -> Measured:
    """Return the statistics of the scores, and where they lie in the forecast.

    The pair has the same rows, challenger first; `names` are those of the columns ``label`` and ``score``.
    """
    thresholds = {threshold: threshold for threshold in settings.thresholds}
    wanted = Wanted(fprs=settings.fpr, thresholds=thresholds, confidence_level=settings.confidence_level)
    measured = measure(champion, pair, wanted)
    rows = champion.n_pos + champion.n_neg
    data = data_metrics(Counts(rows=rows, n_pos=champion.n_pos, n_neg=champion.n_neg))
    interval = settings.interval(champion, names)
    caveats = () if interval is None else caveats_of(interval)
    metrics = {name: data[name] for name in _DATA} | measured.metrics
    ends = settings.forecast if interval is None else (interval.low, interval.high)
    if ends is not None:
        margin = min(measured.champion.auc - ends[0], ends[1] - measured.champion.auc)
        metrics |= {"forecast/low": ends[0], "forecast/high": ends[1], "forecast/margin": margin}
    # MLflow lists metrics in this order: what people look for comes first.
    first = [name for name in HEADLINE.values() if name in metrics]
    return replace(
        measured,
        metrics={name: float(metrics[name]) for name in dict.fromkeys([*first, *metrics])},
        caveats=tuple(dict.fromkeys([*measured.caveats, *caveats])),
    )


def _samples(
    dataset: Any, settings: Settings, names: Mapping[str, str], model: Any
) -> tuple[PairedSample | None, Sample]:
    if dataset.labels_data is None:
        raise InputError("there are no labels; name their column as targets")
    if dataset.predictions_data is None:
        asked = " in place of the model" if model is not None else ""
        raise InputError(
            f"there are no scores; score the rows first, and name their column as predictions{asked}"
        )
    labels, scores = np.asarray(dataset.labels_data), np.asarray(dataset.predictions_data)
    first = f"targets {names['label']!r}, predictions {names['score']!r}"
    if settings.challenger is None:
        return None, _named(first, labels, scores)
    features = dataset.features_data
    columns = list(getattr(features, "columns", []))
    if settings.challenger not in columns:
        there = ", ".join(map(str, columns[:30])) or "none"
        raise InputError(f"the data have no column {settings.challenger!r} beside them; there are {there}")
    others = features[settings.challenger].to_numpy()
    try:
        pair = PairedSample(labels, others, scores)
    except InputError:  # which of the columns is it?
        _named(first, labels, scores)
        _named(f"targets {names['label']!r}, challenger {settings.challenger!r}", labels, others)
        raise
    return pair, pair.second


def _named(columns: str, labels: Any, scores: Any) -> Sample:
    """Return the sample of two columns, which errors name as the user does."""
    try:
        return Sample(labels, scores)
    except InputError as error:
        raise InputError(f"{columns}: {error}") from error


def _files(measured: Measured, settings: Settings, sample: Sample) -> dict[str, bytes]:
    roc = as_csv(measured.tables["roc"], ["model", "fpr", "tpr", "tpr_low", "tpr_high"])
    result = {
        "metrics": measured.metrics,
        "caveats": [caveat.to_dict() | {"text": words_of(caveat)} for caveat in measured.caveats],
        "confidence_level": settings.confidence_level,
        "challenger": settings.challenger,
    }
    return {
        "roc.html": render(
            "roc.html.j2",
            auc=with_interval(
                measured.metrics["champion/auc"],
                measured.metrics["champion/auc_low"],
                measured.metrics["champion/auc_high"],
            ),
            rows=measured.tables["roc"],
            sample=sample,
            level=percent(settings.confidence_level),
            headline=_headline(measured.metrics),
            roc=shapes.roc,
        ).encode(),
        "roc.csv": roc.encode(),
        "result.json": json.dumps(result, indent=1, ensure_ascii=False).encode(),
    }


def _note(measured: Measured) -> str:
    """Return the run's description: AUROC beside its forecast, challenger, caveats, files."""
    metrics = measured.metrics
    value, low, high = (metrics.get(name) for name in ("champion/auc", "forecast/low", "forecast/high"))
    assert value is not None
    ends = span(metrics["champion/auc_low"], metrics["champion/auc_high"])
    lead = f"AUROC {area(value)}"
    if low is not None and high is not None:
        lead = beside_normal(value, low, high)
    parts = [f"**{lead}** (interval {ends}); {_headline(metrics)}."]
    if measured.caveats:
        parts.append("\n".join(f"- {note.line(words_of(caveat))}" for caveat in measured.caveats))
    parts.append(
        f"Artifacts: `{_FOLDER}/roc.html`, `{_FOLDER}/roc.csv`, and all of it in `{_FOLDER}/result.json`."
    )
    return "\n\n".join(parts)


def _headline(metrics: Mapping[str, float]) -> str:
    parts = []
    if "difference/auc" in metrics:
        parts.append(
            f"challenger minus champion {metrics['difference/auc']:+.4f} "
            f"({metrics['difference/auc_low']:+.4f} to {metrics['difference/auc_high']:+.4f})"
        )
    if "forecast/margin" in metrics:
        where = "inside" if metrics["forecast/margin"] >= 0 else "outside"
        parts.append(f"{where} normal range {metrics['forecast/low']:.4f} to {metrics['forecast/high']:.4f}")
    return "; ".join(parts) or "one model, no forecast"


def _known(
    where: str, given: Mapping[str, Any], known: Sequence[str], extra: frozenset[str] = frozenset()
) -> None:
    if unknown := sorted(str(key) for key in given if key not in known and key not in extra):
        raise InputError(f"{where} has unknown keys: {', '.join(unknown)}; known are {', '.join(known)}")


def _numbers(key: str, given: Any) -> tuple[float, ...]:
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, list | tuple) or not all(
        not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value) for value in values
    ):
        raise InputError(f"{key} must hold finite numbers and nothing else; it is {given!r}")
    return tuple(map(float, values))


def _points(key: str, given: Any) -> tuple[float, ...]:
    values = _numbers(key, given)
    named: dict[str, float] = {}
    for value in values:
        if f"{value:g}" in named:
            raise InputError(
                f"{key}: {named[f'{value:g}']!r} and {value!r} have one name, {value:g}; keep one"
            )
        named[f"{value:g}"] = value
    return values


def _from_file(reference: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    path = Path(reference["path"])
    columns = {
        "labels": reference.get("label", names["label"]),
        "scores": reference.get("score", names["score"]),
        "windows": reference.get("window", "window"),
    }
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif ".csv" in path.suffixes:
            frame = pd.read_csv(path)
        else:
            raise InputError(f"reference: {path} must be a .parquet or .csv file (a .csv.gz is fine)")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"reference: {path} cannot be read: {error}") from error
    if missing := [column for column in columns.values() if column not in frame.columns]:
        there = ", ".join(map(str, frame.columns[:30]))
        raise InputError(
            f"reference: {path} has no column {', '.join(missing)}; there are {there}. "
            "Name them as label, score and window"
        )
    return {key: frame[column].to_numpy() for key, column in columns.items()}
