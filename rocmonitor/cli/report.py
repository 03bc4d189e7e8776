"""``rocmonitor report``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.opening import load, monitor_named, wall_time
from rocmonitor.cli.terminal import OK, echo, require_writable, write
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from rocmonitor.config import Monitor
    from rocmonitor.policy.evaluation import Evaluation
    from rocmonitor.report.monitor import History
    from rocmonitor.store import Store


@click.command()
@click.argument("monitor")
@click.option("--from", "start", metavar="TIME", help="Only windows that begin then or later.")
@click.option("--to", "end", metavar="TIME", help="Only windows that end then or earlier.")
@click.option("--segment", default="", metavar="COLUMN=VALUE", help="The windows of one segment.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write. [default: MONITOR.html]",
)
@click.pass_obj
def report(
    path: Path, monitor: str, start: str | None, end: str | None, segment: str, output: Path | None
) -> int:
    """Write what happened to a monitor as one HTML file that works without network.

    The file is the monitor's page for a period. It is written from the store: no row is pulled and nothing is
    judged.
    """
    from rocmonitor import store
    from rocmonitor.report.monitor import page, sentence

    config = load(path)
    chosen = monitor_named(config, monitor)
    ends = [
        None if text is None else wall_time(text, chosen, option)
        for text, option in ((start, "--from"), (end, "--to"))
    ]
    if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
        raise ConfigError(f"--from ({start}) must come before --to ({end})")
    output = output or Path(f"{monitor}.html")
    require_writable(output)
    now = datetime.now(UTC)
    with store.open_store(config.store_url, make=False) as opened:
        found = _history(opened, chosen, segment, ends, now)
    write(output, page(found, made=now))
    echo(sentence(found))
    return OK


def _history(
    opened: Store,
    monitor: Monitor,
    segment: str,
    ends: Sequence[datetime | None],
    now: datetime,
) -> History:
    """Return the windows of the period, from the store."""
    from rocmonitor import store
    from rocmonitor.policy.windows import Window
    from rocmonitor.report.monitor import History
    from rocmonitor.rules import highest_floor
    from rocmonitor.service.arrivals import labels_by_age
    from rocmonitor.wording.report import nothing

    start, end = ends
    evaluations = store.evaluations(opened, monitor.name, segment=segment, start=start, end=end)
    if not evaluations:
        known = sorted({each.segment for each in store.evaluations(opened, monitor.name)} - {""})
        which = f" of segment {segment!r} (known: {', '.join(known) or 'none'})" if segment else ""
        raise ConfigError(nothing(monitor.name, which + (" in this period" if start or end else "")))
    pending = store.outlooks(opened, monitor.name, segment=segment, start=start, end=end, pending=True)
    ahead = [each for each in pending if each.window > evaluations[-1].window]
    changes = store.transitions(opened, monitor.name, segment)
    return History(
        monitor=monitor.name,
        segment=segment,
        period=Window(evaluations[0].window.start, (ahead or evaluations)[-1].window.end),
        evaluations=tuple(evaluations),
        ahead=tuple(ahead),
        waiting=frozenset(
            each.window
            for each in evaluations
            if monitor.labels.may_come(each.window, now, each.counts.labelled_share)
        ),
        changes=tuple(change for change in changes if end is None or change.since < end),
        curves=_curves(opened, monitor, segment, evaluations),
        zone=monitor.timezone,
        floor=highest_floor(monitor.rules),
        owner=monitor.owner,
        runbook=monitor.runbook,
        labels_by_age=() if segment else labels_by_age(opened, monitor, now),
    )


def _curves(
    opened: Store, monitor: Monitor, segment: str, evaluations: Sequence[Evaluation]
) -> dict[str, list[dict[str, float]]]:
    """Return the ROC curve of each reference that is still stored, by its digest."""
    from rocmonitor import store
    from rocmonitor.policy.reference import reference_curve

    digests = {str(each.reference["digest"]) for each in evaluations if each.reference.get("digest")}
    return {
        digest: reference_curve(store.reference(opened, monitor.name, digest), segment)
        for digest in sorted(digests)
    }
