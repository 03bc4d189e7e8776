"""A server between rocmonitor and a real one that can be down, silent, slow, or end connections half way."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

How = Literal["works", "down", "hanging", "slow", "reset"]

_AT_ONCE = struct.pack("ii", 1, 0)
"""Closing a socket ends the connection at once and with an error, as a crash does."""


@dataclass
class Gate:
    """Hands on what both sides send; `turn` says what becomes of the answers from then on."""

    target: tuple[str, int]
    port: int = 0
    how: How = "works"
    _listener: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)
    _turned: threading.Event = field(default_factory=threading.Event)

    def turn(self, how: How) -> None:
        """Work or fail like this from now on; open connections as well."""
        before, self.how = self.how, how
        self._turned.set()
        self._turned = threading.Event()
        if how == "down":
            self.close()
        elif before == "down":
            self.listen()
        if how == "works":  # who hangs is not answered any more
            self._end_connections()

    def listen(self) -> None:
        """Take connections; on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Take no connection, and end those there are."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self._listener = None
        self._end_connections()

    def _end_connections(self) -> None:
        while self._open:
            _end(self._open.pop())

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self.target)
                self._open += [client, server]
                for work in ((self._up, client, server), (self._down, server, client)):
                    threading.Thread(target=work[0], args=work[1:], daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while content := client.recv(65536):
                server.sendall(content)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while content := server.recv(65536):
                turned = self._turned
                if self.how == "hanging":
                    turned.wait()
                    break
                if self.how == "reset":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                    break
                if self.how == "slow":
                    for place in range(len(content)):
                        client.sendall(content[place : place + 1])
                        if turned.wait(0.3):
                            break
                    continue
                client.sendall(content)
        _end(client)


def _end(one: socket.socket) -> None:
    """Close a socket that another thread may wait at: closing alone would not reach the other side."""
    if one.fileno() >= 0 and not _is_to_reset(one):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        one.close()


def _is_to_reset(one: socket.socket) -> bool:
    with suppress(OSError):
        return one.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(_AT_ONCE)) == _AT_ONCE
    return False


@contextmanager
def gated(host: str, port: int) -> Iterator[Gate]:
    """A gate in front of a server, open."""
    gate = Gate((host, port))
    gate.listen()
    try:
        yield gate
    finally:
        gate.turn("works")
        gate.close()
