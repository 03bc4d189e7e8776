"""Caveats on reviews: champion against challenger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocmonitor.wording.format import signed_with_interval

_COMPARABLE = "compare them where they flag equally many rows, or once calibrated"
_NO_THRESHOLDS = "matched and calibrated thresholds, dominance and costs are left out:"


def _scales_differ(*, challenger_scores: Sequence[float], champion_scores: Sequence[float]) -> str:
    (low_1, high_1), (low_2, high_2) = sorted(challenger_scores), sorted(champion_scores)
    return (
        "the two models' scores are on different scales: half of the challenger's lie between "
        f"{low_1:.4g} and {high_1:.4g}, half of the champion's between {low_2:.4g} and {high_2:.4g}; "
        f"{_COMPARABLE}"
    )


def _one_model_only(*, champion: int, challenger: int, compared: int) -> str:
    parts = [
        f"{count:,} rows scored by the {model} only"
        for model, count in (("champion", champion), ("challenger", challenger))
        if count
    ]
    return f"{' and '.join(parts)} are not compared: the {compared:,} compared rows may be unlike them"


SENTENCES: dict[str, str | Callable[..., str]] = {
    # The comparison
    "windows-not-checked": (
        "{count} of {total} windows could not be compared; the table of windows gives the reasons"
    ),
    "rate-not-checked": (
        "at FPR {fpr:g}, {count} of {total} windows could not be compared: they have no rate within "
        "{near:.0%} of it, or a model gave all rows one score"
    ),
    "period-differs-more": lambda *, difference, low, high: (
        "over the whole period the AUROC differs by "
        f"{' ('.join(signed_with_interval(difference, low, high))}), but the rule shows no difference: that "
        "interval is valid for a single check only, and compares positives of one window with negatives of "
        "another; the rule compares within windows, at all checks"
    ),
    "few-rows-keep-undecided": lambda *, low, high, rows, of, kind, **_: (
        f"sampling error alone would decide ({signed_with_interval(low, low, high)[1]}), but only about "
        f"{rows:.0f} of {of:,} {kind} speak against it, and a few that no window has shown could undo it"
    ),
    "constant-scores": (
        "the {model} gives all {rows:,} rows the score {score:g}: it has no curve, so nothing is compared "
        "at rates or thresholds; check its scoring"
    ),
    "part-left-out": "{part} left out: {reason}",
    "rate-moved": "{fpr:g} is shown at {used:.4g}, the nearest rate that {negatives:,} negatives have",
    "no-rows-for-thresholds": (
        f"{_NO_THRESHOLDS} there are no rows outside the period on which to choose thresholds"
    ),
    "few-rows-for-thresholds": (
        f"{_NO_THRESHOLDS} the rows on which to choose thresholds are {{n_pos:,}} positives and {{n_neg:,}} "
        "negatives, and at least {needed:,} of each are needed"
    ),
    "constant-scores-for-thresholds": (
        f"{_NO_THRESHOLDS} a model gave one score to all rows on which to choose thresholds"
    ),
    "thresholds-not-matched": (
        "thresholds of equal flagged share: {count} of {total} given thresholds flag none or all of the rows "
        "on which thresholds are matched"
    ),
    "thresholds-not-calibrated": (
        "calibrated thresholds: {count} of {total} given thresholds are not probabilities in (0, 1)"
    ),
    "scales-differ": _scales_differ,
    "flagged-shares-differ": (
        "at the given threshold {threshold:g} the challenger flags {challenger:.1%} of the rows and the "
        f"champion {{champion:.1%}}: their scores may be on different scales; {_COMPARABLE}"
    ),
    "too-few-windows-for-forecast": (
        "no forecast of the difference: at level {confidence_level:.4g} it needs {needed} windows with "
        "{min_per_class:,} rows of each class; the reference has {reference}, the review {review}"
    ),
    # Period, rows and versions
    "period-by-hand": (
        "the period was chosen by hand instead of by the configuration: the confidence level holds only if "
        "nobody looked at the difference before choosing it"
    ),
    "segment-by-hand": (
        "this review covers {segment} only, chosen by hand: if several segments are reviewed this way, one "
        "may seem to differ by chance; the decision is not written to the model versions"
    ),
    "windows-of-other-versions": (
        "{count} {count:window is|windows are} known to have been judged with other versions, and "
        "{compared:compared anyway; their scores may come from those versions|left out}"
    ),
    "windows-waiting": "{count} {count:window is|windows are} left out because labels are still missing",
    "windows-without-rows": (
        "{count} {count:window is|windows are} left out: before the first row or after the last"
    ),
    "thresholds-from-first-windows": (
        "the reference has fewer than {min_per_class} rows of a class that both models scored: thresholds "
        "are chosen on the rows before {until}, which are not compared"
    ),
    "one-model-only": _one_model_only,
    "more-windows-alike": "the same holds in {count} more of the windows",
    "low-scores-positive": (
        "low scores are the positive ones: a threshold flags the rows at or below it, and is not a "
        "probability of a positive"
    ),
    "alias-moved": (
        "{alias} moved from version {before} to {after} during the review, which is about versions "
        "{champion} and {challenger}"
    ),
    "alias-not-confirmed": (
        "MLflow could not confirm at the end that {alias} is still version {version}: {reason}"
    ),
    "rule-changed": (
        "{count} {count:earlier review|earlier reviews} of these versions used another rule, the last on "
        "{last}: each rule keeps its confidence level, but choosing a rule by its results does not"
    ),
    "start-changed": (
        "the period began at {before} in the review of {reviewed}, and begins at {now} in this one"
    ),
    "rows-changed": (
        "{count} {count:window has|windows have} other rows or labels than in the review of {reviewed}"
    ),
}
