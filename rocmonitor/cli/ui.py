"""``rocmonitor ui``."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import click

from rocmonitor.cli.terminal import OK, echo
from rocmonitor.errors import ConfigError

_SHORTEST = 16  # characters of a token


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8780,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--token-env",
    metavar="NAME",
    help="Environment variable that holds the token readers must show; required with another --host.",
)
@click.pass_obj
def ui(path: Path, host: str, port: int, token_env: str | None) -> int:
    """Show every monitor in a browser, until Ctrl-C or SIGTERM.

    The pages read the store; two buttons acknowledge and mute. `mlflow server --app-name rocmonitor` shows
    the same inside MLflow.
    """
    from rocmonitor.config.values import require_variable
    from rocmonitor.service.listener.server import listening
    from rocmonitor.web.alone import LOOPBACK, create_app
    from rocmonitor.web.site import Site

    token = None
    if token_env is not None:
        try:
            require_variable(token_env)
        except ValueError as error:
            raise ConfigError(f"--token-env: {error}") from None
        token = os.environ.get(token_env, "").strip()
        if len(token) < _SHORTEST:
            raise ConfigError(
                f"--token-env: the environment variable {token_env} must hold a token of at least "
                f"{_SHORTEST} characters; it has {len(token)}. Make one with `openssl rand -hex 16`"
            )
    if host not in LOOPBACK and token is None:
        raise ConfigError(
            f"--host {host} can be reached from other machines: name a variable with a token, as --token-env "
            "ROCMONITOR_TOKEN, or leave --host out"
        )
    site = Site(path=path)
    site.config()  # what is wrong with it is said here, not on a page
    told = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        with listening(host, port, create_app(site, token), key="--port", threads=8) as got:
            echo(f"http://{f'[{host}]' if ':' in host else host}:{got}/  (Ctrl-C ends it)", err=True)
            told.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return OK
