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
@click.option("--url", help="Look at a table first: SQLAlchemy URL of its database, or path of its files.")
@click.option("--table", help="The table; not needed for files.")
@click.option("--time", help="Column with the time of scoring; columns that are not named are guessed.")
@click.option("--score", help="Column with the score.")
@click.option("--label", help="Column with the label.")
@click.pass_obj
def init(
    path: Path,
    demo: bool,
    schema: bool,
    url: str | None,
    table: str | None,
    time: str | None,
    score: str | None,
    label: str | None,
) -> int:
    """Write a commented rocmonitor.yaml, and a JSON Schema for editors beside it.

    With --url the file fits a table: its columns, windows with enough rows, the time that labels take, and a
    reference.
    """
    given = {"time": time, "score": score, "label": label}
    if schema and demo:
        raise click.UsageError("--schema writes only the schema: leave --demo out")
    named = [f"--{name}" for name, value in {"table": table, **given}.items() if value is not None]
    if url is None and named:
        raise click.UsageError(f"{named[0]} needs --url: where is the table?")
    if url is not None and (schema or demo):
        raise click.UsageError("--url writes a configuration for a table: leave --schema and --demo out")
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
            raise ConfigError(f"{path} exists already and is left alone; name another with --config")
        from rocmonitor.cli.proposed import proposed  # it reads the configuration

        roles = {role: name for role, name in given.items() if name is not None}
        text, after = (
            (_packaged("cli", "templates", "rocmonitor.yaml"), "fill in source, query and columns, then run")
            if url is None
            else proposed(path, url, table, roles)
        )
        _write(path, text)
        _write(path.with_name(SCHEMA), _packaged("config", SCHEMA))
        echo(f"wrote {path}: {after} `rocmonitor check`", err=True)
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
