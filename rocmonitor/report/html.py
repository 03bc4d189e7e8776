"""Pages: the templates, how numbers and words are set in them, and the files that a page needs.

A page is served, with links to its styles and scripts, or one file, with these written into it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rocmonitor import __version__
from rocmonitor.errors import escape_controls
from rocmonitor.wording import page as wording
from rocmonitor.wording.format import percent as written
from rocmonitor.wording.format import rate

NOTHING = "–"

STATIC = {
    "style.css": ("style.css", "text/css"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "chart.js": ("chart.js", "text/javascript"),
    "uplot.js": ("uplot/uPlot.iife.min.js", "text/javascript"),
    "uplot.css": ("uplot/uPlot.min.css", "text/css"),
}
"""The files of a page by name: path below ``static``, type."""

_LONG_WORD = 36
_NUMERIC = re.compile(r"–|flags nothing|not bounded yet|(< |[-+])?[\d.,]+( %)?( (to |\().*)?")
_TYPED = re.compile(r"`([^`]*)`")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?!\d)")  # broken by a browser at its last hyphen
_FRACTION = re.compile(r"(?<=T\d\d:\d\d:\d\d)\.\d+")
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")
_FORMATS = {
    "area": "{:.3f}",
    "short": "{:.2f}",
    "signed": "{:+.3f}",
    "count": "{:,.0f}",
    "general": "{:.4g}",
}


def render(template: str, *, home: str | None = None, **values: Any) -> str:
    """Return a page; everything is escaped but what `Markup` marks, and control characters are written out.

    A page that is served has the address of the overview as its `home`; without it, it is one file, which
    asks for nothing and has no links to other pages.
    """
    return escape_controls(environment().get_template(template).render(home=home, **values))


def static(name: str) -> bytes:
    """Return one of the files of a page."""
    return (files("rocmonitor.report") / "static" / STATIC[name][0]).read_bytes()


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and what is absent is an error."""
    made = Environment(
        loader=PackageLoader("rocmonitor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "zip": zip,
        "version": __version__,
        "words": wording,
        "rate": rate,
        "inline": _inline,
        "digest": _digest,
    }
    made.filters |= {
        "number": number,
        "percent": percent,
        "share": written,
        "code": code,
        "dated": dated,
        "data": data,
        "typeset": typeset,
        "kind": kind_of,
        "word": wording.status_word,
    }
    return made


@cache
def _inline(name: str) -> Markup:
    """Return the text of a script or style, as it stands within its element."""
    return Markup(static(name).decode())


@cache
def _digest(name: str) -> str:
    """Return the source expression that lets a page's policy run one script and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(static(name)).digest()).decode()}'"


def number(value: float | None, form: str = "area") -> Markup:
    """Return a number, with its full precision on hover."""
    if value is None:
        return Markup(NOTHING)
    shown = _FORMATS[form].format(value).replace("-", "−")
    return Markup(f'<span title="{value!r}">{escape(shown)}</span>')


def percent(share: float | None, digits: int = 3) -> Markup:
    """Write a share as everywhere, with its full precision on hover."""
    if share is None:
        return Markup(NOTHING)
    return Markup(f'<span title="{share!r}">{escape(typeset(written(share, digits)))}</span>')


def data(value: Any) -> Markup:
    """Return JSON for a ``<script type="application/json">``: nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def code(words: str) -> Markup:
    """Return a sentence of ours, in which what stands between backticks is to be typed."""
    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(words))))


def dated(words: str | Markup) -> Markup:
    """Return text whose dates stay on one line, times end at the second, and digests show 12 digits."""
    text = _DIGEST.sub(r'<span title="\g<0>">\1</span>', _FRACTION.sub("", str(escape(words))))
    return Markup(_DATE.sub(r'<span class="date">\g<0></span>', text))


def kind_of(cells: Sequence[str]) -> str:
    """Return the layout of a column: numbers right, short texts on one line, long words broken anywhere."""
    if all(_NUMERIC.fullmatch(cell) for cell in cells):
        return "number"
    if max(len(word) for cell in cells for word in cell.split() or [""]) > _LONG_WORD:
        return "word"
    return "short" if max(map(len, cells)) <= _LONG_WORD else "text"


def typeset(words: str) -> str:
    """Our own words and cells, with true minus signs and no line that starts with “%” or “to”."""
    return (
        _MINUS.sub("−", words)
        .replace(" %", "\u00a0%")
        .replace("< ", "<\u00a0")
        .replace(" to +", "\u00a0to +")
        .replace(" to −", "\u00a0to −")
    )
