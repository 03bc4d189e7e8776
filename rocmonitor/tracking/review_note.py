"""What a person reads first on the page of a review run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.review.document import Review
from rocmonitor.tracking.note import line

_POINTS = "review/difference_at_fpr_"


def of_review(review: Review, missing: Sequence[str], report: str | None) -> str:
    """The description of a review run: decision, numbers, what to expect, caveats, where the report is.

    Parameters
    ----------
    review : Review
    missing : sequence of str
        Versions that are not in the registry, so that nothing could be written to them.
    report : str or None
        Link to the report, where there is one.
    """
    # MLflow shows the first lines only until one asks for more: decision and report come first.
    link = "" if report is None else f" [Open the report]({report})."
    parts = [_headline(review) + link, line(review.summary)]
    if "review/difference" in review.metrics:
        parts.append(_numbers(review))
    if review.advice:
        parts.append(f"**What to expect.** {line(review.advice)}")
    parts += filter(None, [_rows(review.metrics), _rule(review.rule)])
    caveats = [
        *review.caveats,
        *(f"no tag was written to the {each}: it is not registered" for each in missing),
    ]
    if caveats:
        parts.append("**Bear in mind**\n\n" + "\n".join(f"- {line(caveat)}" for caveat in caveats))
    tables = "`tables/`, and " if any(review.tables.values()) else ""
    parts.append(f"Artifacts: {tables}all of it in `review.json`.")
    return "\n\n".join(parts)


def _headline(review: Review) -> str:
    zone = ZoneInfo(review.provenance.get("timezone", "UTC"))
    by_hand = "" if review.registered else "; chosen by hand"
    return (
        f"**{review.decision.upper()}.** {line(review.subject)}, model {line(review.model)}: "
        f"version {line(review.challenger_version)} (challenger) against version "
        f"{line(review.champion_version)} (champion), {review.period.in_zone(zone)} ({zone}){by_hand}."
    )


def _numbers(review: Review) -> str:
    metrics = review.metrics
    rows = [
        "| challenger minus champion | all rows | interval | windows, at all looks |",
        "|---|---|---|---|",
    ]
    rows.append(_row("AUROC", metrics, "review/difference", "review/always"))
    points = [key for key in metrics if key.startswith(_POINTS)]
    bounds = tuple(f"{at}{end}" for at in ("", "_always") for end in ("_low", "_high"))
    rows += [
        _row(f"TPR at FPR {key.removeprefix(_POINTS)}", metrics, key, f"{key}_always")
        for key in points
        if not key.endswith(bounds)
    ]
    means = [
        f"version {line(version)} {metrics[key]:.4f}"
        for key, version in (
            ("review/champion_auc", review.champion_version),
            ("review/challenger_auc", review.challenger_version),
        )
        if key in metrics
    ]
    return "\n".join(rows) + (f"\n\nAUROC of {', of '.join(means)}." if means else "")


def _row(name: str, metrics: Mapping[str, float], key: str, always: str) -> str:
    once, all_looks = _interval(metrics, key), _interval(metrics, always)
    if all_looks and always == "review/always" and "review/so_far" in metrics:  # its centre is another
        all_looks = f"{metrics['review/so_far']:+.4f}, {all_looks}"
    return f"| {name} | {metrics[key]:+.4f} | {once} | {all_looks} |"


def _interval(metrics: Mapping[str, float], key: str) -> str:
    low, high = metrics.get(f"{key}_low"), metrics.get(f"{key}_high")
    return "" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"


def _rows(metrics: Mapping[str, float]) -> str:
    if "review/rows" not in metrics:
        return ""
    n, pos, neg, windows, looks = (
        int(metrics.get(f"review/{key}", 0)) for key in ("rows", "n_pos", "n_neg", "windows", "looks")
    )
    return (
        f"**Rows** {n:,} scored by both: {pos:,} positive, {neg:,} negative, in {windows:,} windows, "
        f"{looks:,} of them looks."
    )


def _rule(rule: Mapping[str, Any]) -> str:
    told = [
        f"margin {rule['margin']:g}" if "margin" in rule else "",
        f"confidence {100 * rule['confidence_level']:g} % over all looks"
        if "confidence_level" in rule
        else "",
        f"trade-off at FPR {', '.join(f'{fpr:g}' for fpr in rule['fpr'])}" if rule.get("fpr") else "",
        f"digest `{rule['digest'][:12]}`" if "digest" in rule else "",
    ]
    return f"**Rule** {', '.join(filter(None, told))}." if any(told) else ""
