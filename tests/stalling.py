"""A server between rocmonitor and a real database that goes silent, or drips, after some bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import make_url

DEFAULT_PORTS = {"postgresql": 5432, "mysql": 3306}


@dataclass
class Stall:
    """Hands on what both sides send; `after` so many bytes of the database it stalls."""

    target: tuple[str, int]
    after: int | None = None
    how: Literal["silent", "drip"] = "silent"
    port: int = 0
    connections: int = 0
    _open: ExitStack = field(default_factory=ExitStack)
    _end: threading.Event = field(default_factory=threading.Event)

    def resume(self) -> None:
        """Stall no more: for connections that are made from now on."""
        self.after = None

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                self._open.callback(_shut, client)
                server = socket.create_connection(self.target)
                self._open.callback(_shut, server)
                for work in ((self._up, client, server), (self._down, server, client, self.after)):
                    threading.Thread(target=work[0], args=work[1:], daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while content := client.recv(65536):
                server.sendall(content)
        with suppress(OSError):  # the database gives up what the client has left, however it left
            server.shutdown(socket.SHUT_RDWR)

    def _down(self, server: socket.socket, client: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while content := server.recv(65536):
                if left is None:
                    client.sendall(content)
                    continue
                client.sendall(content[:left])
                content, left = content[left:], max(left - len(content), 0)
                if left == 0 and content:
                    self._stall(content, client)
            client.shutdown(socket.SHUT_RDWR)

    def _stall(self, content: bytes, client: socket.socket) -> None:
        if self.how == "silent":
            self._end.wait()
        for place in range(len(content)):
            client.sendall(content[place : place + 1])
            if self._end.wait(0.2):
                return


def _shut(one: socket.socket) -> None:
    """Close a socket that another thread may wait at: closing alone would not reach the other side."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def stalling(
    url: str, after: int | None = None, how: Literal["silent", "drip"] = "silent"
) -> Iterator[tuple[str, Stall]]:
    """The database at `url` behind a server that stalls: its URL there, and the server."""
    place = make_url(url)
    assert place.host is not None
    target = (place.host, place.port or DEFAULT_PORTS[place.get_backend_name()])
    stall = Stall(target, after, how)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stall.port = listener.getsockname()[1]
        threading.Thread(target=stall._accept, args=(listener,), daemon=True).start()
        try:
            there = place.set(host="127.0.0.1", port=stall.port)
            yield there.render_as_string(hide_password=False), stall
        finally:
            stall._end.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            stall._open.close()
