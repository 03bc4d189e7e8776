"""What a person sees in MLflow's own pages, in a real browser: lists show what was found, links open runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from browser import Browser
from factories import evaluation, point
from servers import MlflowServer

from rocmonitor.policy.evaluation import Status
from rocmonitor.report.timeline import timeline
from rocmonitor.tracking import connect

pytestmark = pytest.mark.slow

INSTANCE = "8f2d41c0-6f5d-4d8e-9f2b-5c1b8a9f4e21"


def visit(browser: Browser, url: str) -> None:
    """Show a page of MLflow: from an empty one, since addresses that differ after # alone load nothing."""
    browser.visit("about:blank", width=1280)
    browser.visit(url, width=1280)


@pytest.fixture
def link(mlflow_server: MlflowServer, tmp_path: Path) -> str:
    """The link to a degraded window, beside one that is ok, and the run with the picture."""
    tracking = connect(mlflow_server.uri, tmp_path)
    monitor = "seen-in-mlflow"
    tracking.publish_window(INSTANCE, evaluation(0, monitor=monitor, outcome=Status.OK), newest=True)
    degraded = tracking.publish_window(INSTANCE, evaluation(1, monitor=monitor), newest=True)
    points = [point(number, 0.70, **{"forecast/low": 0.716, "forecast/high": 0.761}) for number in range(2)]
    points[1] = replace(points[1], outcome=Status.DEGRADED)
    tracking.publish_series(
        INSTANCE,
        monitor,
        "",
        points,
        lambda _: {"auc_over_time.png": timeline("seen", points, zone=ZoneInfo("UTC"))},
        picture="auc_over_time.png",
    )
    return degraded


def test_a_link_opens_a_run_among_runs(browser: Browser, link: str) -> None:
    visit(browser, link)
    browser.until("document.body?.innerText.includes('DEGRADED 0.701 · 2013-09-08 20:00')")
    # Without what our links say, MLflow calls the list of runs “Evaluations”, beside traces.
    assert browser.measure("[...document.querySelectorAll('a')].some(one => one.innerText === 'Runs')")


def test_the_list_shows_what_was_found_and_the_description_the_picture(browser: Browser, link: str) -> None:
    place, _, rest = link.partition("/runs/")
    visit(browser, f"{place}/runs?{rest.partition('?')[2]}")
    browser.until("document.body?.innerText.includes('DEGRADED 0.701')")
    text = browser.measure("document.body.innerText")
    assert "ok 0.701 · 2013-09-01 20:00" in text
    assert "AUROC 0.700, normal range 0.716 to 0.761" in text
    picture = "[...document.images].find(one => one.src.includes('auc_over_time.png'))"
    browser.until(f"{picture}?.complete && {picture}.naturalWidth === 800")
