"""``rocmonitor status`` and ``history --last``."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from scenario import until


def test_before_the_first_window_a_monitor_is_new(here, rocmonitor):
    done = rocmonitor("status")
    assert done.stdout.startswith("The model has not been judged yet. Not checked yet.\n")
    assert "· not judged yet  credit" in done.stdout
    [monitor] = json.loads(rocmonitor("status", "--json").stdout)["monitors"]
    assert (monitor["status"], monitor["window"], monitor["auc"]) == ("waiting", None, None)


@pytest.mark.slow
def test_the_worst_comes_first_with_what_is_known_of_its_last_window(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    here.configure(window=until("2026-06-15"))
    here.score(22, shift=0.2, labelled=0.9)
    text = path.read_text()
    monitor = text[text.index("  credit:") :]
    path.write_text(f"{text}{monitor.replace('  credit:', '  another:').replace('2026-06-15', '2026-06-08')}")
    rocmonitor("run", code=3)
    done = rocmonitor("status", code=3)
    head, _, columns, first, second = done.stdout.splitlines()
    assert re.fullmatch(r"As of 2026-06-15, when the watch ended: 1 of 2 models needs attention\.", head)
    assert columns.split()[:2] == ["status", "monitor"]
    assert re.match(r"▲ degraded  credit   AUROC −0\.2\d  2026-06-08 to 2026-06-15  0\.", first)
    assert re.search(r"90 %      2026-06-08  watched until", first)
    assert re.match(r"● ok        another  +2026-06-01 to 2026-06-08", second)
    told = json.loads(rocmonitor("status", "--json", code=3).stdout)
    assert told["outbox"] == {"waiting": 0, "errors": {}}
    credit, another = told["monitors"]
    kept = json.loads(rocmonitor("history", "credit", "--json", "--last", "1").stdout)["evaluations"]
    assert credit["auc"] == kept[0]["metrics"]["champion/auc"]
    assert credit["expected_low"] == kept[0]["metrics"]["forecast/low"]
    lost = credit["episode"]
    assert (lost["kind"], lost["start"], lost["end"]) == ("performance", "2026-06-08T00:00:00+00:00", None)
    assert lost["size_low"] < lost["size"] < lost["size_high"] < -0.1
    assert lost["told"]["channels"] == ["log"]
    assert credit["labelled_share"] == pytest.approx(0.9)
    assert (credit["status"], credit["since"]) == ("degraded", "2026-06-08T00:00:00+00:00")
    assert (another["status"], another["since"]) == ("ok", None)


@pytest.mark.slow
def test_segments_are_shown_where_they_are_not_ok(here, rocmonitor):
    here.configure(window=until("2026-06-01"), segments="[region]")
    rocmonitor("run")
    assert "region=all" not in rocmonitor("status").stdout
    here.configure(window=until("2026-06-08"), segments="[region]", min_per_class="1000")
    rocmonitor("run", code=4)
    assert "○ insufficient    region=all" in rocmonitor("status", code=4).stdout
    segments = [
        one["segment"] for one in json.loads(rocmonitor("status", "--json", code=4).stdout)["monitors"]
    ]
    assert segments == ["", "region=all"]


def test_what_is_not_delivered_is_told(here, closed_port, rocmonitor):
    here.configure(window=until("2026-06-08"), mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    rocmonitor("run", code=5)
    assert "mlflow: not delivered yet" in rocmonitor("status", code=5).stderr


def test_a_source_that_fails_is_an_error(here, rocmonitor):
    (here.folder / "source.db").unlink()
    rocmonitor("run", code=5)
    done = rocmonitor("status", code=5)
    assert "✕ error  credit" in done.stdout
    assert re.search(
        r"(?m)^Source here has been failing since .*Z: sources\.here\.url_env: .*source\.db", done.stderr
    )
    [outage] = json.loads(rocmonitor("status", "--json", code=5).stdout)["health"]["outages"]
    assert (outage["place"], outage["monitors"]) == ("source:here", ["credit"])
    assert re.search(
        r"(?m)^\S+ \S+ on: source here failed 1 time: sources", rocmonitor("history", "credit").stdout
    )
    [failure] = json.loads(rocmonitor("history", "credit", "--json").stdout)["episodes"]
    assert (failure["kind"], failure["failures"], failure["end"]) == ("source", 1, None)


@pytest.mark.slow
def test_last_shows_the_newest_windows_and_what_changed_in_them(here, rocmonitor):
    here.configure(window=until("2026-06-22"))
    here.score(22, shift=0.2)
    here.score(23)
    rocmonitor("run")
    starts = [
        one["window"]["start"][:10]
        for one in json.loads(rocmonitor("history", "credit", "--json", "--last", "2").stdout)["evaluations"]
    ]
    assert starts == ["2026-06-08", "2026-06-15"]
    newest = rocmonitor("history", "credit", "--last", "1").stdout
    assert "2026-06-15 to 2026-06-22" in newest
    assert "2026-06-08 to" not in newest
    assert "● ok since 2026-06-15" in newest
    assert "▲ degraded since" not in newest
    assert rocmonitor("history", "credit", "--last", "99").stdout == rocmonitor("history", "credit").stdout
    assert "--last" in rocmonitor("history", "credit", "--last", "0", code=2).stderr


@pytest.mark.slow
def test_last_shows_a_change_before_its_windows_that_still_holds(here, rocmonitor):
    here.configure(window=until("2026-06-22"))
    here.score(22, shift=0.2)
    here.score(23, shift=0.2)
    rocmonitor("run", code=3)
    newest = rocmonitor("history", "credit", "--last", "1").stdout
    assert "2026-06-08 to" not in newest
    assert "▲ degraded since 2026-06-08" in newest


def test_a_tick_that_does_not_come_is_a_problem(here, rocmonitor):
    here.configure(window=until("2099-01-01"))
    rocmonitor("run", code=4)  # there are no rows
    assert rocmonitor("status", code=4).stderr == ""
    with closing(sqlite3.connect(here.folder / "rocmonitor.db")) as store, store:
        store.execute("UPDATE rocmonitor_tick SET next_due = '2026-05-26 06:00:00.000000'")
    done = rocmonitor("status", code=5)
    assert "PROBLEM: credit: its check was due at 2026-05-26T06:00:00Z and has not ended" in done.stderr
    assert re.match(r"The model cannot be judged\. Checked just now\.", done.stdout)
    health = json.loads(rocmonitor("status", "--json", code=5).stdout)["health"]
    assert [problem["code"] for problem in health["problems"]] == ["tick-overdue"]
    assert health["monitors"]["credit"]["last_tick"]["outcome"] == "ok"


@pytest.mark.slow
def test_looking_needs_no_statistics(here, rocmonitor):
    here.configure(window=until("2026-06-01"))
    rocmonitor("run")
    code = (
        "import sys; from rocmonitor.cli import main\n"
        "try: main()\n"
        "finally: print(*sys.modules.keys() & {'numpy', 'scipy', 'pandas', 'mlflow'}, file=sys.stderr)"
    )
    for command in (["status"], ["history", "credit"]):
        program = [sys.executable, "-c", code, *command]
        done = subprocess.run(program, cwd=here.folder, capture_output=True, text=True, check=False)
        assert "credit" in done.stdout
        assert done.stderr.strip() == ""
