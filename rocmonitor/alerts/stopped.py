"""The message about rows or labels that stopped arriving, or arrive again."""

from __future__ import annotations

from rocmonitor.alerts.mail import Line
from rocmonitor.alerts.message import Context, Message, assemble, context_lines, ending, titled
from rocmonitor.policy.stops import Stop
from rocmonitor.wording import stops as words


def compose_stop(found: Stop, context: Context) -> Message:
    """The message about a stop, or its end.

    Parameters
    ----------
    found : Stop
    context : Context

    Returns
    -------
    Message
        The same arguments always give the same message, with the same event id.
    """
    zone = context.zone
    first = [
        Line("", f"{words.headline(found, zone)}."),
        Line("", f"{words.since(found, zone)}."),
        *(
            []
            if found.ended
            else [Line("How sure", words.how_sure(found)), Line("Check", words.CHECK[found.kind])]
        ),
        *context_lines(context),
    ]
    key = f"{found.monitor}|{found.kind}|{found.since.isoformat()}|{'end' if found.ended else 'begin'}"
    details = [
        Line("Monitor", found.monitor),
        Line("Window", f"{found.window.in_zone(zone)} ({zone.key})"),
        Line("Rows", f"{found.rows:,}, labelled {found.labelled:,}"),
        Line("Look", f"rocmonitor status, rocmonitor history {found.monitor}"),
        *ending(found.at, zone, key),
    ]
    head = "OK" if found.ended else "STOPPED"
    title = titled(head, found.monitor, words.title(found))
    return assemble(title, "recovery" if found.ended else "alarm", first, details)
