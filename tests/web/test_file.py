"""A report is the monitor's page in one file: the same numbers, no request, no script but ours."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from flask.testing import FlaskClient
from pages import BEYOND, CONTRAST, CUT, UNFOLD, WIDTHS
from web.test_pages import SEGMENT, text_of
from web.world import HOSTILE, NOW

from rocmonitor.report.pages import monitor_page
from rocmonitor.web.monitor import Choice, file_view
from rocmonitor.web.site import Site

SCRIPT = re.compile(r"<script(?![^>]*json)>(.*?)</script>", re.DOTALL)


def written(site: Site, monitor: str = "credit", choice: Choice | None = None, **changes: Any) -> str:
    view = file_view(site.store(), site.config().monitors[monitor], choice or Choice(), NOW)
    assert view is not None
    return monitor_page(
        view | changes, written="2026-07-21 12:00 (UTC)", command=f"rocmonitor report {monitor}"
    )


@pytest.fixture(scope="module")
def report(site: Site) -> str:
    return written(site)


def test_it_says_what_the_page_says(report: str, client: FlaskClient) -> None:
    served = client.get("/monitors/credit").text
    for part in ('<p class="sentence">', '<div class="columns">'):
        ends = [
            each.index("</p>" if "<p" in part else "<details", each.index(part)) for each in (served, report)
        ]
        one, other = (text[text.index(part) : end] for text, end in zip((served, report), ends, strict=True))
        assert one == other
    [decided] = re.findall(r"<dt>Review</dt><dd><a [^>]*>(.*)</a></dd>", served)
    assert f"<dt>Review</dt><dd>{decided}</dd>" in report


def test_every_window_is_in_full_the_worst_open(report: str, client: FlaskClient) -> None:
    points = client.get("/monitors/credit.json").get_json()["points"]
    shown = re.findall(r'<details id="window-([^"]*)" class="window"( open)?>', report)
    assert sorted(slug for slug, _ in shown) == sorted(point["slug"] for point in points[:-1])
    worst = min(points[:-1], key=lambda each: each["auc"] - each["expected_low"])
    assert [slug for slug, is_open in shown if is_open] == [worst["slug"]]


def test_a_period_leaves_out_what_lies_outside(site: Site) -> None:
    end = datetime(2026, 6, 15, tzinfo=UTC)
    told = written(site, choice=Choice(end=end))
    assert text_of(told).count("2026-06-15 to") == 0
    assert "2026-06-08 to 2026-06-15" in told
    kept, credit = site.store(), site.config().monitors["credit"]
    then, now = (file_view(kept, credit, Choice(end=each), NOW) for each in (end, None))
    assert then is not None
    assert now is not None
    assert (then["status"], now["status"]) == ("ok", "degraded")  # at its end
    assert "8 June 2026" in then["sentence"]
    none = Choice(start=datetime(2030, 1, 1, tzinfo=UTC))
    assert file_view(site.store(), site.config().monitors["credit"], none, NOW) is None


def test_outlooks_alone_make_a_report(site: Site) -> None:
    told = written(site, "early", Choice(start=datetime(2026, 7, 20, tzinfo=UTC)))
    text = text_of(told)
    assert "Before its labels, the outlook of the window 2026-07-20 to 2026-07-27 is" in text
    assert "The windows as a table (1)" in text
    assert 'id="chart-data"' in told


def test_it_asks_for_nothing(report: str) -> None:
    body = SCRIPT.sub("", report)
    assert not re.findall(r'\ssrc="|<link rel="stylesheet"|@import|url\(|<form|<iframe', body)
    addresses = {html.unescape(each) for each in re.findall(r'\shref="([^"]*)"', body)}
    assert {each for each in addresses if not each.startswith("#")} == {
        "data:,",
        "https://example.org/credit",
    }


def test_ids_are_unique_and_links_within_lead_somewhere(report: str) -> None:
    ids = re.findall(r'\sid="([^"]*)"', SCRIPT.sub("", report))
    assert len(ids) == len(set(ids))
    assert {html.unescape(each) for each in re.findall(r'href="#([^"]*)"', report)} <= set(ids)


def test_only_our_scripts_may_run(report: str) -> None:
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', report)[0])
    assert policy.startswith("default-src 'none'")
    scripts = SCRIPT.findall(report)
    digests = {f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in scripts}
    assert len(scripts) == 3
    assert digests == set(policy.partition("script-src")[2].split())


@pytest.mark.parametrize("name", ["name", "segment", "model", "owner", "runbook", "zone"])
def test_text_is_escaped_also_within_the_data_of_the_chart(site: Site, name: str) -> None:
    plain, told = written(site), written(site, **{name: "</script><script>alert(1)</script><!--"})
    assert told.count("</script") == plain.count("</script")
    assert told.count("<!--") == plain.count("<!--")


@pytest.mark.parametrize("part", ["points", "changes"])
def test_the_data_of_the_chart_cannot_end_its_element(site: Site, part: str) -> None:
    view = file_view(site.store(), site.config().monitors["credit"], Choice(segment=SEGMENT["segment"]), NOW)
    assert view is not None
    evil = "</script><script>alert(1)</script>"
    rows = [
        each | {"name": evil, "slug": evil, "version": evil, "reasons": [evil], "when": evil}
        for each in view[part]
    ]
    plain = monitor_page(view, written="", command="")
    assert monitor_page(view | {part: rows}, written="", command="").count("</script") == plain.count(
        "</script"
    )
    assert HOSTILE not in plain


@pytest.mark.parametrize(
    ("runbook", "links"), [("javascript:alert(1)", 0), ("https://x.example/a?b=1&c=2", 1)]
)
def test_only_addresses_of_the_web_become_links(site: Site, runbook: str, links: int) -> None:
    assert written(site, runbook=runbook).count('rel="noreferrer">x.example/a?b=1&amp;c=2</a>') == links


@pytest.fixture(scope="module")
def place(site: Site, report: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("file") / "credit.html"
    found.write_text(report, encoding="utf-8")
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_works_from_disk_on_every_screen(browser: Browser, place: Path, width: int, theme: str) -> None:
    browser.visit(place.as_uri(), width=width, dark=theme == "dark")
    assert browser.problems == []
    assert browser.requests == [place.as_uri()]
    assert browser.measure("document.querySelectorAll('.plot canvas').length") == 4
    browser.measure(UNFOLD)
    inside, window = browser.measure(WIDTHS)
    assert (window, inside) == (width, width)
    assert browser.measure(BEYOND) == []
    assert browser.measure(CONTRAST) >= 4.5


def test_a_click_opens_a_window_of_the_file(browser: Browser, place: Path) -> None:
    browser.visit(place.as_uri(), width=1280)
    x, y = browser.measure(
        "(() => { const box = document.querySelector('.u-over').getBoundingClientRect();"
        " return [box.right - 90, box.top + 20] })()"
    )
    opened = "document.querySelectorAll('details.window[open]').length"
    assert browser.measure(opened) == 1
    browser.click(x, y)
    browser.until(f"{opened} === 2")
    assert browser.requests == [place.as_uri()]


@pytest.mark.slow
def test_paper_shows_what_is_folded_and_cuts_no_table(browser: Browser, place: Path) -> None:
    browser.open(place, width=695)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.measure(CUT) == []
        assert browser.measure("document.querySelector('#table-windows').checkVisibility()")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59\d[\d.]* 84\d", browser.pdf())
