"""``rocmonitor run``, ``rocmonitor backfill`` and ``rocmonitor serve``."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named, open_runtime, period, wall_time
from rocmonitor.cli.terminal import (
    DEGRADED,
    EXTERNAL,
    INSUFFICIENT,
    OK,
    STOPPED,
    code_of,
    echo,
    echo_folded,
    echo_table,
    evaluation_json,
    is_interactive,
    monitor_names,
    print_json,
    print_outbox,
    print_outlooks,
    shown_progress,
    stdout_width,
    tables_option,
    worst,
)
from rocmonitor.errors import ConfigError, RocmonitorError, StoreError
from rocmonitor.wording.caveats import words_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rocmonitor.config import Config, Monitor
    from rocmonitor.service.delivery import Delivered
    from rocmonitor.service.progress import Progress
    from rocmonitor.service.runtime import Runtime
    from rocmonitor.service.tick import Tick


_MOST_NAMES = 5


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

    A terminal shows the progress, then a table of the windows. Elsewhere each monitor with new windows gets
    one line, and all others share one.
    """
    with shown_progress():  # imports take seconds
        from rocmonitor.service.once import run_once
        from rocmonitor.service.outages import StoreWatch

    config = load(path)
    chosen = []
    for name in monitors or config.monitors:
        monitor, now = monitor_named(config, name), datetime.now(UTC)
        asked = now if at is None else wall_time(at, monitor, "--at")
        if asked > now:
            raise ConfigError(f"--at {at} lies in the future; leave it out to judge what is due now")
        chosen.append((monitor, asked))
    watched = nullcontext() if dry_run else _failures_told(config)
    with watched, open_runtime(config, make=not dry_run) as runtime:
        with shown_progress() as progress:
            calls = {
                monitor.name: partial(_tick, runtime, monitor, asked, dry_run, progress)
                for monitor, asked in chosen
            }
            ticks, delivered = run_once(runtime, calls, deliver=not dry_run, progress=progress)
        if not dry_run:
            StoreWatch(runtime).probe()  # ticks only log that they were not saved
            if config.heartbeat is not None:
                from rocmonitor.service.health import store_health
                from rocmonitor.service.heartbeat import report

                report(config, store_health(runtime.store, config, runtime.clock()))
        return _conclude(runtime, ticks, delivered, as_json=as_json, tables=tables)


def _tick(runtime: Runtime, monitor: Monitor, now: datetime, dry_run: bool, progress: Progress) -> Tick:
    from rocmonitor.service.tick import run_monitor
    from rocmonitor.service.tick.outcome import save_last

    started_at, began = runtime.clock(), time.monotonic()
    tick = run_monitor(runtime, monitor, now=now, dry_run=dry_run, progress=progress)
    if not dry_run:
        save_last(runtime, tick, started_at=started_at, seconds=time.monotonic() - began)
    return tick


@contextmanager
def _failures_told(config: Config) -> Iterator[None]:
    """Report a run that cannot say how it is as not healthy; notify of a failing store without the store."""
    from rocmonitor.service.once import announce_store

    try:
        yield
    except RocmonitorError as error:
        if isinstance(error, StoreError):
            announce_store(config, error, datetime.now(UTC))
        if config.heartbeat is not None:
            from rocmonitor.service.heartbeat import send

            send(config, healthy=False)
        raise
    announce_store(config, None, datetime.now(UTC))


@click.command()
@monitor_argument
@click.option("--from", "start", metavar="TIME", required=True, help="Start of the first window, or earlier.")
@click.option("--to", "end", metavar="TIME", required=True, help="End of the last window, or later.")
@click.option(
    "--again", is_flag=True, help="Judge windows again, too, whose rules or other rows have changed."
)
@click.option("--dry-run", is_flag=True, help="Compute everything, but save and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@tables_option
@click.pass_obj
def backfill(
    path: Path, monitor: str, start: str, end: str, again: bool, dry_run: bool, as_json: bool, tables: bool
) -> int:
    """Judge the windows of a period, and judge again those whose labels or scores have changed.

    Their age does not matter: `window.revise_for` limits scheduled checks only.
    """
    with shown_progress():  # imports take seconds
        from rocmonitor.service.once import run_once
        from rocmonitor.service.tick import run_monitor

    config = load(path)
    chosen = monitor_named(config, monitor)
    begin, stop = period(start, end, chosen)
    assert begin is not None
    assert stop is not None
    windows = chosen.calendar.within(begin, stop)
    if not windows:
        raise ConfigError(f"no whole window of {monitor} lies between --from {start} and --to {end}")
    with open_runtime(config, make=not dry_run) as runtime:
        with shown_progress() as progress:
            call = partial(
                run_monitor,
                runtime,
                chosen,
                now=runtime.clock(),
                windows=windows,
                again=again,
                dry_run=dry_run,
                progress=progress,
            )
            ticks, delivered = run_once(runtime, {monitor: call}, deliver=not dry_run, progress=progress)
        for tick in ticks:
            _explain_unchanged(tick, chosen.timezone, again=again)
        return _conclude(runtime, ticks, delivered, as_json=as_json, tables=tables)


@click.command()
@click.pass_obj
def serve(path: Path) -> int:
    """Judge windows on schedule and deliver the results, until SIGTERM.

    SIGHUP rereads the configuration; a faulty file changes nothing.
    """
    from rocmonitor.service.scheduler import serve as work

    with open_runtime(load(path)) as runtime:
        work(runtime, path)
    return OK


def _conclude(
    runtime: Runtime, ticks: list[Tick], delivered: Delivered | None, *, as_json: bool, tables: bool
) -> int:
    """Print what the ticks found and what was not delivered, and the exit code; no delivery in a dry run."""
    from rocmonitor import store

    waiting = store.outbox_summary(runtime.store)
    if as_json:
        monitors = [
            tick.to_dict()
            | {"evaluations": [evaluation_json(one, tables=tables) for one in tick.evaluations]}
            for tick in ticks
        ]
        sent = 0 if delivered is None else delivered.sent
        print_json({"monitors": monitors, "delivered": sent, "undelivered": waiting.errors})
    for tick in ticks:
        monitor = runtime.config.monitors[tick.monitor]
        if (tick.evaluations or tick.outlooks) and not as_json:
            _print_tick(tick, monitor.timezone, in_full=delivered is None or is_interactive(sys.stdout))
        if tick.judged > len(tick.evaluations):
            echo(
                f"{tick.monitor}: the last {len(tick.evaluations):,} of {tick.judged:,} new results; "
                f"`rocmonitor history {tick.monitor}` shows all",
                err=True,
            )
        _explain_tick(tick, monitor)
    idle = [
        tick.monitor
        for tick in ticks
        if not (tick.busy or tick.error or tick.evaluations or tick.outlooks or tick.unchanged)
    ]
    if idle:
        names = ", ".join(idle) if len(idle) <= _MOST_NAMES else f"{len(idle)} monitors"
        echo(f"{names}: nothing new is due", err=True)
    if delivered is not None:
        print_outbox(waiting, busy=delivered.busy)
        judged = [tick.monitor for tick in ticks if tick.evaluations]
        if judged and not as_json:
            _print_next(runtime.config, judged[0] if len(judged) == 1 else "MONITOR")
    if runtime.stop.is_set():
        echo("stopped: what was saved is kept, and the rest is done at the next call", err=True)
        return STOPPED
    undelivered = bool(waiting.errors) and delivered is not None
    # People do not know yet: for a scheduler the call has failed, also where a model is degraded.
    return worst([*map(_code_of_tick, ticks), EXTERNAL if undelivered else OK])


def _print_tick(tick: Tick, zone: ZoneInfo, *, in_full: bool) -> None:
    from rocmonitor.report import text

    if not in_full:
        if tick.evaluations or any(outlook.outcome for outlook in tick.outlooks):
            status = str(tick.status[""])
            echo(text.summary(tick.monitor, tick.evaluations, tick.outlooks, status, zone))
        return
    if tick.evaluations:
        echo(f"{tick.monitor} ({zone})", style="bold")
        echo_table(text.windows(tick.evaluations, zone, stdout_width()))
        echo_folded(text.findings(tick.evaluations, zone), hang=2, nl=False)
    if tick.outlooks:
        print_outlooks(text.outlooks(tick.outlooks, zone), f"{tick.monitor} ({zone}), before the labels")


def _explain_tick(tick: Tick, monitor: Monitor) -> None:
    """Explain why a table is missing or short, and name the rows that are no window yet."""
    if tick.busy:
        echo(f"{tick.monitor}: another rocmonitor process is at work on it; nothing was done", err=True)
    elif tick.error is not None:
        echo(f"{tick.monitor}: {tick.error}", err=True)
    if tick.doubt is not None:
        echo(f"{tick.monitor}: {words_of(tick.doubt)}", err=True)
    if tick.waiting:
        many = f"{len(tick.waiting)} windows wait" if len(tick.waiting) > 1 else "1 window waits"
        first = tick.waiting[0].in_zone(monitor.timezone)
        echo(f"{tick.monitor}: {many} for labels, the first is {first}", err=True)
    if tick.rest is not None and monitor.joining is not None:
        from rocmonitor.wording.window import unjudged_rows

        echo(f"{tick.monitor}: {unjudged_rows(tick.rest, monitor.joining, monitor.timezone)}", err=True)


def _explain_unchanged(tick: Tick, zone: ZoneInfo, *, again: bool) -> None:
    """Why a backfill left windows as they are."""
    if not tick.unchanged:
        return
    first = tick.unchanged[0].in_zone(zone)
    many = len(tick.unchanged)
    which = f"{many} windows, the first {first}, were" if many > 1 else f"the window {first} was"
    why = f"neither {'their' if many > 1 else 'its'} rows nor the settings have changed"
    if not again:
        why = "no label or score has changed; --again judges by the rules as they are now"
    echo(f"{tick.monitor}: {which} judged before, and {why}", err=True)


def _print_next(config: Config, monitor: str) -> None:
    """Print where to look next, for a person at a terminal."""
    if not is_interactive(sys.stderr):
        return
    echo(f"\nWhy, window by window:  rocmonitor history {monitor}", err=True)
    echo("All monitors:           rocmonitor status, in a browser: rocmonitor ui", err=True)
    uri = config.mlflow.page or config.tracking_uri
    if uri.startswith("sqlite:///"):
        echo(
            f"Figures, in MLflow:     mlflow server --app-name rocmonitor --backend-store-uri {uri}", err=True
        )
    elif config.mlflow.page or re.fullmatch(r"https?://[^/@?#\s]+/?", uri):  # a path may be a secret
        echo(f"Figures, in MLflow:     {uri}", err=True)


def _code_of_tick(tick: Tick) -> int:
    """Return the code of one monitor: why its tick failed, else how it stands."""
    from rocmonitor.policy.evaluation import Status

    if tick.error is not None:
        return code_of(tick.error)
    standing = set(tick.status.values())
    return (
        DEGRADED if Status.DEGRADED in standing else INSUFFICIENT if Status.INSUFFICIENT in standing else OK
    )
