"""Views into pages: the templates, and how they write numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rocmonitor import __version__
from rocmonitor.errors import escape_controls
from rocmonitor.wording import page as wording

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
    made = Environment(
        loader=PackageLoader("rocmonitor.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "percent": percent,
        "code": code,
        "data": data,
        "typeset": typeset,
        "kind": kind,
        "word": wording.status_word,
    }
    made.globals["zip"] = zip
    return made


def number(value: float | None, form: str = "area") -> Markup:
    """A number, with its full precision on hover."""
    if value is None:
        return Markup(NOTHING)
    shown = _FORMATS[form].format(value).replace("-", "−")
    return Markup(f'<span title="{value!r}">{escape(shown)}</span>')


def percent(share: float | None, unit: str = "\u00a0%") -> Markup:
    """A share, with its full precision on hover; what is not all is never rounded to 100 %."""
    if share is None:
        return Markup(NOTHING)
    shown = f"{100 * share:.0f}" if share in (0, 1) else f"{100 * share:.1f}"
    if share < 1 and shown == "100.0":
        shown = "> 99.9"
    return Markup(f'<span title="{share!r}">{escape(shown)}{escape(unit)}</span>')


def data(value: Any) -> Markup:
    """JSON within a ``<script type="application/json">``: nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def code(words: str) -> Markup:
    """A sentence of ours, in which what stands between backticks is to be typed."""
    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(words))))


def typeset(words: str) -> str:
    """Cells of a review's tables, with true minus signs."""
    return _MINUS.sub("−", words)


def kind(cells: Sequence[str]) -> str:
    """The layout of a column of a review's tables: numbers to the right, short texts on one line."""
    if all(_NUMERIC.fullmatch(cell) for cell in cells):
        return "number"
    return "short" if max(map(len, cells), default=0) <= _SHORT else "text"
