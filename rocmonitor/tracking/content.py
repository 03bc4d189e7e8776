"""The content of a run: tags, parameters, files and the dataset, all of them values of the evaluation."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.policy.record import Record
from rocmonitor.policy.windows import Window
from rocmonitor.tracking import note
from rocmonitor.wording.format import area, instant
from rocmonitor.wording.verdicts import verdict

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

Tables = Mapping[str, Sequence[Mapping[str, Any]]]

KEY, KIND, STATE, BY = (f"rocmonitor.{name}" for name in ("key", "kind", "state", "superseded_by"))
POINTS, DIGEST = "rocmonitor.points", "rocmonitor.points_digest"

HEADLINE = {
    "auc": "champion/auc",
    "auc_low": "champion/auc_low",
    "auc_high": "champion/auc_high",
    "forecast_low": "forecast/low",
    "forecast_high": "forecast/high",
    "margin": "forecast/margin",
    "outlook": "outlook/auc",
    "outlook_low": "outlook/low",
    "outlook_high": "outlook/high",
    "positives": "data/positives",
    "labelled_share": "data/labelled_share",
}
"""The first metrics of the lines over time, which a series run shows again under ``AUROC/``.

MLflow sorts charts by name, group by group, and the table of metrics of a run by when they were logged.
"""

BRIEF = (
    "champion/auc",
    "champion/auc_low",
    "champion/auc_high",
    "forecast/low",
    "forecast/high",
    "forecast/margin",
    "challenger/auc",
    "difference/auc",
    "outlook/auc",
    "data/used",
    "data/positives",
    "data/labelled_share",
)
"""The metrics of a window run without detail: MLflow keeps two rows for each metric of each run."""

BRIEF_BYTES = 25_000
"""The largest size of the one file of such a run, in bytes."""

_LONGEST_PARAM, _LONGEST_TAG, _LONGEST_DIGEST, _LONGEST_NAME = 6000, 8000, 36, 500
_SAFE = " !#$&()*+,/:;<=>?@^{|}~"


def quoted(text: str) -> str:
    """Return the text without what could end a string in MLflow's filters, which have no parameters."""
    return quote(text, safe=_SAFE)


def milliseconds(instant: datetime) -> int:
    """Return the instant as MLflow counts time."""
    return round(instant.timestamp() * 1000)


def cut(text: str, longest: int) -> str:
    """Return the text, with an end that says so when it had to be shortened."""
    end = f"… ({len(text):,} characters)"
    return text if len(text) <= longest else text[: longest - len(end)] + end


def shortened(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags as MLflow can keep them."""
    return {name: cut(value, _LONGEST_TAG) for name, value in tags.items()}


def experiment_name(monitor: str) -> str:
    """Name of a monitor's experiment."""
    return f"rocmonitor/{monitor}"


def window_tags(evaluation: Evaluation, *, full: bool = True, page: str | None = None) -> dict[str, str]:
    """Return what a window run is found by; MLflow shows the first of them first."""
    tags = {
        "outcome": str(evaluation.outcome),
        "status": str(evaluation.status),
        "monitor": evaluation.monitor,
        "segment": printable(evaluation.segment),
        "window": str(evaluation.window),
        "revision": str(evaluation.revision),
        "model": f"{evaluation.model}/{evaluation.champion_version}",
        **{f"rule.{verdict.rule}": str(verdict.outcome) for verdict in evaluation.verdicts},
    }
    start, groups = note.episode(evaluation)
    tags |= {"episode": start, "episode.groups": "; ".join(groups)}
    tags = {f"rocmonitor.{name}": value for name, value in tags.items() if value or name == "segment"}
    description = note.of_window(evaluation, full=full, page=page)
    return tags | origin("window") | {"mlflow.note.content": description}


def with_headline(point: Point, *, full: bool = True) -> Point:
    """Return the point as a series run has it: what people look for first is first, or all there is."""
    first = {f"AUROC/{name}": point.metrics[key] for name, key in HEADLINE.items() if key in point.metrics}
    return replace(point, metrics=first | point.metrics if full else first)


def window_name(evaluation: Evaluation) -> str:
    """Name of a window run: what a list of runs says of it.

    ``DEGRADED 0.607 · 2013-09-16``, ``ok 0.712 · 2013-09-09 · region=north · r1``.
    """
    auc = evaluation.metrics.get("champion/auc")
    fine = evaluation.outcome is Status.OK
    word = str(evaluation.outcome) if fine else evaluation.outcome.upper()
    value = "" if auc is None else f" {area(auc)}"
    revision = f"r{evaluation.revision}" if evaluation.revision else ""
    start = instant(evaluation.window.start, evaluation.zone)
    return " · ".join(filter(None, [word + value, start, printable(evaluation.segment), revision]))


def params(evaluation: Evaluation) -> dict[str, str]:
    """Return the parameters of a window run: what was judged, with what, against what."""
    reference = evaluation.reference
    values = {
        "window_start": evaluation.window.start.isoformat(),
        "window_end": evaluation.window.end.isoformat(),
        "evaluated_at": evaluation.evaluated_at.isoformat(),
        "reference_start": reference.get("start"),
        "reference_end": reference.get("end"),
        **{f"rule/{rule_verdict.rule}": verdict(rule_verdict) for rule_verdict in evaluation.verdicts},
    }
    return params_of(evaluation, values)


def params_of(record: Record, values: Mapping[str, Any]) -> dict[str, str]:
    """Versions, segment, some values and the provenance as parameters: JSON unless text, None left out."""
    whole = {
        "model": record.model,
        "champion_version": record.champion_version,
        "challenger_version": record.challenger_version,
        "segment": printable(record.segment) or "all rows",
        **values,
        **record.provenance,
    }
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in whole.items()
        if value is not None
    }


def files(evaluation: Evaluation, *, full: bool = True) -> dict[str, str]:
    """Return the evaluation and its tables as JSON and CSV; without detail, one file of limited size."""
    whole = evaluation.to_dict()
    if full:
        return documents("result.json", whole, evaluation.tables)
    # What is large is in the store too.
    large = [("reference", "windows"), ("reference", "fits")]
    large += [("tables", name) for name in sorted(whole["tables"], key=lambda name: name != "roc")]
    left_out: list[str] = []
    text = json.dumps(whole, ensure_ascii=False)
    for part, name in large:
        if len(text.encode()) <= BRIEF_BYTES:
            break
        if whole[part].pop(name, None):
            left_out.append(f"{part}.{name}")
            text = json.dumps({**whole, "left_out": left_out}, ensure_ascii=False)
    return {"result.json": text}


def dataset(evaluation: Evaluation) -> DatasetInput:
    """Return where the rows came from: enough to pull them again, with nothing secret."""
    counts = evaluation.to_dict()["counts"]
    return dataset_of(
        evaluation, evaluation.key, evaluation.window, profile={"num_rows": evaluation.counts.used, **counts}
    )


def dataset_of(
    record: Record,
    key: str,
    window: Window,
    *,
    kind: str = "",
    profile: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> DatasetInput:
    """Return the rows of a window or a review as MLflow logs a dataset, of our own source type.

    `key` stands for the digest of the data where there is none. The name, of which `kind` is a part, has to
    differ where digests are equal, as those of two empty windows. By the source, of which `more` are further
    parts, `rocmonitor.plugin.dataset` reads the rows again.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    provenance = record.provenance
    name = " ".join(filter(None, [record.monitor, kind, str(window), printable(record.segment)]))
    digest = provenance.get("data_digest") or hashlib.sha256(key.encode()).hexdigest()
    source = {
        "monitor": record.monitor,
        "start": window.start.isoformat(),
        "end": window.end.isoformat(),
        "segment": record.segment,
        **{part: provenance.get(part) for part in ("source", "query", "columns", "segments", "positive")},
        # That of cells says nothing of rows, which are what is read again.
        "digest": None if "condense" in provenance else provenance.get("data_digest"),
        **({"as_of": provenance["as_of"]} if "as_of" in provenance else {}),
        **(more or {}),
    }
    return DatasetInput(
        Dataset(
            name=name[:_LONGEST_NAME],
            digest=digest[:_LONGEST_DIGEST],
            source_type="rocmonitor_window",
            source=json.dumps(source, ensure_ascii=False),
            schema=json.dumps({"columns": provenance.get("columns")}, ensure_ascii=False),
            profile=json.dumps(profile),
        ),
        tags=[InputTag("mlflow.data.context", "evaluation")],
    )


def batch(
    *,
    metrics: Sequence[tuple[Point | Evaluation, int]] = (),
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Arguments for ``MlflowClient.log_batch``, which divides what is too much for one request."""
    from mlflow.entities import Metric, Param, RunTag

    return {
        "metrics": [
            Metric(name, value, milliseconds(point.window.end), step)
            for point, step in metrics
            for name, value in point.metrics.items()
        ],
        "params": [Param(name, cut(value, _LONGEST_PARAM)) for name, value in (params or {}).items()],
        "tags": [RunTag(name, value) for name, value in shortened(tags or {}).items()],
        "synchronous": True,
    }


def digests(points: Sequence[Point]) -> list[str]:
    """Digests of the first 0, 1, …, n points, each over the one before and what is logged of the next."""
    chain = [hashlib.sha256().hexdigest()]
    for point in points:
        logged = [chain[-1], milliseconds(point.window.end), sorted(point.metrics.items())]
        chain.append(hashlib.sha256(json.dumps(logged).encode()).hexdigest())
    return chain


def origin(kind: str) -> dict[str, str]:
    """Return what marks a run as one of ours, and its kind."""
    return {KIND: kind, "mlflow.source.name": "rocmonitor", "mlflow.source.type": "JOB"}


def documents(
    name: str, whole: Mapping[str, Any], tables: Tables, *, words: Tables | None = None
) -> dict[str, str]:
    """Return a result in one file, and its tables that have rows, by path; `words` are those for people."""
    written = {name: json.dumps(whole, ensure_ascii=False, indent=1)}
    for table, rows in tables.items():
        if rows:
            written[f"tables/{table}.json"] = json.dumps(rows, ensure_ascii=False)
            written[f"tables/{table}.csv"] = as_csv((words or tables)[table])
    return written


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return a table as a file: `columns` first, also of an empty table, then the others that rows have."""
    columns = [*dict.fromkeys([*columns, *(name for row in rows for name in row)])]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
