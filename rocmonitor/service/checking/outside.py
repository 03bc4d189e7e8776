"""The check of other programs the service calls or is called by: each address and secret must be readable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from rocmonitor import tracking
from rocmonitor.caveat import Caveat
from rocmonitor.config import Config, Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import RocmonitorError, printable
from rocmonitor.sources import SqlSource, open_source
from rocmonitor.tracking.access import without_secrets
from rocmonitor.wording.caveats import words_of


def outside(config: Config) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """Yield the topics and the calls that make their lines; a call raises a ConfigError."""
    yield "mlflow", lambda: [f"{without_secrets(config.tracking_uri)}; the first delivery connects to it"]
    if (webhook := config.webhook) is not None:
        yield "webhook", lambda: _read(webhook.read(config.folder), f"`serve` takes it at {webhook.listen}")
    if (heartbeat := config.heartbeat) is not None:
        every = written(heartbeat.every)
        yield "heartbeat", lambda: _read(heartbeat.read(config.folder), f"`serve` calls it every {every}")


def _read(_secret: str, line: str) -> list[str]:
    return [line]


class Sources(ExitStack):
    """The sources of a configuration, each opened when it is asked for first, and closed in the end."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config, self._opened = config, dict[str, SqlSource]()

    def opened(self, name: str) -> SqlSource:
        """Return a source by its name; errors are those of `open_source`."""
        if name not in self._opened:
            source = open_source(self._config.sources[name], self._config.folder, name=name)
            self._opened[name] = self.enter_context(source)
        return self._opened[name]


def account_lines(sources: Sources, name: str) -> list[str]:
    """Return a warning where the account may write; none where it may not, or the database does not say.

    A source that cannot be opened is no business of this: its monitors say so.
    """
    try:
        caveat = sources.opened(name).beyond_reading()
    except RocmonitorError:
        return []
    return [] if caveat is None else [printable(f"{name}: {words_of(caveat)}")]


def model_lines(config: Config, monitor: Monitor) -> list[str]:
    """Champion and challenger, each with its version and where that comes from."""
    model = monitor.model
    registry, lines = None, []
    if model.champion is not None or model.challenger is not None:
        tracking.require_made(config.tracking_uri)
        registry = tracking.connect(config.tracking_uri, config.folder)
    for role, alias, fixed in (
        ("champion", model.champion, model.version),
        ("challenger", model.challenger, model.challenger_version),
    ):
        if alias is not None and registry is not None:
            lines.append(
                f"{model.name}: {role} is version {registry.version(model.name, alias)} (alias {alias})"
            )
        elif fixed is not None:
            lines.append(
                f"{model.name}: {role} is version {fixed} (from the configuration: change it with the model)"
            )
    if not model.names_champion:
        lines.append(words_of(Caveat("version-not-named", model=model.name)))
    return [printable(line) for line in lines]
