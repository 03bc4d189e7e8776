"""The answers over HTTP: the health, the metrics, and MLflow's events."""

from __future__ import annotations

import json
import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from rocmonitor.config.values import host_and_port
from rocmonitor.service.health import Service, service_health
from rocmonitor.service.listener.hosts import host_of, is_ours
from rocmonitor.service.listener.webhook import WebhookReceiver
from rocmonitor.wording.caveats import words_of

log = logging.getLogger(__name__)


def application(service: Service | None = None, webhook: WebhookReceiver | None = None) -> Flask:
    """Return the application of one address.

    With a service it answers ``/health``, ``/live`` and ``/metrics``; with a webhook it takes events at every
    other path.
    """
    app = Flask("rocmonitor.service.listener", static_folder=None)
    if service is not None:
        _watch(app, service)
    if webhook is not None:
        for rule in ("/", "/<path:_>"):
            app.add_url_rule(
                rule,
                rule,
                lambda _="": webhook.answer(request),
                methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                provide_automatic_options=False,
            )
    app.register_error_handler(HTTPException, _refusal)
    app.register_error_handler(Exception, _unforeseen)
    return app


def _watch(app: Flask, service: Service) -> None:
    from rocmonitor.service.listener.metrics import registry_of, written

    registry = registry_of(service)

    def health() -> Response:
        report = service_health(service)
        return _json(json.dumps(report.to_dict(), indent=1), healthy=report.healthy)

    def live() -> Response:
        report = service_health(service)
        problems = [] if report.alive else list(map(words_of, report.problems))
        return _json(json.dumps({"alive": report.alive, "problems": problems}), healthy=report.alive)

    def metrics() -> Response:
        text, content_type = written(registry, request.headers.get("Accept", ""))
        return Response(text, content_type=content_type, headers={"Cache-Control": "no-store"})

    def refused() -> Response | None:
        listen = service.runtime.config.listen
        if request.endpoint not in ("health", "live", "metrics"):
            return None  # events are signed
        if is_ours(host_of(request), None if listen is None else host_and_port(listen)[0]):
            return None
        text = (
            "answers to addresses and to names of this machine only; call it by one, or listen on this name\n"
        )
        return Response(text, 403, mimetype="text/plain")

    app.before_request(refused)
    for view in (health, live, metrics):
        app.add_url_rule(f"/{view.__name__}", view.__name__, view)


def _json(text: str, *, healthy: bool) -> Response:
    return Response(
        f"{text}\n",
        200 if healthy else 503,
        headers={"Cache-Control": "no-store"},
        mimetype="application/json",
    )


def _refusal(error: HTTPException) -> Response:
    answer = Response(f"{error.name}\n", error.code or 500, mimetype="text/plain")
    if allowed := getattr(error, "valid_methods", None):
        answer.headers["Allow"] = ", ".join(sorted(allowed))
    return answer


def _unforeseen(_: Exception) -> Response:
    log.exception("a request failed unexpectedly")
    return Response("failed; the log says why\n", 500, mimetype="text/plain")
