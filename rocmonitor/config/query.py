"""The query of a monitor: one SELECT that bounds its rows."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_BIND = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
# Quotes and comments of SQL, as the standard reads a backslash in a text, and as MySQL does.
_QUOTED = tuple(
    re.compile(rf"""{text}|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
    for text in (r"'[^']*'", r"'(?:[^'\\]|\\.)*'")
)


def binds(query: str) -> set[str]:
    """Names of what the query wants bound."""
    return set(_BIND.findall(query))


def one_bounded_select(query: str) -> str:
    """The query without its last semicolon; ValueError unless it is one SELECT between :start and :end."""
    query = query.strip().rstrip(";").strip()
    if not re.match(r"(select|with)\b", query, re.IGNORECASE):
        raise ValueError("must be one SELECT (or WITH … SELECT); it is only ever read from")
    if quoted := _quoted_binds(query):
        raise ValueError(
            f"has {' and '.join(quoted)} within quotes or a comment, where nothing can be bound; "
            "write :start, :end and :as_of outside of quotes and comments, and \\: for a colon in a text"
        )
    bound = binds(query)
    if missing := [f":{bind}" for bind in ("start", "end") if bind not in bound]:
        raise ValueError(
            f"must bound its rows by :start and :end (WHERE time >= :start AND time < :end); "
            f"{' and '.join(missing)} missing"
        )
    if unknown := sorted(bound - {"start", "end", "as_of"}):
        raise ValueError(
            f"binds :{', :'.join(unknown)}, which nothing gives a value; only :start, :end and :as_of "
            "are bound"
        )
    return query


def _quoted_binds(query: str) -> list[str]:
    """Binds in quotes or comments, whichever way a backslash is read."""
    readings = [[found.span() for found in quoted.finditer(query)] for quoted in _QUOTED]
    inside = {
        bind[0]
        for bind in _BIND.finditer(query)
        if all(any(start < bind.start() < end for start, end in spans) for spans in readings)
    }
    return sorted(inside)


Query = Annotated[str, AfterValidator(one_bounded_select)]
