"""What a shell offers to complete: the names of monitors and channels, from the configuration as it is."""

from __future__ import annotations

from pathlib import Path

import click


def monitor_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Monitors whose names begin so."""
    return _names(context, "monitors", incomplete)


def channel_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Channels whose names begin so."""
    return _names(context, "channels", incomplete)


def _names(context: click.Context, section: str, incomplete: str) -> list[str]:
    """Keys of a section; none of a file that cannot be read, for a shell has no place for an error."""
    import yaml

    path = context.find_root().params.get("path") or "rocmonitor.yaml"
    try:
        known = yaml.safe_load(Path(path).read_text(encoding="utf-8"))[section]
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return []
    return [str(name) for name in known if str(name).startswith(incomplete)]
