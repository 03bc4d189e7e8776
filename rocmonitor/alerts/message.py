"""Messages: a change of status, or a review, as a person reads it at 3 a.m."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import UTC
from typing import Literal
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.review.document import Review
from rocmonitor.wording import review as review_wording
from rocmonitor.wording import status as words
from rocmonitor.wording.counts import CUT, set_aside
from rocmonitor.wording.format import forecast_span, instant, one_line, percent, span
from rocmonitor.wording.outlook import foreseen
from rocmonitor.wording.verdicts import by_rule, reasons
from rocmonitor.wording.window import moved

Kind = Literal["alarm", "recovery", "notice", "test"]

LONGEST_TITLE = 80

_KINDS: dict[Status, Kind] = {
    Status.OK: "recovery",
    Status.AT_RISK: "alarm",
    Status.IMPROVED: "notice",
    Status.DEGRADED: "alarm",
    Status.INSUFFICIENT: "alarm",
    Status.ERROR: "alarm",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel delivers.

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
    """The message about a change of status.

    Parameters
    ----------
    transition : Transition
        The change.
    evaluation : Evaluation or None
        The window it was seen in; None when there is none, because evaluating it failed.
    zone : ZoneInfo
        The monitor's: all times are written in it, and it is named.
    link : str, optional
        Where MLflow shows the window.

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id: a repeat can be recognised.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.caveat import Caveat
    >>> change = Transition(
    ...     monitor="credit-default", before=Status.OK, after=Status.ERROR,
    ...     reasons=(Caveat("error", text="warehouse: no such table: scored"),),
    ...     at=datetime(2026, 6, 1, 4, tzinfo=UTC), since=datetime(2026, 5, 25, tzinfo=UTC),
    ... )
    >>> compose(change, None, zone=ZoneInfo("UTC")).title
    'ERROR credit-default: warehouse: no such table: scored'
    """
    known = _of_evaluation(transition, evaluation, zone) if evaluation else _NOTHING_KNOWN
    check = words.advice(transition, evaluation)
    event = event_id(transition, evaluation.key if evaluation else "")
    lines = [
        words.headline(transition, evaluation),
        f"Status {transition.after}, was {transition.before}",
        f"Monitor {transition.monitor}",
        *([f"Segment {transition.segment}"] if transition.segment else []),
        *known.first,
        f"Since {instant(transition.since, zone)} ({zone.key})",
        "",
        *(f"Why: {reason}" for reason in reasons(transition.reasons)),
        *([f"What moved: {text}"] if evaluation and (text := moved(evaluation)) else []),
        *([f"Check: {check}"] if check else []),
        f"Look: rocmonitor history {transition.monitor}",
        *([f"MLflow: {link}"] if link else []),
        "",
        *known.details,
        f"Noticed {instant(transition.at, zone)} ({zone.key})",
        f"Event {event} (the same id again is the same event)",
    ]
    found = words.title(transition, evaluation)
    title = titled(transition.after.upper(), words.subject(transition), found)
    return Message(title, "\n".join(lines), _KINDS[transition.after])


def compose_review(review: Review, *, before: str, zone: ZoneInfo, link: str | None = None) -> Message:
    """The message about a review whose decision is not the one that was sent before.

    Parameters
    ----------
    review : Review
    before : str
        The decision that was sent before.
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
        f"Reviewed {instant(review.reviewed_at, zone)} ({zone.key})",
        f"Event {hashlib.sha256(review.key.encode()).hexdigest()[:12]} (the same id again is the same event)",
    ]
    return Message(titled("REVIEW", review.monitor, review_wording.title(review)), "\n".join(lines), "notice")


def trial_message(channel: str) -> Message:
    """A marked message that shows whether a channel works."""
    return Message(
        one_line(f"TEST of channel {channel}", LONGEST_TITLE),
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
    if limits := words.forecast_limits(evaluation, words.deciding(transition, evaluation)):
        first.append(f"Forecast {forecast_span(*limits)}")
    if said := foreseen(metrics):
        first.append(f"From the scores: {said}")
    first.append(f"{counts.n_pos:,} positives, {counts.n_neg:,} negatives")

    revision = f", revision {evaluation.revision}" if evaluation.revision else ""
    aside = f"; {found}" if (found := set_aside(counts)) else ""
    details = [
        f"Window {evaluation.window.in_zone(zone)} ({zone.key}){revision}",
        f"Rows {counts.rows:,}{_labelled(counts)}{aside}{CUT if counts.truncated else ''}",
    ]
    if "reference/auc" in metrics:
        details.append(f"Reference: AUROC {_interval(metrics, 'reference')}")
    if "challenger/auc" in metrics:
        named = f" version {evaluation.challenger_version}" if evaluation.challenger_version else ""
        details.append(f"Challenger{named}: AUROC {_interval(metrics, 'challenger')}")
    # A reason that an earlier version queued is the sentences of the verdicts behind it.
    recorded = any(isinstance(each, Caveat) and each.code == "recorded" for each in transition.reasons)
    others = [
        each
        for each in evaluation.verdicts
        if each not in transition.reasons and not (recorded and each.outcome is transition.after)
    ]
    details += [f"Rule {rule}, {outcome}: {text}" for rule, outcome, text in by_rule(others)]
    details += [f"Caveat: {caveat}" for caveat in evaluation.caveats if caveat not in transition.reasons]
    return _Known(tuple(first), tuple(details))


def _labelled(counts: Counts) -> str:
    """The share of the well-scored rows that have a label, where there are any."""
    if not counts.used + counts.bad_label + counts.unlabelled:
        return ""
    return f", labelled {100 * counts.labelled_share:.1f} %"


def _interval(metrics: dict[str, float], model: str) -> str:
    value, low, high = (metrics[f"{model}/auc{end}"] for end in ("", "_low", "_high"))
    return f"{value:.4f} ({percent(LEVEL)} interval {span(low, high)})"


def titled(head: str, whose: str, found: str) -> str:
    """The status, whose it is, and as much of both as 80 characters hold."""
    found = one_line(found, LONGEST_TITLE - len(head) - 25)
    return f"{head} {one_line(whose, LONGEST_TITLE - len(head) - len(found) - 3)}: {found}"


def event_id(transition: Transition, key: str) -> str:
    """Names the event; `key` is that of the result it was seen in, empty without one."""
    parts = (
        transition.monitor,
        transition.segment,
        transition.at.astimezone(UTC).isoformat(),
        f"{transition.before}>{transition.after}",
        key,
    )
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]
