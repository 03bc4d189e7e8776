"""What a review writes to MLflow: a run of its own, and the verdict as tags on both model versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Point
from rocmonitor.policy.review.document import Review
from rocmonitor.tracking import access, content, review_note

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput

Versions = Mapping[str, Mapping[str, str] | None]

CC = "rocmonitor.cc."
"""What the tags of a model version begin with: champion against challenger."""

_NOT_TAGGED = "rocmonitor.not_tagged"
_VERDICT = f"{CC}verdict"
_LONGEST_SOURCE = 60_000  # MLflow takes 65,535
_NOT_THERE = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")


def name(review: Review) -> str:
    """Name of the run, as people read it."""
    period = review.period.in_zone(_zone(review))
    versions = f"{review.champion_version} against {review.challenger_version}"
    return ", ".join(filter(None, [f"review: {versions}", review.segment, period]))


def tags(review: Review) -> dict[str, str]:
    """What the run is found by."""
    plain = {
        "monitor": review.monitor,
        "segment": review.segment,
        "model": review.model,
        "champion_version": review.champion_version,
        "challenger_version": review.challenger_version,
        "period": str(review.period),
        "decision": str(review.decision),
        "registered": _truth(review.registered),
    }
    return content.origin("review") | {f"rocmonitor.{name}": value for name, value in plain.items()}


def told(review: Review, versions: Versions, report: str | None, before: Mapping[str, str]) -> dict[str, str]:
    """The description, and which versions could not be told.

    `versions` are as `standing` gives them; `before` are the tags that the run has.
    """
    missing = [f"{role}, version {_number(review, role)}" for role, held in versions.items() if held is None]
    description = {"mlflow.note.content": review_note.of_review(review, missing, report)}
    if missing or _NOT_TAGGED in before:
        return description | {_NOT_TAGGED: "; ".join(missing)}
    return description


def params(review: Review) -> dict[str, str]:
    """The parameters of the run: what was compared, by which rule, from which rows, with which software."""
    values = {
        "model": review.model,
        "segment": review.segment or "all rows",
        "champion_version": review.champion_version,
        "challenger_version": review.challenger_version,
        "period_start": review.period.start.isoformat(),
        "period_end": review.period.end.isoformat(),
        "registered": _truth(review.registered),
        "reviewed_at": review.reviewed_at.isoformat(),
        "decided_at": None if review.decided_at is None else review.decided_at.isoformat(),
        **{f"rule/{name}": value for name, value in review.rule.items()},
        **review.provenance,
    }
    return content.as_text(values)


def point(review: Review) -> Point:
    """The metrics, which stand at the end of the period."""
    return Point(window=review.period, revision=0, at=review.reviewed_at, metrics=review.metrics)


def files(review: Review) -> dict[str, str]:
    """The review in full, and its tables, as JSON and CSV."""
    return content.documents("review.json", review.to_dict(), review.tables)


def dataset(review: Review) -> DatasetInput:
    """Where the rows came from: enough to pull them again, with nothing secret."""
    provenance = review.provenance
    digest = provenance.get("data_digest")
    source = content.source(review.monitor, review.period, provenance, segment=review.segment)
    source |= {"paired": True}
    if windows := provenance.get("windows"):
        # Each window was read, and freed of repeated rows, on its own.
        with_windows = source | {"windows": windows}
        source = with_windows if len(json.dumps(with_windows)) < _LONGEST_SOURCE else source
    numbers = {key: review.metrics.get(f"review/{key}") for key in ("rows", "n_pos", "n_neg")}
    profile = {key: int(value) for key, value in numbers.items() if value is not None}
    return content.dataset_input(
        name=" ".join(filter(None, [f"{review.monitor} review {review.period}", review.segment])),
        digest=digest or hashlib.sha256(review.key.encode()).hexdigest(),
        source=source,
        columns=provenance.get("columns"),
        profile={"num_rows": profile.get("rows", 0), **profile},
    )


def standing(client: MlflowClient, review: Review) -> Versions:
    """The tags that both versions have now, by role; None for a version that is not in the registry."""
    from mlflow.exceptions import MlflowException

    held: dict[str, Mapping[str, str] | None] = {}
    for role in ("champion", "challenger"):
        try:
            held[role] = dict(client.get_model_version(review.model, _number(review, role)).tags)
        except MlflowException as error:
            if access.code(error) not in _NOT_THERE:
                raise
            held[role] = None
    return held


def tell_versions(client: MlflowClient, review: Review, run_id: str, versions: Versions) -> None:
    """Write the verdict to both versions, unless they tell a later one; never an alias.

    The verdict goes first and comes back last: a version that has one has all that belongs to it. A version
    that is not in the registry is passed over, and a review of one segment is no verdict on a version.
    """
    if review.segment:
        return
    for role, held in versions.items():
        if held is None or not _may_tell(review, held):
            continue
        told, number = _version_tags(review, role, run_id), _number(review, role)
        if told.items() <= held.items():
            continue
        if _VERDICT in held:
            client.delete_model_version_tag(review.model, number, _VERDICT)
        for key in sorted(held.keys() - told.keys()):
            if key.startswith(CC):
                client.delete_model_version_tag(review.model, number, key)
        for key, value in told.items():
            if key == _VERDICT or held.get(key) != value:
                client.set_model_version_tag(review.model, number, key, value)


def _version_tags(review: Review, role: str, run_id: str) -> dict[str, str]:
    """What a version is told, the verdict last.

    The difference is the one that decides, over all looks; on both versions challenger minus champion.
    """
    other = "champion" if role == "challenger" else "challenger"
    numbers = {
        "delta_auroc": review.metrics.get("review/so_far"),
        "ci_lo": review.metrics.get("review/always_low"),
        "ci_hi": review.metrics.get("review/always_high"),
    }
    plain = {
        "against_version": _number(review, other),
        "role": role,
        **{name: f"{value:.6g}" for name, value in numbers.items() if value is not None},
        "window": str(review.period),
        "run_id": run_id,
        "reviewed_at": review.reviewed_at.isoformat(),
        "registered": _truth(review.registered),
        "verdict": str(review.decision),
    }
    return {f"{CC}{name}": value for name, value in plain.items()}


def _may_tell(review: Review, held: Mapping[str, str]) -> bool:
    """Whether the tags tell of no later review than this.

    A review of the configured period is never replaced by one that was chosen by hand, of whichever pair of
    versions, and always replaces it; of two of a kind the period that ends later counts, then the time of
    the review.
    """
    try:
        end = datetime.fromisoformat(held[f"{CC}window"].partition("/")[2])
        at = datetime.fromisoformat(held[f"{CC}reviewed_at"])
        before, now = (end, at), (review.period.end, review.reviewed_at)
    except (KeyError, ValueError):  # none yet, or half-written, or somebody else's
        return True
    return (review.registered, *now) >= (held.get(f"{CC}registered") == "true", *before)


def _number(review: Review, role: str) -> str:
    return review.champion_version if role == "champion" else review.challenger_version


def _zone(review: Review) -> ZoneInfo:
    return ZoneInfo(review.provenance.get("timezone", "UTC"))


def _truth(value: bool) -> str:
    return "true" if value else "false"
