"""What the account of a source may do besides reading."""

from __future__ import annotations

from rocmonitor.config import Config
from rocmonitor.errors import RocmonitorError, printable
from rocmonitor.sources import open_source


def account_lines(config: Config, name: str) -> list[str]:
    """A warning where the account may write; none where it may not, or the database does not say.

    A source that cannot be opened is no business of this: its monitors say so.
    """
    try:
        with open_source(config.sources[name], config.folder, name=name) as source:
            found = source.beyond_reading()
    except RocmonitorError:
        return []
    return [] if found is None else [printable(f"{name}: {found}")]
