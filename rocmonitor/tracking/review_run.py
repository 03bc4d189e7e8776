"""A review in MLflow: a run of its own, and the decision as tags on both model versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rocmonitor.errors import printable
from rocmonitor.policy.review.document import Review
from rocmonitor.tracking import access, content
from rocmonitor.tracking.note import caveats, interval, line
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.review import advice, decision, in_words, sentence, summary, with_verdict

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput


Versions = Mapping[str, Mapping[str, str] | None]

CC = "rocmonitor.cc."
"""Prefix of the tags of a model version: champion against challenger."""

SENTENCE = "rocmonitor.cc"
"""The tag that says all in one line. MLflow sorts the tags of a version: it comes before the others."""

_NOT_TAGGED = "rocmonitor.not_tagged"
_VERDICT = f"{CC}verdict"
_LONGEST_SOURCE = 60_000  # characters; MLflow takes 65,535


def name(review: Review) -> str:
    """Name of the run, for people."""
    period = review.period.in_zone(review.zone)
    versions = f"{review.challenger_version} against {review.champion_version}"
    return " · ".join(
        filter(None, [f"review: {decision(review)}", versions, printable(review.segment), period])
    )


def tags(review: Review) -> dict[str, str]:
    """Tags to search runs by."""
    plain = {
        "monitor": review.monitor,
        "segment": printable(review.segment),
        "model": review.model,
        "champion_version": review.champion_version,
        "challenger_version": review.challenger_version,
        "period": str(review.period),
        "decision": decision(review),
        "chosen_by_hand": _by_hand(review),
    }
    return content.origin("review") | {f"rocmonitor.{name}": value for name, value in plain.items()}


def description(
    review: Review, versions: Versions, report: str | None, before: Mapping[str, str]
) -> dict[str, str]:
    """Return the description, and the versions without tags, as tags; `before` are those of the run."""
    missing = [f"{role}, version {_number(review, role)}" for role, tags in versions.items() if tags is None]
    note = {"mlflow.note.content": of_review(review, missing, report)}
    if missing or _NOT_TAGGED in before:
        return note | {_NOT_TAGGED: "; ".join(missing)}
    return note


def params(review: Review) -> dict[str, str]:
    """Return the parameters of the run: versions, period, rule, and where the rows came from."""
    values = {
        "period_start": review.period.start.isoformat(),
        "period_end": review.period.end.isoformat(),
        "chosen_by_hand": _by_hand(review),
        "reviewed_at": review.reviewed_at.isoformat(),
        "decided_at": None if review.decided_at is None else review.decided_at.isoformat(),
        **{f"rule/{name}": value for name, value in review.rule.items()},
    }
    return content.params_of(review, values)


def files(review: Review) -> dict[str, str]:
    """Return the whole review as JSON, and its tables as JSON with codes and as CSV with words."""
    words = {name: [in_words(name, row, review) for row in rows] for name, rows in review.tables.items()}
    return content.documents("review.json", with_verdict(review), review.tables, words=words)


def dataset(review: Review) -> DatasetInput:
    """Return where the rows came from: enough to pull them again, with nothing secret."""
    more: dict[str, Any] = {"paired": True}
    # Each window was read, and its repeated rows removed, on its own.
    windows = review.provenance.get("windows")
    if windows and len(json.dumps([windows, review.provenance.get("query")])) < _LONGEST_SOURCE:
        more["windows"] = windows
    names = {"num_rows": "rows", "rows": "rows", "n_pos": "positives", "n_neg": "negatives"}
    profile = {key: int(review.metrics.get(f"data/{name}", 0)) for key, name in names.items()}
    return content.dataset_of(review, review.key, review.period, kind="review", profile=profile, more=more)


def version_tags(client: MlflowClient, review: Review) -> Versions:
    """Return the present tags of both versions, by role; None for a version that is not in the registry."""
    versions = {
        role: access.model_version(client, review.model, _number(review, role))
        for role in ("champion", "challenger")
    }
    return {role: None if version is None else dict(version.tags) for role, version in versions.items()}


def tag_versions(client: MlflowClient, review: Review, run_id: str, versions: Versions) -> None:
    """Write the decision to both versions, unless they have that of a later review; never an alias.

    The verdict, and the line that repeats it, are deleted first and written last, so that a version with a
    verdict has all that belongs to it. A version that is not in the registry is skipped. A review of one
    segment is not written at all.
    """
    if review.segment:
        return
    for role, before in versions.items():
        if before is None or not _is_newest(review, before):
            continue
        tags, number = _decision_tags(review, role, run_id), _number(review, role)
        if tags.items() <= before.items():
            continue
        for key in (_VERDICT, SENTENCE):
            if key in before:
                client.delete_model_version_tag(review.model, number, key)
        for key in sorted(before.keys() - tags.keys()):
            if key.startswith(CC):
                client.delete_model_version_tag(review.model, number, key)
        for key, value in tags.items():
            if key in (_VERDICT, SENTENCE) or before.get(key) != value:
                client.set_model_version_tag(review.model, number, key, value)


def _decision_tags(review: Review, role: str, run_id: str) -> dict[str, str]:
    """Return the tags of one version, the verdict last.

    The difference is the one that decides, over all checks; challenger minus champion on both versions.
    """
    other = "champion" if role == "challenger" else "challenger"
    area = next((comparison for comparison in review.comparisons if comparison.fpr is None), None)
    numbers: dict[str, Any] = {}
    if area is not None:
        numbers = {"delta_auroc": area.estimate, "ci_lo": area.low, "ci_hi": area.high}
    plain = {
        "against_version": _number(review, other),
        "role": role,
        **{name: f"{value:.6g}" for name, value in numbers.items() if value is not None},
        "window": str(review.period),
        "run_id": run_id,
        "reviewed_at": review.reviewed_at.isoformat(),
        "chosen_by_hand": _by_hand(review),
    }
    tags = {f"{CC}{name}": value for name, value in plain.items()}
    return tags | {SENTENCE: sentence(review), _VERDICT: decision(review)}


def _is_newest(review: Review, tags: Mapping[str, str]) -> bool:
    """Return True if the tags come from no later review than this.

    A review of the configured period is never replaced by one that was chosen by hand, for any pair of
    versions, and always replaces it. Between two of a kind, the end of the period counts, then the time of
    the review.
    """
    try:
        end = datetime.fromisoformat(tags[f"{CC}window"].partition("/")[2])
        at = datetime.fromisoformat(tags[f"{CC}reviewed_at"])
        before, now = (end, at), (review.period.end, review.reviewed_at)
    except (KeyError, ValueError):  # no tags yet, incomplete ones, or somebody else's
        return True
    return (review.registered, *now) >= (tags.get(f"{CC}chosen_by_hand") == "false", *before)


def _by_hand(review: Review) -> str:
    return str(not review.registered).lower()


def _number(review: Review, role: str) -> str:
    return review.champion_version if role == "champion" else review.challenger_version


_RATE = "difference/tpr_at_fpr_"


def of_review(review: Review, missing: Sequence[str], report: str | None) -> str:
    """Return the description of a review run: decision, numbers, advice, caveats, link to the report.

    `missing` are versions that are not in the registry, so that they could not be tagged.
    """
    # MLflow shows only the first lines at first: decision and report come first.
    link = "" if report is None else f" [Open the report]({report})."
    by_hand = "" if review.registered else "; chosen by hand"
    whose, comma, but = decision(review).partition(",")
    parts = [
        f"**{whose.upper()}{comma}{but}.** {line(review.subject)}, model {line(review.model)}: "
        f"version {line(review.challenger_version)} (challenger) against version "
        f"{line(review.champion_version)} (champion), {review.period.in_zone(review.zone)} "
        f"({review.zone}){by_hand}.{link}",
        "\n".join(f"- {line(words)}" for words in summary(review)),
    ]
    if "difference/auc" in review.metrics:
        parts.append(_numbers(review))
    if words := advice(review):
        parts.append(f"**Next.** {line(words)}")
    untagged = (f"no tag was written to the {version}: it is not registered" for version in missing)
    parts += caveats([*map(words_of, review.caveats), *untagged])
    tables = "`tables/`, and " if any(review.tables.values()) else ""
    parts.append(f"Artifacts: {tables}all of it in `review.json`.")
    return "\n\n".join(parts)


def _numbers(review: Review) -> str:
    metrics = review.metrics
    rows = [
        "| challenger minus champion | all rows | interval, one check | mean of windows, repeated checks |",
        "|---|---|---|---|",
        _row("AUROC", metrics, "difference/auc"),
    ]
    names = (f"{_RATE}{fpr:g}" for fpr in review.rule.get("fpr", ()))
    rows += [
        _row(f"TPR at FPR {name.removeprefix(_RATE)}", metrics, name) for name in names if name in metrics
    ]
    means = [
        f"version {line(version)} {metrics[key]:.3f}"
        for key, version in (
            ("champion/auc", review.champion_version),
            ("challenger/auc", review.challenger_version),
        )
        if key in metrics
    ]
    return "\n".join(rows) + (f"\n\nAUROC of {', of '.join(means)}." if means else "")


def _row(name: str, metrics: Mapping[str, float], key: str) -> str:
    anytime = interval(metrics, f"{key}_anytime", "+.3f")
    if anytime and f"{key}_mean" in metrics:  # which is not that of all rows
        anytime = f"{metrics[f'{key}_mean']:+.3f}, {anytime}"
    return f"| {name} | {metrics[key]:+.3f} | {interval(metrics, key, '+.3f')} | {anytime} |"
