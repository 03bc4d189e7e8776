"""Months and quarters on every page: dates of Berlin across both clock changes, wherever the reader is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from browser import Browser
from commands import Rocmonitor
from pages import BEYOND, WIDTHS
from scenario import runtime_of
from web.serving import serving

from rocmonitor import config, store
from rocmonitor.report.review.shapes import review_chart
from rocmonitor.service.review import review_monitor
from rocmonitor.service.tick import run_monitor
from rocmonitor.store.history import review_list
from rocmonitor.web.site import Site

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 5, tzinfo=UTC)
MONTHS = [datetime(year, month, 1, tzinfo=BERLIN) for year in (2024, 2025, 2026) for month in range(1, 13)]
ROWS = 150  # of a month; the first in its first second, the last in its last
JUDGED = [start for start in MONTHS if start.year == 2026][:11]
CONFIGURATION = """
sources: {here: {url: "sqlite:///source.db", timezone: UTC}}
monitors:
"""
MONITOR = """
  {name}:
    model: {{name: credit, version: 7, challenger_version: 8}}
    source: here
    timezone: Europe/Berlin
    query: SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{id: id, time: scored_at, champion: p, challenger: q, label: label}}
    window: {{every: {every}, label_delay: 2d}}
    reference: {{from: 2024-01-01, to: 2026-01-01}}
    min_per_class: 20
    score: probability
    operating_points: {{flagged_shares: [0.1]}}
    rules: [{{kind: forecast}}, {{kind: challenger}}]
    review: {{n_resamples: 99}}
"""


def score(folder: Path) -> None:
    rng, rows = np.random.default_rng(5), []
    for start, end in pairwise([*MONTHS, datetime(2027, 1, 1, tzinfo=BERLIN)]):
        first, last = start.timestamp(), end.timestamp() - 1
        for at in np.linspace(first, last, ROWS):
            label = int(rng.random() < 0.4)
            p, q = 1 / (1 + np.exp(0.7 - 1.2 * label - rng.standard_normal(2)))
            instant = datetime.fromtimestamp(round(at), UTC)
            rows.append((len(rows), f"{instant:%Y-%m-%d %H:%M:%S}", float(p), float(q), label))
    with closing(sqlite3.connect(folder / "source.db")) as database, database:
        database.execute("CREATE TABLE scored (id INT, scored_at TIMESTAMP, p FLOAT, q FLOAT, label INT)")
        database.executemany("INSERT INTO scored VALUES (?, ?, ?, ?, ?)", rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two monitors that real ticks have judged until November, and a review of the months."""
    here = tmp_path_factory.mktemp("calendar")
    score(here)
    lengths = {"months": "1mo", "quarters": "1q"}
    monitors = [MONITOR.format(name=name, every=every) for name, every in lengths.items()]
    path = here / "rocmonitor.yaml"
    path.write_text(CONFIGURATION + "".join(monitors), encoding="utf-8")
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, lambda: NOW)
        for monitor in known.monitors.values():
            assert run_monitor(runtime, monitor, now=NOW).error is None
        review_monitor(runtime, known.monitors["months"], now=NOW)
    return here


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serving(Site(path=folder / "rocmonitor.yaml", clock=lambda: NOW)) as address:
        yield address


@pytest.fixture(params=["America/New_York", "Asia/Tokyo"])
def reader(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A browser that is not in Berlin."""
    browser.call("Emulation.setTimezoneOverride", timezoneId=request.param)
    yield browser
    browser.call("Emulation.setTimezoneOverride", timezoneId="")


def named(starts: list[datetime]) -> list[str]:
    return [f"{start:%Y-%m-%d} to {end:%Y-%m-%d}" for start, end in pairwise(starts)]


def text(browser: Browser, of: str) -> str:
    found: str = browser.measure(f"document.querySelector('{of}').textContent")
    return found.replace("\u00a0", " ")


def fits(browser: Browser) -> bool:
    inside, window = browser.measure(WIDTHS)
    return bool(inside <= window and browser.measure(BEYOND) == [] and browser.problems == [])


@pytest.mark.slow
def test_every_page_has_the_months_of_berlin(reader: Browser, address: str) -> None:
    months = named([*JUDGED, datetime(2026, 12, 1, tzinfo=BERLIN)])
    reader.visit(f"{address}/", width=1280)
    assert "23:00" not in text(reader, "main")
    reader.visit(f"{address}/monitors/months", width=1280)
    shown = reader.measure(
        "[...document.querySelectorAll('details.table tbody th a')].map(a => a.textContent)"
    )
    assert shown == months[::-1]
    assert "from 2026-11-01 to 2026-12-01" in text(reader, ".sentence")
    assert "2026-01-01 to 2026-12-01" in text(reader, ".reviews")
    reader.measure("document.querySelector('.plot').focus()")
    reader.press("ArrowLeft")
    assert months[-2] in text(reader, ".readout")
    for number in (2, 9):  # March and October: an hour less, an hour more, and every row
        reader.visit(f"{address}/monitors/months?window={JUDGED[number]:%Y-%m-%d}", width=390)
        assert months[number] in text(reader, "#window h2")
        assert f"of {ROWS} rows." in text(reader, "#window")
        assert fits(reader)
    reader.visit(f"{address}/monitors/months/reviews/1", width=1280)
    assert "2026-01-01 to 2026-12-01" in text(reader, "main")
    assert "23:00" not in text(reader, "main")
    assert fits(reader)


def test_every_page_has_the_quarters_of_berlin(reader: Browser, address: str) -> None:
    quarters = named([JUDGED[number] for number in (0, 3, 6, 9)])
    reader.visit(f"{address}/monitors/quarters", width=1280)
    shown = reader.measure(
        "[...document.querySelectorAll('details.table tbody th a')].map(a => a.textContent)"
    )
    assert shown == quarters[::-1]
    assert f"of {3 * ROWS} rows." in text(reader, "#window")
    reader.visit(f"{address}/monitors/quarters?window=2026-01-01", width=390)
    assert quarters[0] in text(reader, "#window h2")
    assert "95 % by a model: 8 windows alone show 88.9 %" in text(reader, "#window")
    assert fits(reader)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "last"), [("months", "2026-11-01 to 2026-12-01"), ("quarters", "2026-07-01 to 2026-10-01")]
)
def test_the_report_has_the_dates_calibration_and_precision(
    browser: Browser, folder: Path, name: str, last: str
) -> None:
    done = Rocmonitor(folder)("report", name)
    assert last in done.stdout
    for width in (1280, 390):
        browser.open(folder / f"{name}.html", width=width)
        assert fits(browser)
    shown = text(browser, "main")
    assert "23:00" not in shown
    assert shown.index("Precision when a share") < shown.index("Calibration of the champion")


def test_the_chart_of_a_review_has_the_months_of_berlin(folder: Path) -> None:
    with store.open_store(config.load(folder / "rocmonitor.yaml").store_url) as kept:
        [number] = [one.id for one in review_list(kept, "months")]
        names = review_chart(store.review(kept, number))["names"]
    assert names == [f"{start:%Y-%m-%d}" for start in JUDGED]
