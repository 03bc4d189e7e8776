"""The message about what scores foretell, before the labels."""

from __future__ import annotations

from rocmonitor.alerts.mail import Line
from rocmonitor.alerts.message import (
    Context,
    Message,
    assemble,
    context_lines,
    ending,
    event_of,
    labelled,
    titled,
)
from rocmonitor.policy.evaluation import Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording import outlook as words
from rocmonitor.wording.status import since, subject
from rocmonitor.wording.verdicts import by_rule, reasons


def compose_outlook(transition: Transition, outlook: Outlook, context: Context) -> Message:
    """The message about a change of status that an outlook made.

    Parameters
    ----------
    transition : Transition
    outlook : Outlook
    context : Context

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    zone = context.zone
    others = [each for each in outlook.verdicts if each not in transition.reasons]
    first = [
        Line("", f"{words.headline(transition, outlook)}."),
        Line("", f"{since(transition, zone)}."),
        *(Line("Why", reason) for reason in reasons(transition.reasons)),
        *labelled("What moved", words.moved(outlook)),
        Line("Check", words.ADVICE),
        *context_lines(context),
    ]
    details = [
        Line("Monitor", transition.monitor),
        *labelled("Segment", transition.segment),
        Line("Model", f"{outlook.model}, version {outlook.champion_version}"),
        Line("Window", f"{outlook.window.in_zone(zone)} ({zone.key})"),
        Line("Rows", f"{outlook.scored:,} scored, {outlook.labelled:,} of them labelled so far"),
        *(Line(f"Rule {rule}", text) for rule, _, text in by_rule(others)),
        *(Line("Caveat", str(caveat)) for caveat in outlook.caveats),
        Line("Look", f"rocmonitor history {transition.monitor}"),
        *ending(transition.at, zone, *event_of(transition, outlook.key)),
    ]
    title = titled(transition.after.upper(), subject(transition), words.title(transition, outlook))
    return assemble(title, "alarm", first, details)
