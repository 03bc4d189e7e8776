"""The page of a review in a real browser: on a screen, on a telephone, and printed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from pages import BEYOND, CONTRAST, CUT, SIZES, UNFOLD, WIDTHS
from reviews import ZONE, review

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.report.review import page

pytestmark = pytest.mark.slow


def long_words() -> Review:
    """Names, digests and a query that do not break by themselves, and many windows."""
    whole = review(windows=30)
    word = "a_name_that_goes_on_" * 12
    segments = [row | {"segment": word, "note": word} for row in whole.tables["segments"]]
    return replace(
        whole,
        monitor=word,
        champion_version=word,
        tables=whole.tables | {"segments": segments, "counts": [{"kind": word, "rows": 10**12}]},
        provenance=whole.provenance | {"query": f"SELECT {word}", "data_digest": "f" * 400, word: word},
        caveats=(Caveat("not-computed", why=word),),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    for name, shown in (("plain", review()), ("long", long_words())):
        (place / f"{name}.html").write_text(page(shown, zone=ZONE), encoding="utf-8")
    return place


@pytest.mark.parametrize("name", ["plain", "long"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_figure_shows_and_nothing_runs_over(
    browser: Browser, folder: Path, name: str, width: int
) -> None:
    browser.open(folder / f"{name}.html", width=width)
    browser.measure(UNFOLD)
    sizes: list[dict[str, Any]] = browser.measure(SIZES)
    assert len(sizes) == 4
    assert browser.measure("document.querySelectorAll('.plot canvas').length") == 1
    for size in sizes:
        assert size["width"] >= min(0.85 * width, 340)
        assert size["height"] > 150
    inside, window = browser.measure(WIDTHS)
    assert window == width
    assert inside <= window, browser.measure(BEYOND)
    assert browser.measure(BEYOND) == []


def test_a_desk_shows_every_table_whole(browser: Browser, folder: Path) -> None:
    browser.open(folder / "plain.html", width=1280)
    browser.measure(UNFOLD)
    assert browser.measure(CUT) == []


def test_it_asks_for_nothing_but_itself(browser: Browser, folder: Path) -> None:
    browser.open(folder / "plain.html", width=1280)
    assert browser.requests == [(folder / "plain.html").as_uri()]


def test_a_page_that_asks_is_caught(browser: Browser, folder: Path) -> None:
    """Else the test above could not fail."""
    asking = folder / "asking.html"
    asking.write_text(f"<img src='{(folder / 'absent.png').as_uri()}'>")
    browser.open(asking, width=1280)
    assert len(browser.requests) == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("decision", list(Decision))
def test_text_stands_out(browser: Browser, folder: Path, decision: Decision, theme: str) -> None:
    shown = replace(review(), decision=decision)
    tables = {name: rows for name, rows in shown.tables.items() if name in ("auc", "fprs", "counts")}
    place = folder / "colours.html"
    place.write_text(page(replace(shown, tables=tables), zone=ZONE), encoding="utf-8")
    browser.visit(place.as_uri(), width=1280, dark=theme == "dark")
    browser.measure(UNFOLD)
    assert browser.measure("matchMedia('(prefers-color-scheme: dark)').matches") == (theme == "dark")
    assert browser.measure(CONTRAST) >= 4.5


@pytest.mark.parametrize("name", ["plain", "long"])
def test_it_prints_on_a4(browser: Browser, folder: Path, name: str) -> None:
    browser.open(folder / f"{name}.html", width=1280)
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", printed)
    assert 5 <= len(boxes) <= 20
    for across, down in boxes:
        assert float(across) == pytest.approx(595, abs=1.5)
        assert float(down) == pytest.approx(842, abs=1.5)


def test_paper_cuts_no_table(browser: Browser, folder: Path) -> None:
    """At the width of what A4 leaves between the margins, in print style."""
    browser.open(folder / "plain.html", width=695)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.measure(CUT) == []
        assert (
            browser.measure("getComputedStyle(document.querySelector('thead')).display")
            == "table-header-group"
        )
        assert browser.measure("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
        assert browser.measure(CONTRAST) > 7
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
