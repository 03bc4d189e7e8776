"""``rocmonitor db upgrade``, ``rocmonitor db check`` and ``rocmonitor db clean``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.opening import load, open_runtime
from rocmonitor.cli.terminal import EXTERNAL, OK, echo, shown_progress


@click.group()
def db() -> None:
    """Manage the store, rocmonitor's own database."""


@db.command("upgrade")
@click.pass_obj
def db_upgrade(path: Path) -> int:
    """Create the tables, or upgrade them to this version."""
    from rocmonitor.store import migrate

    migrate.upgrade(load(path).store_url)
    echo("the store is at this version", err=True)
    return OK


@db.command("check")
@click.pass_obj
def db_check(path: Path) -> int:
    """Check that the tables match this version."""
    from rocmonitor.store import migrate

    migrate.check(load(path).store_url)
    echo("the store is at this version", err=True)
    return OK


@db.command("clean")
@click.pass_obj
def db_clean(path: Path) -> int:
    """Delete what is older than `keep` allows, as serve does once a day.

    Undelivered messages, and the newest window of each segment, always stay.
    """
    from rocmonitor.service.keep import delete_old

    with open_runtime(load(path), make=False) as runtime, shown_progress() as progress:
        done = delete_old(runtime, progress=progress)
    if done.busy:
        echo("another process is cleaning up; nothing was done", err=True)
        return EXTERNAL
    echo(
        f"deleted {done.deliveries:,} deliveries, the tables of {done.tables:,} evaluations, the counts of "
        f"{done.counts:,} windows and {done.runs:,} runs in MLflow",
        err=True,
    )
    if done.error is not None:
        echo(f"old runs stay for now: {done.error}", err=True)
        return EXTERNAL
    return OK
