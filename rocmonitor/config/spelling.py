"""Advice on what was probably meant: keys that are nearly right, levels in percent, variables in values."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from rocmonitor.config.models import Config

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHARES = ("confidence_level", "min_labelled", "prevalence")
_IN_A_VARIABLE = {"url": "url_env", "tracking_uri": "tracking_uri_env"}


def nearest(name: str, known: Sequence[str]) -> str:
    """`: did you mean NAME?`, or nothing when no known name is near."""
    [*near] = get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else ""


def unknown_key(where: Sequence[Any]) -> str:
    """Return what to do about a key that no section has, at its place in the file."""
    keys = sorted({key for section in _sections(Config, where[:-1]) for key in _keys(section)})
    meant = nearest(str(where[-1]), keys)
    return f"unknown key{meant}" if meant else f"unknown key; there are {', '.join(keys)}"


def share(name: str, value: object) -> str:
    """Return how a level or a share is written that was given in percent; empty for other values."""
    if name not in _SHARES or not isinstance(value, int | float) or not 1 < value < 100:
        return ""
    return f"; write {name}: {value / 100:g} for {value:g} %"


def unexpanded(section: object, path: str = "") -> Iterator[str]:
    """Values with ``${NAME}``, which nothing expands, and how a variable is named instead."""
    parts = (
        section.items()
        if isinstance(section, Mapping)
        else enumerate(section if isinstance(section, list) else ())
    )
    for key, value in parts:
        where = f"{path}.{key}".lstrip(".")
        if not isinstance(value, str):
            yield from unexpanded(value, where)
        elif key != "query" and (variables := _VARIABLE.findall(value)):
            by_name = _IN_A_VARIABLE.get(str(key))
            way_out = (
                f"write {by_name}: NAME, with the whole address in that variable"
                if by_name
                else ("write the value itself")
            )
            names = ", ".join(f"${{{name}}}" for name in variables)
            yield f"{where}: {names} is not expanded; {way_out}"


def _sections(kind: Any, where: Sequence[Any]) -> Iterator[type]:
    """Yield the sections that a path of pydantic's may lead to, through lists, names and tagged rules."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _sections(inner[0], where)
    elif origin in (Union, types.UnionType):
        tagged = [one for one in inner if where and where[0] == _tag(one)]
        for one in tagged or inner:
            yield from _sections(one, where[1:] if tagged else where)
    elif origin in (dict, tuple):
        if where:
            yield from _sections(inner[1] if origin is dict else inner[0], where[1:])
    elif isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind)):
        if not where:
            yield kind
        elif (annotation := _keys(kind).get(str(where[0]))) is not None:
            yield from _sections(annotation, where[1:])


def _tag(kind: Any) -> object:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_fields["kind"].default if "kind" in kind.model_fields else None
    return (
        next((field.default for field in fields(kind) if field.name == "kind"), None)
        if is_dataclass(kind)
        else None
    )


def _keys(section: type) -> dict[str, Any]:
    """Return the keys of a section, with the types of their values."""
    if issubclass(section, BaseModel):
        declared = section.model_fields.items()
        filled_in = {"folder"} if section is Config else {"name"} if section.__name__ == "Monitor" else set()
        return {field.alias or name: field.annotation for name, field in declared if name not in filled_in}
    hints = get_type_hints(section, include_extras=True)
    return {field.name: hints[field.name] for field in fields(section)}  # type: ignore[arg-type]
