"""``rocmonitor review``: what it prints, writes and sends, and its exit codes."""

import json

import pytest
from scenario import until


@pytest.mark.slow
def test_a_review_is_printed_written_and_told(here, rocmonitor):
    done = rocmonitor("review", "credit", "--output", "report.html")
    assert "credit: champion 7 against challenger 8" in done.stdout
    assert "NO DECISION YET" in done.stdout
    assert len(done.stdout.splitlines()) <= 14
    assert "Bear in mind" not in done.stdout
    in_full = rocmonitor("review", "credit", "--explain").stdout
    assert "running mean, its interval valid under repeated checks" in in_full
    assert "wrote report.html" in done.stderr
    page = (here.folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    told = json.loads(rocmonitor("review", "credit", "--json").stdout)
    assert (told["delivered"], told["undelivered"]) == (0, {})  # by the first
    assert told["review"]["decision"] == "no decision yet"
    assert told["review"]["registered"]
    assert "no decision yet" in page.lower()
    assert here.alarms == ""
    assert "a message" not in done.stderr


@pytest.mark.slow
def test_a_review_that_is_told_says_where(here, rocmonitor):
    for number in range(22, 26):
        here.score(number, shift=0.3)
    here.configure(window=until("2026-07-06"))
    done = rocmonitor("review", "credit", "--json")
    assert json.loads(done.stdout)["review"]["verdict"] == "challenger better"
    assert done.stderr.endswith("a message about this decision goes to log\n")
    assert here.alarms.startswith("REVIEW credit: ")
    assert "a message" not in rocmonitor("review", "credit").stderr  # nothing is told twice


def test_a_review_that_cannot_be_is_refused_with_its_exit_code(here, closed_port, rocmonitor):
    def refused(code: int, *arguments: str) -> str:
        return rocmonitor("review", *arguments, code=code).stderr

    said = refused(2, "credit", "--output", "nowhere/report.html")
    assert "--output nowhere/report.html cannot be written: there is no folder nowhere" in said
    assert "credit review" not in said  # before the work, not after it
    assert "it is a folder" in refused(2, "credit", "--output", str(here.folder))
    assert "no monitor 'nobody'" in refused(2, "nobody")
    assert "must come before --to" in refused(2, "credit", "--from", "2026-06-02", "--to", "2026-06-01")
    assert "no window from 2027-01-01" in refused(4, "credit", "--from", "2027-01-01")
    assert not (here.folder / "report.html").exists()


@pytest.mark.slow
def test_a_dry_review_tells_nobody_and_mlflow_that_is_down_is_told_later(here, closed_port, rocmonitor):
    here.configure(window=until("2026-06-08"), mlflow=f"{{tracking_uri: 'http://127.0.0.1:{closed_port}'}}")
    rocmonitor("review", "credit", "--dry-run", "--json")
    done = rocmonitor("review", "credit", "--from", "2026-05-25", code=5)
    assert "chosen by hand" in done.stdout
    assert "mlflow: not delivered yet, kept in the outbox" in done.stderr
    assert "outbox: 1 waiting" in done.stderr
