"""``rocmonitor status``."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.exit_codes import DEGRADED, EXTERNAL, INSUFFICIENT, OK, worst
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo, echo_table, print_json, print_outbox, width_of

if TYPE_CHECKING:
    from rocmonitor.config import Config
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
    from rocmonitor.wording.page import headline

    config, now = load(path), datetime.now(UTC)
    with store.open_store(config.store_url) as opened:
        standings = _standings(opened, config, now)
        waiting = store.outbox_summary(opened)
        ticked = _last_tick(opened, config)
    if as_json:
        print_json(
            {
                "monitors": [standing.to_dict() for standing in standings],
                "last_tick": None if ticked is None else ticked.isoformat(),
                "outbox": {"waiting": waiting.waiting, "errors": waiting.errors},
            }
        )
    else:
        counted = Counter(standing.status for standing in standings if not standing.segment)
        echo(" ".join(headline(counted, None if ticked is None else now - ticked)) + "\n", style="bold")
        echo_table(text.overview(standings, width_of(sys.stdout)))
    print_outbox(waiting)
    codes = [_CODES.get(standing.status, OK) for standing in standings]
    return worst([*codes, EXTERNAL if waiting.errors else OK])


def _standings(opened: Store, config: Config, now: datetime) -> list[Standing]:
    """Each monitor, followed by its segments."""
    from rocmonitor import store
    from rocmonitor.report.text import Standing
    from rocmonitor.store import glance
    from rocmonitor.wording.attention import attention

    seen, changed = glance.glances(opened, windows=1), glance.standings(opened)
    said = store.attentions(opened)
    found = []
    for monitor in config.monitors.values():
        segments = {segment for name, segment in (*seen, *changed) if name == monitor.name}
        for segment in sorted({"", *segments}):
            change, last = changed.get((monitor.name, segment)), seen.get((monitor.name, segment))
            never_changed = "waiting" if last is None else "ok"
            newest = {} if last is None else last.briefs[-1]._asdict()
            newest.pop("outcome", None)
            found.append(
                Standing(
                    monitor=monitor.name,
                    segment=segment,
                    status=never_changed if change is None else str(change.status),
                    since=None if change is None else change.since,
                    zone=monitor.timezone,
                    window=None if last is None else last.window,
                    version=None if last is None else last.version,
                    attention=""
                    if segment or monitor.name not in said
                    else attention(said[monitor.name], now, monitor.timezone),
                    **newest,
                )
            )
    return found


def _last_tick(opened: Store, config: Config) -> datetime | None:
    """When somebody last worked on a monitor; a lease lasts so long after that."""
    from rocmonitor.store.glance import last_activity
    from rocmonitor.store.leases import LEASE

    leases = last_activity(opened)
    ends = [leases[name] - LEASE for each in config.monitors if (name := f"monitor:{each}") in leases]
    return max(ends, default=None)
