"""``rocmonitor run`` and ``rocmonitor backfill``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.completion import monitor_names
from rocmonitor.cli.exit_codes import EXTERNAL, OK, code_of_tick, worst
from rocmonitor.cli.opening import load, monitor_named, open_runtime, past_instant, wall_time
from rocmonitor.cli.progress import shown_progress
from rocmonitor.cli.terminal import (
    echo,
    echo_folded,
    echo_table,
    evaluation_json,
    explain_tick,
    is_interactive,
    print_idle,
    print_json,
    print_next,
    print_outbox,
    print_outlooks,
    tables_option,
    width_of,
)
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rocmonitor.service.delivery import Delivered
    from rocmonitor.service.runtime import Runtime
    from rocmonitor.service.tick import Tick


@click.command()
@click.argument("monitors", nargs=-1, metavar="[MONITOR]...", shell_complete=monitor_names)
@click.option("--at", metavar="TIME", help="Judge the windows that were due at TIME (not in the future).")
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@tables_option
@click.pass_obj
def run(
    path: Path, monitors: tuple[str, ...], at: str | None, dry_run: bool, as_json: bool, tables: bool
) -> int:
    """Judge all windows that are due, once, and deliver the results.

    A terminal shows the progress, then a table of the windows. Elsewhere there is one line for each
    monitor with new windows, so that cron mails no more than that.
    """
    from rocmonitor.service.delivery import drain
    from rocmonitor.service.tick import run_monitor

    config = load(path)
    chosen = [monitor_named(config, name) for name in monitors or config.monitors]
    with open_runtime(config) as runtime:
        with shown_progress() as progress:
            ticks = [
                run_monitor(
                    runtime,
                    monitor,
                    now=past_instant(at, monitor, "--at"),
                    dry_run=dry_run,
                    progress=progress,
                )
                for monitor in chosen
            ]
            delivered = None if dry_run else drain(runtime, progress=progress)
        return _conclude(runtime, ticks, delivered, as_json=as_json, tables=tables)


@click.command()
@click.argument("monitor", shell_complete=monitor_names)
@click.option(
    "--from", "start", metavar="TIME", required=True, help="Start of the first window, or before it."
)
@click.option("--to", "end", metavar="TIME", required=True, help="End of the last window, or after it.")
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@tables_option
@click.pass_obj
def backfill(
    path: Path, monitor: str, start: str, end: str, dry_run: bool, as_json: bool, tables: bool
) -> int:
    """Judge the windows of a period, and judge again those whose labels have changed, however old."""
    from rocmonitor.service.delivery import drain
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
        with shown_progress() as progress:
            tick = run_monitor(
                runtime, chosen, now=runtime.clock(), windows=windows, dry_run=dry_run, progress=progress
            )
            delivered = None if dry_run else drain(runtime, progress=progress)
        return _conclude(runtime, [tick], delivered, as_json=as_json, tables=tables)


def _conclude(
    runtime: Runtime, ticks: list[Tick], delivered: Delivered | None, *, as_json: bool, tables: bool
) -> int:
    """Print what the ticks found and what was not delivered, and the exit code; no delivery in a dry run."""
    from rocmonitor import store

    waiting = store.outbox_summary(runtime.store)
    if as_json:
        found = [
            tick.to_dict()
            | {"evaluations": [evaluation_json(one, tables=tables) for one in tick.evaluations]}
            for tick in ticks
        ]
        sent = 0 if delivered is None else delivered.sent
        print_json({"monitors": found, "delivered": sent, "undelivered": waiting.errors})
    for tick in ticks:
        zone = runtime.config.monitors[tick.monitor].timezone
        if (tick.evaluations or tick.outlooks) and not as_json:
            _print_tick(tick, zone, in_full=delivered is None or is_interactive(sys.stdout))
        explain_tick(tick, zone)
    print_idle(ticks)
    if delivered is not None:
        print_outbox(waiting, busy=delivered.busy)
        judged = [tick.monitor for tick in ticks if tick.evaluations]
        if judged and not as_json:
            print_next(runtime.config, judged[0] if len(judged) == 1 else "MONITOR")
    undelivered = bool(waiting.errors) and delivered is not None
    return worst([code_of_tick(tick) for tick in ticks]) or (EXTERNAL if undelivered else OK)


def _print_tick(tick: Tick, zone: ZoneInfo, *, in_full: bool) -> None:
    """The windows of a monitor as a table with what was found, or all in one line."""
    from rocmonitor.report import text

    if not in_full:
        if tick.evaluations or any(outlook.outcome for outlook in tick.outlooks):
            status = str(tick.status[""])
            echo(text.summary(tick.monitor, tick.evaluations, tick.outlooks, status, zone))
        return
    if tick.evaluations:
        echo(f"{tick.monitor} ({zone})", style="bold")
        echo_table(text.windows(tick.evaluations, zone, width_of(sys.stdout)))
        echo_folded(text.findings(tick.evaluations, zone), hang=2, nl=False)
    if tick.outlooks:
        print_outlooks(text.outlooks(tick.outlooks, zone), f"{tick.monitor} ({zone}), before the labels")
