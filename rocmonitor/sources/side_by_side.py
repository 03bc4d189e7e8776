"""Queries whose rows over a span are the rows of the windows that lie side by side in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--|/\*|::|:\w+|\w+|[<>=!]+|\S")
_NAME = re.compile(r'\w+|"[^"]*"')
_OF_MANY_ROWS = frozenset(
    re.findall(
        r"\S+",
        "-- /* asof between distinct except exclude fetch for group having intersect into lateral limit"
        " offset over pivot positional qualify rand random rename replace sample tablesample top union"
        " unpivot values window with",
    )
)
"""Words of queries in which a row depends on others, and what is not looked into."""


@cache
def is_divisible(query: str, time: str) -> bool:
    """Return True if each row of a query depends on one time alone, which is in ``[:start, :end)``.

    That is one plain SELECT, whose WHERE demands ``x >= :start AND x < :end``, where `time` is ``x``. False
    in doubt: windows are then read one by one.

    Examples
    --------
    >>> is_divisible("SELECT id, at, p, y FROM scored WHERE at >= :start AND at < :end", "at")
    True
    >>> is_divisible("SELECT * FROM scored WHERE at BETWEEN :start AND :end", "at")
    False
    """
    tokens = [token if token[0] in "'\"" else token.casefold() for token in _TOKEN.findall(query)]
    if tokens[:1] != ["select"] or tokens.count("select") > 1 or not _OF_MANY_ROWS.isdisjoint(tokens):
        return False
    if tokens.count(":start") != 1 or tokens.count(":end") != 1:
        return False
    parts = _split(tokens[1:], ("from", "where", "order"))
    if [words[0] for words in parts[1:3]] != ["from", "where"] or "order" in parts[2]:
        return False
    chosen, table, condition = _split(parts[0], (",",)), parts[1][1:], parts[2][1:]
    demands = [words[1:] if words[:1] == ["and"] else words for words in _split(condition, ("and",))]
    if len(_split(condition, ("or", "case"))) > 1:
        return False
    compared = [name for name in map(_compared, demands) if name]
    if len(compared) != 2 or compared[0] != compared[1]:
        return False
    outputs = [words[1:] if words[:1] == [","] else words for words in chosen]
    names = ([time], [time.casefold()])
    own = [words for words in outputs if _plain(words[-1:]) in names]
    if own:
        [words, *others] = own
        expression = words[:-2] if words[-2:-1] == ["as"] else words
        return not others and ["*"] not in outputs and _plain(expression) == compared[0]
    alone = "join" not in table and "," not in table
    return any(words[-1:] == ["*"] for words in outputs) and alone and compared[0][-1:] in names


def _split(tokens: Sequence[str], at: Sequence[str]) -> list[list[str]]:
    parts, depth = [list[str]()], 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if not depth and token in at:
            parts.append([])
        parts[-1].append(token)
    return parts


def _plain(words: Sequence[str]) -> list[str]:
    is_name = len(words) % 2 and all(
        word == "." if at % 2 else _NAME.fullmatch(word) for at, word in enumerate(words)
    )
    return [word.strip('"') for word in words[::2]] if is_name else []


def _compared(demand: Sequence[str]) -> list[str]:
    """Return the column that a condition compares with an end of the window as windows do."""
    if list(demand[-2:]) in ([">=", ":start"], ["<", ":end"]):
        return _plain(demand[:-2])
    if list(demand[:2]) in ([":start", "<="], [":end", ">"]):
        return _plain(demand[2:])
    return []
