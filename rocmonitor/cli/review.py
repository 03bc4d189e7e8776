"""``rocmonitor review``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named, open_runtime, period
from rocmonitor.cli.terminal import (
    EXTERNAL,
    OK,
    STOPPED,
    echo,
    print_json,
    print_outbox,
    require_writable,
    shown_progress,
    write,
)
from rocmonitor.errors import RocmonitorError

if TYPE_CHECKING:
    from rocmonitor.config import Monitor
    from rocmonitor.policy.review.document import Review
    from rocmonitor.service.delivery import Delivered
    from rocmonitor.service.runtime import Runtime


@click.command()
@monitor_argument
@click.option("--from", "start", metavar="TIME", help="Start of the period, in place of the configured one.")
@click.option(
    "--to",
    "end",
    metavar="TIME",
    help="End of the period; without it, of the last window whose labels are due.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report as HTML."
)
@click.option("--explain", is_flag=True, help="Print the windows, tables and caveats too.")
@click.option("--segment", default="", metavar="COLUMN=VALUE", help="Review the rows of one segment only.")
@click.option("--json", "as_json", is_flag=True, help="Print the review as JSON.")
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.pass_obj
def review(
    path: Path,
    monitor: str,
    start: str | None,
    end: str | None,
    output: Path | None,
    explain: bool,
    segment: str,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Compare challenger and champion by the rule in the monitor's review section.

    Uses the rows that both have scored: over the whole period, by window and by segment. Each window is
    one check; reviewing often does not make a false decision more likely. The verdict goes to MLflow, on
    both model versions, and a new decision about the configured period to the channels under notify;
    nothing is promoted. The exit code is 0 whatever the decision.
    """
    from rocmonitor import store
    from rocmonitor.report.review import brief, page, text
    from rocmonitor.wording.review import with_verdict

    config = load(path)
    chosen = monitor_named(config, monitor)
    begin, stop = period(start, end, chosen)
    if output is not None:
        require_writable(output)
    with open_runtime(config, make=not dry_run) as runtime:
        options = {"start": begin, "end": stop, "segment": segment, "dry_run": dry_run}
        try:
            reviewed, delivered, told = _review(runtime, chosen, options)
        except RocmonitorError as error:
            if not runtime.stop.is_set():
                raise
            echo(str(error), err=True)
            return STOPPED
        if told:
            echo(f"a message about this decision goes to {', '.join(told)}", err=True)
        waiting = store.outbox_summary(runtime.store)
        if as_json:
            sent = {"delivered": 0 if delivered is None else delivered.sent, "undelivered": waiting.errors}
            print_json({"review": with_verdict(reviewed), **sent})
        else:
            echo((text if explain else brief)(reviewed, chosen.timezone))
        if delivered is not None:
            print_outbox(waiting, busy=delivered.busy)
        if output is not None:  # last: what cannot be written loses nothing else
            write(output, page(reviewed, zone=chosen.timezone))
        if runtime.stop.is_set():
            return STOPPED
        return EXTERNAL if waiting.errors and delivered is not None else OK


def _review(
    runtime: Runtime, monitor: Monitor, options: Mapping[str, Any]
) -> tuple[Review, Delivered | None, list[str]]:
    """Review and deliver, and return the channels that are told; SIGTERM ends it within seconds."""
    from rocmonitor import store
    from rocmonitor.service.delivery import drain
    from rocmonitor.service.once import run_alone
    from rocmonitor.service.outages import note_review
    from rocmonitor.service.review import review_monitor

    with shown_progress() as progress:

        def work() -> tuple[Review, Delivered | None, list[str]]:
            before = store.last_number(runtime.store)
            reviewed = review_monitor(runtime, monitor, now=runtime.clock(), progress=progress, **options)
            if options["dry_run"]:
                return reviewed, None, []
            note_review(runtime, monitor, None)
            told = store.channels_of(runtime.store, reviewed.key, after=before)
            return reviewed, drain(runtime, progress=progress), told

        done: tuple[Review, Delivered | None, list[str]]
        done = run_alone(runtime, f"the review of {monitor.name}", work)
        return done
