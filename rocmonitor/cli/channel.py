"""``rocmonitor channel test``."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import click

from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import OK, channel_names, echo
from rocmonitor.errors import AlertError, ConfigError, RocmonitorError


@click.group()
def channel() -> None:
    """Test the channels that alarms go to."""


@channel.command("test")
@click.argument("name", shell_complete=channel_names)
@click.pass_obj
def channel_test(path: Path, name: str) -> int:
    """Send a test message; a channel that exceeds the time limit of a delivery has failed."""
    from rocmonitor import alerts, store
    from rocmonitor.service.delivery import CHANNEL_SECONDS

    config = load(path)
    if name not in config.channels:
        defined = ", ".join(config.channels) or "none"
        raise ConfigError(f"{path}: no channel {name!r} under channels (defined: {defined})")
    url, message = config.channel_url(name), alerts.trial_message(name)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            alerts.send(url, message, folder=config.folder)
        except BaseException as error:  # for whoever waits
            failed.append(error)

    # A service that drips its answer keeps each time limit of its own.
    thread = threading.Thread(target=work, daemon=True)  # the end of the process does not wait for it
    thread.start()
    thread.join(CHANNEL_SECONDS)
    if thread.is_alive():
        raise AlertError(
            f"channel {name} does not answer in time: it took longer than {CHANNEL_SECONDS:g} seconds"
        )
    if failed:
        raise failed[0]
    echo(f"channel {name} took the test message", err=True)
    with suppress(RocmonitorError), store.open_store(config.store_url, make=False) as kept:
        store.retry_now(kept, f"channel:{name}")  # it works: what waits for it need not
    return OK
