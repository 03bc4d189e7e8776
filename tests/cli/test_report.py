"""``rocmonitor report``, on a store that real runs have filled."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from commands import Rocmonitor
from scenario import World, until, week

from rocmonitor.cli.terminal import write
from rocmonitor.report.chart import monitor_chart
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.web.monitor import Choice, monitor_view
from rocmonitor.web.site import Site


@pytest.fixture
def judged(here: World) -> World:
    """Weeks 20 to 22, the last of them degraded; no MLflow is needed."""
    here.score(22, shift=0.2)
    with here.runtime(week(24), window=until("2026-06-15")) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
    assert tick.error is None
    return here


def test_it_writes_one_file_and_says_how_the_monitor_stands(judged: World) -> None:
    done = Rocmonitor(judged.folder)("report", "credit")
    html = (judged.folder / "credit.html").read_text(encoding="utf-8")
    assert re.fullmatch(
        r"AUROC 0\.\d{2} \(0\.\d{2} to 0\.\d{2}\) in the week of 8 June 2026, "
        r"normal range 0\.\d{2}( to 0\.\d{2}| or more)\. Degraded since 2026-06-08\.\n",
        done.stdout,
    )
    assert "wrote credit.html" in done.stderr
    assert '<span class="key before">reference</span>' in html
    assert "the same again: <code>rocmonitor report credit --output credit.html</code>" in html


def test_a_loss_that_is_over_is_on_the_first_screen(here: World) -> None:
    here.clear(20)
    here.score(20, shift=0.2)
    for number in range(22, 25):
        here.score(number)
    with here.runtime(week(26), window=until("2026-06-29"), rules="[{kind: forecast}]") as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock()).error is None
    done = Rocmonitor(here.folder)("report", "credit")
    assert "Ok since" in done.stdout
    html = re.sub(r"<[^>]*>", "", (here.folder / "credit.html").read_text(encoding="utf-8"))
    first = html.partition("Last loss")[2][:200]
    loss = r"2026-05-25 or before to 2026-06-01: 0\.\d+ lower \(.*\) in 1.window; forecast"
    assert re.match(loss, first), first
    assert "rocmonitor acknowledge" not in html.partition("The windows as a table")[0]


def test_a_loss_since_the_first_judged_window_may_have_begun_before(here: World) -> None:
    for number in (20, 21):
        here.clear(number)
        here.score(number, shift=0.2)
    with here.runtime(week(22) + timedelta(days=3), window=until("2026-06-08")) as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock()).error is None
        drain(runtime)
    first = "at or before 2026-05-25, the first judged window"
    assert f"Began {first} (UTC)." in here.alarms
    rocmonitor = Rocmonitor(here.folder)
    rocmonitor("report")
    html = re.sub(r"<[^>]*>", "", (here.folder / "credit.html").read_text(encoding="utf-8"))
    assert f"Began{first}" in html
    assert "2026-05-25 or before on: " in rocmonitor("history").stdout


def test_the_page_says_the_same_in_the_same_words(judged: World) -> None:
    done = Rocmonitor(judged.folder)("report", "credit")
    html = unescape((judged.folder / "credit.html").read_text(encoding="utf-8"))
    path = judged.folder / "rocmonitor.yaml"
    view = monitor_view(Site(path=path), "credit", Choice())
    assert view is not None
    assert done.stdout == view["sentence"] + "\n"
    assert f'<p class="sentence">{view["sentence"]}</p>' in re.sub(
        r'<span class="date">(.*?)</span>', r"\1", html
    )
    shown = [mark["text"] for mark in monitor_chart(view)["verticals"]]
    assert shown
    data = json.loads(html.partition('id="chart-data">')[2].partition("</script>")[0])
    assert [mark["text"] for mark in data["verticals"]] == shown


def test_a_new_file_is_its_owners_alone_and_another_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared.html"
    shared.touch(mode=0o644)
    before = os.umask(0o022)
    try:
        for path, mode in ((tmp_path / "new.html", 0o600), (shared, 0o644)):
            write(path, "text")
            assert path.stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_period_and_another_file(judged: World) -> None:
    Rocmonitor(judged.folder)("report", "credit", "--to", "2026-06-08", "-o", "may.html")
    html = (judged.folder / "may.html").read_text(encoding="utf-8")
    shown = html[html.index("<main") : html.index("</main>")]
    assert "2026-05-25 to 2026-06-01" in shown
    assert "2026-06-08 to 2026-06-15" not in shown
    assert "--to 2026-06-08 --output may.html</code>" in html


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["credits"], "no monitor 'credits'"),
        (["credit", "--from", "2027-01-01"], "has no judged window in this period"),
        (["credit", "--segment", "region=x"], "of segment 'region=x' (known: none)"),
        (["credit", "--from", "2026-06-01", "--to", "2026-06-01"], "must come before"),
        (["credit", "--from", "yesterday"], "must be a date or time"),
        (["credit", "-o", "absent/x.html"], "there is no folder absent"),
    ],
)
def test_what_cannot_be_done_is_said(judged: World, arguments: list[str], said: str) -> None:
    done = Rocmonitor(judged.folder)("report", *arguments, code=2)
    assert said in done.stderr
    assert not list(judged.folder.glob("*.html"))


def test_before_its_first_window_is_due_it_says_when(here: World) -> None:
    here.configure(window="{every: 7d, label_delay: 2d, start: 2099-01-05}")
    done = Rocmonitor(here.folder)("report", "credit", code=2)
    assert "credit has not been judged yet: its first window is due by 2099-01-14." in done.stderr


def test_outlooks_alone_make_a_report(here: World) -> None:
    """They are made long before the labels are due."""
    window, outlook = "{every: 7d, label_delay: 30000d}", "{after: 1h}"
    with here.runtime(week(21) + timedelta(days=1), window=window, outlook=outlook) as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
    done = Rocmonitor(here.folder)("report", "credit")
    assert re.fullmatch(
        r"credit has not been judged yet: its first window is due by 2\d{3}-.*\n", done.stdout
    )
    text = unescape((here.folder / "credit.html").read_text(encoding="utf-8"))
    assert "Before its labels, the outlook of the window 2026-05-25 to 2026-06-01 is" in text
    assert "The windows as a table (1)" in text
