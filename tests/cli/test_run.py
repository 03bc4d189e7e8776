"""``rocmonitor run`` and ``rocmonitor backfill``: what they print and their exit codes."""

import json
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from scenario import until


@pytest.mark.slow
def test_run_judges_delivers_and_prints_one_line_where_nobody_watches(here, rocmonitor):
    done = rocmonitor("run")
    [line] = done.stdout.splitlines()
    assert line.startswith("credit: ● ok; 2 windows judged (2 ok); 2026-06-01 to 2026-06-08 AUROC 0.")
    assert line.endswith("; `rocmonitor history credit` shows why")
    assert done.stderr == ""
    again = rocmonitor("run", "credit")
    assert again.stdout == ""
    assert "nothing new is due" in again.stderr


def test_monitors_without_anything_new_are_one_line(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    text = path.read_text()
    monitor = text[text.index("  credit:") :]
    others = [monitor.replace("  credit:", f"  m{number}:") for number in range(6)]

    def told(names: int) -> str:
        path.write_text(text + "".join(others[:names]))
        return rocmonitor("run", "--at", "2026-05-30").stderr

    assert told(1) == "credit, m0: nothing new is due\n"
    assert told(5) == "6 monitors: nothing new is due\n"


def test_a_dry_run_prints_the_table_which_nothing_keeps(here, rocmonitor):
    told = rocmonitor("run", "--dry-run").stdout
    assert "2026-05-25 to 2026-06-01" in told
    assert told.count("● ok") == 2
    assert "has not been judged yet" in rocmonitor("history", "credit").stderr


def test_windows_that_wait_for_labels_are_one_line(here, rocmonitor):
    here.configure(window="{every: 7d, label_delay: 3650d, end: 2026-06-15}")
    told = rocmonitor("run").stderr
    assert "credit: 3 windows wait for labels, the first is 2026-05-25 to 2026-06-01" in told


@pytest.mark.slow
def test_tables_are_in_the_json_when_asked_for(here, rocmonitor):
    [monitor] = json.loads(rocmonitor("run", "--json", "--tables").stdout)["monitors"]
    tables = monitor["evaluations"][0]["tables"]
    assert {"roc", "thresholds", "fprs"} <= set(tables)
    short, long = (rocmonitor("history", "credit", "--json", *more).stdout for more in ((), ("--tables",)))
    assert len(short) < len(long) / 2
    assert "tables" not in json.loads(short)["evaluations"][0]
    assert json.loads(long)["evaluations"][0]["tables"] == tables


@pytest.mark.slow
def test_json_is_the_same_as_the_store_and_nothing_else_is_on_stdout(here, rocmonitor):
    told = json.loads(rocmonitor("run", "--json").stdout)
    [monitor] = told["monitors"]
    assert told["undelivered"] == {}
    assert monitor["status"] == {"": "ok"}
    kept = json.loads(rocmonitor("history", "credit", "--json").stdout)
    assert kept["evaluations"] == monitor["evaluations"]
    assert kept["outbox"] == {"waiting": 0, "errors": {}}


@pytest.mark.slow
def test_degraded_is_exit_code_3_until_it_is_over(here, rocmonitor):
    here.configure(window=until("2026-06-15"))
    here.score(22, shift=0.2)
    assert "DEGRADED" not in rocmonitor("run", "--dry-run", code=3).stderr
    assert here.alarms == ""
    rocmonitor("run", code=3)
    assert here.alarms.startswith("DEGRADED credit")
    rocmonitor("run", code=3)  # nothing new, but still degraded
    assert here.alarms.count("DEGRADED credit:") == 1
    shown = rocmonitor("history", "credit").stdout
    assert "▲ degraded since 2026-06-08: AUROC " in shown
    assert "below its normal range" in shown


@pytest.mark.slow
def test_too_few_rows_are_exit_code_4(here, rocmonitor):
    here.configure(window=until("2026-06-15"))
    shown = rocmonitor("run", "--dry-run", code=4).stdout
    assert "\n○ insufficient 2026-06-08 to 2026-06-15: no rows" in shown
    told = rocmonitor("run", code=4).stdout
    assert told.startswith("credit: ○ insufficient; 3 windows judged (2 ok, 1 insufficient)")
    assert "2026-06-08 to 2026-06-15 cannot be judged: no rows" in told


def test_an_outside_system_that_fails_is_exit_code_5(here, rocmonitor):
    (here.folder / "source.db").unlink()
    done = rocmonitor("run", code=5)
    assert "source.db" in done.stderr
    assert here.alarms.count("ERROR source here: ") == 1  # the next call may be long in coming


@pytest.mark.slow
def test_a_failure_that_may_pass_is_borne_where_calls_come_often(here, rocmonitor):
    rocmonitor("run")
    (here.folder / "source.db").unlink()
    rocmonitor("run", code=5)
    assert "ERROR" not in here.alarms


def test_mlflow_that_is_down_keeps_the_evaluation_and_is_told(here, closed_port, rocmonitor):
    here.configure(window=until("2026-06-08"), mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    done = rocmonitor("run", code=5)
    assert "2 windows judged (2 ok)" in done.stdout
    assert "not delivered yet, kept in the outbox" in done.stderr
    assert "outbox: 2 waiting" in rocmonitor("history", "credit").stderr
    again = rocmonitor("run", code=5)  # nothing new, but still undelivered
    assert "mlflow: not delivered yet" in again.stderr


def test_an_error_of_mlflow_is_one_line(here, rocmonitor):
    """MLflow logs errors of its database with a traceback, before it raises them."""
    here.configure(window=until("2026-06-08"))
    with closing(sqlite3.connect(here.folder / "mlflow.db")) as other:
        other.execute("ALTER TABLE experiments RENAME TO away")
    said = rocmonitor("run", code=5).stderr
    assert "no such" in said  # table or column
    assert "Traceback" not in said
    assert "SQLAlchemy database error" not in said


@pytest.mark.parametrize("fault", ["folder", pytest.param("without a table", marks=pytest.mark.slow)])
def test_a_store_that_fails_is_announced_once_and_so_is_its_end(here, rocmonitor, fault):
    path = here.folder / "rocmonitor.db"
    rocmonitor("db", "upgrade")
    if fault == "folder":
        path.rename(path.with_suffix(".away"))
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as other:
            other.execute("ALTER TABLE rocmonitor_lease RENAME TO away")
    for _ in range(2):
        rocmonitor("run", code=5)
    assert here.alarms.count("ERROR store: ") == 1
    memory = here.folder / ".rocmonitor-store-fails.json"
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    said = json.loads(memory.read_text())
    yesterday = {name: (datetime.fromisoformat(at) - timedelta(hours=25)) for name, at in said.items()}
    memory.write_text(json.dumps({name: at.isoformat() for name, at in yesterday.items()}))
    rocmonitor("run", code=5)
    assert here.alarms.count("ERROR store: still failing after 25 hours") == 1
    if fault == "folder":
        path.rmdir()
        path.with_suffix(".away").rename(path)
    else:
        with closing(sqlite3.connect(path)) as other:
            other.execute("ALTER TABLE away RENAME TO rocmonitor_lease")
    for _ in range(2):
        rocmonitor("run")
    assert here.alarms.count("RESOLVED store: works again") == 1
    assert not memory.exists()


@pytest.mark.slow
def test_at_decides_what_is_due(here, rocmonitor):
    assert rocmonitor("run", "--at", "2026-05-31").stdout == ""
    done = rocmonitor("run", "--at", "2026-06-04T00:00", "--json")
    assert len(json.loads(done.stdout)["monitors"][0]["evaluations"]) == 1
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert "lies in the future" in rocmonitor("run", "--at", tomorrow, code=2).stderr


def test_every_problem_of_the_configuration_is_told_at_once(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("every: 7d", "every: 7").replace("notify: [log]", "notify: [oops]")
    )
    told = rocmonitor("run", code=2).stderr
    assert "monitors.credit.window.every: must be a whole number" in told
    assert "monitors.credit.notify: 'oops' is not defined under channels" in told


@pytest.mark.slow
def test_backfill_judges_what_lies_between(here, rocmonitor):
    done = rocmonitor("backfill", "credit", "--from", "2026-05-18", "--to", "2026-06-02", "--json")
    starts = [
        evaluation["window"]["start"][:10]
        for evaluation in json.loads(done.stdout)["monitors"][0]["evaluations"]
    ]
    assert starts == ["2026-05-18", "2026-05-25"]


@pytest.mark.slow
def test_a_backfill_that_finds_nothing_due_says_why_and_what_to_do(here, rocmonitor):
    period = ("backfill", "credit", "--from", "2026-05-25", "--to", "2026-06-08")
    rocmonitor("run")
    told = rocmonitor(*period).stderr
    assert "2 windows, the first 2026-05-25 to 2026-06-01, were judged before" in told
    assert "no label or score has changed; --again judges by the rules as they are now" in told
    assert "nothing new is due" not in told
    assert "neither their rows nor the settings have changed" in rocmonitor(*period, "--again").stderr
    here.configure(rules="[{kind: floor, value: 0.95}]", window=until("2026-06-08"))
    [monitor] = json.loads(rocmonitor(*period, "--again", "--json", code=3).stdout)["monitors"]
    assert [each["revision"] for each in monitor["evaluations"]] == [1, 1]
