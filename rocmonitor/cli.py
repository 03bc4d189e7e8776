"""The command line: parse, call, print, exit code. Data go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocmonitor import __version__
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError, RocmonitorError
from rocmonitor.terminal import echo, explain_tick, print_auc, print_json, print_outbox, progress, set_aside

if TYPE_CHECKING:
    from rocmonitor.config import Config, Monitor
    from rocmonitor.desk import Desk
    from rocmonitor.policy.reviewing.document import Review
    from rocmonitor.runner import Tick

OK, USAGE, DEGRADED, INSUFFICIENT, EXTERNAL = 0, 2, 3, 4, 5


def main() -> None:
    """Entry point of the console script: no error that was foreseen shows a traceback."""
    try:
        code = cli.main(standalone_mode=False)
    except click.Abort:
        echo("interrupted: what was saved is kept, and the rest is done at the next call", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = USAGE
    except RocmonitorError as error:
        echo(f"Error: {error}", err=True)
        code = _code_of(error)
    sys.exit(code if isinstance(code, int) else OK)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path),
    default=Path("rocmonitor.yaml"),
    envvar="ROCMONITOR_CONFIG",
    show_default=True,
    show_envvar=True,
    help="The configuration.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what happens, in detail.")
@click.version_option(__version__, prog_name="rocmonitor")
@click.pass_context
def cli(context: click.Context, path: Path, verbose: bool) -> None:
    """Watch binary classifiers in production.

    Scheduled jobs pull scored and labelled rows from a database, compute statistics of the ROC curve with
    exact uncertainty, log them to MLflow, and raise an alarm when the realised AUROC leaves its forecast
    interval.

    Exit codes: 0 ok, 2 usage or configuration, 3 degraded, 4 insufficient data, 5 an outside system failed.
    """
    context.obj = path
    # Other packages stay at warnings: in detail, theirs may show the address of a web hook.
    logging.basicConfig(
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its retries come before our own, better line
    logging.getLogger("rocmonitor").setLevel(logging.DEBUG if verbose else logging.INFO)


@cli.command()
@click.option(
    "--demo", is_flag=True, help="With real data: US flights of 2013, two models, a database of scores."
)
@click.pass_obj
def init(path: Path, demo: bool) -> int:
    """Write a commented rocmonitor.yaml (and, with --demo, a database of real scored batches)."""
    if demo:
        from rocmonitor.demo import build

        build(path.resolve().parent, on_progress=progress)
        progress(None)
        echo("next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it", err=True)
    else:
        if path.exists():
            raise ConfigError(f"{path} exists already and is left as it is; name another with --config")
        template = files("rocmonitor") / "templates" / "rocmonitor.yaml"
        try:
            path.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be written ({error.strerror}); name another with --config"
            ) from None
        echo(f"wrote {path}: fill in source, query and columns, then run `rocmonitor check`", err=True)
    return OK


@cli.command()
@click.pass_obj
def check(path: Path) -> int:
    """Parse, connect, explain: windows, row counts, false alarms a year. Changes nothing."""
    from rocmonitor.checking import check as explain

    problems = explain(_load(path), now=datetime.now(UTC), tell=echo)
    return _worst([_code_of(problem) for problem in problems])


@cli.command()
@click.argument("monitors", nargs=-1, metavar="[MONITOR]...")
@click.option("--at", metavar="TIME", help="Decide what is due as of this time, not after now.")
@click.option("--dry-run", is_flag=True, help="Compute everything, keep and tell nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@click.pass_obj
def run(path: Path, monitors: tuple[str, ...], at: str | None, dry_run: bool, as_json: bool) -> int:
    """Judge all due windows, once, and deliver what is to be told."""
    from rocmonitor.runner import run_monitor

    config = _load(path)
    chosen = [_monitor(config, name) for name in monitors or config.monitors]
    with _desk(config) as desk:
        ticks = [
            run_monitor(desk, monitor, now=_instant(at, monitor, "--at"), dry_run=dry_run, progress=progress)
            for monitor in chosen
        ]
        return _conclude(desk, ticks, dry_run=dry_run, as_json=as_json)


@cli.command()
@click.argument("monitor")
@click.option(
    "--from", "start", metavar="TIME", required=True, help="Start of the first window, or before it."
)
@click.option("--to", "end", metavar="TIME", required=True, help="End of the last window, or after it.")
@click.option("--dry-run", is_flag=True, help="Compute everything, keep and tell nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the evaluations as JSON.")
@click.pass_obj
def backfill(path: Path, monitor: str, start: str, end: str, dry_run: bool, as_json: bool) -> int:
    """Judge the windows from A to B, and again those whose labels have changed, however old they are."""
    from rocmonitor.runner import run_monitor

    config = _load(path)
    chosen = _monitor(config, monitor)
    begin, stop = _wall_time(start, chosen, "--from"), _wall_time(end, chosen, "--to")
    if begin >= stop:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    windows = chosen.calendar.within(begin, stop)
    if not windows:
        raise ConfigError(f"no whole window of {monitor} lies between --from {start} and --to {end}")
    with _desk(config) as desk:
        tick = run_monitor(
            desk, chosen, now=desk.clock(), windows=windows, dry_run=dry_run, progress=progress
        )
        return _conclude(desk, [tick], dry_run=dry_run, as_json=as_json)


@cli.command()
@click.argument("monitor")
@click.option("--from", "start", metavar="TIME", help="Start of another period, chosen by hand.")
@click.option("--to", "end", metavar="TIME", help="End of another period, chosen by hand.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report, as HTML."
)
@click.option("--segment", default="", metavar="COLUMN=VALUE", help="Review the rows of one segment alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the review as JSON.")
@click.option("--dry-run", is_flag=True, help="Compute everything, keep and tell nothing.")
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
    """Compare the challenger with the champion, by the rule of the monitor's review section.

    On the rows that both have scored: of the whole period, window by window and by segment. Every window is
    a look, and reviewing often does not make a false decision likelier. The verdict goes to MLflow, on both
    model versions; nothing is promoted. The exit code is 0 whatever the decision.
    """
    from rocmonitor.review import review_monitor

    config = _load(path)
    chosen = _monitor(config, monitor)
    begin, stop = (
        None if text is None else _wall_time(text, chosen, option)
        for text, option in ((start, "--from"), (end, "--to"))
    )
    if begin is not None and stop is not None and begin >= stop:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    if output is not None:
        _require_writable(output)
    with _desk(config) as desk:
        found = review_monitor(
            desk,
            chosen,
            now=desk.clock(),
            start=begin,
            end=stop,
            segment=segment,
            dry_run=dry_run,
            progress=progress,
        )
        return _conclude_review(desk, found, output, dry_run=dry_run, as_json=as_json)


@cli.command()
@click.pass_obj
def serve(path: Path) -> int:
    """Run the scheduler and the outbox until SIGTERM."""
    from rocmonitor.scheduler import serve as work

    with _desk(_load(path)) as desk:
        work(desk)
    return OK


@cli.command()
@click.argument("monitor")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, all revisions included.")
@click.pass_obj
def history(path: Path, monitor: str, as_json: bool) -> int:
    """Show the evaluations and changes of status of a monitor."""
    from rocmonitor import store
    from rocmonitor.report import text

    config = _load(path)
    chosen = _monitor(config, monitor)
    with store.open_store(config.store_url) as kept:
        evaluations = store.evaluations(kept, monitor, every_revision=as_json)
        changes = store.transitions(kept, monitor)
        waiting = store.outbox_summary(kept)
    if as_json:
        print_json(
            {
                "evaluations": [evaluation.to_dict() for evaluation in evaluations],
                "transitions": [change.to_dict() for change in changes],
                "outbox": {"waiting": waiting.waiting, "errors": waiting.errors},
            }
        )
    elif not evaluations and not changes:
        echo(f"{monitor} has not been judged yet; `rocmonitor run {monitor}` does it now", err=True)
    else:
        echo(f"{monitor} ({chosen.timezone})")
        echo(text.windows(evaluations, chosen.timezone))
        echo(f"\nChanges of status ({chosen.timezone}):")
        echo(text.transitions(changes, chosen.timezone) or "none")
    print_outbox(waiting)
    return OK


@cli.group()
def channel() -> None:
    """Where alarms are told."""


@channel.command("test")
@click.argument("name")
@click.pass_obj
def channel_test(path: Path, name: str) -> int:
    """Send a message marked as a test."""
    from rocmonitor import alerts

    config = _load(path)
    if name not in config.channels:
        defined = ", ".join(config.channels) or "none"
        raise ConfigError(f"{path}: no channel {name!r} under channels (defined: {defined})")
    alerts.send(config.channels[name].read(config.folder), alerts.trial_message(name), folder=config.folder)
    echo(f"channel {name} took the test message", err=True)
    return OK


@cli.group()
def db() -> None:
    """The store, rocmonitor's own database."""


@db.command("upgrade")
@click.pass_obj
def db_upgrade(path: Path) -> int:
    """Create the tables, or bring them to this version."""
    from rocmonitor.store import migrate

    migrate.upgrade(_load(path).store_url)
    echo("the store is at this version", err=True)
    return OK


@db.command("check")
@click.pass_obj
def db_check(path: Path) -> int:
    """See whether the tables are at this version."""
    from rocmonitor.store import migrate

    migrate.check(_load(path).store_url)
    echo("the store is at this version", err=True)
    return OK


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--label", required=True, metavar="COLUMN", help="Labels: 1 positive, 0 negative, empty unknown."
)
@click.option(
    "--score",
    "scores",
    required=True,
    multiple=True,
    metavar="COLUMN",
    help="Scores; twice to compare two models.",
)
@click.option("--confidence-level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def auc(file: Path, label: str, scores: tuple[str, ...], confidence_level: float, as_json: bool) -> int:
    """AUROC with its uncertainty from a file (csv, parquet), without a service."""
    from rocmonitor.sources.files import read_scores
    from rocmonitor.stats import Sample, auc, compare_auc_paired

    if len(set(scores)) < len(scores) or len(scores) > 2:
        raise click.UsageError("--score can be given once, or twice with two columns to compare")
    rows = read_scores(file, label, scores)
    results = {}
    for name in scores:
        sample = Sample(rows.y_true, rows.scores[name])
        if min(sample.n_pos, sample.n_neg) < 2:
            raise DegenerateDataError(
                f"{file}: {sample.n_pos} positives and {sample.n_neg} negatives are usable of "
                f"{rows.counts['rows']:,} rows ({set_aside(rows.counts) or 'none set aside'}); "
                "at least 2 of each class are needed, and labels must be 1 and 0"
            )
        delong, exact = auc(sample), auc(sample, method="exact-bootstrap")
        low, high = delong.ci(confidence_level, transform="logit")
        results[name] = delong.to_dict() | {
            "se_exact_bootstrap": exact.se,
            "low": low,
            "high": high,
            "confidence_level": confidence_level,
        }
    answer: dict[str, Any] = {"scores": results, "rows": rows.counts}
    if len(scores) == 2:
        difference = compare_auc_paired(rows.y_true, *(rows.scores[name] for name in scores))
        low, high = difference.ci(confidence_level)
        answer["difference"] = difference.to_dict() | {"low": low, "high": high}
    if as_json:
        print_json(answer)
    else:
        print_auc(answer, confidence_level)
    return OK


def _load(path: Path) -> Config:
    from rocmonitor import config

    return config.load(path)


def _monitor(config: Config, name: str) -> Monitor:
    if name not in config.monitors:
        raise ConfigError(f"no monitor {name!r} under monitors (defined: {', '.join(config.monitors)})")
    return config.monitors[name]


@contextmanager
def _desk(config: Config) -> Iterator[Desk]:
    from rocmonitor import store
    from rocmonitor.desk import Desk

    with store.open_store(config.store_url) as kept:
        yield Desk(config=config, store=kept)


def _instant(text: str | None, monitor: Monitor, option: str) -> datetime:
    """A time of the command line, not after now."""
    now = datetime.now(UTC)
    if text is None:
        return now
    instant = _wall_time(text, monitor, option)
    if instant > now:
        raise ConfigError(f"{option} {text} lies in the future; leave it out to judge what is due now")
    return instant


def _wall_time(text: str, monitor: Monitor, option: str) -> datetime:
    """A time of the command line; without an offset it is the monitor's wall time."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{option} must be a date or time such as 2026-01-31 or 2026-01-31T06:00; it is {text!r}"
        ) from None
    return instant.replace(tzinfo=monitor.timezone) if instant.tzinfo is None else instant


def _conclude(desk: Desk, ticks: list[Tick], *, dry_run: bool, as_json: bool) -> int:
    """Deliver, print what the ticks found, and the exit code."""
    from rocmonitor import store
    from rocmonitor.delivery import Delivered, drain
    from rocmonitor.report import text

    delivered = Delivered() if dry_run else drain(desk, progress=progress)
    waiting = store.outbox_summary(desk.store)
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
        zone = desk.config.monitors[tick.monitor].timezone
        if tick.evaluations and not as_json:
            echo(f"{tick.monitor} ({zone})")
            echo(text.windows(tick.evaluations, zone))
            echo(text.findings(tick.evaluations, zone), nl=False)
        explain_tick(tick, zone)
    if not dry_run:
        print_outbox(waiting, busy=delivered.busy)
    undelivered = bool(waiting.errors) and not dry_run
    return _worst([_code_of_tick(tick) for tick in ticks]) or (EXTERNAL if undelivered else OK)


def _conclude_review(desk: Desk, review: Review, output: Path | None, *, dry_run: bool, as_json: bool) -> int:
    """Deliver, print, write the report, and the exit code."""
    from rocmonitor import store
    from rocmonitor.delivery import Delivered, drain
    from rocmonitor.report.review import page, text

    zone = desk.config.monitors[review.monitor].timezone
    delivered = Delivered() if dry_run else drain(desk, progress=progress)
    waiting = store.outbox_summary(desk.store)
    progress(None)
    if as_json:
        told = {"delivered": delivered.sent, "undelivered": waiting.errors}
        print_json({"review": review.to_dict(), **told})
    else:
        echo(text(review, zone))
    if not dry_run:
        print_outbox(waiting, busy=delivered.busy)
    if output is not None:  # last: what cannot be written loses nothing else
        try:
            output.write_text(page(review, zone=zone), encoding="utf-8")
        except OSError as error:
            raise _not_writable(output, error.strerror) from None
        echo(f"wrote {output}", err=True)
    if dry_run:
        return OK
    return EXTERNAL if waiting.errors else OK


def _require_writable(output: Path) -> None:
    """Say before long work that its result could not be written."""
    folder = output.parent
    if output.is_dir():
        raise _not_writable(output, "it is a folder")
    if not folder.is_dir():
        raise _not_writable(output, f"there is no folder {folder}")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise _not_writable(output, "no permission")


def _not_writable(output: Path, why: str | None) -> ConfigError:
    return ConfigError(f"--output {output} cannot be written: {why}; name another file")


def _code_of_tick(tick: Tick) -> int:
    from rocmonitor.policy.evaluation import Status

    if tick.error is not None:
        return _code_of(tick.error)
    standing = set(tick.status.values())
    return (
        DEGRADED if Status.DEGRADED in standing else INSUFFICIENT if Status.INSUFFICIENT in standing else OK
    )


def _code_of(error: RocmonitorError) -> int:
    if isinstance(error, DegenerateDataError):
        return INSUFFICIENT
    return USAGE if isinstance(error, ConfigError | InputError) else EXTERNAL


def _worst(codes: list[int]) -> int:
    """The gravest of several exit codes: what is wrongly set up or blind comes before what is degraded."""
    for code in (USAGE, EXTERNAL, DEGRADED, INSUFFICIENT):
        if code in codes:
            return code
    return OK
