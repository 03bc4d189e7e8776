"""The message about what scores foretell, before the labels."""

from __future__ import annotations

from collections.abc import Sequence

from rocmonitor.alerts.mail import Line
from rocmonitor.alerts.message import (
    Context,
    Message,
    assemble,
    event_of,
    labelled,
    next_step,
    since_line,
    titled,
    where_to_look,
)
from rocmonitor.policy.evaluation import Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording import outlook as words
from rocmonitor.wording.status import also as also_changed
from rocmonitor.wording.status import subject
from rocmonitor.wording.verdicts import reasons


def compose_outlook(
    transition: Transition, outlook: Outlook, context: Context, also: Sequence[Transition] = ()
) -> Message:
    """Return the message about a change of status that an outlook made.

    Parameters
    ----------
    transition : Transition
    outlook : Outlook
    context : Context
    also : sequence of Transition
        The changes of other segments with the same window.

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    zone = context.zone
    lines = [
        Line("", f"{words.headline(transition, outlook)}."),
        since_line(transition, zone),
        *labelled("Also", also_changed(also)),
        *labelled("Why", "; ".join(reasons(transition.reasons))),
        *labelled("What moved", words.moved(outlook)),
        Line("Check", words.ADVICE),
        *where_to_look(context),
        next_step("alarm", transition.monitor, context, *event_of(transition, outlook.key)),
    ]
    title = titled(transition.after.upper(), subject(transition), words.title(transition, outlook))
    return assemble(title, "alarm", lines)
