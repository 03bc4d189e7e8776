"""``rocmonitor report``."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named, period
from rocmonitor.cli.terminal import OK, echo, require_writable, write
from rocmonitor.errors import ConfigError


@click.command()
@monitor_argument
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
    from rocmonitor.report.pages import monitor_page
    from rocmonitor.store.history import segments
    from rocmonitor.web.monitor import Choice, file_view, first_due
    from rocmonitor.wording.format import instant
    from rocmonitor.wording.page import not_judged
    from rocmonitor.wording.report import nothing

    config = load(path)
    chosen = monitor_named(config, monitor)
    begin, stop = period(start, end, chosen)
    output = output or Path(f"{monitor}.html")
    require_writable(output)
    now = datetime.now(UTC)
    with store.open_store(config.store_url, make=False) as opened:
        view = file_view(opened, chosen, Choice(segment=segment, start=begin, end=stop), now)
        if view is None:
            if not (segment or start or end) and (due := first_due(chosen, now)) is not None:
                raise ConfigError(not_judged(monitor, due, joined=chosen.joining is not None))
            names = ", ".join(segments(opened, monitor)) or "none"
            which = f" of segment {segment!r} (known: {names})" if segment else ""
            raise ConfigError(nothing(monitor, which + (" in this period" if start or end else "")))
    options = {"--from": start, "--to": end, "--segment": segment, "--output": output}
    given = [text for name, value in options.items() if value for text in (name, str(value))]
    command = shlex.join(["rocmonitor", "report", monitor, *given])
    write(
        output,
        monitor_page(view, written=f"{instant(now, chosen.timezone)} ({chosen.timezone})", command=command),
    )
    echo(view["sentence"])
    return OK
