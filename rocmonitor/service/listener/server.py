"""The HTTP server of `serve` and `ui`: few threads, and no connection that lasts.

waitress keeps a connection that sends a byte now and then for ever, and takes no new ones once it has its
limit of them. Here each has a few seconds, and fewer while there are many; new ones wait at the limit.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from rocmonitor.errors import ConfigError

THREADS = 2
CONNECTIONS = 100
"""Open at the same time before those without a request have less time."""

SECONDS, SECONDS_IN_A_CROWD = 10, 2
"""Seconds that a connection stays open while no request is being answered."""

_SETTINGS = {
    "connection_limit": 5 * CONNECTIONS,  # more wait to be accepted
    "channel_timeout": SECONDS,
    "cleanup_interval": 1,
    "max_request_header_size": 16 * 1024,
    "max_request_body_size": 256 * 1024,  # the webhook takes less; up to here the answer is still read
    "asyncore_use_poll": True,  # select() knows no file descriptor above 1023
    "log_socket_errors": False,
    "ident": None,
}


class _Server(TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    def maintenance(self, now: float) -> None:
        patience = SECONDS_IN_A_CROWD if len(self.active_channels) > CONNECTIONS else SECONDS
        for channel in list(self.active_channels.values()):
            age = now - channel.creation_time
            if channel.will_close and not 0 <= age < 2 * SECONDS:
                channel.handle_close()  # else who reads no answer keeps it, and us from taking others
            elif not channel.requests and not 0 <= age < patience:
                channel.will_close = True


@contextmanager
def listening(host: str, port: int, application: Any, *, key: str, threads: int = THREADS) -> Iterator[int]:
    """Answer requests to ``http://host:port/`` by a WSGI application while the block runs; yield the port.

    Port 0 takes any that is free. `key` names the address in the configuration or on the command line: a
    ConfigError says with it that the address cannot be listened on.
    """
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(
            f"{key}: cannot listen on {host}:{port}: {error.strerror}; name another host or port"
        ) from None
    server = _Server(
        application, map={}, _sock=opened, bind_socket=False, adj=Adjustments(threads=threads, **_SETTINGS)
    )
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            wasyncore.loop(timeout=1, use_poll=True, map=server._map, count=1)

    thread = threading.Thread(target=work, name="listener", daemon=True)
    thread.start()
    try:
        yield int(server.effective_port)
    finally:
        stop.set()
        server.pull_trigger()
        thread.join()
        server.task_dispatcher.shutdown()
        wasyncore.close_all(server._map)
