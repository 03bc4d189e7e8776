"""The documentation is complete, and what it shows runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from rocmonitor import config, stats
from rocmonitor.cli import cli
from rocmonitor.config import values
from rocmonitor.config.values import Section
from rocmonitor.stats import research

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "tests" / "studies" / "results.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))

Keys = dict[str, str]  # the default of each key, as the documentation writes it


# Configuration: the models are the truth, docs/configuration.md has one line for each key.


def in_the_program(kind: type, path: str = "") -> Iterator[tuple[str, Keys]]:
    """The title of each section of the configuration, and its keys."""
    keys: Keys = {}
    inner: list[tuple[str, type]] = []
    title = f"`{path}`" if path else "Top level"
    for name, annotation, default in described(kind):
        if name == "kind":
            title += f", `kind: {default}`"
        else:
            keys[name] = written(default)
            inner += nested(annotation, f"{path}.{name}".lstrip("."))
    yield title, keys
    for below, section in inner:
        yield from in_the_program(section, below)


def described(kind: type) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and default of each key that the file may have; MISSING when it must."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        for each in fields(kind):
            made = each.default if each.default_factory is MISSING else each.default_factory()
            yield each.name, hints[each.name], made
        return
    assert issubclass(kind, Section)
    for name, field in kind.model_fields.items():
        if (kind, name) not in {(config.Config, "folder"), (config.Monitor, "name")}:  # filled in by `load`
            default = MISSING if field.is_required() else field.default
            yield field.alias or name, field.annotation, default


def nested(annotation: Any, path: str) -> list[tuple[str, type]]:
    """The sections within a type, each with its path."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return nested(inner[1], f"{path}.NAME")
    if origin is tuple:
        return nested(inner[0], f"{path}[]")
    if origin is Annotated:
        return nested(inner[0], path)
    if origin in (Union, types.UnionType):
        return [found for each in inner for found in nested(each, path)]
    section = isinstance(annotation, type) and (issubclass(annotation, Section) or is_dataclass(annotation))
    return [(path, annotation)] if section else []


def written(default: Any) -> str:
    if default is MISSING:
        return "required"
    if default is None or default == "":
        return "none"
    if isinstance(default, timedelta):
        return values.written(default)
    if isinstance(default, datetime):
        return default.date().isoformat()
    if isinstance(default, Section):
        default = default.model_dump(exclude_unset=True)
    if isinstance(default, dict | tuple):
        plain = list(default) if isinstance(default, tuple) else default
        return yaml.safe_dump(plain, default_flow_style=True).strip()
    return str(default)


def in_the_documentation() -> dict[str, Keys]:
    sections: dict[str, Keys] = {}
    for part in CONFIGURATION.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
        assert all(len(row) == 4 and all(row) for row in rows), title
        sections[title] = {name.strip("`"): default.strip("`") for name, _, default, _ in rows}
    return sections


def test_every_key_of_the_configuration_is_documented_with_its_default():
    assert in_the_documentation() == dict(in_the_program(config.Config))


def test_the_example_configuration_is_read():
    monitors = config.load(ROOT / "docs" / "examples" / "rocmonitor.yaml").monitors
    assert list(monitors) == ["credit-default"]


# Commands: the README names each once, the reference has all options.


def commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield path, command


def options(command: click.Command) -> set[str]:
    names = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return {name for name in names if name.startswith("--")}


def test_the_readme_lists_every_command_and_no_other():
    chapter = README[README.index("## Commands") : README.index("## In a notebook")]
    assert sorted(re.findall(r"`rocmonitor ([a-z]+)`", chapter)) == sorted(cli.commands)


@pytest.mark.parametrize(
    ("path", "command"),
    list(commands(cli, ())),
    ids=lambda each: "-".join(each) if isinstance(each, tuple) else "",
)
def test_every_command_is_in_the_reference_with_its_options(path, command):
    section = REFERENCE.partition(f"## `rocmonitor {' '.join(path)}`\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^- `[^`]*?(--[a-z-]+)", section, re.M)) == options(command)


def test_the_options_before_every_command_are_in_the_reference():
    section = REFERENCE.partition("## Before every command\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^- `[^`]*?(--[a-z-]+)", section, re.M)) == options(cli)


@pytest.mark.parametrize("command", [each for _, each in commands(cli, ())], ids=lambda each: each.name)
def test_every_option_has_a_help_text(command):
    assert [each.opts for each in command.params if isinstance(each, click.Option) and not each.help] == []


def test_what_is_generated_is_fresh():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


# What the pages show


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:rocmonitor|tests|migrations|docs|requirements)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_a_notebook_runs(notebook, capsys):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    known: dict[str, object] = {}
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], f"cell {number}: keep no outputs, they differ between machines"
            assert cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), known)
    assert capsys.readouterr().out


UNIDIOMATIC = (
    r"lets? expect|is found by|\bis told\b|are told (?!apart)|however often one|whatever else speaks"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_plain(page):
    assert re.findall(UNIDIOMATIC, " ".join(page.read_text(encoding="utf-8").split())) == []


SYNONYMS = r"forecast interval(?! of \[M18\])|expected AUROC|foreseen|shown to be|last tick|\d%"
TEXTS = [page for page in PAGES if page.is_relative_to(ROOT / "docs") and page.name != "papers.md"]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_one_word_for_a_thing(page):
    """Normal range, outlook AUROC, clearly below, checked. Keys and what the program prints stay."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(SYNONYMS, " ".join(prose.split())) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_studies_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    shown = " ".join(re.findall(r"\*\*Shown by\*\* (.*)", text))
    for name in [*re.findall(r"make\s+study\s+NAME=([\w-]+)", text), *re.findall(r"`([\w-]+)`", shown)]:
        assert (ROOT / "tests" / "studies" / f"{name.replace('-', '_')}.py").exists(), name


# Literature


BIBLIOGRAPHY = [
    line
    for line in (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("- ")
]


def test_every_paper_that_the_program_cites_is_in_the_bibliography():
    cited = set()
    for folder in ("stats", "policy", "report", "wording"):
        for file in (ROOT / "rocmonitor" / folder).rglob("*.py"):
            program = file.read_text(encoding="utf-8")
            cited |= set(re.findall(r"([A-Z][\w-]+)(?: et al\.)?,? \(?((?:19|20)\d\d)\b", program))
    assert len(cited) > 30
    missing = [each for each in cited if not any(all(part in line for part in each) for line in BIBLIOGRAPHY)]
    assert missing == []


def test_every_function_that_the_bibliography_names_exists():
    named = re.findall(r"`([A-Za-z_]+)[`(.]", "".join(BIBLIOGRAPHY))
    assert len(named) > 30
    assert [name for name in named if not (hasattr(stats, name) or hasattr(research, name))] == []


# Versions


def pinned(file: str) -> dict[str, Version]:
    lines = (ROOT / "requirements" / file).read_text(encoding="utf-8").splitlines()
    needs = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(need.name): Version(str(need.specifier).removeprefix("==")) for need in needs}


def needed(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
    needs = map(Requirement, texts)
    return [need for need in needs if need.marker is None or need.marker.evaluate()]


def test_the_lowest_versions_are_those_that_the_project_declares():
    lowest = pinned("lowest.txt")
    assert {canonicalize_name(need.name) for need in needed("postgres", "mysql", "delta")} <= set(lowest)
    for need in needed("postgres", "mysql", "test"):
        if (version := lowest.get(canonicalize_name(need.name))) is not None:
            assert [Version(each.version) for each in need.specifier if each.operator == ">="] == [version]


def test_the_tested_versions_cover_what_the_project_needs():
    tested = pinned("tested.txt")
    for need in needed("postgres", "mysql", "demo", "docs", "test"):
        assert tested[canonicalize_name(need.name)] in need.specifier
