"""The listener of `serve` by raw sockets and real requests: health, metrics, and connections that hang."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from costing import cost
from mlflow.webhooks.delivery import _generate_hmac_signature as mlflow_signature
from prometheus_client.parser import text_string_to_metric_families
from scenario import FIRST, Clock, World, runtime_of
from servers import free_port, half_open
from sqlalchemy import insert, text
from web.many import fill

from rocmonitor import config, store
from rocmonitor.errors import ConfigError
from rocmonitor.service.health import OVERDUE, Service
from rocmonitor.service.listener import metrics, open_listeners, server
from rocmonitor.service.listener.application import application
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.tick.outcome import save_last
from rocmonitor.store import tables


@pytest.fixture
def clock() -> Clock:
    return Clock(FIRST)


@pytest.fixture
def service(here: World, clock: Clock) -> Iterator[Service]:
    with here.runtime(clock) as runtime:
        yield Service.of(runtime)


@pytest.fixture
def port(service: Service) -> Iterator[int]:
    with server.listening("127.0.0.1", 0, application(service), key="listen") as port:
        yield port


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}{path}", headers=headers), timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def samples(port: int) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels; no two may be alike."""
    status, body = get(port, "/metrics")
    assert status == 200
    read = [
        ((sample.name, *sample.labels.values()), sample.value)
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    ]
    assert len(dict(read)) == len(read)
    return dict(read)


def test_health_says_200_when_healthy_and_503_with_the_reasons_when_not(
    service: Service, port: int, clock: Clock
) -> None:
    status, body = get(port, "/health")
    assert (status, json.loads(body)["status"]) == (200, "ok")
    clock.now += OVERDUE + timedelta(seconds=1)
    status, body = get(port, "/health")
    said = json.loads(body)
    assert (status, said["status"]) == (503, "unhealthy")
    assert [problem["code"] for problem in said["problems"]] == ["never-ticked"]
    assert get(port, "/live")[0] == 503
    save_last(service.runtime, _tick(service), started_at=clock.now, seconds=2.0)
    assert get(port, "/live")[0] == get(port, "/health")[0] == 200


def _tick(service: Service):
    return run_monitor(
        service.runtime, service.runtime.config.monitors["credit"], now=service.runtime.clock(), windows=[]
    )


def test_other_paths_and_methods_are_refused(port: int) -> None:
    assert get(port, "/")[0] == 404
    assert get(port, "/metrics/../../etc/passwd")[0] == 404
    with pytest.raises(HTTPError, match="405") as refused:
        urlopen(f"http://127.0.0.1:{port}/health", data=b"{}", timeout=10)
    refused.value.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8790", 200),
        ("[::1]:8790", 200),
        ("10.0.0.7", 200),  # a probe calls by address
        ("rocmonitor:8790", 200),  # and Prometheus by the name of a service
        ("rocmonitor.monitoring.svc.cluster.local", 200),
        (socket.getfqdn(), 200),
        ("evil.example:8790", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
    ],
)
def test_a_foreign_name_is_not_answered(port: int, host: str, status: int) -> None:
    for path in ("/health", "/live", "/metrics"):
        assert get(port, path, Host=host)[0] == status


@pytest.mark.slow
def test_metrics_are_those_of_the_store_and_the_process(here: World, clock: Clock) -> None:
    for number in (20, 21):
        here.score(number, shift=0.2 if number == 21 else 1.2)
    clock.now = FIRST + timedelta(weeks=23)
    with here.runtime(clock, segments="[region]", window="{every: 7d, label_delay: 2d}") as runtime:
        service = Service.of(runtime)
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        due = clock.now + timedelta(hours=1)
        save_last(runtime, tick, started_at=clock.now, seconds=2.5, next_due=due)
        [newest, *_] = [
            each
            for each in store.evaluations(runtime.store, "credit")
            if each.segment == "region=all" and each.window.start == FIRST + timedelta(weeks=21)
        ]
        with (
            runtime.work.on("monitor:credit", limit=timedelta(seconds=-1)),
            server.listening("127.0.0.1", 0, application(service), key="listen") as port,
        ):
            found = samples(port)
    assert found["rocmonitor_store_up",] == 1
    assert found["rocmonitor_status", "credit", "", "degraded"] == 1
    segment = "credit", "region=all"
    assert found["rocmonitor_auroc", *segment] == newest.metrics["champion/auc"]
    assert found["rocmonitor_auroc_lower", *segment] == newest.metrics["champion/auc_low"]
    assert found["rocmonitor_auroc_upper", *segment] == newest.metrics["champion/auc_high"]
    assert found["rocmonitor_auroc_expected_lower", *segment] == newest.metrics["forecast/low"]
    end = (FIRST + timedelta(weeks=22)).timestamp()
    assert found["rocmonitor_last_window_end_timestamp_seconds", *segment] == end
    assert found["rocmonitor_last_tick_timestamp_seconds", "credit"] == clock.now.timestamp()
    assert found["rocmonitor_next_tick_timestamp_seconds", "credit"] == due.timestamp()
    assert found["rocmonitor_ticks_total", "credit"] == 1
    assert found["rocmonitor_tick_seconds_total", "credit"] == 2.5
    assert found["rocmonitor_tick_failures_total", "credit"] == 0
    assert found["rocmonitor_windows_judged_total", "credit"] == len(tick.evaluations) == 4
    assert found["rocmonitor_alarms_total", "credit", "degraded"] == 2  # all rows, and the segment
    assert found["rocmonitor_outbox_waiting", "channel:log"] == 1  # one message on both
    assert found["rocmonitor_outbox_oldest_age_seconds", "mlflow"] == 0
    assert found["rocmonitor_work_hung",] == 1
    assert found["rocmonitor_healthy",] == 0
    assert any(name == "process_resident_memory_bytes" for name, *_ in found)


def test_without_its_store_the_process_is_still_measured(service: Service, port: int) -> None:
    with service.runtime.store.writing() as connection:
        connection.execute(text("DROP TABLE rocmonitor_tick"))
    found = samples(port)
    assert found["rocmonitor_store_up",] == 0
    assert ("rocmonitor_healthy",) not in found
    assert found["rocmonitor_work_hung",] == 0


def test_labels_from_outside_are_short_on_one_line_and_never_alike() -> None:
    odd = ['a"b\\c', "line\nbreak", "x" * 200 + "1", "x" * 200 + "2", "\ud800", "\u202e"]
    labels = [metrics.label(value) for value in odd]
    assert len(set(labels)) == len(odd)
    assert all(label.isprintable() and len(label) <= metrics.LONGEST_LABEL for label in labels)
    assert labels[:2] == ['a"b\\c', "line\\nbreak"]


def test_segments_without_end_are_left_out_and_counted(service: Service, port: int) -> None:
    with service.runtime.store.writing() as connection:
        for number in range(metrics.MOST_SEGMENTS + 30):
            connection.execute(
                text(
                    "INSERT INTO rocmonitor_transition "
                    "(monitor, segment, at, before, after, reasons, since, notified) VALUES "
                    "('credit', :segment, :at, 'ok', 'degraded', '[]', :at, 0)"
                ),
                {"segment": f'id="{number}\n', "at": "2026-01-05 00:00:00.000000"},
            )
    found = samples(port)
    assert found["rocmonitor_segments_left_out", "credit"] == 31
    assert sum(name == "rocmonitor_status" for name, *_ in found) == metrics.MOST_SEGMENTS


def many(here: World, monitors: int, windows: int) -> Iterator[Service]:
    """A service with so many monitors, each with a tick."""
    known = here.configure()
    one = known.monitors["credit"]
    names = [f"credit-default-{number:03}" for number in range(monitors)]
    crowd = known.model_copy(
        update={"monitors": {name: one.model_copy(update={"name": name}) for name in names}}
    )
    with store.open_store(known.store_url) as kept:
        fill(kept, monitors, windows, {}, {})
        one_tick = {"started_at": FIRST, "ended_at": FIRST, "next_due": FIRST, "seconds": 1.0, "windows": 1}
        totals = {"ticks_total": 1, "failures_total": 0, "windows_total": 1, "seconds_total": 1.0}
        with kept.writing() as connection:
            rows = [{"monitor": name, **one_tick, **totals} for name in names]
            connection.execute(insert(tables.tick), rows)
        yield Service.of(runtime_of(crowd, kept, Clock(FIRST)))


@pytest.mark.parametrize("windows", [4, pytest.param(400, marks=pytest.mark.slow)])
def test_500_monitors_are_scraped_in_little_time(here: World, windows: int) -> None:
    for service in many(here, 500, windows):
        registry = metrics.registry_of(service)
        body, _ = metrics.written(registry, "")
        assert body.count(b"\nrocmonitor_auroc{") == 500
        assert cost(partial(metrics.written, registry, "")) < 6  # 2.5


@pytest.mark.parametrize(
    "sent",
    [pytest.param(b"", marks=pytest.mark.slow), b"GET /health HTTP/1.1\r\nHost: he"],
    ids=["silent", "half a request"],
)
def test_600_connections_that_hang_take_no_threads_and_keep_nobody_out(port: int, sent: bytes) -> None:
    assert get(port, "/health")[0] == 200
    before = threading.active_count()
    with half_open(port, 600, sent) as sockets:
        assert get(port, "/health")[0] == 200
        assert threading.active_count() <= before
        # The last have not had their time yet, and a busy machine is slow to look at the others.
        patience = time.monotonic() + 60
        while sum(map(_is_closed, sockets)) < 600 - 2 * server.CONNECTIONS:
            assert time.monotonic() < patience
            time.sleep(0.2)


def test_200_connections_at_once_are_all_answered() -> None:
    def slow(_: object, start: Callable[..., object]) -> list[bytes]:
        time.sleep(0.02)  # a page takes longer to write than a connection to open
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    with (
        server.listening("127.0.0.1", 0, slow, key="listen") as port,
        half_open(port, 200, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") as sockets,
    ):
        for one in sockets:
            one.settimeout(30)
        assert [one.recv(12) for one in sockets] == [b"HTTP/1.1 200"] * 200


def _is_closed(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.slow
def test_a_connection_that_drips_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", port), timeout=0.1) as one:
        for letter in b"GET /health HTTP/1.1\r\nX: " + b"a" * 1000:
            try:
                one.sendall(bytes([letter]))
                assert one.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            return
    pytest.fail("it may drip for ever")


SIZE = 12_000_000


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted as Linux shows them")
def test_who_does_not_read_the_answer_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(_: object, start: Callable[..., object]) -> list[bytes]:
        start("200 OK", [("Content-Length", str(SIZE))])
        return [b"x" * SIZE]

    monkeypatch.setattr(server, "SECONDS", 0.5)
    with server.listening("127.0.0.1", 0, large, key="listen") as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = open_sockets()
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        wait_until(open_sockets, lambda count: count > before)  # the client's own was there
        wait_until(open_sockets, lambda count: count <= before)


def open_sockets() -> int:
    """Of this process; other files come and go, such as the one that holds a long answer."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return found


def wait_until(see: Callable[[], int], enough: Callable[[int], bool]) -> int:
    """What is seen once it is enough."""
    for _ in range(1000):
        if enough(seen := see()):
            return seen
        time.sleep(0.01)
    pytest.fail(f"it stays {see()}")


def test_a_header_without_end_is_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nX: " + b"a" * 20_000)
        assert one.recv(100).split()[1] == b"431"


@pytest.mark.parametrize(
    "request_", [b"\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET /%00 HTTP/9.9\r\n\r\n"]
)
def test_what_is_no_request_does_no_harm(port: int, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(request_)
        one.shutdown(socket.SHUT_WR)
        one.recv(1000)
    assert get(port, "/health")[0] == 200


def test_one_address_serves_health_and_webhook(
    here: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    address = f"127.0.0.1:{free_port()}"
    hook = f"listen: '{address}'\nwebhook: {{listen: '{address}', secret_env: SCENARIO_HOOK}}\n"
    path.write_text(hook + path.read_text())
    known = config.load(path)
    moved: list[tuple[str, ...]] = []
    body = b'{"entity": "model_version_alias", "data": {"name": "credit", "alias": "champion"}}'
    stamp = str(int(FIRST.timestamp()))
    headers = {
        "X-MLflow-Delivery-Id": "d1",
        "X-MLflow-Timestamp": stamp,
        "X-MLflow-Signature": mlflow_signature("first", "d1", stamp, body.decode()),
    }
    with store.open_store(known.store_url) as kept:
        service = Service.of(runtime_of(known, kept, clock))
        with (
            pytest.raises(ConfigError, match=r"webhook\.secret_env.*SCENARIO_HOOK is not set"),
            open_listeners(service, lambda *_: None),
        ):
            pass
        monkeypatch.setenv("SCENARIO_HOOK", "first")
        with open_listeners(service, lambda *alias: moved.append(alias)):
            port = int(address.rpartition(":")[2])
            assert get(port, "/health")[0] == 200
            assert get(port, "/hook")[0] == 405
            assert f"listening on http://{address}/ (listen)" in caplog.text
            with urlopen(Request(f"http://{address}/hook", body, headers), timeout=10) as answer:
                assert answer.status == 204
    assert moved == [("credit", "champion")]


def test_an_address_that_is_taken_is_named(here: World, clock: Clock, port: int) -> None:
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"listen: '127.0.0.1:{port}'\n{path.read_text()}")
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        service = Service.of(runtime_of(known, kept, clock))
        with (
            pytest.raises(ConfigError, match=rf"^listen: cannot listen on 127\.0\.0\.1:{port}.*name another"),
            open_listeners(service, lambda *_: None),
        ):
            pass
