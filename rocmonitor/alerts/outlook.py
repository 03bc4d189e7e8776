"""The message about what scores foretell, before the labels."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from rocmonitor.alerts.message import Message, event_id, titled
from rocmonitor.policy.evaluation import Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording import outlook as words
from rocmonitor.wording.format import instant
from rocmonitor.wording.status import subject
from rocmonitor.wording.verdicts import by_rule, reasons


def compose_outlook(
    transition: Transition, outlook: Outlook, *, zone: ZoneInfo, link: str | None = None
) -> Message:
    """The message about a change of status that an outlook made.

    Parameters
    ----------
    transition : Transition
    outlook : Outlook
    zone, link
        As in `rocmonitor.alerts.message.compose`.

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    others = [each for each in outlook.verdicts if each not in transition.reasons]
    moved = words.moved(outlook)
    lines = [
        words.headline(transition, outlook),
        f"Status {transition.after}, was {transition.before}",
        f"Monitor {transition.monitor}",
        *([f"Segment {transition.segment}"] if transition.segment else []),
        f"Model {outlook.model}, version {outlook.champion_version}",
        f"Window {outlook.window.in_zone(zone)} ({zone.key})",
        f"{outlook.scored:,} scored rows, {outlook.labelled:,} of them labelled so far",
        "",
        *(f"Why: {reason}" for reason in reasons(transition.reasons)),
        *([f"What moved: {moved}"] if moved else []),
        f"Check: {words.ADVICE}",
        f"Look: rocmonitor history {transition.monitor}",
        *([f"MLflow: {link}"] if link else []),
        "",
        *(f"Rule {rule}: {text}" for rule, _, text in by_rule(others)),
        *(f"Caveat: {caveat}" for caveat in outlook.caveats),
        f"Noticed {instant(transition.at, zone)} ({zone.key})",
        f"Event {event_id(transition, outlook.key)} (the same id again is the same event)",
    ]
    title = titled(transition.after.upper(), subject(transition), words.title(transition, outlook))
    return Message(title, "\n".join(lines), "alarm")
