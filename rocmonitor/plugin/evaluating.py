"""The evaluator's work: compute, draw and log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
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

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.plugin.settings import Settings
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.measure import Measured, data_metrics, measure
from rocmonitor.policy.record import caveats_of
from rocmonitor.report import shapes
from rocmonitor.report.html import render
from rocmonitor.stats import PairedSample, Sample
from rocmonitor.tracking import note
from rocmonitor.tracking.content import HEADLINE, as_csv
from rocmonitor.tracking.note import NOTE
from rocmonitor.wording.format import area, beside_normal, percent, span, with_interval

_FOLDER = "rocmonitor"
_KINDS: dict[str, Any] = {
    "roc.html": TextEvaluationArtifact,
    "roc.csv": CsvEvaluationArtifact,
    "result.json": JsonEvaluationArtifact,
}
_DATA = ("data/rows", "data/positives", "data/negatives")


def evaluate(
    dataset: Any, config: Mapping[str, Any], run_id: str, *, model: Any, logged_by_mlflow: bool
) -> Any:
    """Evaluate the scores of a dataset, and log metrics and files once.

    MLflow logs the metrics itself where a model ID is given, and otherwise not at all.
    """
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

    Parameters
    ----------
    pair: The same rows, challenger first, champion second.
    names: Of the columns ``label`` and ``score``.

    Raises
    ------
    InputError: Fewer than two rows of a class; an impossible level, rate or threshold; an unusable reference.
    """
    measured = measure(
        champion,
        pair,
        fprs=settings.fpr,
        thresholds={threshold: threshold for threshold in settings.thresholds},
        costs={},
        confidence_level=settings.confidence_level,
    )
    rows = champion.n_pos + champion.n_neg
    data = data_metrics(Counts(rows=rows, n_pos=champion.n_pos, n_neg=champion.n_neg))
    forecast, caveats = _forecast(champion, measured.champion.auc, settings, names)
    metrics = {name: data[name] for name in _DATA} | measured.metrics | forecast
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
    others = _column(dataset.features_data, settings.challenger)
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


def _column(features: Any, name: str) -> Any:
    columns = list(getattr(features, "columns", []))
    if name not in columns:
        there = ", ".join(map(str, columns[:30])) or "none"
        raise InputError(f"the data have no column {name!r} beside them; there are {there}")
    return features[name].to_numpy()


def _forecast(
    sample: Sample, area: float, settings: Settings, names: Mapping[str, str]
) -> tuple[dict[str, float], list[Caveat]]:
    """Return the forecast interval and the signed distance to its nearer end, where there is a forecast."""
    caveats: list[Caveat] = []
    interval = settings.interval(sample, names)
    if interval is not None:
        caveats = list(caveats_of(interval))
        low, high = interval.low, interval.high
    elif settings.forecast is not None:
        low, high = settings.forecast
    else:
        return {}, caveats
    margin = min(area - low, high - area)
    return {"forecast/low": low, "forecast/high": high, "forecast/margin": margin}, caveats


def _files(measured: Measured, settings: Settings, sample: Sample) -> dict[str, bytes]:
    roc = as_csv(measured.tables["roc"], ["model", "fpr", "tpr", "tpr_low", "tpr_high"])
    result = {
        "metrics": measured.metrics,
        "caveats": [caveat.to_dict() | {"text": str(caveat)} for caveat in measured.caveats],
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
        parts.append("\n".join(f"- {note.line(str(caveat))}" for caveat in measured.caveats))
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
