"""Messages: a change of status, an outage, a stop or a review, as a person reads it at 3 a.m.

The same arguments always give the same message, with the same event id: a repeat can be recognised. A
control character in a value is written out, so no value can begin a line of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from rocmonitor.errors import printable
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outages import Notice
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.status import Revised
from rocmonitor.policy.stops import Stop
from rocmonitor.wording import episode as episodes
from rocmonitor.wording import outages as outage_wording
from rocmonitor.wording import outlook as outlook_wording
from rocmonitor.wording import review as review_wording
from rocmonitor.wording import revised as revised_wording
from rocmonitor.wording import status as words
from rocmonitor.wording import stops
from rocmonitor.wording.facts import facts
from rocmonitor.wording.format import count, first_few, instant, one_line, without_middle
from rocmonitor.wording.verdicts import reasons

Kind = Literal["alarm", "recovery", "notice", "test"]

LONGEST_TITLE = 80

PICTURE = "auc.png"
"""Name of the attached chart."""

_MAIL_STYLE = (
    "font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; "
    "max-width: 620px; overflow-wrap: anywhere"
)


class Line(NamedTuple):
    """A line of a message: what it is about, if that is said, and its text."""

    label: str
    text: str


Lines = Sequence[Line]

LONGEST_TEXT = 2000
"""Characters of a line that are shown; what is cut is counted. A value from outside may be of any length."""

_NOT_ON_A_PAGER = ("How sure", "Reference", "Owner", "Take it on", "Look")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The facts of a message besides the event: its monitor, and where to look.

    `run` and `page` are addresses in MLflow and on rocmonitor's own page, `told` the channels that get the
    message. A monitor that is no longer `configured` is known to no command.
    """

    zone: ZoneInfo
    owner: str | None = None
    runbook: str | None = None
    run: str | None = None
    page: str | None = None
    told: tuple[str, ...] = ()
    configured: bool = True


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the lengths that channels can carry: `html` for a mail, lines of `pager` for a pager.

    The title is one line of at most 80 characters that starts with the status. What matters most comes first
    in `body` and `pager`. The kind becomes the service's own colour or severity.
    """

    title: str
    body: str
    kind: Kind
    html: str = ""
    pager: tuple[str, ...] = ()


def compose(
    transition: Transition,
    evaluation: Evaluation | None,
    context: Context,
    also: Sequence[Transition] = (),
    episode: Decline | None = None,
) -> Message:
    """Return the message about a change of status, and about those of other segments in the same window.

    The `transition` is the gravest, `also` are the others. Without an `evaluation`, evaluating the window
    failed. The `episode` is the loss that the change begins, changes or ends.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.caveat import Caveat
    >>> from rocmonitor.verdict import Status
    >>> change = Transition(
    ...     monitor="credit-default", before=Status.OK, after=Status.ERROR,
    ...     reasons=(Caveat("error", text="warehouse: no such table: scored"),),
    ...     at=datetime(2026, 6, 1, 4, tzinfo=UTC), since=datetime(2026, 5, 25, tzinfo=UTC),
    ... )
    >>> compose(change, None, Context(zone=ZoneInfo("UTC"))).title
    'ERROR credit-default: warehouse: no such table: scored'
    """
    kind: Kind = words.WORDS[transition.after].kind
    lines = [
        Line("", f"{words.headline(transition, evaluation, context.zone, episode)}."),
        since_line(transition, context.zone, episode),
        *labelled("Also", words.also(also)),
        *(Line(label, text) for label, text in facts(transition, evaluation, episode).items()),
        *where_to_look(context),
        next_step(
            kind, transition.monitor, context, *event_of(transition, evaluation.key if evaluation else "")
        ),
    ]
    head = ("STILL " if transition.before is transition.after else "") + transition.after.upper()
    title = titled(head, words.subject(transition), words.title(transition, evaluation, episode))
    return assemble(title, kind, lines)


def compose_outlook(
    transition: Transition, outlook: Outlook, context: Context, also: Sequence[Transition] = ()
) -> Message:
    """Return the message about a change of status that an outlook made, and `also` of other segments."""
    zone = context.zone
    lines = [
        Line("", f"{outlook_wording.headline(transition, outlook)}."),
        since_line(transition, zone),
        *labelled("Also", words.also(also)),
        *labelled("Why", "; ".join(reasons(transition.reasons))),
        *labelled("What moved", outlook_wording.moved(outlook)),
        Line("Check", outlook_wording.ADVICE),
        *where_to_look(context),
        next_step("alarm", transition.monitor, context, *event_of(transition, outlook.key)),
    ]
    title = titled(
        transition.after.upper(), words.subject(transition), outlook_wording.title(transition, outlook)
    )
    return assemble(title, "alarm", lines)


def compose_revised(revised: Sequence[Revised], context: Context) -> Message:
    """Return the message about windows of a monitor that became degraded, or are so no longer."""
    zone, first = context.zone, revised[0]
    worse = any(change.is_worse for change in revised)
    segments = {change.segment for change in revised}
    segment = first.segment if len(segments) == 1 else ""
    kind: Kind = "alarm" if worse else "recovery"
    key = "|".join(
        f"{change.monitor}|{change.segment}|{change.window}|r{change.revision}" for change in revised
    )
    lines = [
        Line("", f"{revised_wording.headline(revised)}{f'; {segment}' if segment else ''} ({zone.key})."),
        *(Line("", text) for text in revised_wording.lines(revised, zone)),
        Line("", revised_wording.rest(revised)),
        *labelled("Check", revised_wording.advice(revised)),
        *where_to_look(context),
        next_step(kind, first.monitor, context, key),
    ]
    head = "DEGRADED" if worse else str(first.after).upper()
    title = titled(head, one_line(f"{first.monitor} {segment}", 200), revised_wording.title(revised))
    return assemble(title, kind, lines)


_MOST_OWNERS, _MOST_RUNBOOKS = 5, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """A monitor that an outage concerns, with what its configuration says of people, as in `Context`."""

    monitor: str
    owner: str | None = None
    runbook: str | None = None


def compose_outage(
    notice: Notice, concerned: Sequence[Concerned], *, zone: ZoneInfo, page: str | None = None
) -> Message:
    """Return the message about an outage, with owners and runbooks of its configured monitors."""
    # What to do when a model is worse than expected: of no use to a channel or to MLflow.
    unjudged = [entry for entry in concerned if entry.monitor in notice.unjudged]
    ended = notice.phase == "ended"
    outage = notice.outage
    times = (outage.start.isoformat(), notice.at.isoformat())
    named = event(str(outage.id), outage.place, notice.phase, *times)
    lines = [
        Line("", f"{outage_wording.headline(notice, zone)}."),
        *labelled("Last error" if ended else "Why", outage.error),
        *labelled("Monitors", outage_wording.more_names(notice)),
        *labelled("Check", outage_wording.advice(notice)),
        *_people("Owner", [(entry.owner, entry.monitor) for entry in concerned], _MOST_OWNERS),
        *_people("Runbook", [(entry.runbook, entry.monitor) for entry in unjudged], _MOST_RUNBOOKS),
        *labelled("Page", page),
        Line("Look", f"rocmonitor status ({named})"),
    ]
    kind: Kind = "recovery" if ended else "alarm"
    title = titled(
        "RESOLVED" if ended else "ERROR", outage_wording.subject(notice), outage_wording.title(notice)
    )
    return assemble(title, kind, lines)


MOST_NAMED = 3
"""Monitors that have a line each in a message on several."""


def compose_several(
    messages: Sequence[Message],
    concerned: Sequence[Concerned],
    *,
    also: Sequence[int],
    shared: str,
    since: datetime,
    zone: ZoneInfo,
    page: str | None,
    event_parts: Sequence[str],
) -> Message:
    """Return one message that takes the place of several with the same news since an instant.

    `messages` are of one monitor each, the first `MOST_NAMED` of the `concerned`; `also` says how many
    segments changed with each, `shared` what all have in common, such as ``read source warehouse``.
    """
    head, monitors = messages[0].title.split(" ", 1)[0], [entry.monitor for entry in concerned]
    rest = monitors[len(messages) :]
    lines = [
        Line("", f"{len(monitors)} monitors that {shared}, since {instant(since, zone)} ({zone.key})."),
        *(
            Line("", message.title + (f", and {count(more, 'segment')}" if more > 0 else ""))
            for message, more in zip(messages, also, strict=True)
        ),
        *labelled("Also", first_few(rest, MOST_NAMED)),
        *labelled("Page", page),
        *_people("Owner", [(entry.owner, entry.monitor) for entry in concerned], _MOST_OWNERS),
        Line("Look", f"rocmonitor status ({event(*event_parts)})"),
    ]
    title = titled(head, f"{len(monitors)} monitors", ", ".join(monitors))
    return assemble(title, messages[0].kind, lines)


def _people(label: str, entries: Sequence[tuple[str | None, str]], most: int) -> list[Line]:
    """Return a line on owners or runbooks, with their monitors where there are several; none if too many."""
    by: dict[str, list[str]] = {}
    for what, monitor in entries:
        if what:
            by.setdefault(what, []).append(monitor)
    if len(by) > most:
        return []
    if len(by) < 2:
        return [Line(label, what) for what in by]
    parts = [f"{what} ({first_few(monitors, outage_wording.FEW_NAMES)})" for what, monitors in by.items()]
    return [Line(f"{label}s", "; ".join(parts))]


def compose_stop(stop: Stop, context: Context, also: Sequence[Transition] = ()) -> Message:
    """Return the message about a stop, or its end, and `also` the changes of status that follow from it."""
    zone = context.zone
    kind: Kind = "recovery" if not stop.is_open else "notice" if stop.kind == "watch" else "alarm"
    phase = "begin" if stop.is_open else "end"
    lines = [
        Line("", f"{stops.headline(stop, zone)}."),
        Line("", f"{stops.since(stop, zone)}."),
        *labelled("Also", words.also(also)),
        *(
            [Line("How sure", stops.how_sure(stop)), Line("Check", stops.CHECK[stop.kind])]
            if stop.is_open
            else []
        ),
        *where_to_look(context),
        looking("rocmonitor status", context, stop.monitor, stop.kind, stop.start.isoformat(), phase),
    ]
    heads = {"usable": "UNUSABLE", "judged": "NOT JUDGED", "watch": "ENDED"}
    head = heads.get(stop.kind, "STOPPED") if stop.is_open else "RESOLVED"
    title = titled(head, stop.monitor, stops.title(stop))
    return assemble(title, kind, lines)


def compose_review(review: Review, *, before: str | None, context: Context) -> Message:
    """Return the message about a review whose decision is not the one `before`; None if it is the first."""
    zone, sentence = context.zone, review_wording.sentence(review)
    lines = [
        Line("", f"{sentence[:1].upper()}{sentence[1:]}."),
        Line("", f"{f'The decision was “{before}” before. ' if before else ''}Nothing was promoted."),
        Line("Why", " ".join(review_wording.summary(review))),
        *labelled("Next", review_wording.advice(review)),
        Line("Period", f"{review.period.in_zone(zone)} ({zone.key})"),
        *where_to_look(context),
        looking(f"rocmonitor review {review.monitor} --output review.html", context, review.key),
    ]
    title = titled("REVIEW", review.monitor, review_wording.title(review))
    return assemble(title, "notice", lines)


def trial_message(channel: str) -> Message:
    """Return a marked message that shows whether a channel works."""
    return Message(
        one_line(f"TEST of channel {channel}", LONGEST_TITLE),
        f"rocmonitor can reach channel {channel}.\nThis is a test: nothing happened, there is nothing to do.",
        "test",
    )


def repeated(message: Message, times: int) -> Message:
    """Return a message that says below its first line that it may have arrived before.

    Examples
    --------
    >>> print(repeated(trial_message("ops"), 2).body.splitlines()[1])
    You may have this message already: it was sent 2 times without an answer.
    """
    text = f"You may have this message already: it was sent {count(times, 'time')} without an answer."
    first, line, rest = message.body.partition("\n")
    return replace(
        message,
        body=f"{first}\n{text}{line}{rest}",
        html=message.html.replace("<!--chart-->", f'<p style="margin: 0 0 4px">{text}</p>\n<!--chart-->'),
        pager=(text, *message.pager) if message.pager else (),
    )


def assemble(title: str, kind: Kind, lines: Lines) -> Message:
    """Return a message in all its lengths; in the mail, the chart goes where ``<!--chart-->`` is."""
    lead, *others = lines
    labels = [f"<b>{escape(printable(line.label))}:</b> " if line.label else "" for line in others]
    mail = [
        f'<div style="{_MAIL_STYLE}">',
        f'<p style="font-size: 19px; margin: 0 0 8px"><b>{_value(lead.text)}</b></p>',
        *(
            f'<p style="margin: 0 0 4px">{label}{_value(line.text)}</p>'
            for label, line in zip(labels, others, strict=True)
        ),
        "<!--chart-->",
        "</div>",
    ]
    # The title says what has happened; nobody types a command on a pager.
    pager = tuple(as_text([line]) for line in others if line.label not in _NOT_ON_A_PAGER)
    return Message(title, as_text(lines), kind, html="\n".join(mail), pager=pager)


def where_to_look(context: Context) -> list[Line]:
    """Return what to do, and where it is shown; the page has the run too."""
    return [
        *labelled("Runbook", context.runbook),
        *(labelled("Page", context.page) or labelled("Run", context.run)),
    ]


def since_line(transition: Transition, zone: ZoneInfo, episode: Decline | None = None) -> Line:
    """Since when, in which segment, and that no rule finds it any more."""
    parts = [words.since(transition, zone, episode), transition.segment, episodes.uncertain(episode)]
    return Line("", f"{'; '.join(filter(None, parts))}.")


def next_step(kind: Kind, monitor: str, context: Context, *parts: str) -> Line:
    """Return whose it is, with the command that takes an alarm on, or shows the rest."""
    if not context.configured:
        return Line("", f"{monitor} is no longer configured ({event(*parts)})")
    if kind == "alarm":
        return looking(f"rocmonitor acknowledge {monitor}", context, *parts, label="Take it on")
    return looking(f"rocmonitor history {monitor}", context, *parts)


def looking(command: str, context: Context, *parts: str, label: str = "Look") -> Line:
    """Return whose it is, and a command; with the name by which a repeat of the message is known."""
    texts = [f"{label}: {command} ({event(*parts)})"]
    if len(context.told) > 1:
        texts.insert(0, f"Told: {', '.join(context.told)}.")
    if context.owner:
        texts.insert(0, f"Owner: {context.owner}.")
    first, _, rest = " ".join(texts).partition(": ")
    return Line(first, rest)


def labelled(label: str, text: str | None) -> list[Line]:
    """Return a line, if there is anything to say."""
    return [Line(label, text)] if text else []


def titled(head: str, whose: str, text: str) -> str:
    """Return the status, whose it is, and as much of both as 80 characters hold."""
    room = LONGEST_TITLE - len(head) - 3
    text = printable(one_line(text, room - min(len(whose), 22)))
    return one_line(f"{head} {printable(without_middle(whose, room - len(text)))}: {text}", LONGEST_TITLE)


def event_of(transition: Transition, key: str) -> tuple[str, ...]:
    """Return what tells a change of status from others; `key` is that of its result, or empty."""
    return (
        transition.monitor,
        transition.segment,
        transition.at.astimezone(UTC).isoformat(),
        f"{transition.before}>{transition.after}",
        key,
    )


def event(*parts: str) -> str:
    """Return the name by which a repeat of the message is known: the same parts give the same."""
    return f"event {hashlib.sha256('|'.join(parts).encode()).hexdigest()[:12]}"


def as_text(lines: Lines) -> str:
    """Plain text, a line for each; control characters of values are written out, long ones are cut."""
    return "\n".join(
        f"{printable(line.label)}: {_shown(line.text)}" if line.label else _shown(line.text) for line in lines
    )


def _shown(text: str) -> str:
    cut = len(text) - LONGEST_TEXT
    return printable(text) if cut <= 0 else f"{printable(text[:LONGEST_TEXT])}… ({cut:,} characters more)"


def _value(text: str) -> str:
    shown = escape(_shown(text))
    if text.startswith(("https://", "http://")) and not any(sign.isspace() for sign in text):
        return f'<a href="{shown}">{shown}</a>'
    return shown
