"""What the evaluator computes, draws and logs."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    ImageEvaluationArtifact,
    JsonEvaluationArtifact,
)
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

from rocmonitor.errors import InputError
from rocmonitor.plugin.settings import Settings
from rocmonitor.report.canvas import BLUE, GREY, LIGHT, ORANGE, heading, panels, png
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc,
    compare_auc_paired,
    threshold_intervals,
    vertical_intervals,
)

_FOLDER = "rocmonitor"
_KINDS: dict[str, Any] = {
    "roc.png": ImageEvaluationArtifact,
    "roc.csv": CsvEvaluationArtifact,
    "result.json": JsonEvaluationArtifact,
}
_CURVE_POINTS = 99
_STYLES = {"champion": (BLUE, "-"), "challenger": (ORANGE, "--")}

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found: metrics by name, the curves, and what a reader should know."""

    metrics: dict[str, float]
    curves: Rows
    caveats: tuple[str, ...]


def evaluate(
    dataset: Any, config: Mapping[str, Any], run_id: str, *, model: Any, logged_by_mlflow: bool
) -> Any:
    """Evaluate the scores of a dataset and log all of it once.

    MLflow logs the metrics itself where a model ID is given, and otherwise not at all.
    """
    names = {"label": dataset.targets_name or "targets", "score": dataset.predictions_name or "predictions"}
    try:
        settings = Settings.read(config)
        pair, champion = _samples(dataset, settings, names, model)
        found = find(champion, pair, settings, names)
        files = _files(found, settings, champion)
    except InputError as error:
        raise MlflowException(f"rocmonitor: {error}", error_code=INVALID_PARAMETER_VALUE) from error
    client = MlflowClient()
    if not logged_by_mlflow:
        now = round(time.time() * 1000)
        client.log_batch(run_id, [Metric(key, value, now, 0) for key, value in found.metrics.items()])
    artifacts, place = {}, client.get_run(run_id).info.artifact_uri
    with TemporaryDirectory(prefix="rocmonitor-") as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
            uri = f"{place}/{_FOLDER}/{name}"
            artifacts[f"{_FOLDER}/{name}"] = _KINDS[name](uri=uri)
        client.log_artifacts(run_id, folder, _FOLDER)
    result: Callable[..., Any] = EvaluationResult  # MLflow does not say its types
    return result(metrics=found.metrics, artifacts=artifacts, run_id=run_id)


def find(champion: Sample, pair: PairedSample | None, settings: Settings, names: Mapping[str, str]) -> Found:
    """The statistics of the scores.

    Parameters
    ----------
    champion : Sample
    pair : PairedSample or None
        The same rows, champion first, challenger second.
    settings : Settings
    names : dict of str to str
        Of the columns ``label`` and ``score``.

    Raises
    ------
    InputError
        Fewer than two rows of a class; an impossible level, rate or threshold; an unusable reference.
    """
    level = settings.confidence_level
    result = auc(champion)
    low, high = result.ci(level, transform="logit")
    metrics = {
        "roc/auc": result.auc,
        "roc/auc_se": result.se,
        "roc/auc_low": low,
        "roc/auc_high": high,
        "roc/rows": float(champion.n_pos + champion.n_neg),
        "roc/n_pos": float(champion.n_pos),
        "roc/n_neg": float(champion.n_neg),
    }
    caveats = list(result.caveats)
    samples = {"champion": champion} | ({} if pair is None else {"challenger": pair.second})
    caveats += [
        f"the {name} has neither curve nor operating points: all its scores are {sample.score[0]:g}"
        for name, sample in samples.items()
        if len(sample.score) == 1
    ]
    samples = {name: sample for name, sample in samples.items() if len(sample.score) > 1}
    if "champion" in samples:
        metrics |= _operating_points(champion, settings, caveats)
    if pair is not None:
        metrics |= _difference(pair, level)
    metrics |= _forecast(champion, result.auc, settings, names, caveats)
    curves = [row for name, sample in samples.items() for row in _curve(name, sample, level)]
    return Found(
        metrics={name: float(value) for name, value in metrics.items()},
        curves=curves,
        caveats=tuple(dict.fromkeys(caveats)),
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
    try:
        if settings.challenger is None:
            return None, Sample(labels, scores)
        others = _column(dataset.features_data, settings.challenger)
        pair = PairedSample(labels, scores, others)
    except InputError as error:
        other = "" if settings.challenger is None else f", challenger {settings.challenger!r}"
        columns = f"targets {names['label']!r} (y_true), predictions {names['score']!r}{other}"
        raise InputError(f"{columns}: {error}") from error
    return pair, pair.first


def _column(features: Any, name: str) -> Any:
    columns = list(getattr(features, "columns", []))
    if name not in columns:
        there = ", ".join(map(str, columns[:30])) or "none"
        raise InputError(f"the data have no column {name!r} beside them; there are {there}")
    return features[name].to_numpy()


def _operating_points(sample: Sample, settings: Settings, caveats: list[str]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    if settings.fpr:
        curve = vertical_intervals(sample, settings.fpr, confidence_level=settings.confidence_level)
        for number, fpr in enumerate(settings.fpr):
            metrics |= _bounded(curve, "tpr", number, f"roc/tpr_at_fpr_{fpr:g}")
            if abs(curve.fpr[number] - fpr) > 0.1 * fpr:
                caveats.append(
                    f"the true positive rate at {fpr:g} is that at {curve.fpr[number]:g}, the nearest that "
                    f"{sample.n_neg} negatives have"
                )
    if settings.thresholds:
        points = threshold_intervals(sample, settings.thresholds, confidence_level=settings.confidence_level)
        for number, threshold in enumerate(settings.thresholds):
            for rate in ("tpr", "fpr"):
                metrics |= _bounded(points, rate, number, f"roc/{rate}_at_threshold_{threshold:g}")
    return metrics


def _bounded(table: Any, rate: str, number: int, name: str) -> dict[str, float]:
    return {f"{name}{end}": getattr(table, f"{rate}{end}")[number] for end in ("", "_low", "_high")}


def _difference(pair: PairedSample, level: float) -> dict[str, float]:
    difference = compare_auc_paired(pair.swapped())  # challenger minus champion
    low, high = difference.ci(level)
    return {
        "roc/challenger_auc": difference.auc_1,
        "roc/difference": difference.difference,
        "roc/difference_se": difference.se,
        "roc/difference_low": low,
        "roc/difference_high": high,
        "roc/difference_pvalue": difference.pvalue,
    }


def _forecast(
    sample: Sample, found: float, settings: Settings, names: Mapping[str, str], caveats: list[str]
) -> dict[str, float]:
    interval = settings.interval(sample, names)
    if interval is not None:
        caveats += interval.caveats
        low, high = interval.low, interval.high
    elif settings.forecast is not None:
        low, high = settings.forecast
    else:
        return {}
    return {
        "roc/forecast_low": low,
        "roc/forecast_high": high,
        "roc/forecast_margin": min(found - low, high - found),
    }


def _curve(model: str, sample: Sample, level: float) -> Rows:
    # Only multiples of 1 / n_neg exist as rates.
    steps = np.unique(np.rint(np.linspace(0, sample.n_neg, _CURVE_POINTS + 2))[1:-1])
    steps = steps[(steps > 0) & (steps < sample.n_neg)]
    curve = vertical_intervals(sample, steps / sample.n_neg, confidence_level=level)
    columns = ("fpr", "tpr", "tpr_low", "tpr_high")
    values = zip(*(getattr(curve, name).tolist() for name in columns), strict=True)
    return [{"model": model, **dict(zip(columns, row, strict=True))} for row in values]


def _files(found: Found, settings: Settings, sample: Sample) -> dict[str, bytes]:
    table = io.StringIO()
    writer = csv.DictWriter(table, ["model", "fpr", "tpr", "tpr_low", "tpr_high"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found.curves)
    told = {
        "metrics": found.metrics,
        "caveats": found.caveats,
        "confidence_level": settings.confidence_level,
        "challenger": settings.challenger,
    }
    return {
        "roc.png": _figure(found, settings, sample),
        "roc.csv": table.getvalue().encode(),
        "result.json": json.dumps(told, indent=1, ensure_ascii=False).encode(),
    }


def _figure(found: Found, settings: Settings, sample: Sample) -> bytes:
    figure, (axes,) = panels(8, 8.6)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.grid(color=LIGHT, linewidth=0.6)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="chance")
    metrics = found.metrics
    heading(
        axes,
        f"AUROC {metrics['roc/auc']:.4f} ({metrics['roc/auc_low']:.4f} to {metrics['roc/auc_high']:.4f})",
        f"{sample.n_pos:,} positive and {sample.n_neg:,} negative rows, each interval at "
        f"{100 * settings.confidence_level:g} %\n{_headline(metrics)}",
    )
    for model, (color, line) in _STYLES.items():
        rows = [row for row in found.curves if row["model"] == model]
        if rows:
            fpr, tpr, low, high = (
                [row[key] for row in rows] for key in ("fpr", "tpr", "tpr_low", "tpr_high")
            )
            axes.fill_between(fpr, low, high, color=color, alpha=0.15, linewidth=0)
            axes.plot([0, *fpr, 1], [0, *tpr, 1], color=color, linestyle=line, label=model)
    axes.legend(loc="lower right", frameon=False)
    return png(figure)


def _headline(metrics: Mapping[str, float]) -> str:
    told = []
    if "roc/difference" in metrics:
        told.append(
            f"challenger minus champion {metrics['roc/difference']:+.4f} "
            f"({metrics['roc/difference_low']:+.4f} to {metrics['roc/difference_high']:+.4f})"
        )
    if "roc/forecast_margin" in metrics:
        where = "inside" if metrics["roc/forecast_margin"] >= 0 else "outside"
        told.append(
            f"{where} forecast {metrics['roc/forecast_low']:.4f} to {metrics['roc/forecast_high']:.4f}"
        )
    return "; ".join(told) or "one model, no forecast"
