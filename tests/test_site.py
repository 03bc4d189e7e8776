"""The documentation as a site: it builds without a warning, and its pages ask for nothing from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import Browser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["index.html", "tutorial.html", "configuration.html", "how-to/notebook.html", "reference/cli.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 18
    for page in pages:
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]*)\"", page.read_text())
        loaded += re.findall(r"<link\b[^>]*\bhref=\"([^\"]*)\"", page.read_text())
        assert loaded
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], page.name


def test_what_the_repository_has_elsewhere_is_there(site: Path) -> None:
    assert (site / "changelog.html").exists()
    assert (site / "contributing.html").exists()
    packaged = ROOT / "rocmonitor" / "config" / "rocmonitor.schema.json"
    assert (site / "rocmonitor.schema.json").read_bytes() == packaged.read_bytes()
    assert not list(site.rglob("*.py"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_sound(browser: Browser, site: Path, page: str, width: int, dark: bool) -> None:
    browser.visit((site / page).as_uri(), width=width, dark=dark)
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    scheme = browser.measure("document.body.getAttribute('data-md-color-scheme')")
    assert scheme == ("slate" if dark else "default")
    inside = browser.measure("document.documentElement.scrollWidth")
    assert inside <= width
