"""The log: one line a message whatever is in it, as text with its zone or as JSON."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

import pytest
from scenario import until

from rocmonitor.cli.logs import Json, Text

HOSTILE = "north\n2026-01-05 00:00:00+0000 ERROR forged: \x1b[2J\u202e"


def record(message: str = "%s: %s", *values: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("rocmonitor.service", logging.WARNING, "", 0, message, values, None)
    made.created = datetime(2026, 1, 5, 12, 0, 0, 250_000, tzinfo=UTC).timestamp()
    vars(made).update(extra)
    return made


def failed(made: logging.LogRecord) -> logging.LogRecord:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    return made


def test_a_text_line_has_its_zone_and_stays_one_line() -> None:
    line = Text().format(record("%s: %s", "credit", HOSTILE))
    assert re.match(r"2026-01-05 \d\d:\d\d:00[+-]\d{4} WARNING rocmonitor\.service: credit: north\\n", line)
    assert line.isprintable()


def test_a_traceback_is_indented() -> None:
    first, *others = Text().format(failed(record("failed"))).split("\n")
    assert first.endswith("rocmonitor.service: failed")
    assert len(others) > 3
    assert all(line.startswith("    ") and line.isprintable() for line in others)


def test_a_json_line_is_one_object_in_utc() -> None:
    made = record("%s: %s", "credit", HOSTILE, monitor="credit", duration_seconds=1.5, segment="", other=1)
    line = Json().format(made)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line) == {
        "time": "2026-01-05T12:00:00.250+00:00",
        "level": "warning",
        "logger": "rocmonitor.service",
        "message": f"credit: {HOSTILE}",
        "monitor": "credit",
        "duration_seconds": 1.5,
    }
    assert "ValueError: north" in json.loads(Json().format(failed(record("failed"))))["exception"]


def test_what_is_no_json_is_written_as_text() -> None:
    assert json.loads(Json().format(record("x", window=datetime(2026, 1, 5, tzinfo=UTC))))[
        "window"
    ].startswith("2026")


@pytest.mark.slow
def test_a_command_logs_as_asked(here, rocmonitor, monkeypatch) -> None:
    here.configure(window=until("2026-06-01"))
    quiet = rocmonitor("--log-format", "json", "run", "--dry-run").stderr
    assert quiet == ""
    lines = rocmonitor("--log-format", "json", "-v", "run", "--dry-run").stderr.splitlines()
    said = [json.loads(line) for line in lines]
    assert {one["level"] for one in said} == {"debug"}
    [read] = [one for one in said if "window" in one]
    assert (read["monitor"], read["window"]) == ("credit", "2026-05-25T00:00Z/2026-06-01T00:00Z")
    assert "400 rows in " in read["message"]
    monkeypatch.setenv("ROCMONITOR_LOG_FORMAT", "json")
    (here.folder / "rocmonitor.yaml").unlink()
    [line] = rocmonitor("run", code=2).stderr.splitlines()
    assert "cannot be read" in json.loads(line)["message"]


@pytest.mark.parametrize("style", ["yaml", ""])
def test_another_format_is_refused(rocmonitor, style) -> None:
    assert "--log-format" in rocmonitor("--log-format", style, "run", code=2).stderr
