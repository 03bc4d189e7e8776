"""What a person at a terminal sees: colour, signs, progress, where to look next."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading

import pytest
from scenario import until

from rocmonitor.cli import terminal
from rocmonitor.cli.terminal import echo
from rocmonitor.service.progress import Step
from rocmonitor.wording.page import MARKS, WORST_FIRST, marked, plain

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]")


@pytest.fixture
def judged(here, rocmonitor):
    """A world with a degraded week, judged."""
    here.configure(window=until("2026-06-15"))
    here.score(22, shift=0.2)
    rocmonitor("run", code=3)
    return here


@pytest.mark.slow
def test_run_shows_progress_a_table_and_where_to_look_next(here, rocmonitor):
    shown = rocmonitor.terminal("run")
    progress, _, after = shown.partition("credit (UTC)")
    assert re.search(
        r"20 of 20, (\S+/s|\d+ s each), \d+:\d\d left credit reference", ESCAPE.sub("", progress)
    )
    assert "2 of 2" in ESCAPE.sub("", progress)
    assert "\x1b[?25h" in progress  # the cursor is back
    told = ESCAPE.sub("", after)
    assert told.count("● ok") == 2
    assert "rocmonitor history credit" in told
    assert (
        f"mlflow server --app-name rocmonitor --backend-store-uri sqlite:///{here.folder}/mlflow.db" in told
    )


@pytest.mark.slow
def test_a_terminal_gets_colour_unless_it_does_not_want_any(judged, rocmonitor):
    coloured = rocmonitor.terminal("status", code=3, columns=200)
    assert "\x1b[1;31m▲ degraded\x1b[0m" in coloured
    assert not COLOUR.search(rocmonitor.terminal("status", code=3, NO_COLOR="1"))
    dumb = rocmonitor.terminal("status", code=3, columns=200, TERM="dumb")
    assert "\x1b" not in dumb
    assert ESCAPE.sub("", coloured) == dumb == rocmonitor("status", code=3).stdout


@pytest.mark.slow
def test_an_encoding_without_signs_gets_signs_that_look_like_them(judged, rocmonitor):
    shown = rocmonitor.terminal("status", code=3, PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert "! degraded" in shown
    shown.encode("ascii")
    assert "! degraded  credit" in rocmonitor.process("status", code=3, PYTHONIOENCODING="ascii").stdout


@pytest.mark.slow
def test_a_narrow_terminal_gets_fewer_columns_and_no_broken_lines(judged, rocmonitor):
    wide, narrow = (ESCAPE.sub("", rocmonitor.terminal("history", "credit", columns=n)) for n in (140, 70))
    tables = [text[: text.index("Changes of status,")] for text in (wide, narrow)]
    assert max(map(len, tables[1].splitlines())) <= 70
    assert "positives" in tables[0]
    assert "positives" not in tables[1]
    assert all("▲ degraded" in text for text in tables)


@pytest.mark.slow
def test_verbose_logs_each_step_with_a_time_that_has_a_zone(here, rocmonitor):
    done = rocmonitor.process("-v", "run", "--dry-run", TZ="America/New_York")
    lines = done.stderr.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d-0[45]00 DEBUG rocmonitor", line) for line in lines)
    assert any("credit 2026-05-25 to 2026-06-01 (1 of 2)" in line for line in lines)
    assert any(re.search(r"400 rows in [\d.]+ s, \d+ positive, \d+ negative", line) for line in lines)


def test_every_status_has_a_sign_of_its_own_in_both_alphabets():
    assert set(WORST_FIRST) == set(MARKS)
    for of in (str, plain):
        assert len({of(sign) for sign in MARKS.values()}) == len(MARKS)
    assert (marked("at-risk"), marked("waiting")) == ("◆ at risk", "· not judged yet")
    assert all(plain(sign).isascii() for sign in MARKS.values())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["history", "cr"], {"credit"}),
        (["run", ""], {"credit"}),
        (["channel", "test", ""], {"log"}),
        (["sta"], {"status"}),
        (["history", "x"], set()),
        (["-c", "none.yaml", "history", ""], set()),
        (["-c", "broken.yaml", "history", ""], set()),
    ],
)
def test_a_shell_completes_commands_and_names(here, words, offered):
    (here.folder / "broken.yaml").write_text("monitors: [")
    environment = os.environ | {
        "_ROCMONITOR_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["rocmonitor", *words]),
        "COMP_CWORD": str(len(words)),
    }
    program = "import sys; sys.argv = ['rocmonitor']; from rocmonitor.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=here.folder, env=environment, capture_output=True, text=True
    )
    assert {line.split(",")[1] for line in done.stdout.split()} == offered
    assert done.stderr == ""


def test_help_is_quick():
    program = (
        "import sys; sys.argv = ['rocmonitor', '--help']; from rocmonitor.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'numpy', 'pydantic', 'sqlalchemy', 'yaml', 'mlflow', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "status" in done.stdout


def test_values_from_outside_do_not_steer_the_terminal(capsys):
    echo("Error: \x1b[2J\x9b2J no column \u202etxt\r ok\tand\nnext")
    assert capsys.readouterr().out == ("Error: \\x1b[2J\\x9b2J no column \\u202etxt\\r ok\tand\nnext\n")


@pytest.mark.slow
def test_check_shows_on_a_terminal_what_it_does_and_how_far(here, rocmonitor):
    shown = ESCAPE.sub("", rocmonitor.terminal("check"))
    assert "\r⠋ 0:00:00" in shown
    # Drawn ten times a second: a machine may read all of a reference between two of them.
    for step in re.findall(r"\d+ of 20, .{30}", shown):
        assert re.match(r"\d+ of 20, (\S+/s|\d+ s each), \d+:\d\d left", step)
    last = max(each.start() for each in re.finditer(r"\d:\d\d:\d\d ", shown))
    assert last < shown.index("credit\n") < shown.index("Next: rocmonitor run")


def test_a_log_has_a_line_a_minute_about_long_work_and_stdout_nothing(monkeypatch, capsys, caplog):
    monkeypatch.setattr(terminal, "LOG_EVERY", 0.01)
    logged = threading.Event()

    class Waiting(logging.Handler):
        def emit(self, record):
            if record.getMessage() == "still at work: credit 2026-06-08 (3 of 40)":
                logged.set()

    monkeypatch.setattr(terminal.log, "handlers", [Waiting()])
    with caplog.at_level(logging.INFO, logger=terminal.log.name), terminal.shown_progress() as show:
        show(Step("credit 2026-06-08", 3, 40))
        assert logged.wait(30)
    assert not any("tell" in thread.name for thread in threading.enumerate())
    assert capsys.readouterr().out == ""
