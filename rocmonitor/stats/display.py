"""A result on one line, and as a small table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rocmonitor.caveat import Caveat

_LONGEST = 140  # characters between the brackets of one line
_LONGEST_TUPLE = 3
_MOST_NUMBERS = 10
_ENDS = 5  # lines shown at each end of a long table


def one_line(name: str, values: Mapping[str, Any], *, tabular: bool) -> str:
    """The name of a result and its numbers; of a table and of long tuples the length only."""
    lengths = {len(value) for value in values.values() if isinstance(value, np.ndarray)} if tabular else set()
    parts = [f"rows={max(lengths)}"] if lengths else []
    parts += [f"{key}={_short(value)}" for key, value in values.items() if _is_shown(key, value)]
    if values.get("caveats"):
        parts.append(f"caveats={len(values['caveats'])}")
    text = ", ".join(parts)
    if len(text) > _LONGEST:
        text = f"{text[: text.rfind(', ', 0, _LONGEST)]}, …"
    return f"{name}({text})"


def table(values: Mapping[str, Any], *, line: str, tabular: bool, picture: str = "") -> str:
    """HTML: the line, a table with a line for each point or for each number, the picture, the caveats."""
    head, body = _points(values) if tabular else (("", "value"), _numbers(values))
    lines = "".join(f"<tr>{_cells('td', row)}</tr>" for row in body)
    notes = "".join(f"<li>{html.escape(str(caveat))}</li>" for caveat in values.get("caveats") or ())
    return (
        f"<div><p>{html.escape(line)}</p>"
        f"<table><thead><tr>{_cells('th', head)}</tr></thead><tbody>{lines}</tbody></table>"
        f"{picture}{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _points(values: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    columns = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    lines = [[_short(item) for item in row] for row in zip(*columns.values(), strict=True)]
    if len(lines) > 2 * _ENDS + 1:
        lines[_ENDS:-_ENDS] = [["…"] * len(columns)]
    return list(columns), list(lines)


def _numbers(values: Mapping[str, Any]) -> list[Sequence[str]]:
    lines: list[Sequence[str]] = [
        (key, _short(value)) for key, value in values.items() if _is_shown(key, value) and not _is_long(value)
    ]
    more = len(lines) - _MOST_NUMBERS
    return lines if more <= 1 else [*lines[:_MOST_NUMBERS], ("…", f"{more} more in to_dict()")]


def _is_shown(key: str, value: Any) -> bool:
    if isinstance(value, np.ndarray) or key == "caveats":
        return False
    return value is not None and value != ()


def _is_long(value: Any) -> bool:
    return isinstance(value, tuple) and (
        len(value) > _LONGEST_TUPLE or any(isinstance(item, Caveat) for item in value)
    )


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        if _is_long(value):
            return f"<{len(value)}>"
        return f"({', '.join(map(_short, value))})"
    return repr(value) if isinstance(value, str) else str(value)
