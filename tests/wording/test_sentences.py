"""Every caveat that the program raises has a sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from rocmonitor.wording.caveats import SENTENCES

PACKAGE = Path(__file__).resolve().parents[2] / "rocmonitor"


def raised() -> Iterator[str]:
    """The codes that are written out where a caveat is made."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Caveat"), args=[ast.Constant(value=str() as code), *_]):
                    yield code


def test_every_caveat_has_a_sentence():
    codes = set(raised())
    assert codes
    assert codes <= set(SENTENCES)
