"""The blueprint: addresses, the page or the JSON of each, and the headers of every answer."""

from __future__ import annotations

import gzip
import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from flask import Blueprint, Response, jsonify, request, url_for
from jinja2 import Environment
from markupsafe import Markup, escape
from werkzeug.exceptions import BadRequest

from rocmonitor import __version__
from rocmonitor.errors import RocmonitorError, escape_controls
from rocmonitor.report.html import templates_of
from rocmonitor.report.review import notes
from rocmonitor.report.review.tables import shown
from rocmonitor.web import chart, drawing, figures
from rocmonitor.web.monitor import HEADLINE, SECTIONS, Choice, monitor_view, review_of
from rocmonitor.web.overview import Filters, as_json, overview, segments_view
from rocmonitor.web.site import Site
from rocmonitor.wording import page as wording
from rocmonitor.wording import review as review_wording
from rocmonitor.wording.format import percent as written
from rocmonitor.wording.marks import WORST_FIRST

NOTHING = "–"

_SHORT = 32

_NUMERIC = re.compile(r"–|flags nothing|not bounded yet|(< |[-+])?[\d.,]+( %)?( (to |\().*)?")
_TYPED = re.compile(r"`([^`]*)`")
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")

_FORMATS = {
    "area": "{:.3f}",
    "area4": "{:.4f}",
    "signed": "{:+.4f}",
    "count": "{:,.0f}",
    "general": "{:.4g}",
}


def render(template: str, **values: Any) -> str:
    """One page. Everything is escaped but what `Markup` marks; control characters are written out."""
    page = environment().get_template(template).render(version=__version__, words=wording, **values)
    return escape_controls(page)


@cache
def environment() -> Environment:
    """Our own, for the server that we are a guest of may not escape."""
    made = templates_of("rocmonitor.web")
    made.filters |= {
        "number": number,
        "percent": percent,
        "share": written,
        "code": code,
        "data": data,
        "typeset": typeset,
        "kind": kind,
        "word": wording.status_word,
    }
    return made


def number(value: float | None, form: str = "area") -> Markup:
    """Return a number, with its full precision on hover."""
    if value is None:
        return Markup(NOTHING)
    shown = _FORMATS[form].format(value).replace("-", "−")
    return Markup(f'<span title="{value!r}">{escape(shown)}</span>')


def percent(share: float | None, unit: str = "\u00a0%") -> Markup:
    """Write a share as everywhere, with its full precision on hover."""
    if share is None:
        return Markup(NOTHING)
    shown = written(share).removesuffix(" %")
    return Markup(f'<span title="{share!r}">{escape(shown)}{escape(unit)}</span>')


def data(value: Any) -> Markup:
    """JSON within a ``<script type="application/json">``: nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def code(words: str) -> Markup:
    """Return a sentence of ours, in which what stands between backticks is to be typed."""
    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(words))))


def typeset(words: str) -> str:
    """Cells of a review's tables, with true minus signs."""
    return _MINUS.sub("−", words)


def kind(cells: Sequence[str]) -> str:
    """Return the layout of a column of a review's tables: numbers to the right, short texts on one line."""
    if all(_NUMERIC.fullmatch(cell) for cell in cells):
        return "number"
    return "short" if max(map(len, cells), default=0) <= _SHORT else "text"


log = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""The headers of every answer: only own scripts and styles, no frames, no guessed types, no referrer."""

STATIC = {
    "style.css": ("rocmonitor.report", "style.css", "text/css"),
    "page.css": ("rocmonitor.web", "static/page.css", "text/css"),
    "page.js": ("rocmonitor.web", "static/page.js", "text/javascript"),
    "chart.js": ("rocmonitor.web", "static/chart.js", "text/javascript"),
    "uplot.js": ("rocmonitor.web", "static/uplot/uPlot.iife.min.js", "text/javascript"),
    "uplot.css": ("rocmonitor.web", "static/uplot/uPlot.min.css", "text/css"),
}
"""Files by name: package, path in it, type."""

_COMPRESSED_FROM = 2000  # bytes
_ASKED = ("open", "revision", "segment", "status", "text", "window")


def require_text() -> None:
    """Refuse a query of the address that is no UTF-8: reading it would fail."""
    try:
        request.query_string.decode()
    except UnicodeDecodeError:
        raise BadRequest("The address is not UTF-8.") from None


def blueprint(site: Site, prefix: str = "") -> Blueprint:
    """Return the pages of `site` under ``prefix``, which is empty or starts with a slash.

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
        "/monitors/<name>": (_monitor, "monitor"),
        "/monitors/<name>.json": (_monitor, "monitor_json"),
        "/monitors/<name>/segments": (_segments, "segments"),
        "/monitors/<name>/segments.json": (_segments, "segments_json"),
        "/monitors/<name>/reviews/<int(max=2147483647):id>": (_review, "review"),
        "/monitors/<name>/reviews/<int(max=2147483647):id>.json": (_review, "review_json"),
    }
    for rule, (view, endpoint) in routes.items():
        made.add_url_rule(rule, endpoint, _answering(view, site), methods=["GET"])
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
            found = view(site, **arguments)
        except RocmonitorError as error:
            log.warning("the page cannot be shown: %s", error)
            return problem("This page cannot be shown now", str(error), 503)
        if found is None:
            return problem("Not found", wording.NOT_FOUND, 404)
        return found

    return answer


def _overview(site: Site) -> Any:
    filters = Filters(
        status=_one_of(request.args.get("status", ""), WORST_FIRST),
        text=request.args.get("text", "").strip()[:100],
        opened=request.args.get("open", ""),
    )
    view = overview(site, filters)
    if _wants_json():
        return _json(as_json(view))
    return render(
        "overview.html.j2",
        view=view,
        filters=filters,
        spark=drawing.spark,
        sparks=(drawing.STEP, drawing.HEIGHT),
        home=_home(),
        json_address=_json_address("overview_json"),
    )


def _monitor(site: Site, name: str) -> Any:
    revision = request.args.get("revision", "")
    if revision and not (revision.isascii() and revision.isdigit() and len(revision) < 7):
        return None
    choice = Choice(
        segment=request.args.get("segment", ""),
        window=request.args.get("window", ""),
        revision=int(revision) if revision else None,
    )
    view = monitor_view(site, name, choice)
    if view is None or _wants_json():
        return None if view is None else _json(view)
    return render(
        "monitor.html.j2",
        view=view,
        chart=chart.monitor_chart(view),
        still=figures.still(view["points"]),
        roc=figures.roc,
        shares=figures.shares,
        waterfall=figures.groups,
        bar=figures.bar,
        home=_home(),
        json_address=_json_address("monitor_json", name=name),
    )


def _segments(site: Site, name: str) -> Any:
    view = segments_view(site, name, request.args.get("window", ""))
    if view is None or _wants_json():
        return None if view is None else _json(view)
    return render(
        "segments.html.j2",
        view=view,
        forest=figures.forest(view["segments"]),
        home=_home(),
        json_address=_json_address("segments_json", name=name),
    )


def _review(site: Site, name: str, id: int) -> Any:
    found = review_of(site, name, id)
    if found is None or _wants_json():
        return None if found is None else _json(found.to_dict())
    numbers = notes.key_numbers(found)
    return render(
        "review.html.j2",
        review=found,
        name=name,
        kind=found.decision.name.lower(),
        summary=review_wording.summary(found),
        advice=review_wording.advice(found),
        rule=review_wording.rule(found),
        single=review_wording.one_check(found),
        headline=[cell for cell in numbers if cell[0].startswith(HEADLINE)],
        numbers=[cell for cell in numbers if not cell[0].startswith(HEADLINE)],
        captions=notes.figures(found),
        left_out=notes.LEFT_OUT,
        sections=SECTIONS,
        tables=shown(found, found.zone),
        chart=chart.review_chart(found),
        roc=figures.roc,
        zone=str(found.zone),
        home=_home(),
        json_address=_json_address("review_json", name=name, id=id),
    )


def _static(file: str) -> Any:
    if file not in STATIC:
        return problem("Not found", wording.NOT_FOUND, 404)
    package, path, kind = STATIC[file]
    response = Response((files(package) / path).read_bytes(), mimetype=kind)
    # Its address has the version in it.
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response


def _json(view: Mapping[str, Any]) -> Response:
    answer: Response = jsonify(view)
    return answer


def _wants_json() -> bool:
    return request.path.endswith(".json")


def _home() -> str:
    return url_for("rocmonitor.overview")


def _json_address(endpoint: str, **values: Any) -> str:
    # Only what a page reads: Flask takes other names, such as _scheme, as its own arguments.
    asked = {name: value for name, value in request.args.items() if name in _ASKED}
    return url_for(f"rocmonitor.{endpoint}", **values, **dict[str, Any](asked))


def _one_of(given: str, known: tuple[str, ...]) -> str:
    return given if given in known else ""
