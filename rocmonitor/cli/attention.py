"""``rocmonitor mute`` and ``rocmonitor acknowledge``."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named, wall_time
from rocmonitor.cli.terminal import OK, echo
from rocmonitor.errors import ConfigError

_by = click.option("--by", metavar="NAME", help="Your name.  [default: the account that runs the command]")
_note = click.option("--note", default="", metavar="TEXT", help="Why; shown beside the status.")


@click.command()
@monitor_argument
@click.option("--for", "length", metavar="DURATION", help="For this long, such as 12h or 2d.")
@click.option("--until", metavar="TIME", help="Until a time in the monitor's zone, or one with an offset.")
@click.option("--end", is_flag=True, help="Send messages again from now on.")
@_by
@_note
@click.pass_obj
def mute(
    path: Path, monitor: str, length: str | None, until: str | None, end: bool, by: str | None, note: str
) -> int:
    """Pause the messages about a monitor; it is judged as usual.

    If the status has changed meanwhile, a message follows with the first window after the pause.
    """
    from rocmonitor import store
    from rocmonitor.service import attending
    from rocmonitor.wording.format import instant

    config, now = load(path), datetime.now(UTC)
    chosen = monitor_named(config, monitor)
    if [length is not None, until is not None, end].count(True) != 1:
        raise ConfigError("say how long: give one of --for DURATION, --until TIME and --end")
    stop = None
    if until is not None:
        stop = wall_time(until, chosen, "--until").astimezone(UTC)
        if stop <= now:
            raise ConfigError(
                f"--until {until} has passed; give a future time, or --end to send messages again"
            )
    elif length is not None:
        stop = attending.after(now, length)
    with store.open_store(config.store_url) as opened:
        attending.mute(opened, monitor, by=_name(by), until=stop, note=note)
    if stop is None:
        echo(f"{monitor}: messages are sent again")
    else:
        echo(f"{monitor}: no messages until {instant(stop, chosen.timezone)} ({chosen.timezone})")
    return OK


@click.command()
@monitor_argument
@click.option("--close", is_flag=True, help="The loss is over, or none: close it, whatever the windows show.")
@_by
@_note
@click.pass_obj
def acknowledge(path: Path, monitor: str, close: bool, by: str | None, note: str) -> int:
    """Mark a monitor's alarm as taken care of, until its status changes."""
    from rocmonitor import store
    from rocmonitor.service import attending
    from rocmonitor.wording.format import count

    config = load(path)
    monitor_named(config, monitor)
    with store.open_store(config.store_url) as opened:
        if close:
            closed = attending.close(opened, monitor, by=_name(by), now=datetime.now(UTC))
            echo(f"{monitor}: {count(closed, 'open loss', 'open losses')} closed")
            return OK
        attending.acknowledge(opened, monitor, by=_name(by), note=note, now=datetime.now(UTC))
    echo(f"{monitor}: {_name(by)} is taking care of it")
    return OK


def _name(by: str | None) -> str:
    """Return who says so; an account without a name has its number."""
    from rocmonitor.service.attending import one_line

    if by is None:
        try:
            by = getpass.getuser()
        except (OSError, KeyError):
            by = "unknown"
    return one_line(by)
