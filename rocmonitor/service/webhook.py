"""MLflow's registry webhook: an alias that moves starts a review sooner than the schedule would.

Nothing depends on it. MLflow delivers an event at most once and loses it in a crash, so aliases are polled at
every tick all the same; what arrives here only saves the wait. https://mlflow.org/docs/latest/ml/webhooks
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from werkzeug.wrappers import Request, Response

log = logging.getLogger(__name__)

TOLERANCE = timedelta(minutes=5)
"""How far an event's time may lie from ours: one that was caught on its way cannot be sent again later."""

_LARGEST = 64 * 1024  # bytes of a body; MLflow's have some hundred

AliasMoved = Callable[[str, str], None]


def signed(delivery: str, stamp: str, signature: str, body: bytes, *, secret: str, now: datetime) -> bool:
    """Whether MLflow signed these bytes with this secret, not long ago.

    Parameters
    ----------
    delivery, stamp, signature : str
        The headers ``X-MLflow-Delivery-Id``, ``X-MLflow-Timestamp`` (seconds) and ``X-MLflow-Signature``;
        empty where there is none.
    body : bytes
        As it came, not parsed and written again.
    secret : str
        The one that the webhook was made with.
    now : datetime

    Examples
    --------
    >>> from datetime import UTC
    >>> signed("", "", "", b"{}", secret="of the webhook", now=datetime.now(UTC))
    False
    """
    if not delivery or not (stamp.isascii() and stamp.isdigit() and len(stamp) < 16):
        return False
    if abs(now.timestamp() - int(stamp)) > TOLERANCE.total_seconds():
        return False
    code = hmac.new(secret.encode(), f"{delivery}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return hmac.compare_digest(b"v1," + base64.b64encode(code), signature.encode())


def moved_alias(body: bytes) -> tuple[str, str] | None:
    """Model and alias of an event that says an alias was given a version or lost it; None for any other."""
    try:
        event = json.loads(body)
        if event["entity"] != "model_version_alias":  # our own tags come as model_version_tag
            return None
        return str(event["data"]["name"]), str(event["data"]["alias"])
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


@contextmanager
def listening(
    host: str, port: int, secret: str, on_alias: AliasMoved, clock: Callable[[], datetime]
) -> Iterator[int]:
    """Take MLflow's events at ``http://host:port/`` while the block runs.

    Parameters
    ----------
    host : str
    port : int
        0 takes any that is free.
    secret : str
        What is not signed with it is refused with 401.
    on_alias : callable
        Told model and alias, in a thread of its own; must be quick.
    clock : callable

    Yields
    ------
    int
        The port.

    Raises
    ------
    ConfigError
        The address cannot be listened on.
    """
    from werkzeug.serving import WSGIRequestHandler, make_server
    from werkzeug.wrappers import Request

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: object) -> None:  # noqa: ARG002
            log.debug(message, *args)

    @Request.application
    def application(request: Request) -> Response:
        return _answer(request, secret, on_alias, clock)

    try:
        # Of our own: werkzeug prints and ends the process where it cannot have one.
        opened = socket.create_server((host, port))
    except OSError as error:
        raise ConfigError(
            f"webhook.listen: cannot listen on {host}:{port}: {error.strerror}; name another host or port"
        ) from None
    with opened:  # the server has a copy
        server = make_server(
            host, port, application, threaded=True, request_handler=Quiet, fd=opened.fileno()
        )
    thread = threading.Thread(target=server.serve_forever, name="webhook", daemon=True)
    thread.start()
    log.info("listening to MLflow's registry on http://%s:%d/", host, server.port)
    try:
        yield server.port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(request: Request, secret: str, on_alias: AliasMoved, clock: Callable[[], datetime]) -> Response:
    from werkzeug.wrappers import Response

    if request.method != "POST":
        return Response("POST events of MLflow's registry here\n", 405, {"Allow": "POST"})
    if request.content_length is None or request.content_length > _LARGEST:
        return Response("too large, or of no known length\n", 413)
    body = request.get_data()
    delivery, stamp, signature = (
        request.headers.get(f"X-MLflow-{name}", "") for name in ("Delivery-Id", "Timestamp", "Signature")
    )
    if not signed(delivery, stamp, signature, body, secret=secret, now=clock()):
        log.warning("an event from %s was refused: it is not signed with our secret", request.remote_addr)
        return Response("not signed with the secret of this webhook, or too old\n", 401)
    moved = moved_alias(body)
    if moved is not None:
        log.info("MLflow says that alias %s of %s has moved", moved[1], moved[0])
        on_alias(*moved)
    return Response(status=204)
