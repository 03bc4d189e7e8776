"""A change of status in words: the first line, the title, what to check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.wording.format import apart, area, forecast_span, one_line, span
from rocmonitor.wording.verdicts import reasons

CHECK_IMPROVED = "better is a change too: easy cases labelled first, leaked labels, a new population?"
CHECK_ERROR = "nothing is lost: the window stays due, and the next run tries again."
CHECK_REFERENCE = "does the reference period have labelled rows of both classes here?"
CHECK_AT_RISK = "this is a warning from the scores, before their labels: what has changed in the input?"


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of a status wherever it is shown.

    Attributes
    ----------
    mark : str
        Its sign, as in ``style.css``.
    headline : str
        The first word of a message about a change to it.
    kind : {"alarm", "recovery", "notice"}
        How urgent that message is.
    check : str
        What to look at first; empty when it depends on the window.
    """

    mark: str
    headline: str
    kind: Literal["alarm", "recovery", "notice"]
    check: str = ""


WORDS: dict[str, Words] = {
    "degraded": Words("▲", "Degraded", "alarm"),
    "at-risk": Words("◆", "At risk", "alarm", CHECK_AT_RISK),
    "improved": Words("↑", "Improved", "notice", CHECK_IMPROVED),
    "insufficient": Words("○", "Cannot be judged", "alarm"),
    "error": Words("✕", "Error", "alarm", CHECK_ERROR),
    "ok": Words("●", "Recovered", "recovery"),
}
"""The words of each status, by its name; a new status needs one line here."""


def headline(change: Transition, evaluation: Evaluation | None) -> str:
    """What has happened, beside what is normal, in one line."""
    if change.after is Status.ERROR:
        return "Error: the evaluation failed."
    if evaluation is None or "champion/auc" not in evaluation.metrics:
        if change.after is Status.OK:
            return "Recovered: the monitor works again."
        if change.after is Status.INSUFFICIENT and evaluation is not None:
            return f"Cannot be judged: {lack(evaluation.counts)[0]}."
        return f"{change.after.capitalize()}."
    metrics = evaluation.metrics
    value, low, high = (metrics[f"champion/auc{end}"] for end in ("", "_low", "_high"))
    if change.after is Status.OK:
        return f"Recovered: {_back(evaluation)}."
    limits = forecast_limits(evaluation, deciding(change, evaluation))
    expected = f", expected {forecast_span(*limits)}" if limits else ""
    if not expected and "reference/auc" in metrics:
        expected = f", {area(metrics['reference/auc'])} in the reference"
    word = "Cannot be judged" if change.after is Status.INSUFFICIENT else change.after.capitalize()
    return f"{word}: AUROC {area(value)} ({span(low, high)}){expected}."


def title(change: Transition, evaluation: Evaluation | None) -> str:
    """What the title says after the monitor's name."""
    if evaluation is None:
        return "; ".join(reasons(change.reasons))
    decided = deciding(change, evaluation)
    if change.after is Status.INSUFFICIENT:
        if decided is not None and decided.kind != "data":
            return f"rule {decided.rule} cannot be applied"
        return lack(evaluation.counts)[0]
    value = evaluation.metrics.get("champion/auc")
    if value is None:
        return f"was {change.before}"
    if change.after is Status.OK:
        return f"AUROC {value:.2f}, was {change.before}"
    if decided is None:
        return f"AUROC {value:.2f}"
    if limits := forecast_limits(evaluation, decided):
        below = value < limits[0]
        shown, limit = apart(value, limits[0] if below else limits[1])
        return f"AUROC {shown} {'below' if below else 'above'} forecast {limit}"
    if decided.kind == "drop" and "reference/auc" in evaluation.metrics:
        shown, before = apart(value, evaluation.metrics["reference/auc"])
        return f"AUROC {shown} against {before} in the reference"
    return f"AUROC {value:.2f}, rule {decided.rule}"


def advice(change: Transition, evaluation: Evaluation | None) -> str:
    """What to check first; empty when the reasons say all there is."""
    if change.after is Status.ERROR:
        return CHECK_ERROR
    if change.after is Status.IMPROVED:
        return CHECK_IMPROVED
    if change.after is Status.INSUFFICIENT and evaluation is not None:
        decided = deciding(change, evaluation)
        if decided is not None and decided.kind != "data":
            return CHECK_REFERENCE
        return lack(evaluation.counts)[1]
    return ""


def lack(counts: Counts) -> tuple[str, str]:
    """What an insufficient window lacks, and where to look for it."""
    if not counts.rows:
        return "no rows", "did the scoring job run, and does the query find its rows by time?"
    if not counts.used and counts.unlabelled:
        return "no labels", "did the labels arrive, and is window.label_delay as long as they take?"
    if not counts.used:
        return "no usable rows", "columns and positive in the configuration, against what the query gives"
    if not min(counts.n_pos, counts.n_neg):
        missing = "positives" if counts.n_neg else "negatives"
        return f"no {missing}", f"are the labels of the {missing} missing, or is positive.label wrong?"
    few = f"only {counts.n_pos:,} positives and {counts.n_neg:,} negatives"
    return few, "are labels still missing? Else choose longer windows or a smaller min_per_class."


def deciding(change: Transition, evaluation: Evaluation) -> Verdict | None:
    """The verdict behind the new status; none when k-of-n, recovery or a cool-down decided."""
    stated = [each for each in change.reasons if isinstance(each, Verdict)]
    agreeing = [each for each in (*stated, *evaluation.verdicts) if each.outcome is change.after]
    return next(iter(agreeing), None)


def forecast_limits(evaluation: Evaluation, decided: Verdict | None) -> tuple[float, float] | None:
    """The limits of the deciding rule if it is a forecast, else of the monitor's (first) forecast rule."""
    rule = "forecast" if decided is None or decided.outcome is Status.OK else decided.rule
    low, high = (evaluation.metrics.get(f"{rule}/{end}") for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def subject(change: Transition) -> str:
    """Monitor and segment, for a title."""
    return one_line(f"{change.monitor} {change.segment}", 200)


def _back(evaluation: Evaluation) -> str:
    value = f"AUROC {area(evaluation.metrics['champion/auc'])}"
    judged = [each for each in evaluation.verdicts if each.kind == "forecast"]
    if judged and all(each.outcome is Status.OK for each in judged):
        return f"{value} is back inside the forecast interval"
    return f"{value}, all rules pass"
