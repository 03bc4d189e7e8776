"""The pages in a real browser: no error, no foreign request, readable by all, at both widths."""

from __future__ import annotations

import csv
import re
import struct
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import Browser
from flask.testing import FlaskClient
from pages import BEYOND, CONTRAST, WIDTHS
from web.test_pages import PAGES

from rocmonitor.report.pages import monitor_page as report_of
from rocmonitor.web.monitor import Choice, monitor_view
from rocmonitor.web.site import Site

QUICK = ("/monitors/credit",)

AXE = (Path(__file__).parent / "vendor" / "axe" / "axe.min.js").read_text(encoding="utf-8")
RUN_AXE = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => one.id + ': ' + one.nodes.map(node => node.html).join(' | ').slice(0, 600)))"""
THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
WIDE = pytest.mark.parametrize("width", [1280, 400])


@pytest.fixture(autouse=True)
def plain_theme(browser: Browser) -> Iterator[None]:
    """A switch that a test has set does not reach the next one."""
    yield
    browser.measure("try { localStorage.clear() } catch { 0 }")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])


@THEMES
@WIDE
@pytest.mark.parametrize(
    "page", [*QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES if page not in QUICK)]
)
def test_a_page_is_sound(browser: Browser, address: str, page: str, width: int, dark: bool) -> None:
    browser.visit(address + page, width=width, dark=dark)
    assert browser.measure("document.querySelectorAll('.plot canvas').length") >= 0
    assert browser.problems == []
    assert {urlsplit(url).netloc for url in browser.requests} == {urlsplit(address).netloc}
    inside, window = browser.measure(WIDTHS)
    assert window == width
    assert inside <= window
    assert browser.measure(BEYOND) == []
    assert browser.measure(CONTRAST) >= 4.5
    browser.measure(f"{AXE}; 0")
    assert browser.later(RUN_AXE) == []


def test_axe_finds_what_is_wrong(browser: Browser, address: str) -> None:
    """Else the test above could not fail."""
    browser.visit(f"{address}/", width=1280)
    browser.measure("document.querySelector('label[for=text]').remove(); 0")
    browser.measure(f"{AXE}; 0")
    assert "label" in " ".join(browser.later(RUN_AXE))


@pytest.mark.slow
@pytest.mark.parametrize("monitor", ["credit", "calm"])
def test_the_sentence_and_the_line_below_the_chart_have_one_precision(
    browser: Browser, address: str, monitor: str
) -> None:
    browser.visit(f"{address}/monitors/{monitor}", width=1280)
    sentence, line = (
        browser.measure(f"document.querySelector('{of}').textContent") for of in (".sentence", ".readout")
    )
    auc, low, high = re.match(
        r"AUROC (\S+ \(\S+ to \S+\)) .*normal range (\S+) to (\d\.\d+)", sentence
    ).groups()
    assert f"AUROC {auc}" in line
    assert f"normal range {low} to {high}" in line


def test_a_script_within_the_page_does_not_run(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/", width=1280)
    browser.measure(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.ran = 1';"
        " document.body.append(one); })()"
    )
    assert browser.measure("window.ran === undefined")
    assert "Content Security Policy" in " ".join(browser.problems)


@WIDE
def test_the_chart_is_drawn(browser: Browser, address: str, width: int) -> None:
    browser.visit(f"{address}/monitors/credit", width=width)
    panels = browser.measure("document.querySelectorAll('.plot canvas').length")
    assert panels == 4
    painted = """[...document.querySelectorAll('.plot canvas')].map(canvas => {
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return new Set(new Uint32Array(data.buffer)).size; })"""
    assert min(browser.measure(painted)) > 5


@pytest.mark.slow
def test_a_desk_needs_no_scrolling_for_the_answer(browser: Browser, address: str) -> None:
    bottom = "document.querySelector('{}').getBoundingClientRect().bottom"
    browser.visit(f"{address}/monitors/credit", width=1280, height=800)
    assert browser.measure(bottom.format(".sentence")) < 200
    assert browser.measure(bottom.format(".first")) < 500
    labels = "[...document.querySelectorAll('.first dt')].map(one => one.textContent)"
    asked = {"Loss", "How sure", "What moved", "Challenger", "Runbook", "Owner", "Told", "Review", "Evidence"}
    assert asked <= set(browser.measure(labels))
    assert browser.measure(bottom.format(".plot canvas")) < 800
    browser.visit(f"{address}/monitors/credit/reviews/1", width=1280, height=800)
    assert browser.measure(bottom.format(".plot")) < 800
    browser.visit(f"{address}/", width=1280, height=800)
    assert (
        browser.measure("[...document.querySelectorAll('.overview tbody tr')].map(one => one.offsetHeight)")
        == [44] * 6
    )


DRAWN = """window.words = []; const fill = CanvasRenderingContext2D.prototype.fillText;
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const { canvas, lineWidth } = this, wide = this.measureText(text).width;
  if (lineWidth === 4 * devicePixelRatio) words.push({ canvas, text, x, y, wide });
  return fill.apply(this, arguments); };
CanvasRenderingContext2D.prototype.clearRect = function () {
  words = words.filter(word => word.canvas !== this.canvas); return clear.apply(this, arguments); };
window.ribbons = 0; const area = CanvasRenderingContext2D.prototype.fill;
CanvasRenderingContext2D.prototype.fill = function () {
  if (this.globalAlpha === 0.25) ribbons += 1;
  return area.apply(this, arguments); };"""
OVERLAPS = """words.flatMap((one, at) => words.slice(at + 1).filter(other => one.canvas === other.canvas
  && one.x < other.x + other.wide && other.x < one.x + one.wide
  && Math.abs(one.y - other.y) < 13 * devicePixelRatio)
  .map(other => `${one.text} | ${other.text}`))"""


@pytest.fixture
def drawn(browser: Browser) -> Iterator[None]:
    """Notes the words and the ribbons that a page draws."""
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=DRAWN)["identifier"]
    yield
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@WIDE
@pytest.mark.usefixtures("drawn")
def test_no_word_of_a_chart_is_on_another_and_a_loss_is_a_step(
    browser: Browser, address: str, width: int
) -> None:
    browser.visit(f"{address}/monitors/credit", width=width)
    shown = browser.measure("words.map(word => word.text)")
    assert "floor 0.6" in shown
    assert "normal range" in shown or width == 400  # the caption names the band where there is no place
    assert any(word.startswith("mean 0.59") for word in shown)
    assert any(word.startswith("alarm ") for word in shown)
    assert browser.measure(OVERLAPS) == []
    assert browser.measure("ribbons") == 0


TICKS = """window.ticks = []; const each = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  if (this.textAlign === 'right') ticks.push(text); return each.apply(this, arguments); };"""


def test_an_axis_says_where_its_lines_are(browser: Browser, site: Site, tmp_path: Path) -> None:
    """Steps of 0.025 need three decimals: with two of them, 0.775 was written 0.78 or 0.77."""
    view = monitor_view(site, "credit", Choice())
    point = view["points"][-1] | {"auc": 0.71, "low": 0.69, "high": 0.73}
    near = [point | {"expected_low": 0.78, "expected_high": 0.84}]
    path = tmp_path / "near.html"
    path.write_text(
        report_of(
            view | {"points": near, "changes": [], "reference": None, "floor": None}, written="", command=""
        ),
        "utf-8",
    )
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=TICKS)["identifier"]
    browser.open(path, width=1280)
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    shown = {tick for tick in browser.measure("ticks") if tick.startswith("0.")}
    steps = [round(high - low, 9) for low, high in pairwise(sorted(map(float, shown)))]
    assert "0.775" in shown
    assert len(set(steps)) == 1


@pytest.mark.usefixtures("drawn")
def test_many_windows_are_a_mean_of_each_week(browser: Browser, site: Site, tmp_path: Path) -> None:
    """120 days instead of 8 weeks."""
    view = monitor_view(site, "credit", Choice())
    [point, *_] = view["points"]
    start = datetime.fromisoformat(point["start"])
    days = [(start + timedelta(days=at), start + timedelta(days=at + 1)) for at in range(120)]
    points = [
        point | {"start": first.isoformat(), "end": last.isoformat(), "slug": f"{first:%Y-%m-%d}"}
        for first, last in days
    ]
    path = tmp_path / "many.html"
    path.write_text(report_of(view | {"points": points, "changes": []}, written="", command=""), "utf-8")
    browser.open(path, width=1280)
    assert browser.measure("ribbons") > 0
    assert browser.measure(OVERLAPS) == []


def test_keys_go_from_window_to_window(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/monitors/credit", width=1280)
    before = browser.measure("document.querySelector('#window h2').textContent")
    browser.measure("document.querySelector('.plot').focus()")
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        browser.press(key)
    browser.until("document.querySelector('#window h2').textContent.includes('2026-06-29')")
    assert "2026-07-13" in before
    assert "window=2026-06-29" in browser.measure("location.href")
    assert "2026-06-29" in browser.measure("document.querySelector('.readout').textContent")
    assert browser.problems == []


@pytest.mark.slow
def test_a_click_chooses_a_window(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/monitors/credit", width=1280)
    x, y = browser.measure(
        "(() => { const box = document.querySelector('.u-over').getBoundingClientRect();"
        " return [box.right - 200, box.top + 20] })()"
    )
    browser.click(x, y)
    browser.until("location.href.includes('window=')")
    browser.until("document.getElementById('window').getBoundingClientRect().top < 100")
    assert browser.problems == []


def test_the_chart_is_saved_as_a_picture(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/monitors/credit", width=1280)
    browser.measure(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href]; };"
        "document.querySelector('.save').click()"
    )
    name, picture = browser.measure("window.saved")
    assert name == "credit-degraded-rocmonitor.png"
    drawn = b64decode(picture.removeprefix("data:image/png;base64,"))
    assert drawn.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", drawn[16:24])
    assert width > 1000
    assert height > 400
    assert browser.problems == []


def press(browser: Browser, text: str) -> None:
    browser.measure(
        f"[...document.querySelectorAll('.tools button')].find(one => one.textContent === '{text}').click()"
    )


def test_what_is_in_the_way_can_be_hidden(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/monitors/early", width=1280)
    drawn = "document.querySelector('.plot canvas').toDataURL().length"
    state = "[...document.querySelectorAll('.series')].map(one => [one.textContent, one.ariaPressed])"
    before = browser.measure(drawn)
    assert ["normal range", "true"] in browser.measure(state)
    for name in ("normal range", "outlooks", "intervals"):
        press(browser, name)
        assert [name, "false"] in browser.measure(state)
        after = browser.measure(drawn)
        assert after != before
        before = after
    assert browser.problems == []


def test_a_window_is_held_to_be_compared_with(browser: Browser, address: str, client: FlaskClient) -> None:
    points = client.get("/monitors/calm.json").get_json()["points"]
    browser.visit(f"{address}/monitors/calm", width=1280)
    press(browser, "Compare with this window")
    browser.measure("document.querySelector('.plot').focus()")
    browser.press("ArrowLeft")
    told = browser.measure("document.querySelector('.readout').textContent").replace("−", "-")
    gap = points[-2]["auc"] - points[-1]["auc"]
    assert f"compared with {points[-1]['name']}" in told
    assert f"difference about {gap:+.2f} (" in told


def test_the_numbers_shown_are_saved_as_csv(browser: Browser, address: str, client: FlaskClient) -> None:
    view = client.get("/monitors/early.json").get_json()
    browser.visit(f"{address}/monitors/early", width=1280)
    browser.measure(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href]; }"
    )
    press(browser, "CSV")
    name, text = browser.measure("window.saved")
    assert name == "early-at-risk-rocmonitor.csv"
    rows = list(csv.DictReader(StringIO(unquote(text.partition(",")[2]))))
    by_name = {row["window"]: row for row in rows}
    assert len(rows) == len(view["reference"]["windows"]) + len(view["points"]) + len(view["ahead"])
    for point in view["points"]:
        row = by_name[point["name"]]
        assert (float(row["AUROC"]), float(row["normal range low"])) == (point["auc"], point["expected_low"])
        assert row["outcome"] == point["outcome"]
        assert datetime.fromisoformat(row["start"]) == datetime.fromisoformat(point["start"])


def test_the_switch_is_remembered(browser: Browser, address: str) -> None:
    browser.visit(f"{address}/", width=1280)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.measure(paper)
    browser.measure("document.getElementById('theme').click()")
    dark = browser.measure(paper)
    assert dark != light
    browser.visit(f"{address}/monitors/credit", width=1280)
    assert browser.measure(paper) == dark
    assert browser.measure("document.getElementById('theme').textContent") == "Light colours"


def test_without_scripts_the_numbers_are_there(browser: Browser, address: str) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.visit(f"{address}/monitors/credit", width=1280)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.measure("document.querySelectorAll('.plot svg path').length") == 3
    assert browser.measure("document.querySelectorAll('details.table tbody tr').length") == 8
