"""Buttons: acknowledge and mute, for people who may, from these pages alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, request

from rocmonitor import store
from rocmonitor.errors import ConfigError
from rocmonitor.service import attending
from rocmonitor.web.site import Site

Permit = Callable[[str], str | None]
"""From a monitor to the reader's name, empty if it is not known; None for one who may press no button."""

COOKIE = "rocmonitor-form"
LONGEST = timedelta(days=90)
"""The longest time that a button mutes for."""

_LARGEST = 4096  # bytes of a form


class RefusedError(Exception):
    """A button changed nothing; the status of the answer, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def form(name: str, permit: Permit) -> dict[str, Any] | None:
    """Return what the forms of a monitor's page need; None for a reader who may not press buttons."""
    by = permit(name)
    return None if by is None else {"by": by, "token": _token(_session(), name)}


def keep_session(response: Response, path: str) -> Response:
    """Set the cookie that the token of a form belongs to."""
    response.set_cookie(
        COOKIE, _session(), path=path, httponly=True, samesite="Strict", secure=request.is_secure
    )
    return response


def act(site: Site, name: str, what: str, permit: Permit) -> None:
    """Acknowledge or mute, as the form says; RefusedError if it is not ours, or makes no sense."""
    if (request.content_length or 0) > _LARGEST:
        raise RefusedError(413, "The form is too large.")
    origin = request.headers.get("Origin") or request.headers.get("Referer") or ""
    if urlsplit(origin).netloc != request.host:
        raise RefusedError(403, "The request came from another site, or did not say from which.")
    session, given = request.cookies.get(COOKIE, ""), request.form.get("token", "")
    if len(session) < _LENGTH or not hmac.compare_digest(given.encode(), _token(session, name).encode()):
        raise RefusedError(403, "The form is too old, or was not made by this page: open the monitor again.")

    config = site.config()
    if name not in config.monitors:
        raise RefusedError(404, f"There is no monitor {name!r}.")
    by = permit(name)
    if by is None:
        raise RefusedError(
            403, f"You may not change the experiment of {name} in MLflow, so you may not do this."
        )
    fields = {key: request.form.get(key, "") for key in ("by", "note", "for")}
    by = by or fields["by"].strip()
    if not by:
        raise RefusedError(400, "Say who you are: the name stands beside the status.")
    now = site.clock()
    try:
        with store.open_store(config.store_url) as kept:
            if what == "acknowledge":
                attending.acknowledge(kept, name, by=by, note=fields["note"], now=now)
                return
            until = None if fields["for"] == "end" else attending.after(now, fields["for"], "The time")
            if until is not None and not now < until <= now + LONGEST:
                raise RefusedError(400, f"The time must be from 1 second to {LONGEST.days} days.")
            attending.mute(kept, name, by=by, note=fields["note"], until=until)
    except ConfigError as error:
        raise RefusedError(400, str(error)) from None


def name_if_accepted(app: Flask, path: str, body: Mapping[str, str]) -> str | None:
    """Return the reader's name if the checks of an application accept a request of theirs, which is not made.

    The checks are those that the application runs before each request, so that they hold with any log-in.
    """
    login = request.authorization
    sent = {name: request.headers[name] for name in ("Authorization", "Cookie") if name in request.headers}
    with app.test_request_context(
        path, method="POST", json=dict(body), headers=sent, base_url=request.host_url
    ):
        refused = app.preprocess_request()
    if refused is not None:
        return None
    return (login.username if login else None) or ""


_LENGTH = 32


def _session() -> str:
    """Return a secret of this browser, the same for all forms of an answer."""
    session = request.cookies.get(COOKIE, "")
    if len(session) < _LENGTH:
        session = request.environ.setdefault("rocmonitor.session", secrets.token_urlsafe(_LENGTH))
    return str(session)


def _token(session: str, name: str) -> str:
    """Return the token of a monitor's forms: who knows neither the cookie nor the server's key has none."""
    key = current_app.secret_key or b""
    key = key.encode() if isinstance(key, str) else key
    return hmac.new(key + session.encode(), name.encode(), hashlib.sha256).hexdigest()
