"""A change of status in words that a person understands at 3 a.m."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time
from typing import Literal
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.judge import forecast_span
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.review.document import Review
from rocmonitor.wording import review as review_wording

Kind = Literal["alarm", "recovery", "notice", "test"]

LONGEST_TITLE = 80

_KINDS: dict[Status, Kind] = {
    Status.OK: "recovery",
    Status.IMPROVED: "notice",
    Status.DEGRADED: "alarm",
    Status.INSUFFICIENT: "alarm",
    Status.ERROR: "alarm",
}
_IN_WORDS = {
    Status.OK: "no alarm stands any more.",
    Status.IMPROVED: "the model ranks better than it was expected to.",
    Status.DEGRADED: "the model ranks worse than its rules allow.",
    Status.INSUFFICIENT: "the model cannot be judged.",
    Status.ERROR: "the evaluation failed.",
}
_SET_ASIDE = {
    "bad_score": "without a usable score",
    "bad_label": "with a label of neither class",
    "duplicates": "with an id seen before",
    "outside": "with a time outside the window",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel is told.

    Attributes
    ----------
    title : str
        One line of at most 80 characters that starts with the status.
    body : str
        Plain text, short lines first.
    kind : {"alarm", "recovery", "notice", "test"}
        Becomes the service's own colour or severity.
    """

    title: str
    body: str
    kind: Kind

    def to_dict(self) -> dict[str, str]:
        """Plain JSON types, as the outbox keeps them; ``Message(**plain)`` is the inverse."""
        return asdict(self)


def compose(
    transition: Transition, evaluation: Evaluation | None, *, zone: ZoneInfo, link: str | None = None
) -> Message:
    """The message that tells a change of status.

    Parameters
    ----------
    transition : Transition
        The change.
    evaluation : Evaluation or None
        The window it was seen in; None when there is none, because evaluating it failed.
    zone : ZoneInfo
        The monitor's: all times are written in it, and it is named.
    link : str, optional
        Where the window is to be seen in MLflow.

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id: a repeat can be recognised.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> change = Transition(
    ...     monitor="credit-default", before=Status.OK, after=Status.ERROR,
    ...     reason="warehouse: no such table: scored",
    ...     at=datetime(2026, 6, 1, 4, tzinfo=UTC), since=datetime(2026, 5, 25, tzinfo=UTC),
    ... )
    >>> compose(change, None, zone=ZoneInfo("UTC")).title
    'ERROR credit-default: warehouse: no such table: scored'
    """
    known = _of_evaluation(transition, evaluation, zone) if evaluation else _NOTHING_KNOWN
    lines = [
        f"{transition.after.upper()}, was {transition.before}: {_IN_WORDS[transition.after]}",
        f"Monitor {transition.monitor}",
        *([f"Segment {transition.segment}"] if transition.segment else []),
        *known.first,
        f"Since {_written(transition.since, zone)} ({zone.key})",
        "",
        f"Why: {transition.reason}",
        *([f"What moved: {evaluation.explanation}"] if evaluation and evaluation.explanation else []),
        *_advice(transition, evaluation),
        f"Look: rocmonitor history {transition.monitor}",
        *([f"MLflow: {link}"] if link else []),
        "",
        *known.details,
        f"Noticed {_written(transition.at, zone)} ({zone.key})",
        f"Event {_event_id(transition, evaluation)} (the same id again is the same event)",
    ]
    title = _title(transition, _summary(transition, evaluation))
    return Message(title, "\n".join(lines), _KINDS[transition.after])


def compose_review(review: Review, *, before: str, zone: ZoneInfo, link: str | None = None) -> Message:
    """The message that tells a review whose decision is not the one that was told before.

    Parameters
    ----------
    review : Review
    before : str
        The decision that was told before.
    zone, link
        As in `compose`.

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    difference, advice = review_wording.difference_line(review), review_wording.advice(review)
    versions = f"champion {review.champion_version}, challenger {review.challenger_version}"
    lines = [
        f"REVIEW: {review.decision}, was {before}. Nothing was promoted.",
        f"Monitor {review.monitor}",
        f"Model {review.model}, {versions}",
        *([difference] if difference else []),
        f"Period {review.period.in_zone(zone)} ({zone.key})",
        "",
        f"Why: {review_wording.summary(review)}",
        *([f"Next: {advice}"] if advice else []),
        f"Look: rocmonitor review {review.monitor} --output review.html",
        *([f"MLflow: {link}"] if link else []),
        "",
        *(f"Caveat: {caveat}" for caveat in review.caveats),
        f"Reviewed {_written(review.reviewed_at, zone)} ({zone.key})",
        f"Event {hashlib.sha256(review.key.encode()).hexdigest()[:12]} (the same id again is the same event)",
    ]
    head = "REVIEW"
    found = _one_line(review_wording.title(review), LONGEST_TITLE - len(head) - 25)
    whose = _one_line(review.monitor, LONGEST_TITLE - len(head) - len(found) - 3)
    return Message(f"{head} {whose}: {found}", "\n".join(lines), "notice")


def trial_message(channel: str) -> Message:
    """A marked message that shows whether a channel works."""
    return Message(
        _one_line(f"TEST of channel {channel}", LONGEST_TITLE),
        f"rocmonitor can reach channel {channel}.\nThis is a test: nothing happened, nothing is to be done.",
        "test",
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """Lines of the body that rest on an evaluation: for the first glance, and below."""

    first: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


_NOTHING_KNOWN = _Known()


def _of_evaluation(transition: Transition, evaluation: Evaluation, zone: ZoneInfo) -> _Known:
    metrics, counts = evaluation.metrics, evaluation.counts
    first = [f"Model {evaluation.model}, version {evaluation.champion_version}"]
    if "champion/auc" in metrics:
        first.append(f"AUROC {_interval(metrics, 'champion')}")
    if limits := _forecast(evaluation, _deciding(transition, evaluation)):
        first.append(f"Forecast {forecast_span(*limits)}")
    first.append(f"{counts.n_pos:,} positives, {counts.n_neg:,} negatives")

    revision = f", revision {evaluation.revision}" if evaluation.revision else ""
    details = [
        f"Window {evaluation.window.in_zone(zone)} ({zone.key}){revision}",
        f"Rows {counts.rows:,}{_labelled(counts)}{_set_aside(counts)}",
    ]
    if "reference/auc" in metrics:
        details.append(f"Reference: AUROC {_interval(metrics, 'reference')}")
    if "challenger/auc" in metrics:
        named = f" version {evaluation.challenger_version}" if evaluation.challenger_version else ""
        details.append(f"Challenger{named}: AUROC {_interval(metrics, 'challenger')}")
    details += [
        f"Rule {verdict.rule}, {verdict.outcome}: {verdict.text}"
        for verdict in evaluation.verdicts
        if verdict.text not in transition.reason
    ]
    details += [f"Caveat: {caveat}" for caveat in evaluation.caveats if caveat not in transition.reason]
    return _Known(tuple(first), tuple(details))


def _summary(transition: Transition, evaluation: Evaluation | None) -> str:
    """What the title says after the monitor's name."""
    if evaluation is None:
        return transition.reason
    decided = _deciding(transition, evaluation)
    if transition.after is Status.INSUFFICIENT:
        unusable = decided is not None and decided.rule != "data"
        return (
            f"rule {decided.rule} cannot be applied" if decided and unusable else _lack(evaluation.counts)[0]
        )
    value = evaluation.metrics.get("champion/auc")
    if value is None:
        return f"was {transition.before}"
    if transition.after is Status.OK:
        return f"AUROC {value:.2f}, was {transition.before}"
    if decided is None:
        return f"AUROC {value:.2f}"
    if limits := _forecast(evaluation, decided):
        below = value < limits[0]
        shown, limit = _apart(value, limits[0] if below else limits[1])
        return f"AUROC {shown} {'below' if below else 'above'} forecast {limit}"
    if decided.rule.startswith("drop") and "reference/auc" in evaluation.metrics:
        shown, before = _apart(value, evaluation.metrics["reference/auc"])
        return f"AUROC {shown} against {before} in the reference"
    return f"AUROC {value:.2f}, rule {decided.rule}"


def _advice(transition: Transition, evaluation: Evaluation | None) -> list[str]:
    if transition.after is Status.ERROR:
        return ["Check: nothing is lost; the window stays due and is tried again at the next run."]
    if transition.after is Status.IMPROVED:
        return ["Check: better is a change too: easy cases labelled first, leaked labels, a new population?"]
    if transition.after is Status.INSUFFICIENT and evaluation is not None:
        decided = _deciding(transition, evaluation)
        if decided is not None and decided.rule != "data":
            return ["Check: does the reference period have labelled rows of both classes here?"]
        return [f"Check: {_lack(evaluation.counts)[1]}"]
    return []


def _lack(counts: Counts) -> tuple[str, str]:
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


def _deciding(transition: Transition, evaluation: Evaluation) -> Verdict | None:
    """The verdict behind the new status; none when k-of-n, recovery or a cool-down decided."""
    agreeing = [verdict for verdict in evaluation.verdicts if verdict.outcome is transition.after]
    stated = [verdict for verdict in agreeing if verdict.text in transition.reason]
    return next(iter(stated + agreeing), None)


def _forecast(evaluation: Evaluation, decided: Verdict | None) -> tuple[float, float] | None:
    """The limits of the deciding rule if it is a forecast, else of the monitor's (first) forecast rule."""
    rule = "forecast" if decided is None or decided.outcome is Status.OK else decided.rule
    low, high = (evaluation.metrics.get(f"{rule}/{end}") for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def _labelled(counts: Counts) -> str:
    """The share of the well-scored rows that have a label, where there are any."""
    if not counts.used + counts.bad_label + counts.unlabelled:
        return ""
    return f", labelled {100 * counts.labelled_share:.1f} %"


def _set_aside(counts: Counts) -> str:
    found = [f"{number:,} {words}" for name, words in _SET_ASIDE.items() if (number := getattr(counts, name))]
    if counts.truncated:
        found.append("more than the row cap")
    return f"; {', '.join(found)}" if found else ""


def _interval(metrics: dict[str, float], model: str) -> str:
    value, low, high = (metrics[f"{model}/auc{end}"] for end in ("", "_low", "_high"))
    return f"{value:.4f} ({100 * LEVEL:g} % interval {low:.4f} to {high:.4f})"


def _apart(value: float, limit: float) -> tuple[str, str]:
    """Both with as many decimals, at least two, as show that they differ."""
    pairs = [(f"{value:.{digits}f}", f"{limit:.{digits}f}") for digits in range(2, 7)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def _title(transition: Transition, summary: str) -> str:
    """The status, whose it is, and as much of both as 80 characters hold."""
    whose = transition.monitor + (f" {transition.segment}" if transition.segment else "")
    head = transition.after.upper()
    summary = _one_line(summary, LONGEST_TITLE - len(head) - 25)
    return f"{head} {_one_line(whose, LONGEST_TITLE - len(head) - len(summary) - 3)}: {summary}"


def _one_line(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _written(instant: datetime, zone: ZoneInfo) -> str:
    local = instant.astimezone(zone)
    return f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def _event_id(transition: Transition, evaluation: Evaluation | None) -> str:
    parts = (
        transition.monitor,
        transition.segment,
        transition.at.astimezone(UTC).isoformat(),
        f"{transition.before}>{transition.after}",
        evaluation.key if evaluation else "",
    )
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]
