"""The message about past windows that were judged again."""

from __future__ import annotations

from collections.abc import Sequence

from rocmonitor.alerts.mail import Line
from rocmonitor.alerts.message import Context, Message, assemble, context_lines, ending, labelled, titled
from rocmonitor.policy.revised import Revised
from rocmonitor.wording import revised as words
from rocmonitor.wording.format import one_line


def compose_revised(found: Sequence[Revised], context: Context) -> Message:
    """The message about one or more windows of a monitor that became degraded, or were so and are no longer.

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
    above = [
        Line("", f"{words.headline(found)}."),
        *(Line("", text) for text in words.lines(found, zone)),
        Line("", f"{words.status(found)}."),
        *labelled("Check", words.advice(found)),
        *context_lines(context),
    ]
    key = "|".join(f"{each.monitor}|{each.segment}|{each.window}|r{each.revision}" for each in found)
    details = [
        Line("Monitor", first.monitor),
        *labelled("Segment", segment),
        *([Line("Revision", str(first.revision))] if len(found) == 1 else []),
        Line("Look", f"rocmonitor history {first.monitor}"),
        *ending(first.at, zone, key),
    ]
    head = "DEGRADED" if worse else str(first.after).upper()
    title = titled(head, one_line(f"{first.monitor} {segment}", 200), words.title(found))
    return assemble(title, "alarm" if worse else "recovery", above, details)
