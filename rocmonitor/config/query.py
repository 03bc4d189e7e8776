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

_SIDE_EFFECTS = re.compile(
    r"""\b(
        dblink(?:_\w+)? | lo_(?:creat|create|import|export|put|from_bytea|unlink|open|truncate|truncate64) |
        lowrite | pg_read_(?:binary_)?file | pg_file_\w+ | pg_ls_\w+ | pg_terminate_backend | pg_promote |
        pg_cancel_backend | pg_reload_conf | pg_rotate_logfile\w* | pg_switch_wal | pg_notify | set_config |
        pg_logical_emit_message | pg_(?:create|drop)_\w*replication_slot | pg_(?:try_)?advisory_\w+ |
        load_file | sys_exec | sys_eval | get_lock |
        load_extension | fts3_tokenizer | (?:try_)?reflect | java_method
    )["`]?\s*\(""",
    re.IGNORECASE | re.VERBOSE,
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
    if called := _side_effects(query):
        raise ValueError(
            f"calls {' and '.join(called)}, which reads files, reaches out or changes something; a source is "
            "only ever read from: leave it out"
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


def _side_effects(query: str) -> list[str]:
    """Functions that a read-only transaction does not stop; whichever way a backslash is read."""
    found = set()
    for text in _QUOTED:
        found |= {name.lower() for name in _SIDE_EFFECTS.findall(text.sub(_blank, query))}
    return sorted(found)


def _blank(quoted: re.Match[str]) -> str:
    """Names in quotes stay: they may be functions."""
    return quoted[0] if quoted[0][0] in '"`' else " "


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
