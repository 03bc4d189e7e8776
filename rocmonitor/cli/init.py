"""``rocmonitor init``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.progress import shown_progress
from rocmonitor.cli.terminal import echo
from rocmonitor.errors import ConfigError


@click.command()
@click.option(
    "--demo", is_flag=True, help="With real data: US flights of 2013, two models, a database of scores."
)
@click.pass_obj
def init(path: Path, demo: bool) -> int:
    """Write a commented rocmonitor.yaml (and, with --demo, a database of real scored batches)."""
    if demo:
        from rocmonitor.demo import build

        with shown_progress() as progress:
            build(path.resolve().parent, on_progress=progress)
        echo("next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it", err=True)
    else:
        if path.exists():
            raise ConfigError(f"{path} exists already and is left as it is; name another with --config")
        template = files("rocmonitor.cli") / "templates" / "rocmonitor.yaml"
        try:
            path.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be written ({error.strerror}); name another with --config"
            ) from None
        echo(f"wrote {path}: fill in source, query and columns, then run `rocmonitor check`", err=True)
    return OK
