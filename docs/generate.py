"""Writes what is generated from the code: the command line reference and the JSON Schema of rocmonitor.yaml.

python docs/generate.py            write both
python docs/generate.py --check    exit with 1 when one of them is stale
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from rocmonitor.cli import cli
from rocmonitor.config import Config
from rocmonitor.config.values import Section

DOCS = Path(__file__).resolve().parent
CLI = DOCS / "reference" / "cli.md"
SCHEMA = DOCS.parent / "rocmonitor" / "config" / "rocmonitor.schema.json"


# The command line


def cli_page() -> str:
    """Every command with its arguments and options, from the code."""
    parts = [
        "# Command line\n\n<!-- Written by docs/generate.py from the code: do not edit. -->\n",
        "Data go to stdout, messages to stderr. `rocmonitor COMMAND --help` prints the same as this page.\n",
    ]
    parts += [_section(path, command) for path, command in commands(cli, ("rocmonitor",))]
    return "\n".join(parts)


def commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, in the order of ``--help``."""
    if len(path) == 1 or not isinstance(command, click.Group):
        yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from commands(command.commands[name], (*path, name))


def _section(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path), color=False)
    usage = command.get_usage(context).removeprefix("Usage: ")
    name = " ".join(path)
    title = "Before every command" if path == ("rocmonitor",) else f"`{name}`"
    text = "\n\n".join(_paragraphs(command.help or ""))
    given = [each for each in command.params if isinstance(each, click.Option)]
    options = [found for found in (each.get_help_record(context) for each in given) if found]
    parts = [f"## {title}\n"]
    if usage != f"{name} [OPTIONS]":
        parts.append(f"```text\n{usage}\n```\n")
    parts.append(f"{text}\n")
    if options:
        parts.append("".join(f"- `{names}`: {' '.join(meaning.split())}\n" for names, meaning in options))
    return "\n".join(parts)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield " ".join(paragraph.split())


# The configuration


class _Generator(GenerateJsonSchema):
    """Durations, times and zones as they are written in the file, not as they are kept."""

    # ruff: noqa: ARG002 the arguments are pydantic's

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        return {"type": "string", "pattern": r"^\s*\d+[smhd]\s*$", "examples": ["12h", "7d"]}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        # Without an offset: read in the monitor's timezone.
        day, time = r"\d{4}-\d\d?-\d\d?", r"\d\d?(:\d\d(:\d\d(\.\d+)?)?)?"
        return {"type": "string", "pattern": f"^{day}([Tt ]+{time})?$", "examples": ["2026-01-31"]}

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, timedelta):
            return f"{dft.total_seconds():g}s"
        if isinstance(dft, datetime):
            return dft.date().isoformat()
        if isinstance(dft, ZoneInfo):
            return dft.key
        if isinstance(dft, Section):
            return dft.model_dump(exclude_unset=True)
        return super().encode_default(dft)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _one_of(*keys: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [key]} for key in keys]}


def _not_both(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"allOf": [{"not": {"required": list(pair)}} for pair in pairs]}


# What the models check in code. A test compares both on configurations that are wrong.
_RULES: Mapping[str, Mapping[str, Any]] = {
    "Secret": _one_of("url", "url_env", "url_file"),
    "Database": _one_of("url", "url_env", "url_file"),
    "Channel": _one_of("url", "url_env", "url_file"),
    "Webhook": _one_of("secret_env", "secret_file"),
    "Heartbeat": _one_of("url_env", "url_file"),
    "Mlflow": _not_both(
        ("tracking_uri", "tracking_uri_env"),
        ("tracking_uri", "tracking_uri_file"),
        ("tracking_uri_env", "tracking_uri_file"),
    ),
    "Forecast": {
        "if": {"required": ["method"], "properties": {"method": {"const": "fixed"}}},
        "then": {"required": ["distance"]},
        "else": {"not": {"required": ["distance"]}},
    },
    "Positive": {
        "if": {"required": ["label"], "properties": {"label": {"not": {"enum": [0, 1, False, True]}}}},
        "then": {"required": ["negative"]},
    },
    "Monitor": {
        "allOf": [
            {
                "if": {
                    "required": ["rules"],
                    "properties": {
                        "rules": {"contains": {"properties": {"kind": {"enum": ["scores", "outlook"]}}}}
                    },
                },
                "then": {"required": ["outlook"]},
            },
            {
                "if": {"required": ["review"]},
                "then": {"properties": {"columns": {"required": ["challenger"]}}},
            },
            {
                "if": {"required": ["grouped"], "properties": {"grouped": {"const": "condensed"}}},
                "then": {
                    "properties": {
                        "columns": {
                            "not": {"anyOf": [{"required": ["challenger", "id"]}, {"required": ["cluster"]}]}
                        },
                        "score": {"const": "rank"},
                    }
                },
            },
        ]
    },
    "Reviewing": {
        "if": {"required": ["decides"], "properties": {"decides": {"const": "future"}}},
        "else": {"properties": {"correlation": {"type": "null"}}},
    },
    "WindowSpec": {
        "anyOf": [{"required": ["every"]}, {"required": ["rows"]}],
        **_not_both(("rows", "pool")),
    },
    "Model": _not_both(("champion", "version"), ("challenger", "challenger_version")),
}
_CRON = {"pattern": r"^\s*\S+(\s+\S+){4}\s*$", "examples": ["0 6 * * *"]}
_KEYS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("Monitor", "query"): {
        "allOf": [
            {"pattern": r"^\s*([Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh])\b"},
            {"pattern": r":start\b"},
            {"pattern": r":end\b"},
        ]
    },
    ("Monitor", "schedule"): _CRON,
    ("Reviewing", "schedule"): {"anyOf": [{"type": "string", **_CRON}, {"type": "null"}]},
    ("CostPoint", "w"): {"minimum": 0, "maximum": 1},
}
_FILLED_IN = {"Config": "folder", "Monitor": "name"}


def json_schema() -> dict[str, Any]:
    """The schema of rocmonitor.yaml: limits from the models, descriptions from the reference page."""
    schema = Config.model_json_schema(schema_generator=_Generator, ref_template="#/definitions/{model}")
    kinds: dict[str, Any] = schema.pop("$defs")
    whole = {"Config": schema, **kinds}
    for name, kind in whole.items():
        kind.pop("title", None)
        kind.pop("description", None)
        if name in _FILLED_IN:
            del kind["properties"][_FILLED_IN[name]]
            kind["required"].remove(_FILLED_IN[name])
    for name, rule in _RULES.items():
        kinds[name].update(rule)
    for (name, key), limits in _KEYS.items():
        kinds[name]["properties"][key].update(limits)
    for named in (each for each in schema["properties"].values() if "patternProperties" in each):
        [(pattern, section)] = named.pop("patternProperties").items()
        named["propertyNames"]["pattern"] = pattern  # names that do not match it are errors, too
        named["additionalProperties"] = section
    for name, rule in kinds.items():
        if "const" in rule["properties"].get("kind", {}) and name != "Database":  # the usual kind
            rule["required"] = ["kind", *rule.get("required", [])]
    _describe(schema, kinds, "")
    # Draft 7: the newest that every editor reads without a warning.
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "rocmonitor.yaml"}
    return {**head, **dict(sorted(schema.items())), "definitions": kinds}


def _describe(section: dict[str, Any], kinds: Mapping[str, Any], path: str) -> None:
    """Copies the meaning of each key from the tables of docs/configuration.md."""
    kind = section["properties"].get("kind", {}).get("const")
    meanings = _MEANINGS[f"`{path}`, `kind: {kind}`" if kind else f"`{path}`" if path else "Top level"]
    for key, value in section["properties"].items():
        if key == "kind":
            continue
        value["description"] = meanings[key]
        for below, inner in _sections(value, f"{path}.{key}".lstrip(".")):
            _describe(kinds[inner], kinds, below)


def _sections(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The sections within a value: where each stands, and its name among the definitions."""
    if "$ref" in value:
        yield path, value["$ref"].rpartition("/")[2]
    for inner in (*value.get("anyOf", ()), *value.get("oneOf", ())):
        yield from _sections(inner, path)
    if isinstance(more := value.get("additionalProperties"), dict):
        yield from _sections(more, f"{path}.NAME")
    for inner in value.get("patternProperties", {}).values():
        yield from _sections(inner, f"{path}.NAME")
    if "items" in value:
        yield from _sections(value["items"], f"{path}[]")


def _tables() -> dict[str, dict[str, str]]:
    """Meaning of each key, by section."""
    found: dict[str, dict[str, str]] = {}
    for part in (DOCS / "configuration.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
        found[title] = {row[0].strip("`"): row[-1].replace("`", "") for row in rows}
    return found


_MEANINGS = _tables()


def generated() -> dict[Path, str]:
    """Every generated file with what it should hold."""
    return {CLI: cli_page(), SCHEMA: json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"}


def main() -> int:
    """Write the files, or only say which are stale."""
    files = generated()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    if sys.argv[1:] == ["--check"]:
        for path in stale:
            print(f"{path.relative_to(DOCS.parent)} is stale: run `make docs`", file=sys.stderr)
        return int(bool(stale))
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
