"""``rocmonitor db upgrade`` and ``rocmonitor db check``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo


@click.group()
def db() -> None:
    """The store, rocmonitor's own database."""


@db.command("upgrade")
@click.pass_obj
def db_upgrade(path: Path) -> int:
    """Create the tables, or bring them to this version."""
    from rocmonitor.store import migrate

    migrate.upgrade(load(path).store_url)
    echo("the store is at this version", err=True)
    return OK


@db.command("check")
@click.pass_obj
def db_check(path: Path) -> int:
    """Check that the tables are at this version."""
    from rocmonitor.store import migrate

    migrate.check(load(path).store_url)
    echo("the store is at this version", err=True)
    return OK
