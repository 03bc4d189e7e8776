"""``rocmonitor init``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from rocmonitor.cli.terminal import OK, echo, shown_progress
from rocmonitor.errors import ConfigError

SCHEMA = "rocmonitor.schema.json"
"""Beside the configuration, whose first line names it: that works offline and on every machine."""


@click.command()
@click.option(
    "--demo", is_flag=True, help="Add real data: US flights of 2013, two models, a database of their scores."
)
@click.option("--schema", is_flag=True, help="Write only the JSON Schema, for example after an upgrade.")
@click.pass_obj
def init(path: Path, demo: bool, schema: bool) -> int:
    """Write a commented rocmonitor.yaml, and beside it the JSON Schema with which editors check it."""
    if schema and demo:
        raise click.UsageError("--schema writes only the schema: leave --demo out")
    if schema:
        _write(path.with_name(SCHEMA), _packaged("config", SCHEMA))
        echo(f"wrote {path.with_name(SCHEMA)}", err=True)
    elif demo:
        from rocmonitor.demo import build

        with shown_progress() as progress:
            build(path.resolve().parent, on_progress=progress)
        _write(path.with_name(SCHEMA), _packaged("config", SCHEMA))
        echo("next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it", err=True)
    else:
        if path.exists():
            raise ConfigError(f"{path} exists already and is left as it is; name another with --config")
        _write(path, _packaged("cli", "templates", "rocmonitor.yaml"))
        _write(path.with_name(SCHEMA), _packaged("config", SCHEMA))
        echo(f"wrote {path}: fill in source, query and columns, then run `rocmonitor check`", err=True)
    return OK


def _packaged(folder: str, *names: str) -> str:
    return files(f"rocmonitor.{folder}").joinpath(*names).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be written ({error.strerror}); name another with --config"
        ) from None
