"""Which versions of a model are watched."""

from __future__ import annotations

from pathlib import Path

from rocmonitor import tracking
from rocmonitor.caveat import Caveat
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import ConfigError, printable


def model_lines(config: Config, monitor: Monitor) -> list[str]:
    """Champion and challenger, each with its version and where that comes from."""
    model = monitor.model
    by_alias = model.champion is not None or model.challenger is not None
    registry = _registry(config) if by_alias else None
    lines = []
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
        lines.append(str(Caveat("version-not-named", model=model.name)))
    return [printable(line) for line in lines]


def _registry(config: Config) -> tracking.Tracking:
    uri = config.tracking_uri
    file = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not file.exists():  # connecting would make it
        raise ConfigError(f"mlflow.tracking_uri: {file} is not there yet, so no model has an alias in it")
    return tracking.connect(uri, config.folder)
