"""``rocmonitor status``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.exit_codes import DEGRADED, EXTERNAL, INSUFFICIENT, OK, worst
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo, echo_folded, echo_table, print_json, print_outbox, width_of

if TYPE_CHECKING:
    from rocmonitor.config import Config, Monitor
    from rocmonitor.report.text import Standing
    from rocmonitor.service.health import Health
    from rocmonitor.store import Store
    from rocmonitor.store.glance import Ahead, Glance

_CODES = {"degraded": DEGRADED, "insufficient": INSUFFICIENT, "error": EXTERNAL}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
@click.pass_obj
def status(path: Path, as_json: bool) -> int:
    """Show every monitor at a glance, worst first, and what keeps the service from its work.

    Reads the store only. The exit code is that of the worst monitor, 5 when a tick is overdue or a delivery
    does not arrive.
    """
    from rocmonitor import store
    from rocmonitor.report import text
    from rocmonitor.service.alarm_year import alarm_year
    from rocmonitor.service.health import store_health
    from rocmonitor.wording.page import headline

    config, now = load(path), datetime.now(UTC)
    with store.open_store(config.store_url) as opened:
        standings = _standings(opened, config, now)
        waiting = store.outbox_summary(opened)
        health = store_health(opened, config, now)
        budgets = alarm_year(config, opened, now)
    ticked = _last_tick(health, config)
    if as_json:
        print_json(
            {
                "monitors": [standing.to_dict() for standing in standings],
                "last_tick": None if ticked is None else ticked.isoformat(),
                "alarm_budget": budgets,
                "outbox": {"waiting": waiting.waiting, "errors": waiting.errors},
                "health": health.to_dict(),
            }
        )
    else:
        counted = Counter(standing.status for standing in standings if not standing.segment)
        echo(" ".join(headline(counted, None if ticked is None else now - ticked)) + "\n", style="bold")
        echo_table(text.overview(standings, width_of(sys.stdout)))
        for budget in budgets:
            echo_folded(budget["text"], hang=0)
    print_outbox(waiting)
    _print_problems(health)
    codes = [_CODES.get(standing.status, OK) for standing in standings]
    return worst([*codes, EXTERNAL if waiting.errors or not health.healthy else OK])


def _print_problems(health: Health) -> None:
    """What fails, and what keeps the service from its work."""
    from rocmonitor.wording.format import listed, one_line

    for outage in [] if health.seen is None else health.seen.outages:
        where = "" if outage.place == "monitor" else f"{outage.place}: "
        failing = [*outage.monitors, *(f"review of {name}" for name in outage.reviews)]
        words = f"{where}{listed(failing) or 'deliveries'}: {one_line(outage.error, 500)}"
        echo(f"fails since {outage.since:%Y-%m-%d %H:%M:%SZ}: {words}", err=True)
    for problem in health.problems:
        if problem.code != "outbox-stuck":  # said above
            echo(f"PROBLEM: {problem}", err=True)


def _standings(opened: Store, config: Config, now: datetime) -> list[Standing]:
    """Each monitor, followed by its segments."""
    from rocmonitor import store
    from rocmonitor.policy.attention import Attention
    from rocmonitor.report.text import Standing
    from rocmonitor.store import glance
    from rocmonitor.wording.attention import attention

    foreseen = glance.ahead(opened)
    seen, changed = glance.glances(opened, windows=1), glance.standings(opened)
    said, stopped = store.attentions(opened), store.open_stops(opened)
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
                    if segment
                    else attention(
                        said.get(monitor.name, Attention()),
                        now,
                        monitor.timezone,
                        [each.stop for each in stopped.get(monitor.name, ())],
                    ),
                    unjudged="" if segment else _unjudged(opened, monitor, last, foreseen),
                    **newest,
                )
            )
    return found


def _unjudged(
    opened: Store,
    monitor: Monitor,
    last: Glance | None,
    foreseen: Mapping[tuple[str, str], Sequence[Ahead]],
) -> str:
    """The rows of a monitor that are no window yet, where windows are joined."""
    from rocmonitor.service.pieces import unjudged
    from rocmonitor.wording import joining

    if monitor.joining is None:
        return ""
    known = [each.window for each in foreseen.get((monitor.name, ""), ())]
    known += [] if last is None else [last.window]
    rest = unjudged(opened, monitor, max((each.end for each in known), default=None))
    return "" if rest is None else joining.unjudged(rest, monitor.joining, monitor.timezone)


def _last_tick(health: Health, config: Config) -> datetime | None:
    """When the last tick of a monitor ended."""
    ticks = {} if health.seen is None else health.seen.ticks
    return max((ticks[name].ended_at for name in config.monitors if name in ticks), default=None)
