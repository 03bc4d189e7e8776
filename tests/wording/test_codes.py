"""The codes of caveats: one sentence each."""

from __future__ import annotations

import pkgutil
import re
from collections import Counter
from importlib import import_module

from rocmonitor.wording import caveats

FAMILIES = [
    import_module(f"{caveats.__name__}.{module.name}") for module in pkgutil.iter_modules(caveats.__path__)
]


def test_a_code_belongs_to_one_family():
    """Two families with one code: the later sentence would be asked for values it does not have."""
    codes = Counter(code for family in FAMILIES for code in family.SENTENCES)
    assert [code for code, number in codes.items() if number > 1] == []
    assert {*codes, "recorded"} == set(caveats.SENTENCES)


def test_codes_are_lower_case_with_hyphens():
    assert [code for code in caveats.SENTENCES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)] == []
