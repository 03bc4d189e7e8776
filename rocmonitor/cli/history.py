"""``rocmonitor history``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.opening import load, monitor_named
from rocmonitor.cli.terminal import echo, print_json, print_outbox


@click.command()
@click.argument("monitor")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, all revisions included.")
@click.pass_obj
def history(path: Path, monitor: str, as_json: bool) -> int:
    """Show the evaluations and changes of status of a monitor."""
    from rocmonitor import store
    from rocmonitor.report import text

    config = load(path)
    chosen = monitor_named(config, monitor)
    with store.open_store(config.store_url) as opened:
        evaluations = store.evaluations(opened, monitor, every_revision=as_json)
        outlooks = store.outlooks(opened, monitor, pending=not as_json)
        changes = store.transitions(opened, monitor)
        waiting = store.outbox_summary(opened)
    if as_json:
        print_json(
            {
                "evaluations": [evaluation.to_dict() for evaluation in evaluations],
                "outlooks": [outlook.to_dict() for outlook in outlooks],
                "transitions": [change.to_dict() for change in changes],
                "outbox": {"waiting": waiting.waiting, "errors": waiting.errors},
            }
        )
    elif not evaluations and not outlooks and not changes:
        echo(f"{monitor} has not been judged yet; `rocmonitor run {monitor}` does it now", err=True)
    else:
        echo(f"{monitor} ({chosen.timezone})")
        if evaluations:
            echo(text.windows(evaluations, chosen.timezone))
        if outlooks:
            echo("\nBefore the labels, expected from the scores:")
            echo(text.outlooks(outlooks, chosen.timezone))
        echo(f"\nChanges of status ({chosen.timezone}):")
        echo(text.transitions(changes, chosen.timezone) or "none")
    print_outbox(waiting)
    return OK
