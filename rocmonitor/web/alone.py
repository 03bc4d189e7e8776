"""The page on its own: the application of ``rocmonitor ui``, and who may see it."""

from __future__ import annotations

import hashlib
import hmac
import logging
from urllib.parse import urlencode

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import BadHost, HTTPException, MethodNotAllowed

from rocmonitor.report.html import render
from rocmonitor.service.listener.hosts import host_of
from rocmonitor.web.pages import blueprint, finish, problem, require_text
from rocmonitor.web.site import Site
from rocmonitor.wording import page as wording

log = logging.getLogger(__name__)

COOKIE = "rocmonitor"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""

_WEEK = 7 * 24 * 3600


def create_app(site: Site, token: str | None = None) -> Flask:
    """Return the pages as an application of their own.

    Who shows the token once (``?token=…``, the form, or ``Authorization: Bearer …``) may read. Without one
    the pages answer only under the names of this machine, so that a foreign page cannot reach them by
    pointing a name of its own here.
    """
    app = Flask("rocmonitor.web", static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.register_blueprint(blueprint(site))
    app.before_request(require_text)
    app.before_request(lambda: _refused(token))
    if token is not None:
        app.add_url_rule("/sign-in", "sign_in", lambda: _sign_in(token), methods=["POST"])
    app.register_error_handler(404, lambda _: problem("Not found", wording.NOT_FOUND, 404))
    app.register_error_handler(405, _not_allowed)
    app.register_error_handler(HTTPException, _refusal)
    app.register_error_handler(Exception, _unforeseen)
    app.after_request(finish)
    return app


def _refused(token: str | None) -> Response | None:
    """Why this request gets no page; None when it does."""
    if token is None:
        if host_of(request) not in LOOPBACK:
            return Response(
                "rocmonitor ui answers only to localhost; see --token-env\n", 403, mimetype="text/plain"
            )
        return None
    given = request.args.get("token")
    if given is not None and request.method == "GET":
        return _signed_in(token, _without_token()) if _same(given, token) else _ask(wrong=True)
    if request.path == "/sign-in" or request.path.startswith("/static/"):
        return None
    if _same(request.cookies.get(COOKIE, ""), _cookie(token)):
        return None
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and _same(bearer.strip(), token):
        return None
    return _ask(wrong=False)


def _sign_in(token: str) -> Response:
    to = request.form.get("to", "/")
    if not _same(request.form.get("token", ""), token):
        return _ask(wrong=True, to=to)
    return _signed_in(token, to)


def _signed_in(token: str, to: str) -> Response:
    answer: Response = redirect(_inside(to), 303)  # type: ignore[assignment]
    answer.headers["Cache-Control"] = "no-store"
    answer.set_cookie(
        COOKIE, _cookie(token), max_age=_WEEK, httponly=True, samesite="Strict", secure=request.is_secure
    )
    return answer


def _ask(*, wrong: bool, to: str | None = None) -> Response:
    if wrong:
        log.warning("%s showed a wrong token", request.remote_addr)
    to = _inside(_without_token() if to is None else to)
    answer = Response(render("sign_in.html.j2", wrong=wrong, to=to, home="/"), 401, mimetype="text/html")
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _inside(to: str) -> str:
    """Return an address within these pages; any other becomes the overview."""
    # Browsers read \\ as /, and leave out tabs and line breaks: each could make //elsewhere of it.
    odd = "\\" in to or not to.isprintable()
    return "/" if odd or not to.startswith("/") or to.startswith("//") else to


def _without_token() -> str:
    left = [(name, value) for name, value in request.args.items(multi=True) if name != "token"]
    return request.path + (f"?{urlencode(left)}" if left else "")


def _cookie(token: str) -> str:
    """Return a proof that the token was known, and is not it."""
    return hmac.new(token.encode(), b"rocmonitor ui", hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _not_allowed(error: MethodNotAllowed) -> Response:
    """Return the methods that an address takes, also in the header that HTTP asks for."""
    allowed = sorted(set(error.valid_methods or ()) - {"OPTIONS"})
    answer = problem("Not possible here", wording.not_allowed(request.method, allowed), 405)
    answer.headers["Allow"] = ", ".join(allowed)
    return answer


def _refusal(error: HTTPException) -> Response:
    """Return a request that cannot be read, or is too large."""
    if isinstance(request.routing_exception, BadHost):  # a page is made with addresses, and this has none
        return Response("the Host header cannot be read\n", 400, mimetype="text/plain")
    return problem(error.name, error.description or error.name, error.code or 500)


def _unforeseen(_: Exception) -> Response:
    log.exception("a page failed unexpectedly")
    return problem("This page failed", wording.UNFORESEEN, 500)
