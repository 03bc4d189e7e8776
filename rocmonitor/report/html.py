"""Templates of pages and reports: the style, and how cells and numbers are set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

_LONG_WORD = 36

_NUMERIC = re.compile(r"–|flags nothing|not bounded yet|(< |[-+])?[\d.,]+( %)?( (to |\().*)?")

_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


def templates_of(package: str) -> Environment:
    """Return the templates of a package: everything is escaped, and what is absent is an error."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["zip"] = zip
    return made


@cache
def environment() -> Environment:
    """Return the templates of reports, with the style that all pages share."""
    made = templates_of("rocmonitor.report")
    made.filters["typeset"] = typeset
    styles = ("style.css", "report.css")
    made.globals["style"] = "".join(
        (files("rocmonitor.report") / name).read_text(encoding="utf-8") for name in styles
    )
    made.filters["kind"] = kind_of
    return made


def kind_of(cells: Sequence[str]) -> str:
    """Return the layout of a column: numbers to the right, short texts on one line, long words broken
    anywhere.
    """
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
