"""``rocmonitor check``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import (
    INSUFFICIENT,
    code_of,
    echo,
    echo_folded,
    is_interactive,
    shown_progress,
    worst,
    write,
)

_MARGIN = " " * 12  # of explanations, which stand beside their topic


@click.command()
@click.option("--explain", is_flag=True, help="Print everything that the answers rest on.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Draw the references as an HTML file.")
@click.pass_obj
def check(path: Path, explain: bool, output: Path | None) -> int:
    """Check how each monitor will watch, without changing anything.

    Three answers: the normal range and the drops that it shows, the windows that can be judged, and the
    false alarms a year. The exit code is 4 when a monitor would run but not watch well; a WARNING says why.
    """
    now = datetime.now(UTC)
    lines, config = list[str](), load(path)
    try:
        with shown_progress() as progress:  # which owns the terminal until it is done
            from rocmonitor.service.checking import check as look

            result = look(config, now=now, output=lines.append, explain=explain, progress=progress)
    finally:
        for line in lines:  # one that goes on below starts where the explanations do
            echo_folded(line, hang=0 if line.startswith(_MARGIN) else len(_MARGIN) - 2)
    if output is not None:
        from rocmonitor.report.pages import check_page

        write(output, check_page(result.watched, made=now))
    if is_interactive(sys.stderr):
        echo(
            f"\n{len(result.problems)} to fix in {path}, then check again"
            if result.problems
            else "\nMore: rocmonitor check --explain"
            "\nNext: rocmonitor run --dry-run   judges what is due; keeps and sends nothing",
            err=True,
        )
    return worst([*map(code_of, result.problems), *([INSUFFICIENT] if result.doubts else [])])
