"""Caveats on labels that come late: when they became known, which are missing, what stands in for them."""

from __future__ import annotations

from collections.abc import Callable

from rocmonitor.wording.format import area, days, percent, span


def _awaited(
    *,
    labelled_share: float,
    label_age_days: float,
    auc: float,
    low: float | None,
    high: float | None,
    confidence_level: float | None,
    labelled_auc: float | None,
) -> str:
    text = f"{percent(labelled_share, 2)} of the rows have a label, {days(label_age_days)} days after the "
    text += f"window: the AUROC of all rows is estimated at {area(auc)}"
    if low is not None and high is not None and confidence_level is not None:
        text += f" ({percent(confidence_level)} interval of its value with all labels: {span(low, high)})"
    if labelled_auc is not None:
        text += f"; that of the labelled rows alone is {area(labelled_auc)}"
    return f"{text}; curves, operating points and the challenger are of the labelled rows"


def _otherwise(
    *,
    labelled_share: float,
    label_age_days: float,
    lowest: float,
    highest: float,
    read_at_days: float | None,
) -> str:
    pace = "sooner" if labelled_share > highest else "later"
    text = (
        f"labels come {pace} than in the reference: {percent(labelled_share, 2)} of the rows have one "
        f"{days(label_age_days)} days after the window; in the reference {percent(lowest, 2)} to "
        f"{percent(highest, 2)} had one at that age"
    )
    if read_at_days is not None:
        return f"{text}; compared with its windows {days(read_at_days)} days after their end, at like shares"
    return (
        f"{text}; too much is open without the missing ones: wait for the labels, or choose a reference in "
        "which they came as they do now"
    )


def _too_few(
    *, labelled_share: float, needed: float, labelled: int, unlabelled: int, reference_share: float | None
) -> str:
    past = "" if reference_share is None else f", {percent(reference_share, 2)} in the reference"
    return (
        f"{labelled:,} of {labelled + unlabelled:,} rows have a label ({percent(labelled_share, 2)}{past}), "
        f"and {percent(needed, 2)} are needed: judge later (window.label_delay), name when labels became "
        "known in columns.labelled_at, or set window.min_labelled"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    # When labels became known, from rocmonitor.sources.arrival
    "labels-without-instant": (
        "{count:,} of {rows:,} rows {count:has|have} a label and no readable {column}: their labels count as "
        "known from the start; fill the column, or leave such labels out in monitors.{monitor}.query"
    ),
    "labelled-before-scored": (
        "{count:,} of {rows:,} rows {count:has|have} a {column} before their own time (a plain date is its "
        "midnight): their labels count as known from the start; make sure that the column holds when the "
        "label became known, in the zone of its source"
    ),
    "instants-without-label": (
        "{count:,} of {rows:,} rows {count:has|have} a {column} and no label; they count as unlabelled"
    ),
    "labelled-later": (
        "{count:,} of {rows:,} rows {count:has|have} a {column} after the instant of judging; they count as "
        "unlabelled"
    ),
    # Windows whose labels are not all in, from rocmonitor.policy
    "labels-awaited": _awaited,
    "labels-not-estimated": "the rows without a label cannot be estimated: {why}",
    "labels-arrive-otherwise": _otherwise,
    "too-few-labels": _too_few,
    "labelled-shares-differ": (
        "{labelled_share:.0%} of the rows have a label, {reference_share:.0%} in the reference: where labels "
        "come first to some scores, the two AUROCs are not comparable; name when labels became known in "
        "columns.labelled_at, or judge later (window.label_delay)"
    ),
    "reference-labels-open": (
        "{windows} of {n_windows} reference windows are so young that labels may still come "
        "(window.revise_for): the reference is computed again until that time is over"
    ),
    "rule-needs-all-labels": (
        "{labelled_share:.0%} of the rows have a label, and this rule needs all that will come"
    ),
}
