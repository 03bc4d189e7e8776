"""The shared stylesheet: every theme has every token, and every text colour is readable on its grounds."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from rocmonitor.policy.evaluation import Status

CSS = (files("rocmonitor.report") / "static" / "style.css").read_text(encoding="utf-8")
THEMES = [
    dict(re.findall(r"--([\w-]+): (#\w+)", block))
    for block in re.findall(r":root[^{]*\{([^}]*)\}", CSS)
    if "--paper" in block
]
TEXTS = ("ink", "soft", "degraded", "at-risk", "ok", "improved", "insufficient", "error", "champion")


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2 defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_black_on_white_has_a_contrast_of_21() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)


def test_there_are_light_dark_by_system_dark_by_switch_and_print() -> None:
    light, system, switch, paper = THEMES
    assert system == switch
    assert set(light) == set(system) == set(paper)


@pytest.mark.parametrize("theme", range(len(THEMES)))
@pytest.mark.parametrize("name", [*TEXTS, "challenger", "reference"])
def test_texts_are_readable(theme: int, name: str) -> None:
    colours = THEMES[theme]
    assert contrast(colours[name], colours["paper"]) >= 4.5
    assert contrast(colours[name], colours["pale"]) >= 4.5


@pytest.mark.parametrize("status", Status)
def test_a_status_has_a_colour_and_a_mark_of_its_own(status: Status) -> None:
    assert f"--{status}:" in CSS
    marks = re.findall(r"\.status\.([\w-]+)::before \{ content: \"(.)\"", CSS)
    assert dict(marks)[str(status)] not in [mark for name, mark in marks if name != str(status)]
