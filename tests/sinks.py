"""Where messages arrive: a real HTTP server and a real mail server on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    content: Any  # the JSON body, decoded


@dataclass
class HttpSink:
    """Records every POST; answers with `status` (and `retry_after`), or not at all after `hang`."""

    port: int
    requests: list[Request] = field(default_factory=list)
    status: int = 200
    retry_after: str | None = None
    _answering: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._answering.set()

    @property
    def url(self) -> str:
        """As an Apprise URL."""
        return f"json://127.0.0.1:{self.port}/alarms"

    @property
    def titles(self) -> list[str]:
        return [request.content["title"] for request in self.requests]

    def hang(self) -> None:
        """Take requests and leave them without an answer, until `resume`."""
        self._answering.clear()

    def resume(self) -> None:
        self._answering.set()


@pytest.fixture
def http_sink() -> Iterator[HttpSink]:
    """A web hook on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sink.requests.append(Request(self.path, dict(self.headers), content))
            sink._answering.wait()
            self.send_response(sink.status)
            self.send_header("Content-Length", "0")
            if sink.retry_after is not None:
                self.send_header("Retry-After", sink.retry_after)
            self.end_headers()

        def handle(self) -> None:
            with suppress(ConnectionError):  # the client did not wait for the answer
                super().handle()

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sink = HttpSink(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield sink
        sink.resume()
        server.shutdown()
        thread.join()


@dataclass
class SmtpSink:
    """Records every mail; refuses recipients with `refusal` when that is set."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refusal: str | None = None

    @property
    def url(self) -> str:
        """As an Apprise URL, without encryption."""
        return f"mailto://127.0.0.1:{self.port}/on-call@example.org?from=rocmonitor@example.org"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.refusal is not None:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"


class _AnyPort(Controller):
    """Lets the system choose the port: tests run side by side."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()


@pytest.fixture
def smtp_sink() -> Iterator[SmtpSink]:
    """A mail server on this machine."""
    sink = SmtpSink()
    controller = _AnyPort(sink, hostname="127.0.0.1", port=0)
    controller.start()
    sink.port = controller.port
    yield sink
    controller.stop()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that nobody listens on, and nobody else can take meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
