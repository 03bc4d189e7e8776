"""``rocmonitor mute`` and ``rocmonitor acknowledge``."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.opening import load, monitor_named, wall_time
from rocmonitor.cli.terminal import OK, echo, monitor_names
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from rocmonitor.config import Monitor

_LONGEST_NOTE = 200

_by = click.option("--by", metavar="NAME", help="Your name.  [default: the account that runs the command]")
_note = click.option("--note", default="", metavar="TEXT", help="Why; shown beside the status.")


@click.command()
@click.argument("monitor", shell_complete=monitor_names)
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
    from rocmonitor.wording.format import instant

    config, now = load(path), datetime.now(UTC)
    chosen = monitor_named(config, monitor)
    if [length is not None, until is not None, end].count(True) != 1:
        raise ConfigError("say how long: give one of --for DURATION, --until TIME and --end")
    stop = None if end else _stop(chosen, now, length, until)
    with store.open_store(config.store_url) as opened:
        store.mute(opened, monitor, by=_name(by), until=stop, note=_valid(note))
    if stop is None:
        echo(f"{monitor}: messages are sent again")
    else:
        echo(f"{monitor}: no messages until {instant(stop, chosen.timezone)} ({chosen.timezone})")
    return OK


@click.command()
@click.argument("monitor", shell_complete=monitor_names)
@_by
@_note
@click.pass_obj
def acknowledge(path: Path, monitor: str, by: str | None, note: str) -> int:
    """Mark a monitor's alarm as taken care of, until its status changes."""
    from rocmonitor import store
    from rocmonitor.policy.status import is_alarm
    from rocmonitor.store import glance

    config = load(path)
    monitor_named(config, monitor)
    with store.open_store(config.store_url) as opened:
        changes = glance.last_changes(opened)
        if not any(is_alarm(each.status) for (name, _), each in changes.items() if name == monitor):
            raise ConfigError(f"{monitor} has no alarm that could be acknowledged")
        store.acknowledge(opened, monitor, by=_name(by), at=datetime.now(UTC), note=_valid(note))
    echo(f"{monitor}: {_name(by)} takes care of it")
    return OK


def _stop(monitor: Monitor, now: datetime, length: str | None, until: str | None) -> datetime:
    if until is not None:
        stop = wall_time(until, monitor, "--until").astimezone(UTC)
        if stop <= now:
            raise ConfigError(
                f"--until {until} is over; give a time to come, or --end to send messages again"
            )
        return stop
    from pydantic import TypeAdapter, ValidationError

    from rocmonitor.config.values import Duration

    try:
        lasting = TypeAdapter(Duration).validate_python(length)
        return now + lasting
    except (ValidationError, OverflowError):
        raise ConfigError(
            f"--for must be a whole number with s, m, h or d, such as 12h or 2d; it is {length!r}"
        ) from None


def _name(by: str | None) -> str:
    """Who says so; an account without a name has its number."""
    if by is None:
        try:
            by = getpass.getuser()
        except (OSError, KeyError):
            by = "unknown"
    return _valid(by)


def _valid(text: str) -> str:
    """One line that is not too long for a table."""
    line = " ".join(text.split())
    if len(line) > _LONGEST_NOTE or not line.isprintable():
        raise ConfigError(f"--by and --note take up to {_LONGEST_NOTE} printable characters")
    return line
