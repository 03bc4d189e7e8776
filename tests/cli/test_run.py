"""``rocmonitor run`` and ``rocmonitor backfill``: what they print and their exit codes."""

import json
from datetime import UTC, datetime, timedelta

from scenario import until


def test_run_judges_delivers_and_prints_a_table(here, rocmonitor):
    done = rocmonitor("run")
    assert "2026-05-25 to 2026-06-01" in done.stdout
    assert done.stdout.count(" ok") == 4  # outcome and status of two windows
    assert "credit 2026-05-25 to 2026-06-01" in done.stderr  # progress is no data
    again = rocmonitor("run", "credit")
    assert again.stdout == ""
    assert "nothing new is due" in again.stderr


def test_json_is_the_same_as_the_store_and_nothing_else_is_on_stdout(here, rocmonitor):
    told = json.loads(rocmonitor("run", "--json").stdout)
    [monitor] = told["monitors"]
    assert told["undelivered"] == {}
    assert monitor["status"] == {"": "ok"}
    kept = json.loads(rocmonitor("history", "credit", "--json").stdout)
    assert kept["evaluations"] == monitor["evaluations"]
    assert kept["outbox"] == {"waiting": 0, "errors": {}}


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
    assert "ok -> degraded" in shown
    assert "below its forecast interval" in shown


def test_too_few_rows_are_exit_code_4(here, rocmonitor):
    here.configure(window=until("2026-06-15"))
    told = rocmonitor("run", code=4).stdout
    assert "insufficient 2026-06-08 to 2026-06-15\n    no rows" in told


def test_an_outside_system_that_fails_is_exit_code_5(here, rocmonitor):
    (here.folder / "source.db").unlink()
    done = rocmonitor("run", code=5)
    assert "source.db" in done.stderr
    assert here.alarms.startswith("ERROR credit")


def test_mlflow_that_is_down_keeps_the_evaluation_and_is_told(here, closed_port, rocmonitor):
    here.configure(window=until("2026-06-08"), mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    done = rocmonitor("run", code=5)
    assert done.stdout.count(" ok") == 4
    assert "not delivered yet, kept in the outbox" in done.stderr
    assert "outbox: 2 waiting" in rocmonitor("history", "credit").stderr
    again = rocmonitor("run", code=5)  # nothing new, but still undelivered
    assert "mlflow: not delivered yet" in again.stderr


def test_at_decides_what_is_due(here, rocmonitor):
    assert "2026-06-01" not in rocmonitor("run", "--at", "2026-05-31").stdout
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


def test_backfill_judges_what_lies_between(here, rocmonitor):
    done = rocmonitor("backfill", "credit", "--from", "2026-05-18", "--to", "2026-06-02", "--json")
    starts = [
        evaluation["window"]["start"][:10]
        for evaluation in json.loads(done.stdout)["monitors"][0]["evaluations"]
    ]
    assert starts == ["2026-05-18", "2026-05-25"]
