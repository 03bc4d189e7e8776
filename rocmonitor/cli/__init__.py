"""The command line: parse, call, print, exit code. Data go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from rocmonitor import __version__
from rocmonitor.cli import logs
from rocmonitor.cli.attention import acknowledge, mute
from rocmonitor.cli.auc import auc
from rocmonitor.cli.channel import channel
from rocmonitor.cli.check import check
from rocmonitor.cli.db import db
from rocmonitor.cli.demo import demo
from rocmonitor.cli.explain import explain
from rocmonitor.cli.history import history
from rocmonitor.cli.init import init
from rocmonitor.cli.report import report
from rocmonitor.cli.review import review
from rocmonitor.cli.run import backfill, run, serve
from rocmonitor.cli.status import status
from rocmonitor.cli.terminal import OK, USAGE, code_of, echo
from rocmonitor.cli.ui import ui
from rocmonitor.errors import RocmonitorError

__all__ = ["cli", "main"]


def main() -> None:
    """Entry point of the console script: no error that was foreseen shows a traceback."""
    try:
        code = cli.main(standalone_mode=False)
    except click.Abort:
        echo("interrupted: what was saved is kept, and the rest is done at the next call", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = USAGE
    except RocmonitorError as error:
        if any(isinstance(handler.formatter, logs.Json) for handler in logging.getLogger().handlers):
            logging.getLogger("rocmonitor").error("%s", error)
        else:
            echo(f"Error: {error}", err=True)
        code = code_of(error)
    sys.exit(code if isinstance(code, int) else OK)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path),
    default=Path("rocmonitor.yaml"),
    envvar="ROCMONITOR_CONFIG",
    show_default=True,
    show_envvar=True,
    help="Configuration file.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log each step with its time.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    envvar="ROCMONITOR_LOG_FORMAT",
    show_default=True,
    show_envvar=True,
    help="Log lines for people, or a JSON object each.",
)
@click.version_option(__version__, prog_name="rocmonitor")
@click.pass_context
def cli(context: click.Context, path: Path, verbose: bool, log_format: logs.Format) -> None:
    """Watch binary classifiers in production.

    rocmonitor judges windows of scored and labelled rows, and alarms when the AUROC leaves its normal range.

    Exit codes: 0 ok, 2 usage or configuration, 3 degraded, 4 insufficient data, 5 an outside system failed.

    Completion in bash: eval "$(_ROCMONITOR_COMPLETE=bash_source rocmonitor)"; also zsh_source, fish_source.
    """
    context.obj = path
    logs.configure(log_format, verbose=verbose)


_WATCH = (demo, init, check, run, backfill, serve)
_LOOK = (status, history, explain, review, report, ui, mute, acknowledge)
for command in (*_WATCH, *_LOOK, channel, db, auc):
    cli.add_command(command)
