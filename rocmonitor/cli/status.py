"""``rocmonitor status``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import (
    DEGRADED,
    EXTERNAL,
    INSUFFICIENT,
    OK,
    echo,
    echo_folded,
    echo_table,
    print_json,
    print_outbox,
    stdout_width,
    worst,
)
from rocmonitor.wording.caveats import words_of

if TYPE_CHECKING:
    from rocmonitor.config import Config
    from rocmonitor.report.text import Standing
    from rocmonitor.store import Store

_CODES = {"degraded": DEGRADED, "insufficient": INSUFFICIENT, "error": EXTERNAL}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
@click.pass_obj
def status(path: Path, as_json: bool) -> int:
    """Show every monitor at a glance, worst first, and what hinders the service.

    Reads only the store. The exit code is that of the worst monitor, 5 when a check is overdue or a delivery
    does not arrive.
    """
    from rocmonitor import store
    from rocmonitor.report import text
    from rocmonitor.service.health import store_health
    from rocmonitor.wording.outages import in_status
    from rocmonitor.wording.page import as_of, headline

    config, now = load(path), datetime.now(UTC)
    with store.open_store(config.store_url, make=False) as opened:
        standings = list(_standings(opened, config, now))
        waiting = store.outbox_summary(opened)
        health = store_health(opened, config, now)
        budgets: list[dict[str, Any]] = []
        if config.alarm_budget is not None:  # else no statistics are needed
            from rocmonitor.service.budgets import alarm_year

            budgets = alarm_year(config, opened, now)
    ticks = {} if health.seen is None else health.seen.ticks
    ticked = max((ticks[name].ended_at for name in config.monitors if name in ticks), default=None)
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
        ended = as_of(
            [(standing.watched_until, standing.zone) for standing in standings if not standing.segment]
        )
        checked = None if ticked is None else now - ticked
        echo(" ".join(headline(counted, checked, ended)) + "\n", style="bold")
        echo_table(text.overview(standings, stdout_width()))
        for standing in standings:
            if standing.reference and not standing.segment:
                echo_folded(f"{standing.monitor}: {standing.reference}", hang=2)
        for budget in budgets:
            echo_folded(budget["text"], hang=0)
    print_outbox(waiting)
    for outage in [] if health.seen is None else health.seen.outages:
        echo(in_status(outage), err=True)
    for problem in health.problems:
        if problem.code != "outbox-stuck":  # said above
            echo(f"PROBLEM: {words_of(problem)}", err=True)
    codes = [_CODES.get(standing.status, OK) for standing in standings]
    return worst([*codes, EXTERNAL if waiting.errors or not health.healthy else OK])


def _standings(opened: Store, config: Config, now: datetime) -> Iterator[Standing]:
    from rocmonitor.service.standing import standing, unjudged_text
    from rocmonitor.store.glance import all_states, compared_with

    states, references = all_states(opened, windows=1), compared_with(opened)
    for monitor in config.monitors.values():
        key = (monitor.name, "")
        windows = [outlook.window for outlook in states.ahead.get(key, ())]
        windows += [states.seen[key].window] if key in states.seen else []
        rows = unjudged_text(opened, monitor, windows)
        for segment in ["", *states.segments.get(monitor.name, ())]:
            summary = references.get((monitor.name, segment))
            yield standing(monitor, segment, states, now, unjudged="" if segment else rows, reference=summary)
