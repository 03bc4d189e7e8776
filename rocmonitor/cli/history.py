"""``rocmonitor history``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named
from rocmonitor.cli.terminal import (
    OK,
    echo,
    echo_folded,
    echo_table,
    evaluation_json,
    print_json,
    print_outbox,
    print_outlooks,
    stdout_width,
    tables_option,
)


@click.command()
@monitor_argument
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the newest N windows.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with all revisions.")
@tables_option
@click.pass_obj
def history(path: Path, monitor: str, last: int | None, as_json: bool, tables: bool) -> int:
    """Show a monitor's windows and changes of status."""
    from rocmonitor import store
    from rocmonitor.report import text
    from rocmonitor.wording import episode

    config = load(path)
    chosen = monitor_named(config, monitor)
    with store.open_store(config.store_url, make=False) as opened:
        starts = [] if last is None else [window.start for window, _ in store.outcomes(opened, monitor, "")]
        start = starts[-last] if last is not None and len(starts) >= last else None
        evaluations = store.evaluations(opened, monitor, start=start, every_revision=as_json)
        outlooks = store.outlooks(opened, monitor, start=start, pending=not as_json)
        every_change = store.transitions(opened, monitor)
        newest = {change.segment: change for change in every_change}  # says how it stands, however old it is
        changes = [
            change
            for change in every_change
            if start is None or change.since >= start or change is newest[change.segment]
        ]
        episodes = [
            decline
            for decline in store.episodes(opened, monitor)
            if start is None or decline.end is None or decline.end > start
        ]
        said = store.attention(opened, monitor)
        waiting = store.outbox_summary(opened)
    if as_json:
        listed = [episode.as_json(decline, said) for decline in episodes]
        print_json(
            {
                "evaluations": [evaluation_json(evaluation, tables=tables) for evaluation in evaluations],
                "outlooks": [outlook.to_dict() for outlook in outlooks],
                "episode": next(
                    (
                        entry
                        for entry in reversed(listed)
                        if entry["kind"] == "performance" and not entry["segment"]
                    ),
                    None,
                ),
                "episodes": listed,
                "transitions": [change.to_dict() | {"after": str(change.shown)} for change in changes],
                "outbox": {"waiting": waiting.waiting, "errors": waiting.errors},
            }
        )
    elif not evaluations and not outlooks and not changes:
        echo(f"{monitor} has not been judged yet; `rocmonitor run {monitor}` does it now", err=True)
    else:
        echo(f"{monitor} ({chosen.timezone})", style="bold")
        if evaluations:
            echo_table(text.windows(evaluations, chosen.timezone, stdout_width()))
        if outlooks:
            print_outlooks(text.outlooks(outlooks, chosen.timezone), "\nBefore the labels")
        if episodes:
            echo(f"\nEpisodes ({chosen.timezone}):", style="bold")
            echo_folded("\n".join(episode.line(decline, chosen.timezone) for decline in episodes), hang=2)
        echo(f"\nChanges of status, by when each window fell due ({chosen.timezone}):", style="bold")
        echo_folded(text.transitions(changes, chosen.timezone) or "none", hang=2)
    print_outbox(waiting)
    return OK
