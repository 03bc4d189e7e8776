"""The codes of caveats: one sentence each."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from rocmonitor.wording import caveats

PACKAGE = Path(__file__).resolve().parents[2] / "rocmonitor"

FAMILIES = [
    import_module(f"{caveats.__name__}.{module.name}") for module in pkgutil.iter_modules(caveats.__path__)
]


def test_a_code_belongs_to_one_family():
    """Two families with one code: the later sentence would be asked for values it does not have."""
    codes = Counter(code for family in FAMILIES for code in family.SENTENCES)
    assert [code for code, number in codes.items() if number > 1] == []
    assert codes.keys() == caveats.SENTENCES.keys()


def texts() -> Iterator[str]:
    """Every text that is written in the code outside of the wording."""
    for file in PACKAGE.rglob("*.py"):
        if "wording" not in file.relative_to(PACKAGE).parts:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def raised() -> Iterator[str]:
    """The codes that are written out where a caveat is made."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Caveat"), args=[ast.Constant(value=str() as code), *_]):
                    yield code


@pytest.mark.slow
def test_every_caveat_has_a_sentence_and_every_sentence_a_caveat():
    assert set(raised()) - set(caveats.SENTENCES) == set()
    assert set(caveats.SENTENCES) - set(texts()) == set()


def test_codes_are_lower_case_with_hyphens():
    assert [code for code in caveats.SENTENCES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)] == []
