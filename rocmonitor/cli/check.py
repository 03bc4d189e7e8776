"""``rocmonitor check``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from rocmonitor.cli.exit_codes import code_of, worst
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo, echo_folded, is_interactive

_MARGIN = " " * 12  # of explanations, which stand beside their topic


@click.command()
@click.pass_obj
def check(path: Path) -> int:
    """Check the configuration, connect, and explain windows, rows and false alarms a year; change nothing."""
    from rocmonitor.service.checking import check as explain

    problems = explain(load(path), now=datetime.now(UTC), output=_print)
    if is_interactive(sys.stderr):
        echo(
            f"\n{len(problems)} to mend in {path}, then check again"
            if problems
            else "\nNext: rocmonitor run --dry-run   judges what is due; keeps and sends nothing",
            err=True,
        )
    return worst([code_of(problem) for problem in problems])


def _print(line: str) -> None:
    """A line that goes on below starts where the explanations do."""
    echo_folded(line, hang=0 if line.startswith(_MARGIN) else len(_MARGIN) - 2)
