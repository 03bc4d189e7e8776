"""The message about past windows that were judged again."""

from __future__ import annotations

from collections.abc import Sequence

from rocmonitor.alerts.mail import Line
from rocmonitor.alerts.message import (
    Context,
    Kind,
    Message,
    assemble,
    labelled,
    next_step,
    titled,
    where_to_look,
)
from rocmonitor.policy.revised import Revised
from rocmonitor.wording import revised as words
from rocmonitor.wording.format import one_line


def compose_revised(found: Sequence[Revised], context: Context) -> Message:
    """Return the message about one or more windows of a monitor that became degraded, or were so and are no
    longer.

    Parameters
    ----------
    found : sequence of Revised
        Of one monitor; their status did not change by it.
    context : Context

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    zone, first = context.zone, found[0]
    worse = any(each.is_worse for each in found)
    segments = {each.segment for each in found}
    segment = first.segment if len(segments) == 1 else ""
    kind: Kind = "alarm" if worse else "recovery"
    key = "|".join(f"{each.monitor}|{each.segment}|{each.window}|r{each.revision}" for each in found)
    lines = [
        Line("", f"{words.headline(found)}{f'; {segment}' if segment else ''} ({zone.key})."),
        *(Line("", text) for text in words.lines(found, zone)),
        Line("", words.rest(found)),
        *labelled("Check", words.advice(found)),
        *where_to_look(context),
        next_step(kind, first.monitor, context, key),
    ]
    head = "DEGRADED" if worse else str(first.after).upper()
    title = titled(head, one_line(f"{first.monitor} {segment}", 200), words.title(found))
    return assemble(title, kind, lines)
