"""What MLflow gets of a window: little where nothing happened, everything of a degraded one or when asked."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from scenario import World, week

from rocmonitor import store
from rocmonitor.report.pages import window_page
from rocmonitor.service import runtime as runtime_module
from rocmonitor.service.delivery import drain
from rocmonitor.service.publishing import PICTURE, Story, story
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.tracking import Tracking
from rocmonitor.tracking.content import BRIEF, BRIEF_BYTES
from rocmonitor.wording.format import area, forecast_span, span

NOW = week(30)


def judge(runtime: Runtime, first: int, last: int) -> None:
    windows = runtime.config.monitors["credit"].calendar.within(week(first), week(last))
    assert run_monitor(runtime, runtime.config.monitors["credit"], now=NOW, windows=windows).error is None


def runs(here: World, kind: str) -> list[Run]:
    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("rocmonitor/credit").experiment_id
    found = client.search_runs([experiment], f"tags.`rocmonitor.kind` = '{kind}'")
    return sorted(found, key=lambda run: run.data.tags.get("rocmonitor.window", ""))


def files(run: Run) -> dict[str, bytes]:
    folder = Path(run.info.artifact_uri.removeprefix("file://"))
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.slow
def test_a_quiet_window_has_twelve_metrics_and_one_small_file_and_a_degraded_one_all(here):
    here.score(20)
    here.score(21, shift=0.2)
    with here.runtime(NOW) as runtime:
        judge(runtime, 20, 22)
        drain(runtime)
        kept = store.evaluations(runtime.store, "credit")
    quiet, bad = runs(here, "window")
    assert len(BRIEF) <= 12
    assert quiet.data.metrics == {n: kept[0].metrics[n] for n in BRIEF if n in kept[0].metrics}
    assert list(files(quiet)) == ["result.json"]
    assert sum(map(len, files(quiet).values())) <= BRIEF_BYTES
    told = json.loads(files(quiet)["result.json"])
    assert told["metrics"] == kept[0].metrics
    assert bad.data.metrics == kept[1].metrics
    assert {"result.json", "window.html", "tables/roc.csv"} <= files(bad).keys()
    [series] = runs(here, "series")
    assert {name.partition("/")[0] for name in series.data.metrics} == {"AUROC"}


@pytest.mark.slow
def test_with_little_detail_the_descriptions_have_every_number_too(here):
    """A series run without detail has other metrics, but the texts speak of the same windows."""
    here.score(20)
    here.score(21, shift=0.2)
    with here.runtime(NOW) as runtime:
        judge(runtime, 20, 22)
        drain(runtime)
        kept = store.evaluations(runtime.store, "credit")
    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    note = client.get_experiment_by_name("rocmonitor/credit").tags["mlflow.note.content"]
    rows = [line.strip("| ").split("|") for line in note.splitlines() if line.startswith("| 2026-")]
    assert len(rows) == len(kept) == 2
    for cells, one in zip(rows, reversed(kept), strict=True):
        auc, interval, normal, positives, labelled = (
            cell.removesuffix("&emsp;").strip() for cell in cells[2:]
        )
        low, high = (one.metrics[f"champion/auc_{end}"] for end in ("low", "high"))
        assert auc == area(one.metrics["champion/auc"])
        assert interval == span(low, high)
        assert normal == forecast_span(one.metrics["forecast/low"], one.metrics["forecast/high"])
        assert (positives, labelled) == (f"{one.counts.n_pos:,}", "100 %")
    [series] = runs(here, "series")
    assert f"AUROC {area(kept[-1].metrics['champion/auc'])}" in series.data.tags["mlflow.note.content"]


def test_a_window_is_hollow_while_its_labels_may_come_and_not_for_ever(here):
    """Labels that never come leave a window filled once it is closed, on the page as in MLflow."""
    for number in (20, 28):
        here.score(number, labelled=0.97)
    with here.runtime(NOW) as runtime:
        judge(runtime, 20, 21)
        judge(runtime, 28, 29)
        told = story(runtime, "credit", "")
    old, new = (point.window for point in told.points)
    assert told.waiting == {new}
    assert old not in told.waiting


@pytest.mark.slow
def test_all_detail_when_asked(here):
    here.score(20)
    with here.runtime(NOW, mlflow="{detail: all}") as runtime:
        judge(runtime, 20, 21)
        drain(runtime)
        [kept] = store.evaluations(runtime.store, "credit")
    [run] = runs(here, "window")
    assert run.data.metrics == kept.metrics
    assert {"result.json", "window.html", "tables/roc.json"} <= files(run).keys()
    [series] = runs(here, "series")
    assert kept.metrics.items() <= series.data.metrics.items()
    assert PICTURE in files(series)


@pytest.mark.slow
def test_a_series_is_written_once_for_all_that_wait(here, monkeypatch):
    for number in (20, 21, 22):
        here.score(number)
    with here.runtime(NOW) as runtime:
        judge(runtime, 20, 23)
        written = []
        real = type(runtime.tracking).publish_series
        monkeypatch.setattr(
            type(runtime.tracking), "publish_series", lambda *a, **k: written.append(a) or real(*a, **k)
        )
        assert drain(runtime).sent == 3
    assert len(written) == 1
    [series] = runs(here, "series")
    assert series.data.tags["rocmonitor.points"] == "3"


@pytest.mark.parametrize(
    ("done", "total", "notable", "drawn"),
    [(0, 1, (), True), (1, 2, (), False), (7, 8, (), True), (8, 15, (), False), (3, 4, (3,), True),
     (4, 5, (3,), True), (5, 6, (3,), False), (1, 17, (), True)],
)  # fmt: skip
def test_pictures_are_drawn_when_something_happened_when_it_ended_and_every_eight_windows(
    done, total, notable, drawn
):
    from factories import point

    from rocmonitor.policy.evaluation import Status

    outcomes = [Status.DEGRADED if number in notable else Status.OK for number in range(total)]
    points = [replace(point(number, 0.7), outcome=outcome) for number, outcome in enumerate(outcomes)]
    story = Story(
        title="credit",
        points=points,
        waiting=frozenset(),
        floor=None,
        zone=ZoneInfo("UTC"),
    )
    assert story.happened(done) is drawn


def test_two_workers_connect_to_mlflow_once(here, monkeypatch):
    """The second waits for the first; both in it at once would pass the barrier."""
    connect, met = runtime_module.connect, threading.Barrier(2)

    def slow(*arguments: Any, **named: Any) -> Tracking:
        with suppress(threading.BrokenBarrierError):
            met.wait(timeout=0.3)
        return connect(*arguments, **named)

    monkeypatch.setattr(runtime_module, "connect", slow)
    found: list[Tracking] = []
    with here.runtime(NOW) as runtime:
        threads = [threading.Thread(target=lambda: found.append(runtime.tracking)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert met.broken
    assert found[0] is found[1]


@pytest.mark.slow
def test_windows_in_which_something_happened_have_their_page_as_a_file(here):
    here.score(20)
    for number in (21, 22):
        here.score(number, shift=0.2)
    with here.runtime(NOW) as runtime:
        judge(runtime, 20, 23)
        drain(runtime)
        told = store.evaluations(runtime.store, "credit")[1]
        frozen = store.reference_of(runtime.store, told)
    quiet, *bad = runs(here, "window")
    assert "window.html" not in files(quiet)
    for run in bad:
        assert {"window.html", "tables/roc.csv"} <= files(run).keys()
        note = run.data.tags["mlflow.note.content"]
        assert "**What moved.**" in note
        assert "`window.html`" in note
    page = files(bad[0])["window.html"].decode()
    assert page == window_page(told, ZoneInfo("UTC"), frozen)
    assert f"{told.metrics['champion/auc']:.3f}" in page
    assert '<span class="key before">reference</span>' in page
    assert "rocmonitor backfill credit --from 2026-06-01 --to 2026-06-08 --dry-run" in page
