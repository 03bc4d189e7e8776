"""``rocmonitor run`` and ``rocmonitor backfill``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.exit_codes import EXTERNAL, OK, code_of_tick, worst
from rocmonitor.cli.opening import load, monitor_named, open_runtime, past_instant, wall_time
from rocmonitor.cli.terminal import echo, explain_tick, print_json, print_outbox, progress
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from rocmonitor.service.runtime import Runtime
    from rocmonitor.service.tick import Tick


@click.command()
@click.argument("monitors", nargs=-1, metavar="[MONITOR]...")
@click.option("--at", metavar="TIME", help="Judge the windows that were due at TIME (not in the future).")
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@click.pass_obj
def run(path: Path, monitors: tuple[str, ...], at: str | None, dry_run: bool, as_json: bool) -> int:
    """Judge all windows that are due, once, and deliver the results."""
    from rocmonitor.service.tick import run_monitor

    config = load(path)
    chosen = [monitor_named(config, name) for name in monitors or config.monitors]
    with open_runtime(config) as runtime:
        ticks = [
            run_monitor(
                runtime, monitor, now=past_instant(at, monitor, "--at"), dry_run=dry_run, progress=progress
            )
            for monitor in chosen
        ]
        return _conclude(runtime, ticks, dry_run=dry_run, as_json=as_json)


@click.command()
@click.argument("monitor")
@click.option(
    "--from", "start", metavar="TIME", required=True, help="Start of the first window, or before it."
)
@click.option("--to", "end", metavar="TIME", required=True, help="End of the last window, or after it.")
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@click.pass_obj
def backfill(path: Path, monitor: str, start: str, end: str, dry_run: bool, as_json: bool) -> int:
    """Judge the windows of a period, and judge again those whose labels have changed, however old."""
    from rocmonitor.service.tick import run_monitor

    config = load(path)
    chosen = monitor_named(config, monitor)
    begin, stop = wall_time(start, chosen, "--from"), wall_time(end, chosen, "--to")
    if begin >= stop:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    windows = chosen.calendar.within(begin, stop)
    if not windows:
        raise ConfigError(f"no whole window of {monitor} lies between --from {start} and --to {end}")
    with open_runtime(config) as runtime:
        tick = run_monitor(
            runtime, chosen, now=runtime.clock(), windows=windows, dry_run=dry_run, progress=progress
        )
        return _conclude(runtime, [tick], dry_run=dry_run, as_json=as_json)


def _conclude(runtime: Runtime, ticks: list[Tick], *, dry_run: bool, as_json: bool) -> int:
    """Deliver, print what the ticks found, and the exit code."""
    from rocmonitor import store
    from rocmonitor.report import text
    from rocmonitor.service.delivery import Delivered, drain

    delivered = Delivered() if dry_run else drain(runtime, progress=progress)
    waiting = store.outbox_summary(runtime.store)
    progress(None)
    if as_json:
        print_json(
            {
                "monitors": [tick.to_dict() for tick in ticks],
                "delivered": delivered.sent,
                "undelivered": waiting.errors,
            }
        )
    for tick in ticks:
        zone = runtime.config.monitors[tick.monitor].timezone
        if tick.evaluations and not as_json:
            echo(f"{tick.monitor} ({zone})")
            echo(text.windows(tick.evaluations, zone))
            echo(text.findings(tick.evaluations, zone), nl=False)
        if tick.outlooks and not as_json:
            echo(f"{tick.monitor} ({zone}), before the labels, expected from the scores:")
            echo(text.outlooks(tick.outlooks, zone))
        explain_tick(tick, zone)
    if not dry_run:
        print_outbox(waiting, busy=delivered.busy)
    undelivered = bool(waiting.errors) and not dry_run
    return worst([code_of_tick(tick) for tick in ticks]) or (EXTERNAL if undelivered else OK)
