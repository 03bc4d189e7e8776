"""Reading the configuration again while the service runs: all of it is checked before any of it counts."""

from __future__ import annotations

from pathlib import Path

from rocmonitor import config
from rocmonitor.config import Config, Files, Heartbeat, Mlflow, Secret, Spark, Webhook
from rocmonitor.errors import ConfigError


def read_again(path: Path, now: Config) -> Config:
    """Return the configuration in a file, fit to take the place of the one in use.

    Raises
    ------
    ConfigError
        The file is wrong, a secret that it names cannot be read, or it changes what only a start can.
    """
    new = config.load(path)
    problems = [*_unreadable(new), *_fixed(now, new)]
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
    return new


def changed(now: Config, new: Config) -> tuple[list[str], list[str], list[str]]:
    """Return the monitors that were added, changed and removed; a change of a source changes its monitors."""
    added = [name for name in new.monitors if name not in now.monitors]
    removed = [name for name in now.monitors if name not in new.monitors]
    kept = [name for name in new.monitors if name in now.monitors]
    return added, [name for name in kept if _differs(name, now, new)], removed


def _differs(name: str, now: Config, new: Config) -> bool:
    before, after = now.monitors[name], new.monitors[name]
    return before != after or now.sources[before.source] != new.sources[after.source]


def _unreadable(new: Config) -> list[str]:
    """Secrets that cannot be read, each with its path in the file."""
    given: list[tuple[str, Secret | Spark | Mlflow | Webhook | Heartbeat | None]] = [
        *((f"sources.{name}.", each) for name, each in new.sources.items() if not isinstance(each, Files)),
        *((f"channels.{name}.", each) for name, each in new.channels.items()),
        *(("", each) for each in (new.mlflow, new.webhook, new.heartbeat)),
    ]
    problems = []
    for path, section in given:
        try:
            if section is not None:
                section.read(new.folder)
        except ConfigError as error:
            problems.append(f"{path}{error}")
    return problems


def _fixed(now: Config, new: Config) -> list[str]:
    """Return what changes, and cannot while the service runs."""

    def listens(known: Config) -> str | None:
        return None if known.webhook is None else known.webhook.listen

    try:
        same_store = new.store_url == now.store_url
    except ConfigError as error:
        return [str(error)]
    fixed = [] if same_store else ["store"]
    fixed += [] if now.listen == new.listen else ["listen"]
    fixed += [] if listens(now) == listens(new) else ["webhook.listen"]
    fixed += [] if now.executor == new.executor else ["executor"]
    return [f"{key}: changes only at a start; restart the service, or leave it as it was" for key in fixed]
