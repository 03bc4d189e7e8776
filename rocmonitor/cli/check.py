"""``rocmonitor check``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from rocmonitor.cli.exit_codes import code_of, worst
from rocmonitor.cli.opening import load
from rocmonitor.cli.terminal import echo


@click.command()
@click.pass_obj
def check(path: Path) -> int:
    """Check the configuration, connect, and explain windows, rows and false alarms a year; change nothing."""
    from rocmonitor.service.checking import check as explain

    problems = explain(load(path), now=datetime.now(UTC), output=echo)
    return worst([code_of(problem) for problem in problems])
