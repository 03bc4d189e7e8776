"""Reading rocmonitor.yaml: every problem at once, each with its dotted path and what was probably meant."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rocmonitor.config.models import Config
from rocmonitor.config.values import NAME_PATTERN
from rocmonitor.errors import ConfigError, printable, quoted, without_passwords
from rocmonitor.rules import KINDS

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHARES = ("confidence_level", "min_labelled", "prevalence")
_IN_A_VARIABLE = {"url": "url_env", "tracking_uri": "tracking_uri_env"}


_ADDRESSES = ("url", "uri", "page", "runbook", "heartbeat", "store", "secret", "path")
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"
_MOST_MERGED = 100_000
_DEEPEST, _MOST_VALUES = 50, 1_000_000
_LONGEST = 2_000  # characters of one problem
_FIXED = {
    **dict.fromkeys(
        ("missing", "missing_argument", "missing_keyword_only_argument"), "required, but missing"
    ),
    # Without the value: it may be a URL with a password.
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dict_type", "dataclass_type"),
        "must be a mapping (key: value)",
    ),
    "tuple_type": "must be a list ([…])",
}
"""The messages for some kinds of pydantic's problems, whatever the value is."""


def load(path: Path) -> Config:
    """Read and check a configuration; a ConfigError has all problems at once, each with its dotted path."""
    raw = _mapping(path)
    monitors = raw.get("monitors")
    if isinstance(monitors, dict):
        raw["monitors"] = {
            name: {**monitor, "name": name} if isinstance(monitor, dict) else monitor
            for name, monitor in monitors.items()
        }
    problems = [*_undefined(raw), *_unexpanded(raw)]
    try:
        config = Config.model_validate({**raw, "folder": path.resolve().parent})
    except ValidationError as error:
        problems += [_told(problem) for problem in _first_causes(error.errors(include_url=False))]
    if problems:
        raise ConfigError("\n".join(f"{path}: {_shortened(problem)}" for problem in problems))
    return config


def _mapping(path: Path) -> dict[Any, Any]:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); "
            "name another with --config, or write one with `rocmonitor init`"
        ) from None
    except yaml.MarkedYAMLError as error:  # without PyYAML's copy of the line: a password may stand in it
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"{path}: is not valid YAML: {_shortened(problem)}{where}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: is not valid YAML: {_shortened(str(error))}") from None
    except (LookupError, AttributeError, TypeError):  # what PyYAML raises on `!!int ''` and its like
        raise ConfigError(
            f"{path}: is not valid YAML: a tag such as !!int or !!set does not fit its value; "
            "leave the tag out"
        ) from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply") from None
    if _explodes(raw):
        raise ConfigError(
            f"{path}: its aliases (*name) repeat too much, or an anchor (&name) contains itself; write the "
            "values out"
        )
    if not isinstance(raw, dict):
        raise ConfigError(
            f"{path}: must be a mapping with sources and monitors; `rocmonitor init` writes an example"
        )
    return raw


class _Loader(yaml.SafeLoader):
    """YAML lets the last of two equal keys win: a monitor would vanish silently.

    Keys that cannot be one and days that are in no calendar are reported with their line, too.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._flat: dict[yaml.MappingNode, bool] = {}  # False while a mapping is being merged
        self._merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge the mappings that `<<` names into this one, whose own keys win; refuse equal keys."""
        if node in self._flat:
            if not self._flat[node]:
                raise _refused("<< names a mapping that contains it", node)
            return
        self._flat[node] = False
        own: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
        parents: list[yaml.MappingNode] | None = None
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                if parents is not None:
                    raise _refused("<< comes twice; write <<: [*first, *second]", key_node)
                named = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                if any(not isinstance(parent, yaml.MappingNode) for parent in named):
                    raise _refused("<< must name a mapping (*name), or a list of them", value_node)
                parents = list(named)  # the first of which wins
                continue
            key = self._key(key_node)
            if key in own:
                raise _refused(f"{quoted(key)} comes twice", key_node)
            own[key] = key_node, value_node
        merged = dict(own)
        for parent in dict.fromkeys(parents or ()):
            self.flatten_mapping(parent)
            self._merged += len(parent.value)
            if self._merged > _MOST_MERGED:
                raise _refused("<< merges too many keys; write the values out", node)
            for key_node, value_node in parent.value:
                merged.setdefault(self._key(key_node), (key_node, value_node))
        node.value = list(merged.values())
        self._flat[node] = True

    def _key(self, node: yaml.Node) -> Hashable:
        key = self.construct_object(node, deep=True)
        if not isinstance(key, Hashable):
            raise _refused(f"a key must be a plain value, not a {type(key).__name__}", node)
        return key

    def construct_day(self, node: yaml.ScalarNode) -> Any:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError as error:
            raise _refused(f"{node.value} is not a date: {error}", node) from None

    def fetch_flow_collection_start(self, kind: Any) -> None:
        """Stop at brackets that nest: reading on would take the square of their number."""
        if self.flow_level >= _DEEPEST:
            raise RecursionError
        super().fetch_flow_collection_start(kind)


def _refused(why: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, why, node.start_mark)


_Loader.add_constructor(_TIMESTAMP, _Loader.construct_day)


def _shortened(problem: str) -> str:
    """Without control characters and passwords, and not longer than anybody reads."""
    plain = without_passwords(printable(problem))
    more = len(plain) - _LONGEST
    return plain if more <= 0 else f"{plain[:_LONGEST]}… ({more:,} more characters)"


def _explodes(raw: Any) -> bool:
    """Return True if a few lines of YAML stand for more values than anybody writes: aliases can nest."""
    left, count = [(raw, 0)], 0
    while left:
        value, depth = left.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_VALUES:
            return True
        if isinstance(value, dict):
            left += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            left += [(item, depth + 1) for item in value]
    return False


def _undefined(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of sources, channels and monitors that are used but not defined."""
    budget, monitors = raw.get("alarm_budget"), raw.get("monitors")
    groups = budget.get("groups") if isinstance(budget, dict) else None
    used: list[tuple[str, object, str]] = []  # where it stands, the name, the section that defines it
    for name, monitor in monitors.items() if isinstance(monitors, dict) else ():
        if isinstance(monitor, dict):
            notify = monitor.get("notify")
            channels = notify if isinstance(notify, list) else ()
            used.append((f"monitors.{name}.source", monitor.get("source"), "sources"))
            used += [(f"monitors.{name}.notify", channel, "channels") for channel in channels]
    for name, group in groups.items() if isinstance(groups, dict) and isinstance(monitors, dict) else ():
        named = group.get("monitors") if isinstance(group, dict) else None
        members = named if isinstance(named, list) else ()
        used += [(f"alarm_budget.groups.{name}.monitors", member, "monitors") for member in members]
    for where, value, section in used:
        entries = raw.get(section) or {}
        if isinstance(value, str) and isinstance(entries, dict) and value not in entries:
            defined = sorted(map(str, entries))
            yield (
                f"{where}: {quoted(value)} is not defined under {section} "
                f"(defined: {', '.join(defined) or 'none'}){_nearest(value, defined)}"
            )


def _first_causes(problems: Sequence[Any]) -> Iterator[Any]:
    """Without "too few items" where the items are there, but wrong themselves; wrong names once."""
    wrong_names = {problem["loc"][:-1] for problem in problems if problem["loc"][-1:] == ("[key]",)}
    for problem in problems:
        where = problem["loc"]
        if where[0] == "monitors" and where[2:] == ("name",) and where[:2] in wrong_names:
            continue
        if problem["type"] != "too_short" or not any(
            len(other["loc"]) > len(where) and other["loc"][: len(where)] == where for other in problems
        ):
            yield problem


def _told(problem: Any) -> str:
    """One pydantic problem as `dotted.path: rule; value`."""
    loc = problem["loc"]
    where = [part if isinstance(part, str) and len(part) <= 100 else quoted(part) for part in loc]
    # A tagged union puts the tag into the path, where the file has no such key.
    if "rules" in where and len(where) > (at := where.index("rules")) + 2:
        del where[at + 2]
    if where[0] == "sources" and where[2:3] and where[2] in ("database", "files", "spark"):
        del where[2]
    where = where[:-1] if where[-1] == "[key]" else where
    path, kind = ".".join(where), problem["type"]
    if kind == "extra_forbidden" or kind == "unexpected_keyword_argument":
        return f"{path}: {_unknown_key(loc)}"
    if kind in _FIXED:
        return f"{path}: {_FIXED[kind]}"
    if kind == "union_tag_invalid":
        return (
            f"{path}.kind: must be one of {problem['ctx']['expected_tags']}; "
            f"it is {quoted(problem['ctx']['tag'])}"
        )
    if kind == "union_tag_not_found":
        return f"{path}.kind: required: {', '.join(KINDS[:-1])} or {KINDS[-1]}"
    if kind == "too_short":
        return f"{path}: needs at least one {where[-1].removesuffix('s')}"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        if problem["ctx"]["pattern"] == NAME_PATTERN:
            message = "a name may have only the letters A to Z and a to z, digits, and _ . -"
        elif "https?" in problem["ctx"]["pattern"]:
            message = "must be an address that starts with http:// or https://"
    # An address may hold a secret, and a section that is no mapping may be one.
    secret = any(word in path for word in _ADDRESSES) or path.endswith(("_env", "_file"))
    shown = "" if secret else _shown(problem["input"], message)
    limits = problem.get("ctx", {})
    advice = _share(where[-1], problem["input"]) if 1 in (limits.get("lt"), limits.get("le")) else ""
    return f"{path}: {message}{shown}{advice}"


def _shown(value: object, message: str) -> str:
    """Return a plain value, unless the message has it already."""
    if not isinstance(value, str | int | float | bool):
        return ""
    written = quoted(value)
    is_shown = "; it is " in message or re.search(rf"(: |\bis ){re.escape(written)}", message)
    return "" if is_shown else f"; it is {written}"


def _nearest(name: str, known: Sequence[str]) -> str:
    """`: did you mean NAME?`, or nothing when no known name is near."""
    [*near] = get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else ""


def _unknown_key(where: Sequence[Any]) -> str:
    """Return what to do about a key that no section has, at its place in the file, by the JSON Schema."""
    schema = json.loads((files(__package__) / "rocmonitor.schema.json").read_text(encoding="utf-8"))
    sections = _sections(schema, where[:-1], schema["definitions"])
    keys = sorted({key for section in sections for key in section["properties"]})
    meant = _nearest(str(where[-1]), keys)
    return f"unknown key{meant}" if meant else f"unknown key; there are {', '.join(keys)}"


def _share(name: str, value: object) -> str:
    """Return how a level or a share is written that was given in percent; empty for other values."""
    if name not in _SHARES or not isinstance(value, int | float) or not 1 < value < 100:
        return ""
    return f"; write {name}: {value / 100:g} for {value:g} %"


def _unexpanded(section: object, path: str = "") -> Iterator[str]:
    """Values with ``${NAME}``, which nothing expands, and how a variable is named instead."""
    parts = (
        section.items()
        if isinstance(section, Mapping)
        else enumerate(section if isinstance(section, list) else ())
    )
    for key, value in parts:
        where = f"{path}.{key}".lstrip(".")
        if not isinstance(value, str):
            yield from _unexpanded(value, where)
        elif key != "query" and (variables := _VARIABLE.findall(value)):
            by_name = _IN_A_VARIABLE.get(str(key))
            way_out = (
                f"write {by_name}: NAME, with the whole address in that variable"
                if by_name
                else ("write the value itself")
            )
            names = ", ".join(f"${{{name}}}" for name in variables)
            yield f"{where}: {names} is not expanded; {way_out}"


def _sections(
    node: Mapping[str, Any], where: Sequence[Any], definitions: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the sections that a path of pydantic's may lead to, through lists, names and tagged rules."""
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    if "properties" in node and not where:
        yield node
    elif "properties" not in node and (kinds := node.get("oneOf") or node.get("anyOf")):
        tags = node.get("discriminator", {}).get("mapping", {})
        if where and where[0] in tags:
            kinds, where = [{"$ref": tags[where[0]]}], where[1:]
        for kind in kinds:
            yield from _sections(kind, where, definitions)
    elif where:
        named = node.get("properties", {}).get(where[0])
        inner = named or node.get("items") or node.get("additionalProperties")
        yield from _sections(inner, where[1:], definitions) if inner else ()
