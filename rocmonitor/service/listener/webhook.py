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
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug.wrappers import Request, Response

log = logging.getLogger(__name__)

TOLERANCE = timedelta(minutes=5)
"""The largest distance between an event's time and ours: a captured event cannot be sent again later."""

_LARGEST = 64 * 1024  # bytes of a body; MLflow's have some hundred

AliasMoved = Callable[[str, str], None]


def signed(delivery: str, stamp: str, signature: str, body: bytes, *, secret: str, now: datetime) -> bool:
    """Return True if MLflow signed these bytes with this secret, not long ago.

    The first three are the headers ``X-MLflow-Delivery-Id``, ``X-MLflow-Timestamp`` (seconds) and
    ``X-MLflow-Signature``, empty where there is none; `body` is as it came, not parsed and written again.

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
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


class WebhookReceiver:
    """Takes MLflow's events, each once, and none from before it was made: what came then is not remembered.

    The ticks and reviews that a start begins with see aliases that moved before. What is not signed with the
    secret is refused; `on_alias` is called with model and alias in a thread of its own, and must be quick.
    """

    def __init__(
        self, secret: Callable[[], str], on_alias: AliasMoved, clock: Callable[[], datetime]
    ) -> None:
        self._secret, self._on_alias, self._clock = secret, on_alias, clock
        self._since = int(clock().timestamp())  # events have whole seconds
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        """Return what MLflow is answered."""
        if request.method != "POST":
            return _plain("POST events of MLflow's registry here\n", 405, Allow="POST")
        if request.content_length is None or request.content_length > _LARGEST:
            return _plain("too large, or of no known length\n", 413)
        body, now = request.get_data(), self._clock()
        delivery, stamp, signature = (
            request.headers.get(f"X-MLflow-{name}", "") for name in ("Delivery-Id", "Timestamp", "Signature")
        )
        if not signed(delivery, stamp, signature, body, secret=self._secret(), now=now):
            log.warning("an event from %s was refused: it is not signed with our secret", request.remote_addr)
            return _plain("not signed with the secret of this webhook, or too old\n", 401)
        with self._lock:  # a signature is remembered for as long as its time is accepted
            self._seen = {known: end for known, end in self._seen.items() if end >= now.timestamp()}
            is_new = int(stamp) >= self._since and signature not in self._seen
            if is_new:
                self._seen[signature] = now.timestamp() + 2 * TOLERANCE.total_seconds()
        if not is_new:
            log.warning(
                "an event from %s was refused: it was received before, or is older than this process",
                request.remote_addr,
            )
            return _plain("received before, or older than this process\n", 401)
        moved = moved_alias(body)
        if moved is not None:
            log.info("MLflow says that alias %s of %s has moved", moved[1], moved[0])
            self._on_alias(*moved)
        return _plain("", 204)


def _plain(text: str, status: int, **headers: str) -> Response:
    from werkzeug.wrappers import Response

    return Response(text, status, headers, mimetype="text/plain")
