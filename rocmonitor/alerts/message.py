"""Messages: a change of status, or a review, as a person reads it at 3 a.m."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rocmonitor.alerts.mail import Line, Lines, as_html, as_text
from rocmonitor.caveat import Caveat
from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.review.document import Review
from rocmonitor.wording import review as review_wording
from rocmonitor.wording import status as words
from rocmonitor.wording.certainty import how_sure
from rocmonitor.wording.counts import CUT, set_aside
from rocmonitor.wording.format import instant, one_line, percent, span, without_middle
from rocmonitor.wording.joining import pooled
from rocmonitor.wording.outlook import foreseen
from rocmonitor.wording.verdicts import by_rule, reasons
from rocmonitor.wording.window import moved, moved_most

Kind = Literal["alarm", "recovery", "notice", "test"]

LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a message says beside what has happened: whose it is, and where to look.

    Attributes
    ----------
    zone : ZoneInfo
        The monitor's: all times are written in it, and it is named.
    owner : str or None
        Who looks after the model.
    runbook : str or None
        What to do; an address or a text.
    run : str or None
        Where MLflow shows the window.
    page : str or None
        Where rocmonitor's own page shows it.
    """

    zone: ZoneInfo
    owner: str | None = None
    runbook: str | None = None
    run: str | None = None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel delivers, in the length that it can carry.

    Attributes
    ----------
    title : str
        One line of at most 80 characters that starts with the status.
    body : str
        Plain text, what matters most first: for files, web hooks and logs, and what the others are made from.
    kind : {"alarm", "recovery", "notice", "test"}
        Becomes the service's own colour or severity.
    html : str
        The same for a mail; empty when there is only text.
    chat : str
        The first lines of it, for a chat; empty when it is as long as `body`.
    pager : tuple of str
        Lines for a pager, the most important first: as many as it can carry.
    """

    title: str
    body: str
    kind: Kind
    html: str = ""
    chat: str = ""
    pager: tuple[str, ...] = ()


def compose(transition: Transition, evaluation: Evaluation | None, context: Context) -> Message:
    """The message about a change of status.

    Parameters
    ----------
    transition : Transition
        The change.
    evaluation : Evaluation or None
        The window it was seen in; None when there is none, because evaluating it failed.
    context : Context

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id: a repeat can be recognised.
        A control character in a value is written out, so no value can begin a line of its own.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.caveat import Caveat
    >>> change = Transition(
    ...     monitor="credit-default", before=Status.OK, after=Status.ERROR,
    ...     reasons=(Caveat("error", text="warehouse: no such table: scored"),),
    ...     at=datetime(2026, 6, 1, 4, tzinfo=UTC), since=datetime(2026, 5, 25, tzinfo=UTC),
    ... )
    >>> compose(change, None, Context(zone=ZoneInfo("UTC"))).title
    'ERROR credit-default: warehouse: no such table: scored'
    """
    since = Line("", f"{words.since(transition, context.zone)}.")
    why = _why(transition)
    first = [
        Line("", f"{words.headline(transition, evaluation)}."),
        since,
        *labelled("How sure", how_sure(transition, evaluation) if evaluation else ""),
        *(Line("Why", text) for text in why),
        *labelled("What moved", moved_most(evaluation) if evaluation else ""),
        *labelled("Check", words.advice(transition, evaluation)),
        *context_lines(context),
    ]
    details = [
        Line("Monitor", transition.monitor),
        *labelled("Segment", transition.segment),
        *(_of_evaluation(transition, evaluation, context.zone) if evaluation else []),
        Line("Look", f"rocmonitor history {transition.monitor}"),
        *ending(transition.at, context.zone, *event_of(transition, evaluation.key if evaluation else "")),
    ]
    title = titled(transition.after.upper(), words.subject(transition), words.title(transition, evaluation))
    kind: Kind = words.WORDS[transition.after].kind
    return assemble(title, kind, first, details)


def compose_review(review: Review, *, before: str, context: Context) -> Message:
    """The message about a review whose decision is not the one that was sent before.

    Parameters
    ----------
    review : Review
    before : str
        The decision that was sent before.
    context : Context

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    zone = context.zone
    first = [
        Line("", f"{_capital(review_wording.sentence(review))}."),
        Line("", f"The decision was “{before}” before. Nothing was promoted."),
        Line("Why", review_wording.summary(review)),
        *labelled("Next", review_wording.advice(review)),
        *context_lines(context),
    ]
    details = [
        Line("Monitor", review.monitor),
        Line("Model", review.model),
        *labelled("", review_wording.difference_line(review)),
        Line("Period", f"{review.period.in_zone(zone)} ({zone.key})"),
        Line("Look", f"rocmonitor review {review.monitor} --output review.html"),
        *(Line("Caveat", str(caveat)) for caveat in review.caveats),
        *ending(review.reviewed_at, zone, review.key, label="Reviewed"),
    ]
    title = titled("REVIEW", review.monitor, review_wording.title(review))
    return assemble(title, "notice", first, details)


def trial_message(channel: str) -> Message:
    """A marked message that shows whether a channel works."""
    return Message(
        one_line(f"TEST of channel {channel}", LONGEST_TITLE),
        f"rocmonitor can reach channel {channel}.\nThis is a test: nothing happened, nothing is to be done.",
        "test",
    )


def assemble(title: str, kind: Kind, first: Lines, details: Lines) -> Message:
    """A message in all its lengths, from what matters most and the rest."""
    short = [line for line in first if line.label not in ("How sure", "Owner")]
    return Message(
        title,
        as_text([*first, Line("", ""), *details]),
        kind,
        html=as_html(first, details),
        chat=as_text(first),
        # The title says what has happened.
        pager=tuple(as_text([line]) for line in short[1:]),
    )


def _why(transition: Transition) -> list[str]:
    """What the first line does not say: an error, k-of-n, a rule that knows no normal range."""
    return reasons(each for each in transition.reasons if isinstance(each, Caveat) or _is_why(each))


def _is_why(found: Verdict) -> bool:
    return found.outcome is not Status.OK and (found.kind != "forecast" or bool(found.lacks))


def context_lines(context: Context) -> list[Line]:
    """Whose it is, and where to look."""
    return [
        *labelled("Owner", context.owner),
        *labelled("Runbook", context.runbook),
        *labelled("Run", context.run),
        *labelled("Page", context.page),
    ]


def labelled(label: str, text: str | None) -> list[Line]:
    """A line, if there is anything to say."""
    return [Line(label, text)] if text else []


def _of_evaluation(transition: Transition, evaluation: Evaluation, zone: ZoneInfo) -> Iterable[Line]:
    metrics, counts = evaluation.metrics, evaluation.counts
    yield Line("Model", f"{evaluation.model}, version {evaluation.champion_version}")
    revision = f", revision {evaluation.revision}" if evaluation.revision else ""
    window = f"{evaluation.window.in_zone(zone)}{pooled(evaluation.caveats)}"
    yield Line("Window", f"{window} ({zone.key}){revision}")
    aside = f"; {found}" if (found := set_aside(counts)) else ""
    yield Line("Rows", f"{counts.rows:,}{_share(counts)}{aside}{CUT if counts.truncated else ''}")
    yield Line("Used", f"{counts.n_pos:,} positives, {counts.n_neg:,} negatives")
    if "champion/auc" in metrics:
        yield Line("AUROC", _interval(metrics, "champion"))
    yield from labelled("From the scores", foreseen(metrics))
    if "reference/auc" in metrics:
        yield Line("Reference", f"AUROC {_interval(metrics, 'reference')}")
    if "challenger/auc" in metrics:
        named = f"version {evaluation.challenger_version}, " if evaluation.challenger_version else ""
        yield Line("Challenger", f"{named}AUROC {_interval(metrics, 'challenger')}")
    yield from labelled("Explanation", moved(evaluation))
    for rule, outcome, text in by_rule(_not_said_yet(transition, evaluation)):
        yield Line(f"Rule {rule}, {outcome}", text)
    for caveat in evaluation.caveats:
        if caveat not in transition.reasons:
            yield Line("Caveat", str(caveat))


def _not_said_yet(transition: Transition, evaluation: Evaluation) -> Sequence[Verdict]:
    """The verdicts that are not among the reasons above."""
    # A reason that an earlier version queued is the sentences of the verdicts behind it.
    recorded = any(isinstance(each, Caveat) and each.code == "recorded" for each in transition.reasons)
    return [
        each
        for each in evaluation.verdicts
        if (each not in transition.reasons or not _is_why(each))
        and not (recorded and each.outcome is transition.after)
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _share(counts: Counts) -> str:
    """The share of the well-scored rows that have a label, where there are any."""
    if not counts.used + counts.bad_label + counts.unlabelled:
        return ""
    return f", labelled {100 * counts.labelled_share:.1f} %"


def _interval(metrics: dict[str, float], model: str) -> str:
    value, low, high = (metrics[f"{model}/auc{end}"] for end in ("", "_low", "_high"))
    return f"{value:.4f} ({percent(LEVEL)} interval {span(low, high)})"


def titled(head: str, whose: str, found: str) -> str:
    """The status, whose it is, and as much of both as 80 characters hold."""
    room = LONGEST_TITLE - len(head) - 3
    found = printable(one_line(found, room - min(len(whose), 22)))
    return one_line(f"{head} {printable(without_middle(whose, room - len(found)))}: {found}", LONGEST_TITLE)


def event_of(transition: Transition, key: str) -> tuple[str, ...]:
    """What tells a change of status from others; `key` is that of the result it was seen in, or empty."""
    return (
        transition.monitor,
        transition.segment,
        transition.at.astimezone(UTC).isoformat(),
        f"{transition.before}>{transition.after}",
        key,
    )


def ending(at: datetime, zone: ZoneInfo, *parts: str, label: str = "Noticed") -> Lines:
    """When it was, and by what a repeat of the message is known: the same parts give the same id."""
    event = hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]
    return [
        Line(label, f"{instant(at, zone)} ({zone.key})"),
        Line("Event", f"{event} (the same id again is the same event)"),
    ]
