"""The description of a review run, in Markdown: the first text on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocmonitor.policy.review.document import Review
from rocmonitor.tracking.note import caveats, interval, line
from rocmonitor.wording.review import advice, summary

_RATE = "difference/tpr_at_fpr_"


def of_review(review: Review, missing: Sequence[str], report: str | None) -> str:
    """The description of a review run: decision, numbers, advice, caveats, link to the report.

    Parameters
    ----------
    review : Review
    missing : sequence of str
        Versions that are not in the registry, so that they could not be tagged.
    report : str or None
        Link to the report, if there is one.
    """
    # MLflow shows only the first lines at first: decision and report come first.
    link = "" if report is None else f" [Open the report]({report})."
    parts = [_headline(review) + link, line(summary(review))]
    if "difference/auc" in review.metrics:
        parts.append(_numbers(review))
    if words := advice(review):
        parts.append(f"**Next.** {line(words)}")
    parts += filter(None, [_rows(review.metrics), _rule(review.rule)])
    untagged = (f"no tag was written to the {each}: it is not registered" for each in missing)
    parts += caveats([*review.caveats, *untagged])
    tables = "`tables/`, and " if any(review.tables.values()) else ""
    parts.append(f"Artifacts: {tables}all of it in `review.json`.")
    return "\n\n".join(parts)


def _headline(review: Review) -> str:
    by_hand = "" if review.registered else "; chosen by hand"
    return (
        f"**{review.decision.upper()}.** {line(review.subject)}, model {line(review.model)}: "
        f"version {line(review.challenger_version)} (challenger) against version "
        f"{line(review.champion_version)} (champion), {review.period.in_zone(review.zone)} "
        f"({review.zone}){by_hand}."
    )


def _numbers(review: Review) -> str:
    metrics = review.metrics
    rows = [
        "| challenger minus champion | all rows | interval, single check | mean of windows, repeated checks |",
        "|---|---|---|---|",
        _row("AUROC", metrics, "difference/auc"),
    ]
    names = (f"{_RATE}{fpr:g}" for fpr in review.rule.get("fpr", ()))
    rows += [
        _row(f"TPR at FPR {name.removeprefix(_RATE)}", metrics, name) for name in names if name in metrics
    ]
    means = [
        f"version {line(version)} {metrics[key]:.4f}"
        for key, version in (
            ("champion/auc", review.champion_version),
            ("challenger/auc", review.challenger_version),
        )
        if key in metrics
    ]
    return "\n".join(rows) + (f"\n\nAUROC of {', of '.join(means)}." if means else "")


def _row(name: str, metrics: Mapping[str, float], key: str) -> str:
    anytime = interval(metrics, f"{key}_anytime", "+.4f")
    if anytime and f"{key}_mean" in metrics:  # which is not that of all rows
        anytime = f"{metrics[f'{key}_mean']:+.4f}, {anytime}"
    return f"| {name} | {metrics[key]:+.4f} | {interval(metrics, key, '+.4f')} | {anytime} |"


def _rows(metrics: Mapping[str, float]) -> str:
    if "data/rows" not in metrics:
        return ""
    names = ("data/rows", "data/positives", "data/negatives", "review/windows", "review/checks")
    rows, pos, neg, windows, checks = (int(metrics.get(name, 0)) for name in names)
    return (
        f"**Rows** {rows:,} scored by both: {pos:,} positive, {neg:,} negative, in {windows:,} windows, "
        f"{checks:,} of them checked."
    )


def _rule(rule: Mapping[str, Any]) -> str:
    parts = [
        f"margin {rule['margin']:g}" if "margin" in rule else "",
        f"confidence {100 * rule['confidence_level']:g} % over all checks"
        if "confidence_level" in rule
        else "",
        f"trade-off at FPR {', '.join(f'{fpr:g}' for fpr in rule['fpr'])}" if rule.get("fpr") else "",
        f"digest `{rule['digest'][:12]}`" if "digest" in rule else "",
    ]
    return f"**Rule** {', '.join(filter(None, parts))}." if any(parts) else ""
