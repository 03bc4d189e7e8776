"""The heartbeat, sent to a real HTTP server of this machine that answers, fails, hangs or drips."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from scenario import FIRST, Clock, World, runtime_of, until

from rocmonitor import config
from rocmonitor.config import Config
from rocmonitor.service import heartbeat
from rocmonitor.service.health import OVERDUE, Service, service_health
from rocmonitor.service.heartbeat import beating, report, send

PATH = "/ping/5f3c-secret"


@dataclass
class Pings:
    """What was called, and how it is answered."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    status: int = 200
    came: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


@pytest.fixture
def pings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pings]:
    found = Pings()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.paths.append(self.path)
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            found.came.release()

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}{PATH}"
        monkeypatch.setenv("HEARTBEAT_URL", found.url)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def known(here: World) -> Config:
    return configured(here, "{url_env: HEARTBEAT_URL}")


def configured(here: World, section: str) -> Config:
    """With no window that is due."""
    here.configure(window=until("2026-05-25"))
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"heartbeat: {section}\n{path.read_text()}")
    return config.load(path)


def test_health_is_reported_and_the_lack_of_it(pings: Pings, known: Config) -> None:
    send(known, healthy=True)
    send(known, healthy=False)
    assert pings.paths == [PATH, f"{PATH}/fail"]


def test_what_follows_the_path_stays(pings: Pings, known: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBEAT_URL", f"{pings.url}/?host=here")
    send(known, healthy=True)
    send(known, healthy=False)
    assert pings.paths == [f"{PATH}/?host=here", f"{PATH}/fail?host=here"]


def test_the_service_decides_what_is_sent(here: World, pings: Pings, known: Config, caplog) -> None:
    clock = Clock(FIRST)
    with here.runtime(clock) as runtime:
        service = Service.of(runtime_of(known, runtime.store, clock))
        report(known, service_health(service))
        clock.now += OVERDUE + timedelta(seconds=1)
        report(known, service_health(service))
    assert pings.paths == [PATH, f"{PATH}/fail"]
    assert "not healthy: credit: no check has ended since the service started" in caplog.text


@pytest.mark.slow
def test_it_is_sent_again_and_again(here: World, pings: Pings) -> None:
    with here.runtime(Clock(FIRST)) as runtime:
        known = configured(here, "{url_env: HEARTBEAT_URL, every: 1s}")
        service = Service.of(runtime_of(known, runtime.store, runtime.clock))
        with beating(service):
            assert pings.came.acquire(timeout=30)
            assert pings.came.acquire(timeout=30)
    assert set(pings.paths) == {PATH}


def test_a_change_is_reported_before_the_next_call_is_due(here: World, pings: Pings, monkeypatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_SECONDS", 0.05)
    with here.runtime(Clock(FIRST)) as runtime:
        known = configured(here, "{url_env: HEARTBEAT_URL, every: 1h}")
        service = Service.of(runtime_of(known, runtime.store, runtime.clock))
        service.runtime.failing["store"] = "database or disk is full"
        with beating(service):
            assert pings.came.acquire(timeout=30)
            service.runtime.failing.clear()
            assert pings.came.acquire(timeout=30)
    assert pings.paths == [f"{PATH}/fail", PATH]


def test_without_a_section_nothing_is_sent(here: World, pings: Pings) -> None:
    send(here.configure(), healthy=True)
    assert pings.paths == []


@pytest.mark.parametrize("status", [404, 500])
def test_a_refusal_is_only_logged(pings: Pings, known: Config, caplog, status: int) -> None:
    pings.status = status
    send(known, healthy=True)
    assert f"the heartbeat was not received: HTTP {status}" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{closed}/ping/secret", "Connection refused"),
        ("ftp://127.0.0.1/secret", "must hold an address such as https"),
        ("http:///secret", "must hold an address such as https"),
        ("http://127.0.0.1:99999/secret", "must hold an address such as https"),
        ("http://127.0.0.1:port/secret", "must hold an address such as https"),
        ("http://[::1/secret", "must hold an address such as https"),
        ("http://127.0.0.1/secret\r\nX: y", "must hold an address such as https"),
        ("http://127.0.0.1/sécret", "must hold an address such as https"),
        ("", "HEARTBEAT_URL is not set"),
    ],
)
def test_an_address_that_cannot_be_called_is_only_logged(
    known: Config, closed_port: int, monkeypatch: pytest.MonkeyPatch, caplog, url: str, why: str
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setenv("HEARTBEAT_URL", url.format(closed=closed_port))
    for healthy in (True, False):
        caplog.clear()
        send(known, healthy=healthy)
        assert why in caplog.text
        assert "cret" not in caplog.text


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nX: "], ids=["silent", "drips"])
def test_an_answer_that_does_not_come_is_not_waited_for(
    known: Config, monkeypatch: pytest.MonkeyPatch, caplog, answer: bytes
) -> None:
    monkeypatch.setattr(heartbeat, "SECONDS", 0.3)
    ended = threading.Event()

    def drip(server: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer)
                while answer and not ended.wait(0.05):
                    connection.sendall(b"a")
                ended.wait()

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HEARTBEAT_URL", f"http://127.0.0.1:{server.getsockname()[1]}/secret")
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        before = time.monotonic()
        send(known, healthy=True)
        assert time.monotonic() - before < 5
        ended.set()
        thread.join()
    assert "the heartbeat was not received: " in caplog.text
    assert "secret" not in caplog.text


def test_run_reports_at_its_end(here: World, pings: Pings, known: Config, rocmonitor) -> None:
    rocmonitor("run", "--dry-run")
    assert pings.paths == []
    rocmonitor("run")
    assert pings.paths == [PATH]


def test_a_run_without_its_store_reports_that(here: World, pings: Pings, known: Config, rocmonitor) -> None:
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"store: {{url: 'sqlite:////nowhere/rocmonitor.db'}}\n{path.read_text()}")
    rocmonitor("run", code=5)
    assert pings.paths == [f"{PATH}/fail"]
