"""The parts that a command works with: the configuration, a monitor, a runtime, a time that was typed."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.terminal import STOPPED, monitor_names
from rocmonitor.errors import ConfigError, quoted

if TYPE_CHECKING:
    from rocmonitor.config import Config, Monitor
    from rocmonitor.service.runtime import Runtime

log = logging.getLogger(__name__)


def load(path: Path) -> Config:
    """Return the configuration in a file."""
    from rocmonitor import config

    log.debug("reading %s", path.resolve())
    return config.load(path)


def monitor_named(config: Config, name: str) -> Monitor:
    """One of its monitors."""
    if name not in config.monitors:
        raise ConfigError(f"no monitor {name!r} under monitors (defined: {', '.join(config.monitors)})")
    return config.monitors[name]


def _or_the_only(context: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Return the name that was given, or that of the only monitor."""
    if name is not None or context.resilient_parsing:
        return name
    names = list(load(context.obj).monitors)
    if len(names) == 1:
        return names[0]
    raise ConfigError(f"which monitor? Name one of {', '.join(names)}")


monitor_argument = click.argument(
    "monitor", required=False, callback=_or_the_only, shell_complete=monitor_names
)
"""The name of a monitor, which may be left out where there is only one."""


@contextmanager
def open_runtime(config: Config, *, make: bool = True) -> Iterator[Runtime]:
    """Yield all that a command works with; a command that keeps nothing does not `make` a store."""
    from rocmonitor import store
    from rocmonitor.service.runtime import Runtime
    from rocmonitor.service.workers import open_executor

    with (
        _ended_by_sigterm(),
        store.open_store(config.store_url, make=make) as opened,
        open_executor(config) as executor,
    ):
        yield Runtime(config=config, store=opened, executor=executor)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End at once where nothing else sees to it: the first process of a container would ignore the signal."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: os._exit(STOPPED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def period(start: str | None, end: str | None, monitor: Monitor) -> tuple[datetime | None, datetime | None]:
    """Return the ends that --from and --to name, in this order; None for one that is left out."""
    begin, stop = (
        None if text is None else wall_time(text, monitor, option)
        for text, option in ((start, "--from"), (end, "--to"))
    )
    if begin is not None and stop is not None and begin >= stop:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    return begin, stop


def wall_time(text: str, monitor: Monitor, option: str) -> datetime:
    """Return a time of the command line; without an offset it is the monitor's wall time."""
    from rocmonitor.config.values import require_calendar

    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{option} must be a date or time such as 2026-01-31 or 2026-01-31T06:00; it is {quoted(text)}"
        ) from None
    try:
        require_calendar(instant)
    except ValueError as error:
        raise ConfigError(f"{option} {error}") from None
    return instant.replace(tzinfo=monitor.timezone) if instant.tzinfo is None else instant
