"""``rocmonitor status``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.exit_codes import DEGRADED, EXTERNAL, INSUFFICIENT, OK, worst
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo, echo_table, print_json, print_outbox, width_of

if TYPE_CHECKING:
    from rocmonitor.config import Monitor
    from rocmonitor.report.text import Standing
    from rocmonitor.store import Store

_CODES = {"degraded": DEGRADED, "insufficient": INSUFFICIENT, "error": EXTERNAL}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
@click.pass_obj
def status(path: Path, as_json: bool) -> int:
    """Show every monitor at a glance, worst first; reads the store only.

    The exit code is that of the worst monitor.
    """
    from rocmonitor import store
    from rocmonitor.report import text

    config = load(path)
    with store.open_store(config.store_url) as opened:
        standings = [each for monitor in config.monitors.values() for each in _standings(opened, monitor)]
        waiting = store.outbox_summary(opened)
    if as_json:
        outbox = {"waiting": waiting.waiting, "errors": waiting.errors}
        print_json({"monitors": [standing.to_dict() for standing in standings], "outbox": outbox})
    else:
        head, _, table = text.overview(standings, width_of(sys.stdout)).partition("\n\n")
        echo(f"{head}\n", style="bold")
        echo_table(table)
    print_outbox(waiting)
    codes = [_CODES.get(standing.status, OK) for standing in standings]
    return worst([*codes, EXTERNAL if waiting.errors else OK])


def _standings(opened: Store, monitor: Monitor) -> Iterator[Standing]:
    """The monitor, then its segments."""
    from rocmonitor import store
    from rocmonitor.report.text import Standing

    changes = {change.segment: change for change in store.transitions(opened, monitor.name)}
    last = {evaluation.segment: evaluation for evaluation in store.last_evaluations(opened, monitor.name)}
    for segment in sorted({"", *changes, *last}):
        change, newest = changes.get(segment), last.get(segment)
        never_changed = "new" if newest is None else str(newest.status)
        yield Standing(
            monitor=monitor.name,
            segment=segment,
            status=never_changed if change is None else str(change.after),
            since=None if change is None else change.since,
            last=newest,
            zone=monitor.timezone,
        )
