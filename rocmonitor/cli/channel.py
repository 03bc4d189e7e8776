"""``rocmonitor channel test``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.completion import channel_names
from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo
from rocmonitor.errors import ConfigError


@click.group()
def channel() -> None:
    """The channels that alerts go to."""


@channel.command("test")
@click.argument("name", shell_complete=channel_names)
@click.pass_obj
def channel_test(path: Path, name: str) -> int:
    """Send a message marked as a test."""
    from rocmonitor import alerts

    config = load(path)
    if name not in config.channels:
        defined = ", ".join(config.channels) or "none"
        raise ConfigError(f"{path}: no channel {name!r} under channels (defined: {defined})")
    alerts.send(config.channels[name].read(config.folder), alerts.trial_message(name), folder=config.folder)
    echo(f"channel {name} took the test message", err=True)
    return OK
