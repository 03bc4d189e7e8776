"""``rocmonitor ui``."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import click

from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.terminal import echo
from rocmonitor.errors import ConfigError


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

    The pages only read the store. `mlflow server --app-name rocmonitor` shows the same inside MLflow.
    """
    import waitress

    from rocmonitor.web.alone import LOOPBACK, create_app
    from rocmonitor.web.site import Site

    token = _token(token_env)
    if host not in LOOPBACK and token is None:
        raise ConfigError(
            f"--host {host} can be reached from other machines: name a variable with a token, as --token-env "
            "ROCMONITOR_TOKEN, or leave --host out"
        )
    site = Site(path=path)
    site.config()  # what is wrong with it is said here, not on a page
    with _listening(host, port) as opened:
        server = waitress.create_server(create_app(site, token), sockets=[opened], threads=8, ident=None)
        echo(f"http://{_named(host)}:{opened.getsockname()[1]}/  (Ctrl-C ends it)", err=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # waitress ends as it does on Ctrl-C
        server.run()
    return OK


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
    except OSError as error:
        raise ConfigError(
            f"--host {host} --port {port}: cannot listen there: {error.strerror}; name another port"
        ) from None


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    value = os.environ.get(variable, "").strip()
    if len(value) < _SHORTEST:
        raise ConfigError(
            f"--token-env: the environment variable {variable} must hold a token of at least {_SHORTEST} "
            f"characters; it has {len(value)}. Make one with `openssl rand -hex 16`"
        )
    return value


_SHORTEST = 16


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else host
