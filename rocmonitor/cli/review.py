"""``rocmonitor review``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.completion import monitor_names
from rocmonitor.cli.exit_codes import EXTERNAL, OK
from rocmonitor.cli.opening import load, monitor_named, open_runtime, wall_time
from rocmonitor.cli.progress import shown_progress
from rocmonitor.cli.terminal import echo, print_json, print_outbox
from rocmonitor.cli.writing import require_writable, write
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from rocmonitor.policy.review.document import Review
    from rocmonitor.service.delivery import Delivered
    from rocmonitor.service.runtime import Runtime


@click.command()
@click.argument("monitor", shell_complete=monitor_names)
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
    segment: str,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Compare challenger and champion by the rule in the monitor's review section.

    Uses the rows that both have scored: over the whole period, by window and by segment. Each window is
    one check; where windows are independent, reviewing often does not make a false decision more likely.
    The verdict goes to MLflow, on both model versions; nothing is promoted. The exit code is 0 whatever the
    decision.
    """
    from rocmonitor.service.delivery import drain
    from rocmonitor.service.review import review_monitor

    config = load(path)
    chosen = monitor_named(config, monitor)
    begin, stop = (
        None if text is None else wall_time(text, chosen, option)
        for text, option in ((start, "--from"), (end, "--to"))
    )
    if begin is not None and stop is not None and begin >= stop:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    if output is not None:
        require_writable(output)
    with open_runtime(config) as runtime:
        with shown_progress() as progress:
            found = review_monitor(
                runtime,
                chosen,
                now=runtime.clock(),
                start=begin,
                end=stop,
                segment=segment,
                dry_run=dry_run,
                progress=progress,
            )
            delivered = None if dry_run else drain(runtime, progress=progress)
        return _conclude_review(runtime, found, delivered, output, as_json=as_json)


def _conclude_review(
    runtime: Runtime, review: Review, delivered: Delivered | None, output: Path | None, *, as_json: bool
) -> int:
    """Print, write the report, and the exit code; no delivery in a dry run."""
    from rocmonitor import store
    from rocmonitor.report.review import page, text

    zone = runtime.config.monitors[review.monitor].timezone
    waiting = store.outbox_summary(runtime.store)
    if as_json:
        sent = {"delivered": 0 if delivered is None else delivered.sent, "undelivered": waiting.errors}
        print_json({"review": review.to_dict(), **sent})
    else:
        echo(text(review, zone))
    if delivered is not None:
        print_outbox(waiting, busy=delivered.busy)
    if output is not None:  # last: what cannot be written loses nothing else
        write(output, page(review, zone=zone))
    return EXTERNAL if waiting.errors and delivered is not None else OK
