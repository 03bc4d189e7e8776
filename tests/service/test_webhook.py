"""Events of a real MLflow registry, and those that only claim to be."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from queue import Queue
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mlflow import MlflowClient
from mlflow.entities.webhook import WebhookEvent
from mlflow.webhooks.delivery import _generate_hmac_signature as mlflow_signature
from process import serving, wait_for
from scenario import Clock, World
from servers import MlflowServer

from rocmonitor.errors import ConfigError
from rocmonitor.service.listener.application import application
from rocmonitor.service.listener.server import listening
from rocmonitor.service.listener.webhook import TOLERANCE, WebhookReceiver, moved_alias, signed

SECRET = "of the webhook"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
STAMP = str(int(NOW.timestamp()))
EVENT = {"entity": "model_version_alias", "action": "created", "timestamp": NOW.isoformat()}
BODY = json.dumps(EVENT | {"data": {"name": "credit", "alias": "challenger", "version": "9"}}).encode()

Moved = Queue[tuple[str, str]]


@pytest.fixture
def moved() -> Moved:
    return Queue()


@contextmanager
def listening_to(clock: Callable[[], datetime], moved: Moved, port: int = 0) -> Iterator[int]:
    hook = WebhookReceiver(lambda: SECRET, lambda *alias: moved.put(alias), clock)
    with listening("127.0.0.1", port, application(webhook=hook), key="webhook.listen") as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def port(clock: Clock, moved: Moved) -> Iterator[int]:
    with listening_to(clock, moved) as port:
        yield port


def signature(body: bytes = BODY, *, secret: str = SECRET, stamp: str = STAMP) -> str:
    return str(mlflow_signature(secret, "d1", stamp, body.decode()))


def post(port: int, body: bytes, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(f"http://127.0.0.1:{port}/", data=body, headers=named, method="POST")
    try:
        with urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_what_mlflow_signed_is_known() -> None:
    assert signed("d1", STAMP, signature(), BODY, secret=SECRET, now=NOW)
    assert signed("d1", STAMP, signature(), BODY, secret=SECRET, now=NOW + TOLERANCE)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"delivery": "d2"}, "another delivery"),
        ({"delivery": ""}, "no delivery"),
        ({"stamp": str(int(STAMP) + 1)}, "another time"),
        ({"stamp": ""}, "no time"),
        ({"stamp": "²"}, "no number"),
        ({"signature": ""}, "no signature"),
        ({"signature": "v1,é"}, "no signature"),
        ({"signature": signature(secret="another")}, "another secret"),
        ({"signature": signature().removeprefix("v1,")}, "no version"),
        ({"body": BODY + b" "}, "another body"),
        ({"now": NOW + TOLERANCE + timedelta(seconds=1)}, "too old"),
        ({"now": NOW - TOLERANCE - timedelta(seconds=1)}, "of the future"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_mlflow_did_not_sign_is_refused(changed: dict[str, object], why: str) -> None:
    given = {"delivery": "d1", "stamp": STAMP, "signature": signature(), "body": BODY, "now": NOW}
    assert not signed(**(given | changed), secret=SECRET), why  # type: ignore[arg-type]


def test_only_aliases_matter() -> None:
    assert moved_alias(BODY) == ("credit", "challenger")
    tag = {"entity": "model_version_tag", "action": "set", "data": {"name": "credit", "key": "x"}}
    for other in (json.dumps(tag).encode(), b"", b"[]", b"{}", b"\xff", b'{"entity": "model_version_alias"}'):
        assert moved_alias(other) is None


def test_an_event_is_heard_once_and_a_forged_one_never(port: int, moved: Moved) -> None:
    good = {"X_MLflow_Delivery_Id": "d1", "X_MLflow_Timestamp": STAMP, "X_MLflow_Signature": signature()}
    assert post(port, BODY, **good) == 204
    assert moved.get(timeout=10) == ("credit", "challenger")
    assert post(port, BODY + b" ", **good) == 401
    assert post(port, BODY) == 401
    assert post(port, b" " * 70_000, **good) == 413
    with pytest.raises(HTTPError, match="405") as refused:
        urlopen(f"http://127.0.0.1:{port}/", timeout=10)
    refused.value.close()
    assert moved.empty()


def test_an_event_that_was_caught_cannot_be_sent_again(port: int, clock: Clock, moved: Moved) -> None:
    given = {"X_MLflow_Delivery_Id": "d1", "X_MLflow_Timestamp": STAMP, "X_MLflow_Signature": signature()}
    assert post(port, BODY, **given) == 204
    for seconds in (0, 1, TOLERANCE.total_seconds(), TOLERANCE.total_seconds() + 1):
        clock.now = NOW + timedelta(seconds=seconds)
        assert post(port, BODY, **given) == 401
    later = str(int(clock.now.timestamp()))
    again = signature(stamp=later)  # MLflow's next event, alike but for its time
    assert post(port, BODY, **given | {"X_MLflow_Timestamp": later, "X_MLflow_Signature": again}) == 204
    assert moved.qsize() == 2


def test_an_event_that_was_caught_cannot_be_sent_again_after_a_restart(clock: Clock, moved: Moved) -> None:
    given = {"X_MLflow_Delivery_Id": "d1", "X_MLflow_Timestamp": STAMP, "X_MLflow_Signature": signature()}
    with listening_to(clock, moved) as port:
        assert post(port, BODY, **given) == 204
    clock.now = NOW + timedelta(seconds=2)
    with listening_to(clock, moved) as port:
        assert post(port, BODY, **given) == 401
    assert moved.qsize() == 1


def test_one_of_the_future_is_remembered_until_its_time_is_over(
    port: int, clock: Clock, moved: Moved
) -> None:
    ahead = str(int((NOW + TOLERANCE).timestamp()))
    given = {"X_MLflow_Delivery_Id": "d1", "X_MLflow_Timestamp": ahead}
    given["X_MLflow_Signature"] = signature(stamp=ahead)
    assert post(port, BODY, **given) == 204
    clock.now = NOW + 2 * TOLERANCE  # the last instant at which it would be young enough
    assert post(port, BODY, **given) == 401
    assert moved.qsize() == 1


def test_a_body_in_chunks_is_taken_and_one_too_large_is_not(port: int, moved: Moved) -> None:
    head = f"X-MLflow-Delivery-Id: d1\r\nX-MLflow-Timestamp: {STAMP}\r\nX-MLflow-Signature: {signature()}\r\n"
    start = f"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode()
    for body, status in ((BODY, b"204"), (b" " * 100_000, b"413"), (b" " * 300_000, b"413")):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            with suppress(ConnectionError):  # the largest is refused before all of it was sent
                client.sendall(start + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            assert client.recv(1000).split()[1] == status
    assert moved.qsize() == 1


def test_a_port_that_is_taken_is_told(port: int) -> None:
    with (
        pytest.raises(ConfigError, match=rf"webhook\.listen.*127\.0\.0\.1:{port}.*name another"),
        listening_to(lambda: NOW, Queue(), port),
    ):
        pass


def test_a_real_registry_is_heard(mlflow_server: MlflowServer, moved: Moved) -> None:
    client = MlflowClient(mlflow_server.uri)
    with listening_to(lambda: datetime.now(UTC), moved) as port:
        hook = client.create_webhook(
            name="rocmonitor",
            url=f"http://127.0.0.1:{port}/",
            events=[WebhookEvent.from_str("model_version_alias.created")],
            secret=SECRET,
        )
        client.create_registered_model("heard")
        version = client.create_model_version("heard", "s3://nowhere/model").version
        client.set_registered_model_alias("heard", "challenger", version)
        assert moved.get(timeout=30) == ("heard", "challenger")
        client.delete_webhook(hook.webhook_id)


@pytest.mark.slow
def test_the_service_reviews_what_changes_hands(
    here: World, mlflow_server: MlflowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (20, 21):
        here.score(number)
    here.configure(
        window="{every: 7d, label_delay: 2d, end: 2026-06-08}",
        rules="[{kind: floor, value: 0.5}]",
        model="{name: handed-over, champion: champion, challenger: challenger}",
        mlflow=f"{{tracking_uri: '{mlflow_server.uri}'}}",
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    written = here.folder / "rocmonitor.yaml"
    hook = f"webhook: {{listen: '127.0.0.1:{port}', secret_env: SCENARIO_HOOK}}\n"
    written.write_text(f"{hook}{written.read_text()}    review: {{n_resamples: 99}}\n")
    monkeypatch.setenv("SCENARIO_HOOK", SECRET)
    client = MlflowClient(mlflow_server.uri)
    client.create_registered_model("handed-over")
    for alias in ("champion", "challenger"):
        version = client.create_model_version("handed-over", "s3://nowhere/model").version
        client.set_registered_model_alias("handed-over", alias, version)
    with serving(here) as process:
        seen = wait_for(process, "2026-06-01 to 2026-06-08|credit .*2026-06-01.*: ok")
        assert "review of credit" not in seen
        made = client.create_webhook(
            name="handed-over",
            url=f"http://127.0.0.1:{port}/",
            events=[WebhookEvent.from_str("model_version_alias.created")],
            secret=SECRET,
        )
        third = client.create_model_version("handed-over", "s3://nowhere/model").version
        client.set_registered_model_alias("handed-over", "challenger", third)
        wait_for(process, "MLflow says that alias challenger of handed-over has moved")
        wait_for(process, "review of credit: ")
        client.delete_webhook(made.webhook_id)
