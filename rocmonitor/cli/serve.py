"""``rocmonitor serve``."""

from __future__ import annotations

from pathlib import Path

import click

from rocmonitor.cli.opening import load, open_runtime
from rocmonitor.cli.terminal import OK


@click.command()
@click.pass_obj
def serve(path: Path) -> int:
    """Judge windows on schedule and deliver the results, until SIGTERM.

    SIGHUP rereads the configuration; a faulty file changes nothing.
    """
    from rocmonitor.service.scheduler import serve as work

    with open_runtime(load(path)) as runtime:
        work(runtime, path)
    return OK
