"""The blueprint: addresses, the page or the JSON of each, and the headers of every answer."""

from __future__ import annotations

import gzip
import logging
from datetime import UTC, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, jsonify, redirect, request, url_for
from werkzeug.exceptions import BadRequest

from rocmonitor.errors import RocmonitorError
from rocmonitor.report import pages, review, shapes
from rocmonitor.report.html import STATIC, render, static
from rocmonitor.web import actions
from rocmonitor.web.actions import Permit
from rocmonitor.web.monitor import Choice, monitor_view, review_of
from rocmonitor.web.overview import as_json, overview, segments_view
from rocmonitor.web.site import AbsentError, Site
from rocmonitor.wording import page as wording
from rocmonitor.wording.page import WORST_FIRST
from rocmonitor.wording.review import with_verdict

log = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""The headers of every answer: only own scripts and styles, no frames, no guessed types, no referrer
for others; our own forms need one."""

_COMPRESSED_FROM = 2000  # bytes
_ASKED = ("from", "open", "revision", "segment", "status", "text", "to", "window")


def require_text() -> None:
    """Refuse a query of the address that is no UTF-8: reading it would fail."""
    try:
        request.query_string.decode()
    except UnicodeDecodeError:
        raise BadRequest("The address is not UTF-8.") from None


def blueprint(site: Site, prefix: str = "", permit: Permit = lambda _: "") -> Blueprint:
    """Return the pages of `site` under ``prefix``, which is empty or starts with a slash.

    `permit` says who the reader is, and may press buttons; by default everybody who can read.

    Examples
    --------
    >>> from pathlib import Path
    >>> blueprint(Site(path=Path("rocmonitor.yaml")), "/rocmonitor").url_prefix
    '/rocmonitor'
    """
    made = Blueprint("rocmonitor", __name__, url_prefix=prefix or None, static_folder=None)
    made.before_request(require_text)
    routes = {
        "/": (_overview, "overview"),
        "/overview.json": (_overview, "overview_json"),
        "/monitors/<name>": (partial(_monitor, permit=permit), "monitor"),
        "/monitors/<name>.json": (partial(_monitor, permit=permit), "monitor_json"),
        "/monitors/<name>/segments": (_segments, "segments"),
        "/monitors/<name>/segments.json": (_segments, "segments_json"),
        "/monitors/<name>/reviews/<int(max=2147483647):id>": (_review, "review"),
        "/monitors/<name>/reviews/<int(max=2147483647):id>.json": (_review, "review_json"),
    }
    for rule, (view, endpoint) in routes.items():
        made.add_url_rule(rule, endpoint, _answering(view, site), methods=["GET"])
    for what in ("acknowledge", "mute"):
        press = _answering(partial(_press, what=what, permit=permit), site)
        made.add_url_rule(f"/monitors/<name>/{what}", what, press, methods=["POST"])
    made.add_url_rule("/static/<path:file>", "static", _static, methods=["GET"])
    made.after_request(finish)
    return made


def finish(response: Response) -> Response:
    """Headers and, where the reader takes it, compression."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "no-cache, private")
    response.headers["Vary"] = "Accept-Encoding, Cookie"
    if (
        "gzip" in request.headers.get("Accept-Encoding", "")
        and response.status_code == 200
        and "Content-Encoding" not in response.headers
        and len(response.get_data()) >= _COMPRESSED_FROM
    ):
        response.set_data(gzip.compress(response.get_data(), 5, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response


def problem(title: str, text: str, status: int) -> Response:
    """Return an answer that says what is wrong."""
    if _wants_json():
        answer: Response = jsonify(error=text)
        answer.status_code = status
        return answer
    return Response(
        render("problem.html.j2", title=title, text=text, home=_home()), status, mimetype="text/html"
    )


def _answering(view: Any, site: Site) -> Any:
    def answer(**arguments: Any) -> Any:
        try:
            return view(site, **arguments)
        except actions.RefusedError as refused:
            log.warning("%s: a button was refused: %s", request.path, refused)
            return problem("Nothing was changed", str(refused), refused.status)
        except AbsentError as absent:
            return problem("Not found", str(absent), 404)
        except RocmonitorError as error:
            log.warning("the page cannot be shown: %s", error)
            return problem("This page cannot be shown now", str(error), 503)

    return answer


def _overview(site: Site) -> Any:
    status = request.args.get("status", "")
    view = overview(
        site,
        status=status if status in WORST_FIRST else "",
        text=request.args.get("text", "").strip()[:100],
        opened=request.args.get("open", ""),
    )
    if _wants_json():
        return jsonify(as_json(view))
    return render(
        "overview.html.j2",
        view=view,
        filters=view["filters"],
        spark=shapes.spark,
        sparks=(shapes.STEP, shapes.HEIGHT),
        home=_home(),
        json_address=_json_address("overview_json"),
    )


def _press(site: Site, name: str, what: str, permit: Permit) -> Response:
    actions.act(site, name, what, permit)
    answer: Response = redirect(url_for("rocmonitor.monitor", name=name), 303)  # type: ignore[assignment]
    return answer


def _monitor(site: Site, name: str, permit: Permit) -> Any:
    try:
        choice = _choice(site.monitor(name).timezone)
    except ValueError as wrong:
        return problem("The address is wrong", str(wrong), 400)
    view = monitor_view(site, name, choice)
    if _wants_json():
        return jsonify(view)
    form = actions.form(name, permit)
    address = _json_address("monitor_json", name=name)
    answer = Response(
        pages.monitor_page(view, home=_home(), json_address=address, form=form), mimetype="text/html"
    )
    return answer if form is None else actions.keep_session(answer, _home())


def _choice(zone: ZoneInfo) -> Choice:
    """Return what the address asks for; a ValueError says which argument makes no sense."""
    given = request.args.get("revision", "")
    if given and not (given.isascii() and given.isdigit() and len(given) < 7):
        raise ValueError(wording.WRONG_REVISION.format(given))
    start, end = (_moment(option, zone) for option in ("from", "to"))
    if start is not None and end is not None and start >= end:
        raise ValueError(wording.WRONG_ORDER.format(request.args["from"], request.args["to"]))
    return Choice(
        start=start,
        end=end,
        segment=request.args.get("segment", ""),
        window=request.args.get("window", ""),
        revision=int(given) if given else None,
    )


def _moment(option: str, zone: ZoneInfo) -> datetime | None:
    text = request.args.get(option, "")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).astimezone(UTC)
        moment.astimezone(zone)
    except (ValueError, OverflowError):  # the first and the last days of all have no time in other zones
        raise ValueError(wording.WRONG_TIME.format(option, text)) from None
    return moment


def _segments(site: Site, name: str) -> Any:
    view = segments_view(site, name, request.args.get("window", ""))
    if _wants_json():
        return jsonify(view)
    return render(
        "segments.html.j2",
        view=view,
        forest=shapes.forest(view["segments"]),
        home=_home(),
        json_address=_json_address("segments_json", name=name),
    )


def _review(site: Site, name: str, id: int) -> Any:
    chosen = review_of(site, name, id)
    if _wants_json():
        return jsonify(with_verdict(chosen))
    address = _json_address("review_json", name=name, id=id)
    return review.page(chosen, zone=chosen.zone, home=_home(), json_address=address)


def _static(file: str) -> Any:
    if file not in STATIC:
        return problem("Not found", wording.NOT_FOUND, 404)
    response = Response(static(file), mimetype=STATIC[file][1])
    # Its address has the version in it.
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response


def _wants_json() -> bool:
    return request.path.endswith(".json")


def _home() -> str:
    return url_for("rocmonitor.overview")


def _json_address(endpoint: str, **values: Any) -> str:
    # Only what a page reads: Flask takes other names, such as _scheme, as its own arguments.
    asked = {name: value for name, value in request.args.items() if name in _ASKED}
    return url_for(f"rocmonitor.{endpoint}", **values, **dict[str, Any](asked))
